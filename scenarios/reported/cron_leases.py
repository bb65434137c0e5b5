"""Claims and locks that are judged by time, or given away: agronholm/apscheduler#864, openclaw/openclaw#17949,
borgbackup/borg#10077, moxystudio/node-proper-lockfile#109, tox-dev/filelock#634.

What happened. A claim runs out after 30 seconds and is not renewed, so a long job is run again while it runs. A mark
"running" of a process that has died is cleared by the clock, and not by the path on which a person runs the job. The
age of a lock is the difference of two hosts' clocks, and a fast clock breaks living locks. A clock is set back, the
lock's stamp lies in the future, and the lock is never stale. A child inherits its parent's lock and releases it.

What is right. Ask whether the owner lives: a lock of the kernel, held for as long as the work takes, goes when its
owner does. Where that cannot be had, nobody reads the time in a stamp: it is watched, by the clock of the one who
watches, for whether it changes. Every path that looks at a mark first clears those of the dead. Only who took a lock
releases it.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from typing import Any

import simfs
from scenarios.reported.holding import WITNESS, assert_one_holder, holding, locked, make_empty
from scenarios.reported.laws import CLM1, CLM3, CLM5
from scenarios.reported.registry import Case

JOB, LOCK, GUARD = "/job", "/lock", "/guard"
CLAIM_S = 30.0
LIMIT_S = 30.0


def write(path: str, text: str) -> None:
    """In place; the guard keeps others out."""
    with open(path, "w") as file:
        file.write(text)


def read(path: str) -> str:
    """The whole file."""
    with open(path) as file:
        return file.read()


class _LongJob(simfs.Scenario):
    """A job is due that takes longer than a claim lasts; two processes look for work, one of them twice."""

    power = False

    def setup(self, m: Any) -> None:
        make_empty(GUARD, LOCK)
        write(JOB, "due")

    def work(self, m: Any) -> None:
        raise NotImplementedError

    @simfs.process
    def first(self, m: Any) -> None:
        self.work(m)

    @simfs.process
    def second(self, m: Any) -> None:
        self.work(m)
        time.sleep(2 * CLAIM_S)
        self.work(m)

    @simfs.law(CLM3)
    def once(self, m: Any) -> None:
        assert m.effects("run") <= 1, f"the job ran {m.effects('run')} times"


class ClaimRunsOut(_LongJob):
    """Who finds a claim that is older than 30 seconds takes it over."""

    def work(self, m: Any) -> None:
        with locked(GUARD):
            state = read(JOB)
            if state == "done" or (state != "due" and time.time() - float(state) < CLAIM_S):
                return
            write(JOB, f"{time.time()}")
        m.effect("run")
        time.sleep(4 * CLAIM_S)
        with locked(GUARD):
            write(JOB, "done")


class ClaimLivesWithItsOwner(_LongJob):
    """Who runs the job holds a lock of the kernel. A claim without it is that of a dead process, and goes on record."""

    kills = 1

    def work(self, m: Any) -> None:
        with open(LOCK) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            if read(JOB) == "claimed":
                write(JOB, "interrupted")
            if read(JOB) != "due":
                return
            write(JOB, "claimed")
            m.effect("run")
            time.sleep(4 * CLAIM_S)
            write(JOB, "done")


class _ByHand(simfs.Scenario):
    """A job is marked as running, and the process that ran it is dead. A person runs it by hand."""

    power = False

    def setup(self, m: Any) -> None:
        make_empty(LOCK)
        write(JOB, "running")

    def run_now(self, m: Any) -> None:
        raise NotImplementedError

    @simfs.process
    def person(self, m: Any) -> None:
        self.run_now(m)

    @simfs.law(CLM5)
    def it_can_be_run(self, m: Any) -> None:
        assert m.effects("run"), "the job cannot be run, because a process that is dead runs it"


class BelievesTheMark(_ByHand):
    """What is marked as running is not run."""

    def run_now(self, m: Any) -> None:
        if read(JOB) != "running":
            m.effect("run")


class ClearsTheDeadFirst(_ByHand):
    """Every path begins with clearing the marks of the dead."""

    def run_now(self, m: Any) -> None:
        with locked(LOCK):
            if read(JOB) == "running":
                write(JOB, "interrupted")
            m.effect("run")


class _Stamped(simfs.Scenario):
    """A lock file is stamped by its owner every ten seconds. Another host, whose clock is an hour fast, wants it."""

    power = False
    early_ticks = 0

    def setup(self, m: Any) -> None:
        make_empty(WITNESS)

    @simfs.process
    def owner(self, m: Any) -> None:
        write(LOCK, f"{time.time()}")
        with holding(m):
            for _ in range(4):
                time.sleep(10)
                write(LOCK, f"{time.time()}")
        os.unlink(LOCK)

    def is_dead(self, now: float) -> bool:
        raise NotImplementedError

    @simfs.process
    def other_host(self, m: Any) -> None:
        time.sleep(5)
        if self.is_dead(time.time() + 3600):
            with suppress(FileNotFoundError):
                os.unlink(LOCK)
            with holding(m):
                pass

    @simfs.law(CLM1)
    def one_holder(self, m: Any) -> None:
        assert_one_holder(m)


class ComparesTwoClocks(_Stamped):
    """Its age is the time here less the time that the owner wrote."""

    def is_dead(self, now: float) -> bool:
        return now - float(read(LOCK)) > LIMIT_S


class Watches(_Stamped):
    """Nobody has stamped it for as long as I have watched."""

    def is_dead(self, now: float) -> bool:
        before = stamp()
        time.sleep(LIMIT_S)
        return before is not None and stamp() == before


def stamp() -> str | None:
    """What is in the lock file, None without one."""
    try:
        return read(LOCK)
    except FileNotFoundError:
        return None


class _SetBack(simfs.Scenario):
    """A dead owner's lock file; somebody tries for ten minutes to get it; the clock is set back meanwhile."""

    power = False
    clock_jumps = (-94_608_000.0,)

    def setup(self, m: Any) -> None:
        write(LOCK, "dead")

    def is_stale(self) -> bool:
        raise NotImplementedError

    @simfs.process
    def newcomer(self, m: Any) -> None:
        for _ in range(20):
            if self.is_stale():
                os.unlink(LOCK)
                m.effect("got it")
                return
            time.sleep(LIMIT_S)

    @simfs.law(CLM5)
    def it_is_got(self, m: Any) -> None:
        assert m.effects("got it"), "the lock of a dead owner is in the way for ever"


