"""Plain calls of a simulated process reach its machine; everybody else's reach the real one."""

from __future__ import annotations

import errno
import io
import os
import pathlib
import threading
import time
from collections.abc import Iterator

import greenlet
import pytest

from simfs.machine.machine import Machine
from simfs.machine.ops import Close, Create, Flush, Rename, Unlink, Write
from simfs.machine.process import ProcessKilled
from simfs.patch import interposed
from simfs.patch.alone import process_of
from simfs.patch.interposition import Interposition


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine with one process, whose code the test is, except where it leaves `process_of`."""
    machine = Machine()
    with interposed():
        yield machine


def ops(machine: Machine) -> list[str]:
    return [type(op).__name__ for op in machine.journal if type(op).__name__ != "Note"]


def test_open_write_and_read_reach_the_machine(machine: Machine) -> None:
    with process_of(machine):
        with open("/notes.txt", "w") as file:
            file.write("one\n")
        with open("/notes.txt") as file:
            assert file.read() == "one\n"
    assert ops(machine) == ["Create", "Write", "Close"]
    assert machine.freeze().tree() == {"notes.txt": b"one\n"}


def test_os_calls_reach_the_machine(machine: Machine) -> None:
    with process_of(machine):
        os.makedirs("/a/b")
        fd = os.open("/a/b/f", os.O_WRONLY | os.O_CREAT)
        os.write(fd, b"data")
        os.fsync(fd)
        os.close(fd)
        os.replace("/a/b/f", "/a/g")
        os.remove("/a/g")
        assert os.path.isdir("/a/b") and not os.path.exists("/a/g")
        assert [(root, dirs, files) for root, dirs, files in os.walk("/")] == [
            ("/", ["a"], []), ("/a", ["b"], []), ("/a/b", [], []),
        ]  # fmt: skip
    kinds = [type(op) for op in machine.journal if type(op).__name__ != "Note"]
    assert kinds == [Create, Create, Create, Write, Flush, Close, Rename, Unlink]


def test_pathlib_reaches_the_machine(machine: Machine) -> None:
    with process_of(machine):
        folder = pathlib.Path("/folder")
        folder.mkdir()
        (folder / "x.txt").write_text("hi")
        (folder / "x.txt").rename(folder / "y.txt")
        assert [p.name for p in folder.iterdir()] == ["y.txt"]
        assert [str(p) for p in pathlib.Path("/").rglob("*.txt")] == ["/folder/y.txt"]
        assert (folder / "y.txt").read_bytes() == b"hi" and (folder / "y.txt").exists()
        assert pathlib.Path.cwd() == pathlib.Path("/")
        (folder / "y.txt").unlink()
        folder.rmdir()
    assert machine.freeze().tree() == {}


def test_a_process_has_its_own_working_directory_umask_and_pid(machine: Machine) -> None:
    before = os.getpid()
    with process_of(machine, "a"):
        os.mkdir("/d")
        os.chdir("/d")
        os.umask(0o077)
        first = os.getpid()
        open("here", "w").close()
        assert os.stat("/d/here").st_mode & 0o777 == 0o600
    with process_of(machine, "b"):
        assert os.getcwd() == "/" and os.umask(0o022) == 0o022
        assert os.getpid() not in (first, before)
    assert os.getpid() == before


def test_an_error_is_the_one_that_python_raises(machine: Machine) -> None:
    with process_of(machine):
        with pytest.raises(FileNotFoundError) as raised:
            open("/missing")
        assert (raised.value.errno, raised.value.filename) == (errno.ENOENT, "/missing")
        os.mkdir("/d")
        with pytest.raises(IsADirectoryError):
            open("/d")
        with pytest.raises(FileExistsError):
            open("/d", "x")
        with pytest.raises(ValueError, match="invalid mode: 'rz'"):
            open("/d", "rz")
        with pytest.raises(ValueError, match="can't have unbuffered text I/O"):
            open("/e", "w", buffering=0)


def test_files_of_a_process_are_the_real_io_classes(machine: Machine) -> None:
    with process_of(machine), open("/f", "w+b") as random, open("/g", "w") as text, open("/f", "rb") as reader:
        assert type(random) is io.BufferedRandom and type(text) is io.TextIOWrapper
        assert type(text.buffer) is io.BufferedWriter and type(reader) is io.BufferedReader
        assert isinstance(text.buffer.raw, io.FileIO) and text.buffer.raw.name == "/g" and text.mode == "w"


def test_a_buffer_goes_out_when_python_says_so(machine: Machine) -> None:
    with process_of(machine), open("/f", "wb") as file:
        file.write(b"x" * 4000)
        assert os.path.getsize("/f") == 0
        file.write(b"y" * 97)
        assert 4000 <= os.path.getsize("/f") <= 4096
        file.write(b"z" * 10_000)
        assert os.path.getsize("/f") >= 4097 + 4096
    sizes = [len(op.data) for op in machine.journal if isinstance(op, Write)]
    assert sum(sizes) == 14_097


def test_a_killed_process_loses_what_its_buffers_held(machine: Machine) -> None:
    with process_of(machine) as process:
        file = open("/f", "w")
        file.write("lost")
        machine.kill(process)
    del file
    assert ops(machine)[0] == "Create" and "Write" not in ops(machine)
    assert machine.freeze().tree() == {"f": b""}


def test_code_of_a_dead_process_that_unwinds_leaves_no_trace(machine: Machine) -> None:
    with process_of(machine) as process:
        machine.kill(process)
        machine.current = process
        for call in (lambda: os.mkdir("/trace"), lambda: open("/trace", "w"), lambda: time.time()):
            with pytest.raises(ProcessKilled):
                call()
    assert machine.freeze().tree() == {}


def test_other_code_is_not_disturbed(machine: Machine, tmp_path: pathlib.Path) -> None:
    real, outcome = tmp_path / "real.txt", []
    go = threading.Event()

    def work() -> None:
        go.wait()
        outcome.append(real.write_text("real"))

    thread = threading.Thread(target=work)
    thread.start()
    with process_of(machine):
        # Other threads of the interpreter are the test runner's: their calls stay real while a process runs.
        go.set()
        thread.join()
    assert outcome == [4] and real.read_text() == "real" and time.time() > 1_700_000_000
    assert machine.freeze().tree() == {}


def test_everything_is_put_back_at_the_end() -> None:
    before = (open, os.open, os.rename, io.open, time.time, os.environ.copy(), time.tzname)
    with interposed():
        assert open is not before[0] and os.open is not before[1]
        with interposed():
            pass
        assert open is not before[0]
    assert (open, os.open, os.rename, io.open, time.time, os.environ.copy(), time.tzname) == before


def test_the_clock_of_a_process_is_the_machines(machine: Machine) -> None:
    with process_of(machine):
        start, ticks = time.time_ns(), time.monotonic()
        time.sleep(3600)
        assert time.time_ns() - start == 3_600_000_000_000 and time.monotonic() - ticks == 3600
        assert time.strftime("%Y-%m-%d %H:%M") == "2026-01-01 01:00"
        open("/f", "w").close()
        assert os.stat("/f").st_mtime_ns == time.time_ns()


def test_code_that_a_dead_process_left_behind_reaches_no_disk_at_all(tmp_path: pathlib.Path) -> None:
    seen: list[str] = []

    def body() -> None:
        for attempt in range(3):
            try:
                hub.switch()
                (tmp_path / str(attempt)).mkdir()
            except ProcessKilled:
                seen.append("killed")

    hub, process = greenlet.getcurrent(), greenlet.greenlet(body)
    with interposed():
        process.switch()
        # Neither a machine nor a process is set, as in a run that has ended. The code is still not the runner's.
        while not process.dead:
            process.switch()
        (tmp_path / "by the runner").mkdir()
    assert seen == ["killed"] * 3 and [p.name for p in tmp_path.iterdir()] == ["by the runner"]


def test_only_the_outermost_block_sets_anything_up(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    with interposed():
        monkeypatch.setattr(Interposition, "begin", lambda self: begun.append("again"))
        for _ in range(100):
            with interposed(), process_of(Machine()):
                open("/f", "w").close()
    assert begun == [], "the cost of a run or a crash point does not depend on what is loaded"
