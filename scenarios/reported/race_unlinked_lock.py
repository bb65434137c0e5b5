"""D1: a lock file that is removed when the lock is given back. tox-dev/filelock#574; relatives: pycontribs/tendo#20,
derpston/python-simpleflock#2.

What happened. A process locks a file, works, removes the file and closes it. A second one had opened the file and
waited; it now gets the lock, of a file that has no name any more. A third makes a new file of that name and locks
that. Two processes work.

Why that is wrong. The lock belongs to the file, not to its name. Whoever removes the name takes it away from all
who come later, while those who waited still hold on to the old file.

What is right. Never remove it. Or, once the lock is there, look whether the name still means the file that was locked,
and begin anew if it does not.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from typing import Any

import simfs
from scenarios.reported.holding import WITNESS, assert_one_holder, holding, make_empty
from scenarios.reported.laws import CLM1
from scenarios.reported.registry import Case

LOCK = "/lock"


class _RemovedOnRelease(simfs.Scenario):
    """Three processes take a lock, hold it, give it back, and remove its file: one at a time holds it."""

    power = False

    def setup(self, m: Any) -> None:
        make_empty(WITNESS)

    def acquire(self) -> int:
        raise NotImplementedError

    def work(self, m: Any) -> None:
        fd = self.acquire()
        with holding(m):
            pass
        with suppress(FileNotFoundError):
            os.unlink(LOCK)
        os.close(fd)

    @simfs.process
    def first(self, m: Any) -> None:
        self.work(m)

    @simfs.process
    def second(self, m: Any) -> None:
        self.work(m)

    @simfs.process
    def third(self, m: Any) -> None:
        self.work(m)

    @simfs.law(CLM1)
    def one_holder(self, m: Any) -> None:
        assert_one_holder(m)


class TrustsTheDescriptor(_RemovedOnRelease):
    """Open, lock: whatever file that is by now."""

    def acquire(self) -> int:
        fd = os.open(LOCK, os.O_RDWR | os.O_CREAT)
        fcntl.flock(fd, fcntl.LOCK_EX)
        return fd


class LooksAtTheName(_RemovedOnRelease):
    """Open, lock, and begin anew unless the name still means this file. Only the holder removes it."""

    def acquire(self) -> int:
        while True:
            fd = os.open(LOCK, os.O_RDWR | os.O_CREAT)
            fcntl.flock(fd, fcntl.LOCK_EX)
            try:
                named = os.stat(LOCK)
            except FileNotFoundError:
                named = None
            if named is not None and os.path.samestat(named, os.fstat(fd)):
                return fd
            os.close(fd)


CASES = (
    Case(
        "D1",
        "a lock file removed on release is locked twice",
        "tox-dev/filelock#574",
        TrustsTheDescriptor,
        LooksAtTheName,
        (CLM1,),
    ),
)
