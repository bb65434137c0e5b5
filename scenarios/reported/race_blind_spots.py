"""Races on files that a tool for threads does not see: programs on which frontrun 0.7.0 (PyPI) finds nothing.

Such a tool watches variables, attributes and locks of one interpreter. What two processes do to each other through the
names and contents of files is outside of its view, or it gives up before the bug. Four programs, each wrong in one way:

*replace*: read a counter, write one more to a temporary name, rename it over the counter. No reader sees half a file,
and an update that came in between is lost all the same.

*exists*: ask whether a file is there, and make it if it is not. Both find nothing, both make it, both own it. Right:
one call that makes it only if it is not there.

*counter*: read a counter and write it back in place. Right, for both counters: a lock over both calls.

*handshake*: an uploader and a cleaner answer each other by marker files; the cleaner removes the upload if it saw each
answer in time. That takes three preemptions, so every search with at most two finds nothing (and says by what it
is bounded). Right: the cleaner asks for a lock that the uploader holds.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import simfs
from scenarios.reported.durable import replace_durably
from scenarios.reported.holding import locked, make_empty
from scenarios.reported.laws import CLM1, CLM2, STG1
from scenarios.reported.registry import ATOMIC_RENAMES, EVERY_MODEL, Case

FRONTRUN = "PyPI frontrun 0.7.0"
COUNTER, LOCK = "/counter", "/counter.lock"


class _Counter(simfs.Scenario):
    """Two processes add one to a counter each: no addition that was reported as done is lost."""

    def setup(self, m: Any) -> None:
        make_empty(LOCK)
        replace_durably(COUNTER, b"0")

    def alone(self) -> AbstractContextManager[None]:
        return locked(LOCK)

    def write(self, number: int) -> None:
        replace_durably(COUNTER, b"%d" % number)

    def add(self, m: Any) -> None:
        with self.alone():
            self.write(counted() + 1)
        m.ack("added")

    @simfs.process
    def one(self, m: Any) -> None:
        self.add(m)

    @simfs.process
    def other(self, m: Any) -> None:
        self.add(m)

    @simfs.law(CLM2)
    def every_addition_counts(self, m: Any) -> None:
        promised = len(m.acks)
        assert counted() >= promised, f"{promised} were added, the counter says {counted()}"


class ReplacedWithoutLock(_Counter):
    """The counter is replaced by a rename, without a lock."""

    power = False

    def alone(self) -> AbstractContextManager[None]:
        return nullcontext()


class ReplacedUnderLock(_Counter):
    """The counter is replaced by a rename, under a lock."""

    disk = ATOMIC_RENAMES


class WrittenInPlace(_Counter):
    """The counter is read and written in place, without a lock."""

    power = False

    def alone(self) -> AbstractContextManager[None]:
        return nullcontext()

    def write(self, number: int) -> None:
        write_in_place(number)


class WrittenInPlaceUnderLock(_Counter):
    """The counter, one byte, is read and written in place, under a lock, and flushed before anybody is told."""

    disk = EVERY_MODEL

    def write(self, number: int) -> None:
        write_in_place(number)


def counted() -> int:
    """The counter as it is now."""
    with open(COUNTER) as file:
        return int(file.read())


def write_in_place(number: int) -> None:
    """One byte over the byte that is there."""
    fd = os.open(COUNTER, os.O_WRONLY)
    os.pwrite(fd, b"%d" % number, 0)
    os.fsync(fd)
    os.close(fd)


class _Claim(simfs.Scenario):
    """Two processes want to be the one that makes a file: one of them is."""

    power = False

    def claims(self) -> bool:
        """Make the file; whether it is ours."""
        raise NotImplementedError

    def try_it(self, m: Any) -> None:
        if self.claims():
            m.effect("owner")

    @simfs.process
    def one(self, m: Any) -> None:
        self.try_it(m)

    @simfs.process
    def other(self, m: Any) -> None:
        self.try_it(m)

    @simfs.law(CLM1)
    def one_owner(self, m: Any) -> None:
        assert m.effects("owner") <= 1, "two processes made the same file"


class AskedThenMade(_Claim):
    """Look first, then make it."""

    def claims(self) -> bool:
        if os.path.exists("/claim"):
            return False
        with open("/claim", "w"):
            return True


class MadeExclusively(_Claim):
    """One call that looks and makes."""

    def claims(self) -> bool:
        try:
            with open("/claim", "x"):
                return True
        except FileExistsError:
            return False


class _Upload(simfs.Scenario):
    """An uploader says by markers how far it is; a cleaner must not take the upload away under it."""

    power = False

    def setup(self, m: Any) -> None:
        mark("/upload")

    @simfs.process
    def uploader(self, m: Any) -> None:
        raise NotImplementedError

    @simfs.process
    def cleaner(self, m: Any) -> None:
        raise NotImplementedError

    @simfs.law(STG1)
    def still_there(self, m: Any) -> None:
        assert not m.effects("lost the upload"), "the upload was removed while its owner was at it"


class AnswersByMarkers(_Upload):
    """Each side goes on when it sees the other's marker, and takes its absence for "nobody there"."""

    @simfs.process
    def uploader(self, m: Any) -> None:
        mark("/begun")
        if os.path.exists("/asked"):
            mark("/answered")
            if not os.path.exists("/upload"):
                m.effect("lost the upload")

    @simfs.process
    def cleaner(self, m: Any) -> None:
        if os.path.exists("/begun"):
            mark("/asked")
            if os.path.exists("/answered"):
                os.unlink("/upload")


class AsksForTheLock(_Upload):
    """The uploader holds a lock while it is at it; the cleaner removes only what it could lock."""

    @simfs.process
    def uploader(self, m: Any) -> None:
        fd = os.open("/upload.lock", os.O_RDWR | os.O_CREAT)
        fcntl.flock(fd, fcntl.LOCK_EX)
        if os.path.exists("/upload"):
            mark("/begun")
            if not os.path.exists("/upload"):
                m.effect("lost the upload")
        os.close(fd)

    @simfs.process
    def cleaner(self, m: Any) -> None:
        fd = os.open("/upload.lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink("/upload")
        except BlockingIOError:
            pass
        os.close(fd)


def mark(path: str) -> None:
    """Make an empty file."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT))


CASES = (
    Case(
        "blind-replace",
        "an update lost between a read and a rename",
        FRONTRUN,
        ReplacedWithoutLock,
        ReplacedUnderLock,
        (CLM2,),
    ),
    Case(
        "blind-counter",
        "an update lost between a read and a write of two processes",
        FRONTRUN,
        WrittenInPlace,
        WrittenInPlaceUnderLock,
        (CLM2,),
    ),
    Case(
        "blind-exists",
        "a file that both found missing, and both made",
        FRONTRUN,
        AskedThenMade,
        MadeExclusively,
        (CLM1,),
    ),
    Case(
        "blind-handshake",
        "a removal that takes three preemptions",
        FRONTRUN,
        AnswersByMarkers,
        AsksForTheLock,
        (STG1,),
    ),
)
