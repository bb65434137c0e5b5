"""A7, A8, async-append-only-log#69: a session's log that is cut down, and the little files beside it.

openai/openai-agents-python#3116 (A7); sipeed/picoclaw#2907 (A8); ssbc/async-append-only-log#69.

What happened. A stored session was cleared first, and its summed-up items added afterwards: whatever ended the process
in between took the whole history with it (A7). A session kept a count of its lines in a second file; a crash between
log and count left the count behind, each crash a little more, and when the log was cut down "to the last two" by that
count, lines went that nobody had meant (A8). A compaction that moves records to the front of a log kept its progress in
a file and removed that file *before* the log was cut to its new length: a crash in between left old records behind the
moved ones, and nothing said that they were garbage (#69).

What is right. The new state is whole and durable before the old one goes. What can be counted is counted, not
remembered. What says that work is unfinished goes last.
"""

from __future__ import annotations

import errno
import os
from typing import Any

import simfs
from scenarios.reported.durable import flush_directory, replace_durably, write_all
from scenarios.reported.laws import DUR1, DUR6, DUR7
from scenarios.reported.registry import ATOMIC_RENAMES, EVERY_MODEL, Case
from simfs.machine.faults import Errno

LOG = "/s/log"
COUNT = "/s/count"
PROGRESS = "/s/progress"


def lines() -> list[str]:
    """The lines of the log; an unfinished one at its end is none."""
    return open(LOG, "rb").read().rpartition(b"\n")[0].decode().split()


def write_durably(path: str, data: bytes, flags: int) -> None:
    """Write all and flush."""
    fd = os.open(path, os.O_WRONLY | flags)
    try:
        write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)


class _Session(simfs.Scenario):
    """A log of five items, all of them promised."""

    items = ("i1", "i2", "i3", "i4", "i5")
    disk: Any = EVERY_MODEL

    def setup(self, m: Any) -> None:
        os.mkdir("/s")
        write_durably(LOG, "".join(f"{item}\n" for item in self.items).encode(), os.O_CREAT)


class ClearsFirst(_Session):
    """The session is cleared, and then the summed-up items are added to it."""

    summed = ("sum", "i5")
    kills = 1
    faults = (Errno(("write",), code=errno.ENOSPC),)

    @simfs.process(raises=OSError)
    def compacter(self, m: Any) -> None:
        self.compact("".join(f"{item}\n" for item in self.summed).encode())
        m.ack("compacted")

    def compact(self, data: bytes) -> None:
        write_durably(LOG, b"", os.O_TRUNC)
        write_durably(LOG, data, os.O_APPEND)

    @simfs.law(DUR6)
    def all_or_the_sum(self, m: Any) -> None:
        found = tuple(lines())
        assert found in (self.items, self.summed), f"the session holds {found or 'nothing'}"

    @simfs.law(DUR1)
    def nothing_is_lost(self, m: Any) -> None:
        found = tuple(lines())
        assert found == self.summed if m.acked("compacted") else found, f"the session holds {found or 'nothing'}"


class SumsUpBeside(ClearsFirst):
    """The sum is whole and durable under another name, and takes the place of the session in one step."""

    disk = ATOMIC_RENAMES

    def compact(self, data: bytes) -> None:
        replace_durably(LOG, data)


class RemembersTheCount(simfs.Scenario):
    """Items are appended and counted in a second file; the log is then cut to its last two by that count."""

    disk: Any = ATOMIC_RENAMES
    power = False
    kills = 2

    def setup(self, m: Any) -> None:
        os.mkdir("/s")
        write_durably(LOG, b"", os.O_CREAT)
        write_durably(COUNT, b"0", os.O_CREAT)

    @simfs.process(restart=2)
    def writer(self, m: Any) -> None:
        """Three appends, taken up again after each kill, and then the cut."""
        while (done := self.last()) < 3:
            write_durably(LOG, f"i{done + 1}\n".encode(), os.O_APPEND)
            replace_durably(COUNT, str(int(open(COUNT).read()) + 1).encode())
        kept = lines()[: self.count()][-2:]
        replace_durably(LOG, "".join(f"{item}\n" for item in kept).encode())
        m.ack("cut")

    def last(self) -> int:
        """The number of the last item."""
        return int((lines() or ["i0"])[-1][1:])

    def count(self) -> int:
        """How many items there are."""
        return int(open(COUNT).read())

    @simfs.law(DUR7)
    def the_last_two_are_there(self, m: Any) -> None:
        assert not m.acked("cut") or lines() == ["i2", "i3"], f"cut to the last two, and there is {lines()}"


class Counts(RemembersTheCount):
    """The log is the authority: what is cut is counted in it."""

    def count(self) -> int:
        return len(lines())


class ForgetsItsProgressFirst(_Session):
    """Records are moved to the front, the progress file removed, and only then the log cut to its new length."""

    disk: Any = EVERY_MODEL
    kept = ("i2", "i4")

    @simfs.process
    def compacter(self, m: Any) -> None:
        data = "".join(f"{item}\n" for item in self.kept).encode()
        write_durably(PROGRESS, data, os.O_CREAT)
        flush_directory("/s")
        self.finish(data)

    def finish(self, data: bytes) -> None:
        """From the moment on at which the progress file says what is to be done."""
        fd = os.open(LOG, os.O_WRONLY)
        os.pwrite(fd, data, 0)
        os.fsync(fd)
        self.forget()
        os.ftruncate(fd, len(data))
        os.fsync(fd)
        os.close(fd)

    def forget(self) -> None:
        """The progress file goes, for good."""
        os.unlink(PROGRESS)
        flush_directory("/s")

    @simfs.recover
    def opens(self, m: Any) -> None:
        """Whoever opens the log takes up what the progress file says."""
        if os.path.exists(PROGRESS):
            data = open(PROGRESS, "rb").read()
            if data == "".join(f"{item}\n" for item in self.kept).encode():
                self.finish(data)
            else:
                self.forget()

    @simfs.law(DUR7)
    def before_or_after(self, m: Any) -> None:
        assert tuple(lines()) in (self.items, self.kept), f"the log holds {lines()}"


class ForgetsItsProgressLast(ForgetsItsProgressFirst):
    """The progress file goes when the log has its new length, durably."""

    def finish(self, data: bytes) -> None:
        fd = os.open(LOG, os.O_WRONLY)
        os.pwrite(fd, data, 0)
        os.ftruncate(fd, len(data))
        os.fsync(fd)
        os.close(fd)
        self.forget()


CASES = (
    Case("A7", "cleared before the sum is there", "openai/openai-agents-python#3116", ClearsFirst, SumsUpBeside,
         (DUR6, DUR1)),
    Case("A8", "cut down by a remembered count", "sipeed/picoclaw#2907", RemembersTheCount, Counts, (DUR7,)),
    Case("append-only-progress", "progress forgotten before the cut", "ssbc/async-append-only-log#69",
         ForgetsItsProgressFirst, ForgetsItsProgressLast, (DUR7,)),
)  # fmt: skip
