"""D7: a lock that is made in two steps. coalesce-labs/catalyst#3921 and receptron/mulmoclaude PR#2690.

What happened. To take a lock, a process makes a directory and then writes into it who it is. If it dies in between, the
lock has no owner. One tool took such a lock for a live one and waited for ever. Another, in its first version, took it
for debris and removed it: a lock that was just being made.

Why that is wrong. Both tools answer the same state, and each answer is wrong in one of the two ways to get there. The
state should not exist. A limit on its age does not help: a process may be paused for longer than any limit, and go on.

What is right. The lock appears together with its owner: written to a file of one's own, then linked to the name of the
lock, which fails if it is there. Then a lock always says whose it is, and whether that process lives can be asked.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Any

import simfs
from scenarios.reported.holding import WITNESS, assert_one_holder, holding, make_empty
from scenarios.reported.laws import CLM1, CLM5
from scenarios.reported.registry import Case

LOCK = "/lock"
TRIES, PAUSE_S, AGE_S = 2, 3600.0, 60.0


class _TwoProcesses(simfs.Scenario):
    """Two processes want a lock and try again after an hour; one may be killed or paused at any moment."""

    power = False
    kills = 1

    def setup(self, m: Any) -> None:
        make_empty(WITNESS)

    def take(self) -> bool:
        """Whether the caller has the lock now."""
        raise NotImplementedError

    def give_back(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(f"{LOCK}/owner")
            os.rmdir(LOCK)

    def work(self, m: Any) -> None:
        for again in range(TRIES):
            if again:
                time.sleep(PAUSE_S)
            if self.take():
                with holding(m):
                    m.effect("held")
                self.give_back()
                return

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
    def can_be_taken_now(self, m: Any) -> None:
        if not self.take():
            time.sleep(PAUSE_S)
            assert self.take(), "nobody lives who could hold it, and it cannot be taken"


class _MadeThenSigned(_TwoProcesses):
    """Make the directory; write the owner into it."""

    def is_debris(self) -> bool:
        """What to think of a lock without an owner."""
        raise NotImplementedError

    def take(self) -> bool:
        try:
            os.mkdir(LOCK)
        except FileExistsError:
            if not self.can_be_removed():
                return False
            self.give_back()
            try:
                os.mkdir(LOCK)
            except FileExistsError:
                return False
        try:
            with open(f"{LOCK}/owner", "w") as file:
                file.write(f"{os.getpid()}")
        except FileNotFoundError:
            return False
        return True

    def can_be_removed(self) -> bool:
        try:
            with open(f"{LOCK}/owner") as file:
                owner = file.read()
        except FileNotFoundError:
            owner = ""
        return not is_alive(int(owner)) if owner else self.is_debris()


class NoOwnerLives(_MadeThenSigned):
    """A lock without an owner is somebody's who is about to sign."""

    def is_debris(self) -> bool:
        return False


class NoOwnerIsDebris(_MadeThenSigned):
    """A lock without an owner is left over from a dead process."""

    def is_debris(self) -> bool:
        return True


class NoOwnerForAMinuteIsDebris(_MadeThenSigned):
    """A lock without an owner is left over if it is older than a minute."""

    def is_debris(self) -> bool:
        try:
            return time.time() - os.stat(LOCK).st_mtime > AGE_S
        except FileNotFoundError:
            return False


class LinkedWithItsOwner(_TwoProcesses):
    """Write the owner to a file of one's own, link it to the name of the lock."""

    def take(self) -> bool:
        mine = f"{LOCK}.{os.getpid()}.{os.urandom(4).hex()}"
        with open(mine, "w") as file:
            file.write(f"{os.getpid()}")
        try:
            if linked(mine):
                return True
            try:
                with open(LOCK) as file:
                    owner = int(file.read())
            except FileNotFoundError:
                return False
            if is_alive(owner):
                return False
            with suppress(FileNotFoundError):
                os.unlink(LOCK)
            return linked(mine)
        finally:
            os.unlink(mine)

    def give_back(self) -> None:
        os.unlink(LOCK)


def linked(mine: str) -> bool:
    """Make `mine` the lock; whether it was free."""
    try:
        os.link(mine, LOCK)
        return True
    except FileExistsError:
        return False


def is_alive(pid: int) -> bool:
    """Whether a process of this number runs; the caller itself does not count as another one."""
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


CASES = (
    Case(
        "D7-waits",
        "a lock whose maker died before signing it is taken for live, for ever",
        "coalesce-labs/catalyst#3921",
        NoOwnerLives,
        LinkedWithItsOwner,
        (CLM5,),
    ),
    Case(
        "D7-debris",
        "a lock whose maker has not signed yet is taken for debris",
        "receptron/mulmoclaude#2690",
        NoOwnerIsDebris,
        LinkedWithItsOwner,
        (CLM1,),
    ),
    Case(
        "D7-age",
        "a lock whose maker was paused before signing is taken for debris after a minute",
        "coalesce-labs/catalyst#3921",
        NoOwnerForAMinuteIsDebris,
        LinkedWithItsOwner,
        (CLM1,),
    ),
)
