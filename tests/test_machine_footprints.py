"""Footprints: what each call touched, at the level of names, for a search that reorders independent calls."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from typing import Any

import pytest

from simfs.machine.machine import Machine
from simfs.machine.system import SimSystem

RW = os.O_RDWR | os.O_CREAT
Touched = set[tuple[tuple[Any, ...], str]]


@pytest.fixture
def machine() -> Machine:
    machine = Machine()
    machine.spawn("p")
    s = machine.system
    s.mkdir("/d")
    s.mkdir("/e")
    for path in ("/d/f", "/d/g"):
        fd = s.open(path, RW)
        s.write(fd, b"0123456789")
        s.close(fd)
    return machine


def touched(machine: Machine, call: Callable[[SimSystem], Any]) -> Touched:
    machine.footprint = []
    try:
        call(machine.system)
    except OSError:
        pass
    finally:
        found = set(machine.footprint)
        machine.footprint = None
    return found


def independent(one: Touched, two: Touched) -> bool:
    """Whether two calls may be swapped: they share no resource, or only read it, or only add to it."""
    return all(a != b or modes in ({"R"}, {"C"}) for a, x in one for b, y in two for modes in [{x, y}])


def inode(machine: Machine, path: str) -> int:
    return machine.system.stat(path).st_ino


def on(machine: Machine, path: str = "/d/f", flags: int = os.O_RDWR) -> int:
    return machine.system.open(path, flags)


def test_a_walk_reads_the_entries_that_it_passes(machine: Machine) -> None:
    d, f = inode(machine, "/d"), inode(machine, "/d/f")
    assert touched(machine, lambda s: s.stat("/d/f")) == {
        (("dent", 1, "d"), "R"), (("dent", d, "f"), "R"), (("data", f), "R"), (("meta", f), "R"), (("clock",), "R"),
    }  # fmt: skip


def test_creating_writes_the_entry_and_only_adds_to_the_directory(machine: Machine) -> None:
    d = inode(machine, "/d")
    assert touched(machine, lambda s: s.open("/d/new", RW)) == {
        (("dent", 1, "d"), "R"), (("dent", d, "new"), "R"), (("dent", d, "new"), "W"), (("list", d), "C"),
        (("meta", d), "C"), (("stamp",), "R"),
    }  # fmt: skip


def test_reading_and_writing_touch_the_content_of_one_file(machine: Machine) -> None:
    fd, f = on(machine), inode(machine, "/d/f")
    assert touched(machine, lambda s: s.pread(fd, 5, 0)) == {(("data", f), "R")}
    assert touched(machine, lambda s: s.pwrite(fd, b"x", 0)) == {
        (("data", f), "W"), (("meta", f), "C"), (("stamp",), "R"),
    }  # fmt: skip


def test_flushes_and_private_calls_touch_nothing(machine: Machine) -> None:
    fd = on(machine)
    for call in (
        lambda s: s.fsync(fd), lambda s: s.fdatasync(fd), lambda s: s.sync(), lambda s: s.lseek(fd, 0, 0),
        lambda s: s.getpid(), lambda s: s.umask(0o22), lambda s: s.close(s.dup(fd)), lambda s: s.urandom(4),
    ):  # fmt: skip
        assert touched(machine, call) == set()


INDEPENDENT = {
    "two names made in one directory": (lambda s: s.mkdir("/d/x"), lambda s: s.mkdir("/d/y")),
    "two names removed from one directory": (lambda s: s.unlink("/d/f"), lambda s: s.unlink("/d/g")),
    "two look-ups of one name": (lambda s: s.readlink("/d/f"), lambda s: s.access("/d/f", 0)),
    "writes to two files": (lambda s: s.truncate("/d/f", 1), lambda s: s.truncate("/d/g", 1)),
    "two links to one file": (lambda s: s.link("/d/f", "/d/x"), lambda s: s.link("/d/f", "/d/y")),
    "renames of different names": (lambda s: s.rename("/d/f", "/d/x"), lambda s: s.rename("/d/g", "/d/y")),
}
DEPENDENT = {
    "one name made twice": (lambda s: s.mkdir("/d/x"), lambda s: s.mkdir("/d/x")),
    "a name made and looked up": (lambda s: s.mkdir("/d/x"), lambda s: s.stat("/d/x")),
    "a name made and the directory listed": (lambda s: s.mkdir("/d/x"), lambda s: s.listdir("/d")),
    "a name made in a directory that is removed": (lambda s: s.mkdir("/e/x"), lambda s: s.rmdir("/e")),
    "a name made in a directory that is replaced": (lambda s: s.mkdir("/e/x"), lambda s: s.rename("/d", "/e")),
    "a directory renamed and a path below it": (lambda s: s.rename("/d", "/x"), lambda s: s.stat("/d/f")),
    "two truncations of one file": (lambda s: s.truncate("/d/f", 1), lambda s: s.truncate("/d/f", 2)),
    "a truncation and the size": (lambda s: s.truncate("/d/f", 1), lambda s: s.stat("/d/f")),
    "a new link and the link count": (lambda s: s.link("/d/f", "/x"), lambda s: s.stat("/d/f")),
    "a new mode and a stat": (lambda s: s.chmod("/d/f", 0), lambda s: s.stat("/d/f")),
    "two renames of one name": (lambda s: s.rename("/d/f", "/x"), lambda s: s.rename("/d/f", "/y")),
    "renames onto one name": (lambda s: s.rename("/d/f", "/x"), lambda s: s.rename("/d/g", "/x")),
    "a directory moved below another that moves": (lambda s: s.rename("/d", "/e/d"), lambda s: s.rename("/e", "/d/e")),
}


def twice(machine: Machine, calls: tuple[Any, Any]) -> tuple[Touched, Touched]:
    """What each of two calls touches when it is made first."""
    image = machine.freeze()
    found = []
    for call in calls:
        fresh = Machine(image, boot=2)
        fresh.spawn("q")
        found.append(touched(fresh, call))
    return found[0], found[1]


@pytest.mark.parametrize("name", INDEPENDENT)
def test_calls_that_commute_share_nothing_that_matters(name: str, machine: Machine) -> None:
    assert independent(*twice(machine, INDEPENDENT[name]))


@pytest.mark.parametrize("name", DEPENDENT)
def test_calls_that_do_not_commute_share_something(name: str, machine: Machine) -> None:
    assert not independent(*twice(machine, DEPENDENT[name]))


def test_locks_shared_ones_commute_and_a_failed_try_reads(machine: Machine) -> None:
    one, two, f = on(machine), on(machine), inode(machine, "/d/f")
    taken = ("acquire", f), "R"
    assert touched(machine, lambda s: s.flock(one, fcntl.LOCK_SH)) == {(("lock", f), "C"), taken}
    assert touched(machine, lambda s: s.flock(two, fcntl.LOCK_SH)) == {(("lock", f), "C"), taken}
    assert touched(machine, lambda s: s.flock(two, fcntl.LOCK_UN)) == {(("lock", f), "C")}
    assert touched(machine, lambda s: s.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)) == {(("lock", f), "R")}
    machine.system.flock(one, fcntl.LOCK_UN)
    assert touched(machine, lambda s: s.flock(two, fcntl.LOCK_EX)) == {(("lock", f), "W"), taken}
    assert (("lock", f), "W") in touched(machine, lambda s: s.close(two))
    assert touched(machine, lambda s: s.lockf(one, fcntl.LOCK_EX)) == {(("lock", f), "W")}


def test_clocks_are_read_by_looking_and_written_by_moving(machine: Machine) -> None:
    assert touched(machine, lambda s: s.time_ns()) == {(("clock",), "R")}
    assert touched(machine, lambda s: s.sleep(1)) == {(("clock",), "W"), (("stamp",), "W")}


def test_a_process_is_read_by_asking_for_it_and_written_by_its_end(machine: Machine) -> None:
    identity = machine.system.process_identity()
    assert touched(machine, lambda s: s.is_alive(identity)) == {(("proc", identity.pid), "R")}
    other = machine.spawn("other")
    assert touched(machine, lambda s: machine.kill(other)) == {(("proc", other.pid), "W")}


def test_space_is_touched_only_where_it_is_limited(machine: Machine) -> None:
    fd = on(machine)
    assert not any(what[0] == "space" for what, _ in touched(machine, lambda s: s.pwrite(fd, b"x" * 9000, 0)))
    machine.limit(0, 1 << 20)
    assert (("space", 0), "W") in touched(machine, lambda s: s.pwrite(fd, b"x" * 90_000, 0))
    assert (("space", 0), "R") in touched(machine, lambda s: s.statvfs("/"))


def test_permission_checks_of_other_users_read_the_directories_on_the_way(machine: Machine) -> None:
    machine.current = machine.spawn("user", uid=1000, gid=1000)
    assert (("meta", inode(machine, "/d")), "R") in touched(machine, lambda s: s.access("/d/f", 0))
