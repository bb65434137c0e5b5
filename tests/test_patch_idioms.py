"""Ten storage idioms of the standard library, unmodified: the op journal that each leaves, and what was flushed.

Each test shows the mutating calls that a kernel would have seen (`story`), and which inodes and directories a flush
covered, which is what a kernel person would look for: only what was flushed is owed by the disk.
"""

from __future__ import annotations

import dbm.dumb
import errno
import fcntl
import json
import logging
import logging.handlers
import os
import pathlib
import pickle
import shelve
import shutil
import tempfile
import zipfile
from collections.abc import Iterator

import pytest

from simfs.machine.machine import Machine
from simfs.machine.ops import Close, Create, Flush, Link, Lock, Meta, Note, Op, Rename, Truncate, Unlink, Write
from simfs.patch import interposed
from simfs.patch.alone import process_of


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine with the directory /app; the journal of the test begins after it."""
    machine = Machine()
    with interposed():
        with process_of(machine, "setup"):
            os.mkdir("/app")
            os.mkdir("/tmp")
        machine.journal.ops.clear()
        yield machine


def told(op: Op) -> str:
    """One op in a few words, with temporary names as *."""
    path = op.path if "/tmp" not in op.path else op.path[: op.path.index("/tmp") + 4] + "*"
    match op:
        case Create():
            return f"create {op.kind} {path}"
        case Write():
            return f"write {path} {op.offset}+{len(op.data)}"
        case Truncate():
            return f"truncate {path} {op.size}"
        case Rename():
            return f"rename {path} {op.to_path}"
        case Unlink():
            return f"unlink {path}"
        case Link():
            return f"link {path}"
        case Flush():
            return f"flush {'dir ' if op.is_dir else ''}{path}"
        case Close():
            return f"close {path}"
        case Lock():
            return f"lock {op.how}"
        case Meta():
            return f"{op.what} {path}"
    return type(op).__name__


def story(machine: Machine) -> list[str]:
    """What the kernel saw, in order; descriptors closed are left out, they are nobody's promise."""
    return [told(op) for op in machine.journal if not isinstance(op, (Note, Close))]


def flushed(machine: Machine) -> list[str]:
    """What the program asked the disk for."""
    return [line for line in story(machine) if line.startswith("flush")]


def test_1_a_file_written_beside_and_renamed_over_is_atomic_only_with_its_flush(machine: Machine) -> None:
    with process_of(machine):
        fd, name = tempfile.mkstemp(dir="/app", prefix="tmp")
        with os.fdopen(fd, "w") as file:
            file.write("new")
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, "/app/settings")
    assert story(machine) == [
        "create file /app/tmp*", "write /app/tmp* 0+3", "flush /app/tmp*", "rename /app/tmp* /app/settings",
    ]  # fmt: skip
    (created,) = [op for op in machine.journal if isinstance(op, Create)]
    assert created.mode == 0o600, "mkstemp's files are private, and stay so under their final name"


def test_2_json_dumped_in_place_empties_the_file_first(machine: Machine) -> None:
    with process_of(machine):
        for version in (1, 2):
            with open("/app/settings.json", "w") as file:
                json.dump({"v": version}, file)
    assert story(machine) == [
        "create file /app/settings.json", "write /app/settings.json 0+8",
        "truncate /app/settings.json 0", "write /app/settings.json 0+8",
    ]  # fmt: skip
    assert flushed(machine) == []


def test_3_write_text_is_one_write_and_no_flush(machine: Machine) -> None:
    with process_of(machine):
        pathlib.Path("/app/note").write_text("x" * 100_000)
    lines = story(machine)
    assert lines[0] == "create file /app/note"
    assert sum(len(op.data) for op in machine.journal if isinstance(op, Write)) == 100_000
    assert flushed(machine) == [] and machine.freeze().tree("/app") == {"note": b"x" * 100_000}


def test_4_a_tree_that_is_copied_and_moved_is_nowhere_flushed(machine: Machine) -> None:
    with process_of(machine):
        os.makedirs("/app/old/inner")
        pathlib.Path("/app/old/inner/f").write_bytes(b"data")
        os.symlink("inner/f", "/app/old/link")
        machine.journal.ops.clear()
        shutil.copytree("/app/old", "/app/copy", symlinks=True)
        shutil.move("/app/copy", "/app/new")
    lines = story(machine)
    assert lines[0] == "create dir /app/copy" and "create symlink /app/copy/link" in lines
    assert "write /app/copy/inner/f 0+4" in lines and "times /app/copy/inner/f" in lines
    assert lines[-1] == "rename /app/copy /app/new" and flushed(machine) == []
    with process_of(machine):
        for folder in ("/app/old/inner", "/app/old"):
            shutil.rmtree(folder)
    assert machine.freeze().tree("/app") == {
        "new": "dir", "new/inner": "dir", "new/inner/f": b"data", "new/link": "-> inner/f",
    }  # fmt: skip


