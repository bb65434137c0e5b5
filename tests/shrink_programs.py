"""Planted faults, each wrapped in noise that its smallest story does not need. See `test_shrink_quality.py`."""

from __future__ import annotations

import os
from typing import Any

import simfs
from simfs.machine.faults import Errno


def put(path: str, data: bytes, flush: bool = False, mode: str = "wb") -> None:
    with open(path, mode) as file:
        file.write(data)
        file.flush()
        if flush:
            os.fsync(file.fileno())


def flush_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def get(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


class Planted(simfs.Scenario):
    """A directory, and in it a file."""

    def setup(self, m: simfs.Handle) -> None:
        os.mkdir("/d")
        put("/d/f", b"old")


class PromiseAmidNoise(Planted):
    """The promise is broken at once; all else is noise before and after it."""

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/noise", b"x" * 10, flush=True)
        put("/d/g", b"g")
        m.ack("g")
        put("/d/more", b"y")
        m.ack("more")

    @simfs.law
    def promised_is_there(self, m: simfs.Handle) -> None:
        """A promised file is there."""
        assert not m.acked("g") or os.path.exists("/d/g")


class OverwriteInPlace(Planted):
    """A file is overwritten in place."""

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/other", b"other")
        put("/d/f", b"new")
        put("/d/last", b"last")

    @simfs.law
    def old_or_new(self, m: simfs.Handle) -> None:
        """The file is old or new."""
        assert get("/d/f") in (b"old", b"new")


class RenameFirst(Planted):
    """A rename overtakes the bytes."""

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/t", b"new")
        os.replace("/d/t", "/d/f")
        put("/d/after", b"after")

    @simfs.law
    def old_or_new(self, m: simfs.Handle) -> None:
        """The file is old or new."""
        assert get("/d/f") in (b"old", b"new")


class TwoLines(Planted):
    """Two lines are appended in one write: the law wants whole lines."""

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/f", b"\none\ntwo\n", mode="ab")
        put("/d/f", b"three\n", mode="ab")

    @simfs.law
    def whole_lines(self, m: simfs.Handle) -> None:
        """The file ends in a line end, or is old."""
        data = get("/d/f")
        assert data == b"old" or data.endswith(b"\n")


class BigTear(Planted):
    """Two pages in one write; the law wants both or none."""

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/g", b"a" * 8192)

    @simfs.law
    def all_or_none(self, m: simfs.Handle) -> None:
        """All of it or none."""
        assert not os.path.exists("/d/g") or len(get("/d/g")) in (0, 8192)


class TwoFilesOneLost(Planted):
    """The second file is there only with the first."""

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/a", b"a", flush=True)
        put("/d/b", b"b", flush=True)
        flush_directory("/d")

    @simfs.law
    def b_only_with_a(self, m: simfs.Handle) -> None:
        """b is not there without a."""
        assert not os.path.exists("/d/b") or os.path.exists("/d/a")


class BystanderFirst(Planted):
    """A process that has nothing to do with it comes first."""

    @simfs.process
    def bystander(self, m: simfs.Handle) -> None:
        put("/d/b1", b"1")
        put("/d/b2", b"2")

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/g", b"g")
        m.ack("g")

    @simfs.law
    def promised_is_there(self, m: simfs.Handle) -> None:
        """A promised file is there."""
        assert not m.acked("g") or os.path.exists("/d/g")


class TwoBystanders(BystanderFirst):
    """Two processes that have nothing to do with it."""

    @simfs.process
    def another(self, m: simfs.Handle) -> None:
        put("/d/c1", b"1")


class LostUpdate(Planted):
    """Two processes count; one count is lost."""

    power = False

    def count(self) -> None:
        old = get("/d/f") if os.path.exists("/d/f") else b""
        put("/d/f", old + b"+")

    @simfs.process
    def one(self, m: simfs.Handle) -> None:
        self.count()

    @simfs.process
    def two(self, m: simfs.Handle) -> None:
        self.count()

    @simfs.law
    def both_count(self, m: simfs.Handle) -> None:
        """Two pluses."""
        assert get("/d/f").count(b"+") == 2


class ReaderBetween(Planted):
    """A reader sees the file while it is empty."""

    power = False

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/f", b"new")

    @simfs.process
    def reader(self, m: simfs.Handle) -> None:
        m.effect("read", get("/d/f"))

    @simfs.law
    def never_empty(self, m: simfs.Handle) -> None:
        """Nobody reads an empty file."""
        assert all(event.value != b"" for event in m.history)


class ReaderBetweenAmidNoise(ReaderBetween):
    """The same, and a third process that has nothing to do with it."""

    @simfs.process
    def bystander(self, m: simfs.Handle) -> None:
        put("/d/b", b"b")


class KilledHalfway(Planted):
    """A kill leaves the lock file; but so does a plain return on a busy day: the kill is not needed."""

    kills = 1
    power = False

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/lock", b"")
        put("/d/g", b"g")

    @simfs.law
    def no_lock_stays(self, m: simfs.Handle) -> None:
        """No lock file is left."""
        assert not os.path.exists("/d/lock")


class KillNeeded(Planted):
    """Only a kill leaves the lock file."""

    kills = 1
    power = False

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/lock", b"")
        put("/d/g", b"g")
        os.unlink("/d/lock")

    @simfs.law
    def no_lock_stays(self, m: simfs.Handle) -> None:
        """No lock file is left."""
        assert not os.path.exists("/d/lock")


class SwallowedFault(Planted):
    """A write that fails is swallowed, and promised all the same."""

    power = False
    faults: Any = (Errno(("write",), path="/d/g"),)

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/n", b"n")
        fd = os.open("/d/g", os.O_WRONLY | os.O_CREAT)
        try:
            os.write(fd, b"g")
        except OSError:
            pass
        os.close(fd)
        m.ack("g")

    @simfs.law
    def promised_is_there(self, m: simfs.Handle) -> None:
        """A promised file has its byte."""
        assert not m.acked("g") or get("/d/g") == b"g"


class PowerNotFault(Planted):
    """Faults may strike, and none is needed."""

    faults: Any = (Errno(("fsync",)),)

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        try:
            put("/d/n", b"n", flush=True)
        except OSError:
            pass
        put("/d/g", b"g")
        m.ack("g")

    @simfs.law
    def promised_is_there(self, m: simfs.Handle) -> None:
        """A promised file is there."""
        assert not m.acked("g") or os.path.exists("/d/g")


class OneLossIsEnough(Planted):
    """Two power losses are allowed, and one is enough."""

    power_depth = 2

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/g", b"g")
        m.ack("g")

    @simfs.recover
    def tidy(self, m: simfs.Handle) -> None:
        if os.path.exists("/d/f"):
            os.replace("/d/f", "/d/h")

    @simfs.law
    def promised_is_there(self, m: simfs.Handle) -> None:
        """A promised file is there."""
        assert not m.acked("g") or os.path.exists("/d/g")


class PromiseOfAnother(Planted):
    """One process writes, another promises what it sees."""

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/n", b"n")
        put("/d/g", b"g")

    @simfs.process
    def promiser(self, m: simfs.Handle) -> None:
        if os.path.exists("/d/g"):
            m.ack("g")

    @simfs.law
    def promised_is_there(self, m: simfs.Handle) -> None:
        """A promised file is there."""
        assert not m.acked("g") or os.path.exists("/d/g")


class UnlinkedTooEarly(Planted):
    """The old file goes before the new one is durable."""

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/new", b"new")
        put("/d/note", b"note")
        os.unlink("/d/f")

    @simfs.law
    def one_of_them(self, m: simfs.Handle) -> None:
        """Old or new is there, whole."""
        olds = os.path.exists("/d/f") and get("/d/f") == b"old"
        assert olds or (os.path.exists("/d/new") and get("/d/new") == b"new")
