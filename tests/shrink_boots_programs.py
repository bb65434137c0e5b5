"""Planted faults that take two power losses, each wrapped in noise that its smallest story does not need."""

from __future__ import annotations

import os

import simfs
from tests.shrink_programs import Planted, flush_directory, get, put


class TwoLosses(Planted):
    """Two power losses in a row are tried."""

    power_depth = 2


class RecoveryInPlace(TwoLosses):
    """Recovery writes the file anew, in place."""

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/n1", b"noise", flush=True)
        put("/d/n2", b"noise")

    @simfs.recover
    def stamp(self, m: simfs.Handle) -> None:
        put("/d/m1", b"noise")
        put("/d/f", get("/d/f") + b"!", flush=True)
        put("/d/m2", b"noise")

    @simfs.law
    def old_stays(self, m: simfs.Handle) -> None:
        """What was there stays."""
        assert get("/d/f").startswith(b"old")


class RecoveryForgetsAFlush(TwoLosses):
    """Recovery takes the old file away before what it made of it is durable; it is whole unless it is crashed."""

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/n1", b"noise", flush=True)

    @simfs.recover
    def move(self, m: simfs.Handle) -> None:
        if os.path.exists("/d/f"):
            put("/d/g", get("/d/f"))
            os.unlink("/d/f")

    @simfs.law
    def one_of_them(self, m: simfs.Handle) -> None:
        """It is there under one of its names."""
        assert any(os.path.exists(f"/d/{name}") and get(f"/d/{name}") == b"old" for name in "fg")


class SecondLife(TwoLosses):
    """A process that comes back goes on without the flush that it needed the first time."""

    @simfs.process(restart=1)
    def writer(self, m: simfs.Handle) -> None:
        put("/d/n1", b"noise", flush=True)
        if not os.path.exists("/d/begun"):
            put("/d/begun", b"", flush=True)
            return
        put("/d/n2", b"noise", flush=True)
        put("/d/g", b"g")
        m.ack("g")
        put("/d/n3", b"noise")

    @simfs.law
    def promised_is_there(self, m: simfs.Handle) -> None:
        """A promised file is there."""
        assert not m.acked("g") or os.path.exists("/d/g")


class BelievesHalf(TwoLosses):
    """A process that comes back believes what a crash has left half done."""

    power_depth = 1

    @simfs.process(restart=1)
    def writer(self, m: simfs.Handle) -> None:
        put("/d/n1", b"noise", flush=True)
        flush_directory("/d")
        if os.path.exists("/d/g"):
            m.effect("read", get("/d/g"))
            put("/d/n2", b"noise")
            return
        put("/d/g", b"whole")

    @simfs.law
    def reads_all(self, m: simfs.Handle) -> None:
        """What is read is whole."""
        assert all(event.value == b"whole" for event in m.history)


class BystandersTwice(SecondLife):
    """The same beside a process that has nothing to do with it, in both lives."""

    @simfs.process(restart=1)
    def bystander(self, m: simfs.Handle) -> None:
        put("/d/b1", b"noise")


class ThreeLosses(TwoLosses):
    """Each life gets one step further; the third forgets a flush."""

    power_depth = 3

    @simfs.process(restart=2)
    def writer(self, m: simfs.Handle) -> None:
        for name in ("one", "two"):
            if not os.path.exists(f"/d/{name}"):
                put(f"/d/{name}", b"")
                return
        put("/d/n", b"noise")
        m.ack("three")
        put("/d/n2", b"noise")

    @simfs.law
    def promised_is_there(self, m: simfs.Handle) -> None:
        """What was promised is there."""
        assert not m.acked("three") or os.path.exists("/d/n")


class OneLifeIsEnough(TwoLosses):
    """A process that comes back writes on behind half a line; but its first life breaks the law as well."""

    @simfs.process(restart=1)
    def writer(self, m: simfs.Handle) -> None:
        put("/d/g", f"{m.boot}\n".encode(), mode="ab")
        m.ack("line", m.boot)

    @simfs.law
    def promised_is_there(self, m: simfs.Handle) -> None:
        """A promised line is there."""
        lines = get("/d/g").split(b"\n") if os.path.exists("/d/g") else []
        for _, number in m.acks:
            assert b"%d" % number in lines, f"line {number} is gone, there are {lines}"