def test_5_a_shelf_keeps_its_index_in_memory_until_it_is_closed(machine: Machine) -> None:
    with process_of(machine):
        shelf = shelve.Shelf(dbm.dumb.open("/app/shelf", "c"))
        shelf["a"] = 1
        shelf["a"] = 2
        assert pathlib.Path("/app/shelf.dir").read_text() == "'a', (0, 5)\n"
        shelf["a"] = "longer than a block of the data file" * 20
        assert pathlib.Path("/app/shelf.dir").read_text() == "'a', (0, 5)\n", "the index on disk is out of date"
        shelf.close()
        assert pathlib.Path("/app/shelf.dir").read_text() != "'a', (0, 5)\n"
    lines = story(machine)
    assert "create file /app/shelf.dat" in lines and "create file /app/shelf.dir" in lines
    assert any(line.startswith("write /app/shelf.dat 0+") for line in lines) and flushed(machine) == []
    with process_of(machine), shelve.Shelf(dbm.dumb.open("/app/shelf", "r")) as again:
        assert dict(again) == {"a": "longer than a block of the data file" * 20}


def test_6_appending_to_a_zip_overwrites_its_directory_before_there_is_a_new_one(machine: Machine) -> None:
    with process_of(machine):
        with zipfile.ZipFile("/app/z.zip", "w") as archive:
            archive.writestr("one", "1" * 5000)
        size = os.path.getsize("/app/z.zip")
        machine.journal.ops.clear()
        with zipfile.ZipFile("/app/z.zip", "a") as archive:
            archive.writestr("two", "2" * 5000)
        with zipfile.ZipFile("/app/z.zip") as archive:
            assert archive.namelist() == ["one", "two"] and archive.read("two") == b"2" * 5000
    writes = [op for op in machine.journal if isinstance(op, Write)]
    assert writes[0].offset < size, "the old central directory is gone from here until close()"
    assert flushed(machine) == []


def test_7_a_log_handler_writes_each_record_at_once_and_flushes_none(machine: Machine) -> None:
    with process_of(machine):
        log = logging.Logger("app")
        handler = logging.handlers.RotatingFileHandler("/app/log", maxBytes=30, backupCount=1)
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M"))
        log.addHandler(handler)
        log.warning("first")
        log.warning("second, longer than a file may be")
        handler.close()
    assert story(machine) == [
        "create file /app/log", "write /app/log 0+12", "rename /app/log /app/log.1", "create file /app/log",
        "write /app/log 0+40",
    ]  # fmt: skip
    assert machine.freeze().tree("/app")["log.1"] == b"00:00 first\n"


def test_8_a_pickle_with_fsync_and_a_flush_of_its_directory_is_durable(machine: Machine) -> None:
    with process_of(machine):
        with open("/app/state.pickle", "xb") as file:
            pickle.dump(list(range(10)), file)
            file.flush()
            os.fsync(file)
        folder = os.open("/app", os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)
    assert flushed(machine) == ["flush /app/state.pickle", "flush dir /app"]
    assert pickle.loads(machine.freeze().tree("/app")["state.pickle"]) == list(range(10))  # type: ignore[arg-type]


def test_9_a_named_temporary_file_that_is_kept_and_renamed(machine: Machine) -> None:
    with process_of(machine):
        with tempfile.NamedTemporaryFile("w", dir="/app", prefix="tmp", delete=False) as file:
            file.write("kept")
        os.rename(file.name, "/app/kept")
        with tempfile.NamedTemporaryFile("w", dir="/app", prefix="tmp") as file:
            file.write("not kept")
    assert story(machine) == [
        "create file /app/tmp*", "write /app/tmp* 0+4", "rename /app/tmp* /app/kept",
        "create file /app/tmp*", "write /app/tmp* 0+8", "unlink /app/tmp*",
    ]  # fmt: skip
    assert machine.freeze().tree("/app") == {"kept": b"kept"}


def test_10_a_lock_file_made_with_x_and_a_counter_under_flock_exclude(machine: Machine) -> None:
    with process_of(machine, "first"):
        lock = open("/app/lock", "x")
        counter = open("/app/counter", "w+")
        fcntl.flock(counter, fcntl.LOCK_EX)
        first, machine.current = machine.current, machine.spawn("second")
        with pytest.raises(FileExistsError):
            open("/app/lock", "x")
        other = open("/app/counter", "r+")
        with pytest.raises(BlockingIOError) as raised:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert raised.value.errno == errno.EWOULDBLOCK
        second, machine.current = machine.current, first
        counter.write("1")
        counter.close()
        os.unlink(lock.name)
        lock.close()
        machine.current = second
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert other.read() == "1"
        other.close()
        machine.current = first
    assert [line for line in story(machine) if line.startswith(("lock", "write", "unlink"))] == [
        "lock flock EX", "write /app/counter 0+1", "lock flock UN", "unlink /app/lock",
        "lock flock EX", "lock flock UN",
    ]  # fmt: skip
