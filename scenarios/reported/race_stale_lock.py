"""D2: a stale lock that two take over. moxystudio/node-proper-lockfile#121; relatives: npm/lockfile#4,
tox-dev/filelock#576, volcengine/OpenViking#4591.

What happened. A lock is a directory; one that was not touched for longer than a limit is stale. Two processes find a
stale lock. One removes it and makes its own. The other, a moment behind, removes that fresh one and makes its own.
Both hold it.

Why that is wrong. What was looked at is not what is removed: between the two, the name came to mean another lock.

What is often said to be right, and is not (*put back*): move the lock aside under a name of one's own, look whether it
is the stale one, and put it back if it is fresh. While the fresh one is aside, its name is free; with a third process
there are two holders again. The recipe is right for two.

What is right. Only one process breaks locks at a time: it holds a lock of the kernel on another file while it looks and
removes. A dead owner removes nothing and nobody else may, so what it looked at is what it removes. If it dies
half-way, the kernel drops its lock, and what it made turns stale in turn.

All of this trusts the limit: a holder that lives touches its lock in time. The right twin says so by `early_ticks = 0`:
time passes only when everybody waits. A program that cannot promise that needs a lock of the kernel from the start.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Any

import simfs
from scenarios.reported.holding import WITNESS, assert_one_holder, holding, locked, make_empty
from scenarios.reported.laws import CLM1, CLM5
from scenarios.reported.registry import Case

LOCK, BREAKER = "/job.lock", "/job.lock.breaker"
LIMIT_S = 10.0


class _Stale(simfs.Scenario):
    """The owner of a lock is long dead; two processes want it: one after the other gets it, at least one does."""

    power = False

    def setup(self, m: Any) -> None:
        make_empty(WITNESS, BREAKER)
        os.mkdir(LOCK)
        long_ago = time.time() - 3 * LIMIT_S
        os.utime(LOCK, (long_ago, long_ago))

    def acquire(self) -> bool:
        """Whether the caller has the lock now; it may come back later if not."""
        raise NotImplementedError

    def work(self, m: Any) -> None:
        if self.acquire():
            with holding(m):
                m.effect("held")
            with suppress(FileNotFoundError):
                os.rmdir(LOCK)

    @simfs.process
    def one(self, m: Any) -> None:
        self.work(m)

    @simfs.process
    def other(self, m: Any) -> None:
        self.work(m)

    @simfs.law(CLM1)
    def one_holder(self, m: Any) -> None:
        assert_one_holder(m)

    @simfs.law(CLM5)
    def somebody_gets_it(self, m: Any) -> None:
        assert m.effects("held"), "the lock of the dead owner is still in everybody's way"


class RemovesWhatItFinds(_Stale):
    """Look at the age, remove, make."""

    def acquire(self) -> bool:
        if is_stale():
            with suppress(FileNotFoundError):
                os.rmdir(LOCK)
        return made()


class PutsBack(_Stale):
    """Move it aside, look whether it is the one that was stale, put it back if not."""

    def acquire(self) -> bool:
        if made():
            return True
        aside = f"{LOCK}.{os.getpid()}"
        try:
            seen = os.stat(LOCK)
            if time.time() - seen.st_mtime < LIMIT_S:
                return False
            os.rename(LOCK, aside)
        except FileNotFoundError:
            return False
        if os.path.samestat(os.stat(aside), seen):
            os.rmdir(aside)
            return made()
        os.rename(aside, LOCK)
        return False


class PutsBackAmongThree(PutsBack):
    """The same with a third process, which finds the name free."""

    @simfs.process
    def third(self, m: Any) -> None:
        self.work(m)


class OneBreaker(_Stale):
    """Look and remove under a lock of the kernel; wait for the limit and try again. One of the two may be killed."""

    kills = 1
    early_ticks = 0

    def acquire(self) -> bool:
        while not made():
            with locked(BREAKER):
                stale = is_stale()
                if stale:
                    os.rmdir(LOCK)
            if not stale:
                time.sleep(LIMIT_S)
        return True


class OneBreakerOfThree(OneBreaker):
    """The same with a third process, and nobody is killed."""

    kills = 0

    @simfs.process
    def third(self, m: Any) -> None:
        self.work(m)


def made() -> bool:
    """Make the lock; whether it was free."""
    try:
        os.mkdir(LOCK)
        return True
    except FileExistsError:
        return False


def is_stale() -> bool:
    """Whether the lock was not touched for longer than the limit; one that is gone is not stale."""
    try:
        return time.time() - os.stat(LOCK).st_mtime >= LIMIT_S
    except FileNotFoundError:
        return False


CASES = (
    Case(
        "D2",
        "a stale lock that is removed after somebody else took it over",
        "moxystudio/node-proper-lockfile#121",
        RemovesWhatItFinds,
        OneBreaker,
        (CLM1,),
    ),
    Case(
        "D2-putback",
        "a fresh lock that is moved aside and put back leaves its name free meanwhile",
        "tox-dev/filelock#576",
        PutsBackAmongThree,
        OneBreakerOfThree,
        (CLM1,),
    ),
)
