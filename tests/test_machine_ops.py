"""What each call leaves in the op journal: the change, once, with everything a disk model needs, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from simfs.machine.machine import Machine
from simfs.machine.ops import (
    Ack,
    Close,
    Create,
    FailedFlush,
    Flush,
    FlushAll,
    Link,
    Lock,
    Meta,
    Note,
    Op,
    Rename,
    Truncate,
    Unlink,
    Write,
)  # fmt: skip
from simfs.machine.system import SimSystem

RW = os.O_RDWR | os.O_CREAT


@pytest.fixture
def machine() -> Machine:
    machine = Machine()
    machine.spawn("writer")
    machine.system.mkdir("/app")
    fd = machine.system.open("/app/f", RW, 0o640)
    machine.system.write(fd, b"0123456789")
    machine.system.close(fd)
    return machine


def ops(machine: Machine, call: Callable[[SimSystem], Any]) -> list[Op]:
    """The ops that `call` appends."""
    before = len(machine.journal)
    call(machine.system)
    return machine.journal[before:]


def fields(op: Op) -> dict[str, Any]:
    """What an op says, without where, when and by whom."""
    base = set(Op.__slots__)
    names = [n for cls in type(op).__mro__ for n in getattr(cls, "__slots__", ()) if n not in base]
    return {name: getattr(op, name) for name in names}


def the(machine: Machine, path: str) -> int:
    return machine.system.stat(path).st_ino


def test_a_created_file_says_where_it_is_and_what_it_is(machine: Machine) -> None:
    (op,) = ops(machine, lambda s: s.open("/app/g", RW, 0o666))
    assert isinstance(op, Create)
    assert (op.path, op.dir, op.name, op.ino, op.kind, op.mode, op.uid) == (
        "/app/g", the(machine, "/app"), "g", the(machine, "/app/g"), "file", 0o644, 0,
    )  # fmt: skip


def test_opening_what_exists_leaves_nothing(machine: Machine) -> None:
    assert ops(machine, lambda s: s.open("/app/f", RW)) == []


def test_o_trunc_is_a_truncate_only_of_a_file_that_was_there(machine: Machine) -> None:
    (op,) = ops(machine, lambda s: s.open("/app/f", RW | os.O_TRUNC))
    assert isinstance(op, Truncate) and (op.size, op.size_before) == (0, 10)
    (made,) = ops(machine, lambda s: s.open("/app/new", RW | os.O_TRUNC))
    assert isinstance(made, Create)


def test_a_write_holds_its_bytes_where_they_went_and_the_size_before(machine: Machine) -> None:
    fd = machine.system.open("/app/f", RW)
    buffer = bytearray(b"abc")
    (op,) = ops(machine, lambda s: s.pwrite(fd, buffer, 8))
    buffer[:] = b"xyz"
    assert isinstance(op, Write) and fields(op) == {
        "ino": the(machine, "/app/f"),
        "offset": 8,
        "data": b"abc",
        "size_before": 10,
    }


def test_an_append_is_noted_at_the_end_that_it_found(machine: Machine) -> None:
    fd = machine.system.open("/app/f", RW | os.O_APPEND)
    (op,) = ops(machine, lambda s: s.pwrite(fd, b"abc", 2))
    assert isinstance(op, Write) and op.offset == 10


def test_a_vector_is_one_write(machine: Machine) -> None:
    fd = machine.system.open("/app/f", RW)
    (op,) = ops(machine, lambda s: s.writev(fd, [b"ab", b"", b"cd"]))
    assert isinstance(op, Write) and op.data == b"abcd"


def test_writing_nothing_leaves_nothing(machine: Machine) -> None:
    fd = machine.system.open("/app/f", RW)
    assert ops(machine, lambda s: (s.write(fd, b""), s.pwrite(fd, b"", 100))) == []


@pytest.mark.parametrize(("flag", "data_only"), [(os.O_SYNC, False), (os.O_DSYNC, True)])
def test_a_synchronous_write_is_a_write_and_then_a_flush(machine: Machine, flag: int, data_only: bool) -> None:
    fd = machine.system.open("/app/f", RW | flag)
    write, flush = ops(machine, lambda s: s.write(fd, b"abc"))
    assert isinstance(write, Write) and isinstance(flush, Flush) and flush.data_only is data_only


def test_flushes_say_of_what_and_how_much(machine: Machine) -> None:
    fd, at = machine.system.open("/app/f", RW), machine.system.open("/app", os.O_RDONLY)
    whole, data, directory = ops(machine, lambda s: (s.fsync(fd), s.fdatasync(fd), s.fsync(at)))
    assert fields(whole) == {"ino": the(machine, "/app/f"), "is_dir": False, "data_only": False}
    assert fields(data) == {"ino": the(machine, "/app/f"), "is_dir": False, "data_only": True}
    assert fields(directory) == {"ino": the(machine, "/app"), "is_dir": True, "data_only": False}


def test_sync_is_of_everything_and_syncfs_of_one_filesystem(machine: Machine) -> None:
    fd = machine.system.open("/app/f", RW)
    everything, one = ops(machine, lambda s: (s.sync(), s.syncfs(fd)))
    assert isinstance(everything, FlushAll) and isinstance(one, FlushAll)
    assert (everything.device, one.device) == (None, 0)


def test_only_the_last_close_of_a_file_open_for_writing_is_a_close(machine: Machine) -> None:
    s = machine.system
    reader, at, writer = s.open("/app/f", os.O_RDONLY), s.open("/app", os.O_RDONLY), s.open("/app/f", os.O_WRONLY)
    copy = s.dup(writer)
    assert ops(machine, lambda s: (s.close(reader), s.close(at), s.close(writer))) == []
    (op,) = ops(machine, lambda s: s.close(copy))
    assert isinstance(op, Close) and op.ino == the(machine, "/app/f")


def test_names_say_directory_name_and_inode(machine: Machine) -> None:
    app, f = the(machine, "/app"), the(machine, "/app/f")
    link, unlink = ops(machine, lambda s: (s.link("/app/f", "/app/k"), s.unlink("/app/k")))
    assert isinstance(link, Link) and fields(link) == {"dir": app, "name": "k", "ino": f}
    assert isinstance(unlink, Unlink) and fields(unlink) == {"dir": app, "name": "k", "ino": f, "is_dir": False}
    made, gone = ops(machine, lambda s: (s.mkdir("/app/d", 0o700), s.rmdir("/app/d")))
    assert isinstance(made, Create) and (made.kind, made.mode) == ("dir", 0o700)
    assert isinstance(gone, Unlink) and gone.is_dir and gone.ino == made.ino
    (symlink,) = ops(machine, lambda s: s.symlink("../f", "/app/l"))
    assert isinstance(symlink, Create) and (symlink.kind, symlink.target) == ("symlink", "../f")


def test_a_rename_is_one_op_that_knows_its_victim(machine: Machine) -> None:
    s = machine.system
    s.close(s.open("/app/g", RW))
    app, f, g = the(machine, "/app"), the(machine, "/app/f"), the(machine, "/app/g")
    (over,) = ops(machine, lambda s: s.rename("/app/f", "/app/g"))
    assert isinstance(over, Rename)
    assert fields(over) == {
        "src_dir": app, "src_name": "f", "dst_dir": app, "dst_name": "g", "ino": f, "victim": g, "exchange": False,
        "is_dir": False, "to_path": "/app/g",
    }  # fmt: skip
    s.mkdir("/d")
    (swap,) = ops(machine, lambda s: s.renameat2("/d", "/app/g", 2))
    assert isinstance(swap, Rename) and swap.exchange and swap.is_dir and swap.victim == f


def test_a_rename_onto_another_name_of_the_same_file_leaves_nothing(machine: Machine) -> None:
    machine.system.link("/app/f", "/app/k")
    assert ops(machine, lambda s: s.rename("/app/f", "/app/k")) == []


def test_a_nameless_file_is_made_in_no_directory_and_linked_later(machine: Machine) -> None:
    s = machine.system
    (made,) = ops(machine, lambda s: s.open("/app", os.O_TMPFILE | os.O_RDWR, 0o600))
    assert isinstance(made, Create) and (made.dir, made.name) == (0, "")
    at = s.open("/app", os.O_RDONLY)
    (link,) = ops(machine, lambda s: s.link("/proc/self/fd/3", "named", dst_dir_fd=at))
    assert isinstance(link, Link) and (link.name, link.ino, link.path) == ("named", made.ino, "/app/named")


def test_attributes_are_ops_of_their_own(machine: Machine) -> None:
    mode, owner, times, value, none = ops(
        machine,
        lambda s: (
            s.chmod("/app/f", 0o600), s.chown("/app/f", 5, 6), s.utime("/app/f", ns=(1, 2)),
            s.setxattr("/app/f", "user.a", b"v"), s.removexattr("/app/f", "user.a"),
        ),
    )  # fmt: skip
    said = [(op.what, op.value) for op in (mode, owner, times, value, none) if isinstance(op, Meta)]
    assert said == [
        ("mode", 0o600), ("owner", (5, 6)), ("times", (1, 2)), ("xattr", ("user.a", b"v")), ("xattr", ("user.a", None)),
    ]  # fmt: skip


def test_a_stripped_set_user_id_is_an_op(machine: Machine) -> None:
    machine.system.chmod("/app/f", 0o4755)
    mode, owner = ops(machine, lambda s: s.chown("/app/f", 5, -1))
    assert isinstance(mode, Meta) and (mode.what, mode.value) == ("mode", 0o755)
    assert isinstance(owner, Meta) and owner.value == (5, 0)


def test_a_call_that_failed_leaves_nothing(machine: Machine) -> None:
    def failing(s: SimSystem) -> None:
        for call in (
            lambda: s.open("/app/f", RW | os.O_EXCL), lambda: s.mkdir("/app"), lambda: s.rmdir("/app"),
            lambda: s.unlink("/app"), lambda: s.rename("/none", "/x"), lambda: s.link("/app", "/x"),
            lambda: s.symlink("x", "/app/f"), lambda: s.truncate("/none", 0), lambda: s.chmod("/none", 0),
            lambda: s.write(99, b"x"), lambda: s.fsync(99), lambda: s.close(99),
        ):  # fmt: skip
            with pytest.raises(OSError):
                call()

    assert ops(machine, failing) == []


def test_reading_leaves_nothing(machine: Machine) -> None:
    fd = machine.system.open("/app/f", os.O_RDONLY)
    looks = lambda s: (  # noqa: E731
        s.read(fd, 5), s.stat("/app/f"), s.listdir("/app"), s.access("/app", 4), s.getcwd(), s.time_ns(),
        s.lseek(fd, 0, 2),
    )  # fmt: skip
    assert ops(machine, looks) == []


def test_locks_and_sleeps_are_for_the_time_line(machine: Machine) -> None:
    fd = machine.system.open("/app/f", RW)
    taken, dropped, slept = ops(machine, lambda s: (s.flock(fd, 2), s.flock(fd, 8), s.sleep(2)))
    assert isinstance(taken, Lock) and taken.how == "flock EX"
    assert isinstance(dropped, Lock) and dropped.how == "flock UN"
    assert isinstance(slept, Note) and slept.text == "sleep 2 s"


def test_an_op_bears_position_process_time_and_the_line_that_asked_for_it(machine: Machine) -> None:
    machine.advance(7)
    (op,) = ops(machine, lambda s: s.mkdir("/app/here"))
    assert op.index == len(machine.journal) - 1
    assert (op.process, op.time_ns) == (0, machine.wall_ns)
    assert op.site is not None and op.site.file == __file__ and op.site.function == "<lambda>"


def test_a_machine_that_records_no_sites_has_none() -> None:
    machine = Machine(record_sites=False)
    machine.spawn("quick")
    (op,) = ops(machine, lambda s: s.mkdir("/here"))
    assert op.site is None


def test_a_promise_stands_among_the_ops(machine: Machine) -> None:
    (op,) = ops(machine, lambda s: machine.promise(Ack("", "saved", 3)))
    assert isinstance(op, Ack) and machine.journal.promises() == [op]


def test_a_flush_that_fails_is_a_failed_flush_for_each_description_once(machine: Machine) -> None:
    s = machine.system
    one, two = s.open("/app/f", RW), s.open("/app/f", RW)
    process = machine.current
    assert process is not None

    def fail(s: SimSystem) -> None:
        with pytest.raises(OSError):
            s.fail_flush(process, one)
        s.fsync(one)
        with pytest.raises(OSError):
            s.fdatasync(two)
        s.fsync(two)

    late = s.open("/app/f", RW)
    s.close(late)
    assert [type(op) for op in ops(machine, fail)] == [FailedFlush, Flush, FailedFlush, Flush]
    opened_after = s.open("/app/f", RW)
    assert [type(op) for op in ops(machine, lambda s: s.fsync(opened_after))] == [Flush]
