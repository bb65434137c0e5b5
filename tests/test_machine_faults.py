"""Faults: chosen calls fail as on Linux, by count or by decision, and the filesystem knows nothing of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

import pytest

from simfs.machine.faults import FLUSHES, READS, WRITES, Errno, Fault, FaultySystem, Full, Short
from simfs.machine.machine import Machine
from simfs.machine.ops import FailedFlush, Flush, Note, Write
from simfs.machine.process import ProcessKilled

RW = os.O_RDWR | os.O_CREAT


def faulty(*faults: Fault) -> FaultySystem:
    machine = Machine()
    machine.spawn("p")
    return FaultySystem(machine.system, faults)


def code(call: Callable[[], object]) -> int | None:
    with pytest.raises(OSError) as caught:
        call()
    return caught.value.errno


def test_the_nth_matching_call_fails_and_does_nothing() -> None:
    s = faulty(Errno(("mkdir",), nth=2, code=errno.EDQUOT))
    s.mkdir("/a")
    with pytest.raises(OSError) as caught:
        s.mkdir("/b")
    assert (caught.value.errno, caught.value.filename) == (errno.EDQUOT, "/b")
    s.mkdir("/c")
    assert sorted(s.listdir("/")) == ["a", "c"]


def test_zero_stands_for_every_call() -> None:
    s = faulty(Errno(("renameat2",), nth=0, code=errno.ENOSYS))
    assert code(lambda: s.renameat2("/a", "/b", 1)) == code(lambda: s.renameat2("/a", "/b", 1)) == errno.ENOSYS
    with pytest.raises(OSError) as caught:
        s.renameat2("/a", "/b", 1)
    assert (caught.value.filename, caught.value.filename2) == ("/a", "/b")


def test_a_rule_may_be_for_one_path_one_kind_or_one_process() -> None:
    s = faulty(
        Errno(("open",), path="*.log", code=errno.EACCES),
        Errno(("fsync",), nth=0, kind="dir", code=errno.EINVAL),
        Errno(("unlink",), nth=0, process="other", code=errno.EPERM),
    )
    f = s.open("/f", RW)
    assert code(lambda: s.open("/a.log", RW)) == errno.EACCES
    s.fsync(f)
    assert code(lambda: s.fsync(s.open("/", os.O_RDONLY))) == errno.EINVAL
    s.unlink("/f")
    s.machine.current = s.machine.spawn("other")
    assert code(lambda: s.unlink("/g")) == errno.EPERM


def test_calls_are_counted_for_each_process_by_itself() -> None:
    s = faulty(Errno(("mkdir",), nth=2, code=errno.EIO))
    first = s.machine.current
    s.mkdir("/a")
    s.machine.current = s.machine.spawn("second")
    s.mkdir("/b")
    s.machine.current = first
    assert code(lambda: s.mkdir("/c")) == errno.EIO


def test_whoever_draws_decides_which_calls_are_hit() -> None:
    machine = Machine()
    machine.spawn("p")
    asked: list[tuple[str, int]] = []

    def decide(fault: Fault, call: str, count: int) -> bool:
        asked.append((call, count))
        return count == 3

    s = FaultySystem(machine.system, [Errno(("mkdir", "rmdir"), code=errno.EIO)], decide)
    s.mkdir("/a")
    s.rmdir("/a")
    assert code(lambda: s.mkdir("/b")) == errno.EIO
    assert asked == [("mkdir", 1), ("rmdir", 2), ("mkdir", 3)]


def test_short_reads_and_writes_move_less_and_say_so() -> None:
    s = faulty(Short(WRITES, nth=0, keep=3), Short(READS, nth=2, keep=2))
    fd = s.open("/f", RW)
    assert [s.write(fd, b"abcdef"), s.writev(fd, [b"12", b"34"]), s.pwrite(fd, b"x", 0)] == [3, 3, 1]
    assert [s.pread(fd, 10, 0), s.pread(fd, 10, 0), s.pread(fd, 10, 0)] == [b"xbc123", b"xb", b"xbc123"]


def test_a_disk_that_fills_up_takes_what_fits_and_then_nothing() -> None:
    s = faulty(Full(WRITES, path="/data/*", after=5))
    s.mkdir("/data")
    fd, other = s.open("/data/f", RW), s.open("/g", RW)
    assert s.write(fd, b"abc") == 3
    assert s.write(fd, b"defgh") == 2
    assert code(lambda: s.write(fd, b"x")) == errno.ENOSPC
    assert s.write(other, b"elsewhere") == 9
    assert s.pread(fd, 10, 0) == b"abcde"


def test_a_failed_flush_is_told_once_to_each_description_and_covers_nothing() -> None:
    s = faulty(Errno(FLUSHES, nth=1, code=errno.EIO))
    one, two = s.open("/f", RW), s.open("/f", RW)
    s.write(one, b"x")
    assert code(lambda: s.fsync(one)) == errno.EIO
    s.fsync(one)
    assert code(lambda: s.fdatasync(two)) == errno.EIO
    s.close(two)
    flushes = [type(op) for op in s.machine.journal if isinstance(op, Flush | FailedFlush)]
    assert flushes == [FailedFlush, Flush, FailedFlush]


def test_a_fault_is_a_step_and_stands_on_the_time_line() -> None:
    s = faulty(Errno(("write",), code=errno.EIO))
    seen: list[str] = []
    fd = s.open("/f", RW)
    s.machine.gate = lambda process, call: seen.append(call)
    assert code(lambda: s.write(fd, b"x")) == errno.EIO
    assert seen == ["write"]
    last = s.machine.journal[-1]
    assert isinstance(last, Note) and last.text == "fault: write fails with EIO"


def test_a_dead_process_meets_no_fault() -> None:
    s = faulty(Errno(("mkdir",), nth=0, code=errno.EIO))
    process = s.machine.current
    assert process is not None
    s.machine.kill(process)
    with pytest.raises(ProcessKilled):
        s.mkdir("/a")


def test_calls_that_no_rule_names_are_the_systems_own() -> None:
    s = faulty(Errno(("mkdir",), code=errno.EIO))
    fd = s.open("/f", RW)
    s.write(fd, b"x")
    assert s.write == s.system.write and isinstance(s.machine.journal[-1], Write)
