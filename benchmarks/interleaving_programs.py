"""The programs of `interleavings.py`: plain functions on files that both tools run, and scenarios for simfs alone."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import simfs


def replaces(root: str, who: int) -> None:
    """Add one to a counter: read it, write a temporary name, rename."""
    with open(f"{root}/counter") as file:
        value = int(file.read())
    with open(f"{root}/counter.{who}", "w") as file:
        file.write(str(value + 1))
    os.replace(f"{root}/counter.{who}", f"{root}/counter")


def overwrites(root: str, who: int) -> None:
    """Add one to a counter in place."""
    fd = os.open(f"{root}/counter", os.O_RDWR)
    os.pwrite(fd, b"%d" % (int(os.pread(fd, 8, 0)) + 1), 0)
    os.close(fd)


def creates(root: str, who: int) -> None:
    """Make a file that is not there; note it when it was us."""
    if not os.path.exists(f"{root}/claim"):
        mark(f"{root}/claim")
        mark(f"{root}/owner.{who}")


def answers(root: str, who: int) -> None:
    """An uploader (0) and a cleaner (1) that answer each other by markers."""
    if who == 0:
        mark(f"{root}/begun")
        if os.path.exists(f"{root}/asked"):
            mark(f"{root}/answered")
            if not os.path.exists(f"{root}/counter"):
                mark(f"{root}/lost")
    elif os.path.exists(f"{root}/begun"):
        mark(f"{root}/asked")
        if os.path.exists(f"{root}/answered"):
            os.unlink(f"{root}/counter")


def counts_two(root: str) -> bool:
    """Both additions are in the counter."""
    with open(f"{root}/counter") as file:
        return file.read() == "2"


def mark(path: str) -> None:
    """Make an empty file."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT))


def fresh(root: str) -> None:
    """Where each of the programs starts."""
    with open(f"{root}/counter", "w") as file:
        file.write("0")


BLIND: dict[str, tuple[Callable[[str, int], None], Callable[[str], bool]]] = {
    "read, then rename over": (replaces, counts_two),
    "read, then write in place": (overwrites, counts_two),
    "exists, then create": (
        creates,
        lambda root: not (os.path.exists(f"{root}/owner.0") and os.path.exists(f"{root}/owner.1")),
    ),
    "three preemptions": (answers, lambda root: not os.path.exists(f"{root}/lost")),
}


def counter(processes: int, steps: int) -> type[simfs.Scenario]:
    """The counter program for simfs."""

    def setup(m: Any) -> None:
        fd = m.system.open("/counter", os.O_RDWR | os.O_CREAT)
        m.system.pwrite(fd, b"0", 0)

    def adds(m: Any) -> None:
        fd = m.system.open("/counter", os.O_RDWR)
        for _ in range(steps):
            m.system.pwrite(fd, b"%d" % (int(m.system.pread(fd, 8, 0)) + 1), 0)

    made = simfs.scenario(setup=setup, processes=[adds] * processes, law=lambda: None, interpose=False)
    made.power = False
    return made


def locked_store() -> type[simfs.Scenario]:
    """Three processes that change a store under a lock: open, lock, read, write beside, rename, promise."""

    def setup(m: Any) -> None:
        for path in ("/jobs", "/lock"):
            m.system.close(m.system.open(path, os.O_RDWR | os.O_CREAT))

    def changes(m: Any) -> None:
        s = m.system
        lock = s.open("/lock", os.O_RDWR)
        s.flock(lock, fcntl.LOCK_EX)
        fd = s.open("/jobs", os.O_RDONLY)
        jobs = s.read(fd, 100)
        s.close(fd)
        mine = f"/jobs.{m.process}"
        fd = s.open(mine, os.O_WRONLY | os.O_CREAT)
        s.write(fd, jobs + b".")
        s.fsync(fd)
        s.close(fd)
        s.rename(mine, "/jobs")
        m.ack(m.process)
        s.close(lock)

    def nothing_lost(m: Any) -> None:
        assert m.system.stat("/jobs").st_size >= len(m.acks)

    made = simfs.scenario(setup=setup, processes=[changes] * 3, law=nothing_lost, interpose=False)
    made.power, made.kills = False, 1
    return made


def twenty_calls() -> type[simfs.Scenario]:
    """Two processes of ten visible calls each, of which a few conflict."""

    def setup(m: Any) -> None:
        m.system.close(m.system.open("/shared", os.O_RDWR | os.O_CREAT))

    def works(m: Any) -> None:
        s = m.system
        fd = s.open(f"/own.{m.process}", os.O_RDWR | os.O_CREAT)
        for place in range(3):
            s.pwrite(fd, b"x", place)
        shared = s.open("/shared", os.O_RDWR)
        for place in range(4):
            s.pwrite(shared, b"x", place)
        s.close(fd)

    made = simfs.scenario(setup=setup, processes=[works] * 2, law=lambda: None, interpose=False)
    made.power = False
    return made


def blind(name: str) -> type[simfs.Scenario]:
    """A blind spot for simfs."""
    program, holds = BLIND[name]

    def right() -> None:
        assert holds("")

    workers = [partial(program, "", who) for who in (0, 1)]
    made = simfs.scenario(setup=lambda: fresh(""), processes=workers, law=right)
    made.power = False
    return made