class AgeBelowZero(_SetBack):
    """A stamp in the future is young, and will be for long."""

    def is_stale(self) -> bool:
        return time.time() - os.stat(LOCK).st_mtime > LIMIT_S


class WatchesTheStamp(_SetBack):
    """The stamp is compared with itself, later, by a clock that nobody sets."""

    def is_stale(self) -> bool:
        before, started = os.stat(LOCK).st_mtime_ns, time.monotonic()
        time.sleep(LIMIT_S)
        return os.stat(LOCK).st_mtime_ns == before and time.monotonic() - started >= LIMIT_S


class _Child(simfs.Scenario):
    """A process takes a lock and starts a child, which has a copy of the descriptor; another process wants the lock."""

    power = False

    def setup(self, m: Any) -> None:
        make_empty(LOCK, WITNESS)

    def child_ends(self, copy: int) -> None:
        raise NotImplementedError

    @simfs.process
    def parent(self, m: Any) -> None:
        fd = os.open(LOCK, os.O_RDWR)
        fcntl.flock(fd, fcntl.LOCK_EX)
        with holding(m):
            self.child_ends(os.dup(fd))
            time.sleep(1)
        os.close(fd)

    @simfs.process
    def other(self, m: Any) -> None:
        with locked(LOCK), holding(m):
            pass

    @simfs.law(CLM1)
    def one_holder(self, m: Any) -> None:
        assert_one_holder(m)


class ChildReleases(_Child):
    """The lock object is torn down in the child as well, and releases what it holds."""

    def child_ends(self, copy: int) -> None:
        fcntl.flock(copy, fcntl.LOCK_UN)
        os.close(copy)


class ChildOnlyCloses(_Child):
    """The child knows that it did not take the lock, and closes its copy."""

    def child_ends(self, copy: int) -> None:
        os.close(copy)


CASES = (
    Case("apscheduler864", "a claim runs out while its job still runs",
         "agronholm/apscheduler#864", ClaimRunsOut, ClaimLivesWithItsOwner, (CLM3,)),
    Case("openclaw17949", "a mark of a dead process is cleared on one path and not on the other",
         "openclaw/openclaw#17949", BelievesTheMark, ClearsTheDeadFirst, (CLM5,)),
    Case("borg10077", "the age of a lock is the difference of two clocks",
         "borgbackup/borg#10077", ComparesTwoClocks, Watches, (CLM1,)),
    Case("properlockfile109", "the clock is set back, and a dead lock is never stale",
         "moxystudio/node-proper-lockfile#109", AgeBelowZero, WatchesTheStamp, (CLM5,)),
    Case("filelock634", "a child releases the lock of its parent",
         "tox-dev/filelock#634", ChildReleases, ChildOnlyCloses, (CLM1,)),
)  # fmt: skip
