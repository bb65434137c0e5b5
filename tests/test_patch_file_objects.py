"""File objects of a process behave as those of the real `open`, call by call."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simfs.machine.inode import Image
from simfs.machine.machine import Machine
from simfs.machine.ops import Write
from simfs.machine.process import ProcessKilled
from simfs.patch import NotSimulated, interposed, taken_escapes
from simfs.patch.alone import process_of

MODES = [k + p for k in "rwax" for p in ("", "+", "b", "b+", "+b", "t")] + ["", "rw", "U", "r++", "bt", "rbt", "q"]
Call = tuple[str, tuple[Any, ...]]

CALLS = st.one_of(
    st.tuples(st.just("write"), st.tuples(st.sampled_from([0, 1, 5, 4095, 4096, 4097, 9000, 20_000]))),
    st.tuples(st.just("read"), st.tuples(st.sampled_from([-1, 0, 1, 7, 4096, 10_000]))),
    st.tuples(st.just("seek"), st.tuples(st.integers(0, 9000), st.sampled_from([0, 0, 2]))),
    st.tuples(st.just("truncate"), st.one_of(st.just(()), st.tuples(st.integers(0, 9000)))),
    st.tuples(st.sampled_from(["readline", "readlines", "tell", "flush"]), st.just(())),
    st.tuples(st.sampled_from(["readable", "writable", "close"]), st.just(())),
    st.tuples(st.just("size"), st.just(())),
)


def outcome(action: Callable[[], Any]) -> Any:
    """The value, or the error as a program can tell it."""
    try:
        value = action()
    except (OSError, ValueError, TypeError, UnicodeError) as error:
        return type(error).__name__, getattr(error, "errno", None) or str(error)
    return value


def played(folder: str, mode: str, options: dict[str, Any], calls: list[Call], start: bytes | None) -> list[Any]:
    """What a program sees that opens a file in `folder` and makes `calls` on it."""
    path = folder + "/file"
    if start is not None:
        with open(path, "wb") as first:
            first.write(start)
    seen: list[Any] = []
    file = outcome(lambda: open(path, mode, **options))
    if isinstance(file, tuple):
        return [file]
    seen.append((type(file).__name__.replace("SimRawFile", "FileIO"), file.mode))
    binary = isinstance(file, (io.BufferedIOBase, io.RawIOBase))
    for name, arguments in calls:
        if name == "size":
            seen.append(os.path.getsize(path))
        elif name == "write":
            text = "aé\n" * arguments[0]
            seen.append(outcome(lambda text=text: file.write(text.encode() if binary else text)))  # type: ignore[misc]
        else:
            seen.append(outcome(lambda name=name, args=arguments: getattr(file, name)(*args)))  # type: ignore[misc]
    seen.append(outcome(file.close))
    with open(path, "rb") as last:
        seen.append(last.read())
    os.remove(path)
    return seen


OPTIONS = st.sampled_from(
    [{}, {}, {"buffering": 0}, {"buffering": 1}, {"buffering": 100}, {"newline": ""}, {"newline": "\r\n"},
     {"encoding": "utf-16"}, {"errors": "replace"}, {"closefd": False}]
)  # fmt: skip


STARTS = st.sampled_from([None, b"", b"one\ntwo\n" * 1500])


@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(MODES), OPTIONS, st.lists(CALLS, max_size=12), STARTS)
@pytest.mark.filterwarnings("ignore:line buffering")
def test_a_file_object_does_what_a_real_one_does(
    tmp_path_factory: pytest.TempPathFactory, mode: str, options: dict[str, Any], calls: list[Call], start: bytes | None
) -> None:
    real = played(str(tmp_path_factory.mktemp("real")), mode, options, calls, start)
    with interposed(), process_of(Machine()):
        simulated = played("", mode, options, calls, start)
    assert simulated == real


def test_a_descriptor_can_become_a_file_object() -> None:
    machine = Machine()
    with interposed(), process_of(machine):
        fd = os.open("/f", os.O_RDWR | os.O_CREAT)
        with os.fdopen(fd, "w+", closefd=False) as file:
            assert file.fileno() == fd and file.name == fd
            file.write("kept open")
        assert os.pread(fd, 20, 0) == b"kept open"
        os.close(fd)
        with pytest.raises(OSError, match="Bad file descriptor"):
            open(fd)
        with open("/g", "w", opener=lambda path, flags: os.open(path, flags, 0o600)):
            assert os.stat("/g").st_mode & 0o777 == 0o600
        raw = io.FileIO("/h", "w")
        assert isinstance(raw, io.FileIO) and raw.write(b"raw") == 3
        raw.close()
    assert {type(op).__name__ for op in machine.journal} == {"Note", "Create", "Write", "Close"}


def test_a_file_that_nobody_closed_is_flushed_when_python_forgets_it() -> None:
    machine = Machine()
    with interposed(), process_of(machine):
        open("/f", "w").write("text")
    assert machine.freeze().tree() == {"f": b"text"}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_a_process_left_open_is_flushed_when_it_exits() -> None:
    machine, left = Machine(), []
    with interposed():
        with process_of(machine, "first"):
            left.append(open("/f", "w"))
            left[0].write("flushed at exit")
        with process_of(machine, "second"), pytest.raises(NotSimulated, match="belongs to first"):
            left[0].write("not by another")
            left[0].flush()
    taken_escapes()
    assert machine.freeze().tree() == {"f": b"flushed at exit"}


def test_an_error_at_close_is_the_programs_to_see_and_the_descriptor_is_gone() -> None:
    machine = Machine(size_limit=8192)
    with interposed(), process_of(machine):
        file = open("/f", "wb", buffering=100_000)
        file.write(b"x" * 50_000)
        with pytest.raises(OSError, match="No space left on device"):
            file.close()
        assert file.closed and os.open("/", os.O_RDONLY) == 3


def test_the_bytes_that_a_killed_process_had_buffered_stay_lost_whenever_python_finalises_the_file() -> None:
    machine = Machine()
    with interposed():
        with process_of(machine, "victim") as victim:
            kept = [open("/a", "w"), open("/b", "wb"), open("/c", "w+b")]
            for file in kept:
                file.write(b"lost" if file.mode != "w" else "lost")
            machine.kill(victim)
        with process_of(machine, "survivor"):
            kept.clear()
            assert [os.path.getsize(p) for p in ("/a", "/b", "/c")] == [0, 0, 0]
    assert not any(isinstance(op, Write) for op in machine.journal)


def test_a_killed_process_that_closes_its_file_while_it_unwinds_writes_nothing() -> None:
    machine = Machine()
    with interposed(), process_of(machine) as process:
        with pytest.raises(ProcessKilled), open("/f", "w") as file:
            file.write("lost")
            machine.kill(process)
            os.sync()
        assert not any(isinstance(op, Write) for op in machine.journal)


def test_a_file_object_of_another_process_is_refused_by_name() -> None:
    machine = Machine()
    with interposed(), process_of(machine, "first"):
        file = open("/f", "w+")
        with process_of(machine, "second"), pytest.raises(NotSimulated, match="belongs to first"):
            file.read()
    taken_escapes()


def test_what_a_file_read_is_what_the_disk_holds() -> None:
    machine = Machine(Image.empty())
    with interposed(), process_of(machine):
        Path("/big").write_bytes(bytes(range(256)) * 4000)
        with open("/big", "rb") as file:
            assert file.read(10) == bytes(range(10)) and file.peek(1)[:1] == b"\x0a"
            file.seek(-3, os.SEEK_END)
            assert file.read() == b"\xfd\xfe\xff"
        buffer = bytearray(5)
        with open("/big", "rb", buffering=0) as raw:
            assert raw.readinto(buffer) == 5 and bytes(buffer) == bytes(range(5))
