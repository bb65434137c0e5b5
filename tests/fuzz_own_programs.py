"""One's own code as people write it, for `test_fuzz_own`: a settings file, a counter, a cache in a module."""

from __future__ import annotations

import errno
import json
import os
import socket
from typing import Any

import simfs
from simfs.machine.faults import Errno

PATH = "/settings.json"
CACHE: dict[str, int] = {}


def save(settings: dict[str, int], durably: bool) -> None:
    with open(PATH + ".new", "w") as file:
        json.dump(settings, file)
        if durably:
            file.flush()
            os.fsync(file.fileno())
    os.replace(PATH + ".new", PATH)
    if durably:
        directory = os.open("/", os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def load() -> dict[str, int]:
    try:
        with open(PATH) as file:
            found: dict[str, int] = json.load(file)
            return found
    except FileNotFoundError:
        return {}


class Saves(simfs.Program):
    """What was saved is there."""

    disk = "prefix"
    processes_max = 1
    kills = 0
    durably = False

    def op_save(self, m: Any, n: int) -> None:
        save({**load(), f"key {n}": 1}, self.durably)
        m.ack("saved", n)

    def op_load(self, m: Any, n: int) -> None:
        load()

    @simfs.law
    def what_was_saved_is_there(self, m: Any) -> None:
        lost = [n for label, n in m.acks if label == "saved" and f"key {n}" not in load()]
        assert not lost, f"key {lost[0]} is gone"


class DurableSaves(Saves):
    """What was saved is there, for it is flushed."""

    durably = True


class Count(simfs.Scenario):
    """Two processes count to two; each power loss is harmless, for nothing is lost on this disk."""

    disk = "scc"
    power = False

    def setup(self, m: Any) -> None:
        with open("/count", "w") as file:
            file.write("0")

    def add(self, m: Any) -> None:
        fd = os.open("/count", os.O_RDWR)
        count = int(os.pread(fd, 9, 0))
        os.pwrite(fd, str(count + 1).encode(), 0)
        os.close(fd)
        m.ack("added", count)

    @simfs.process
    def one(self, m: Any) -> None:
        self.add(m)

    @simfs.process
    def other(self, m: Any) -> None:
        self.add(m)

    @simfs.law
    def none_is_lost(self, m: Any) -> None:
        with open("/count") as file:
            assert int(file.read()) >= len(m.acks), "an addition is lost"


class Restarts(simfs.Scenario):
    """A process that starts again after each power loss says in which boot it runs; it runs in three at most."""

    disk = "scc"
    power_depth = 2
    last = 3

    @simfs.process(restart=2)
    def writer(self, m: Any) -> None:
        fd = os.open("/boots", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(fd, b"x")
        os.fsync(fd)
        os.close(fd)
        m.ack("wrote", m.boot)

    @simfs.law
    def boots_are_as_many(self, m: Any) -> None:
        assert all(boot < self.last for _, boot in m.acks), "it ran in the last boot"


class RestartsLess(Restarts):
    """It never runs in a fourth boot."""

    last = 4


class Cached(simfs.Program):
    """Memory is lost with the power, so a process never finds what another one has put into a module's dictionary."""

    disk = "scc"
    isolate = (__name__,)

    def op_put(self, m: Any, n: int) -> None:
        assert not set(CACHE) - {m.process}, "found what another process has put there"
        CACHE[m.process] = n

    @simfs.law
    def holds(self, m: Any) -> None:
        assert not CACHE


class Shared(Cached):
    """The same without copies."""

    isolate = ()


class Faulty(simfs.Program):
    """A flush that fails is met, and is no end of a process."""

    disk = "scc"
    faults = (Errno(("fsync",), code=errno.EIO),)
    kills = 0
    processes_max = 1

    def op_save(self, m: Any, n: int) -> None:
        save({"a": n}, True)

    @simfs.law
    def holds(self, m: Any) -> None:
        return


class Calm(Faulty):
    """The same, and none fails."""

    max_faults = 0


class Networked(simfs.Program):
    """What is not simulated."""

    def op_call(self, m: Any, n: int) -> None:
        socket.socket().connect(("127.0.0.1", 9))

    @simfs.law
    def holds(self, m: Any) -> None:
        return


class NoSetup(Calm):
    """What cannot begin."""

    def setup(self, m: Any) -> None:
        raise ValueError("no beginning")


class Aimless(simfs.Program):
    """A program with no operation."""

    @simfs.law
    def holds(self, m: Any) -> None:
        return


class Narrow(Aimless):
    """An operation that takes no number."""

    def op_save(self, m: Any) -> None:
        return
