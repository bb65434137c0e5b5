"""Cleaners that take what is only just being made, or is idle: jelmer/dulwich#2336, eclipse-jgit/jgit#246,
systemd/systemd#30760.

*dulwich*: a directory for objects is made, and a file in it a moment later. A cleaner removes empty directories; it
meets the new one in between, and the file cannot be made. Right: who makes the file makes the directory again, as often
as it has gone.

*jgit*: a pack comes with an index. A cleaner removes each index that has no pack; the index that landed first is taken
before its pack is there, and the pack can be used by nobody. Right: both land under a lock that the cleaner takes too.

*systemd*: a cleaner removes what is old. A lock file that is held, yet was not written to for long, is old. The next
process makes a new file of that name and locks that: two hold the lock. Right: a cleaner removes a lock file only while
it holds the lock itself, and who gets a lock looks whether its file still has its name.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from typing import Any

import simfs
from scenarios.reported.holding import WITNESS, assert_one_holder, holding, locked, make_empty
from scenarios.reported.laws import CLM1, STG1, STG2
from scenarios.reported.registry import Case

OBJECTS, FAN = "/objects", "/objects/ab"
INDEX, PACK, GUARD = "/packs/1.idx", "/packs/1.pack", "/packs.lock"
LOCK, LIMIT_S = "/run/lock", 10.0


class _EmptyDirectories(simfs.Scenario):
    """One puts an object into a directory of its own, while another removes empty directories."""

    power = False

    def setup(self, m: Any) -> None:
        os.mkdir(OBJECTS)

    def put(self) -> None:
        raise NotImplementedError

    @simfs.process
    def writer(self, m: Any) -> None:
        try:
            self.put()
        except FileNotFoundError:
            m.effect("lost")

    @simfs.process
    def cleaner(self, m: Any) -> None:
        with suppress(OSError):
            if not os.listdir(FAN):
                os.rmdir(FAN)

    @simfs.law(STG1)
    def the_object_is_put(self, m: Any) -> None:
        assert not m.effects("lost"), "its directory was removed before the object could be put into it"


class MakesItOnce(_EmptyDirectories):
    """The directory is made, then the file in it."""

    def put(self) -> None:
        os.makedirs(FAN, exist_ok=True)
        make_empty(f"{FAN}/object")


class MakesItAgain(_EmptyDirectories):
    """The directory is made again as often as it has gone."""

    def put(self) -> None:
        while True:
            with suppress(FileExistsError):
                os.mkdir(FAN)
            with suppress(FileNotFoundError):
                make_empty(f"{FAN}/object")
                return


class _Pairs(simfs.Scenario):
    """A pack and its index land; a cleaner removes an index without a pack."""

    power = False

    def setup(self, m: Any) -> None:
        os.mkdir("/packs")
        make_empty(GUARD)

    def land(self) -> None:
        make_empty(INDEX)
        make_empty(PACK)

    def clean(self) -> None:
        if os.path.exists(INDEX) and not os.path.exists(PACK):
            os.unlink(INDEX)

    @simfs.process
    def writer(self, m: Any) -> None:
        self.land()
        m.ack("landed")

    @simfs.process
    def cleaner(self, m: Any) -> None:
        self.clean()

    @simfs.law(STG1)
    def the_pair_is_there(self, m: Any) -> None:
        assert not m.acked("landed") or os.path.exists(INDEX), "the pack has landed, and its index was taken"

    @simfs.law(STG2)
    def what_the_dead_left_goes(self, m: Any) -> None:
        self.clean()
        assert os.path.exists(PACK) or not os.path.exists(INDEX), "an index without its pack stays"


class LandsInTwoSteps(_Pairs):
    """First the index, then the pack."""


class LandsUnderLock(_Pairs):
    """Both under a lock that the cleaner takes too; the writer may be killed within."""

    kills = 1

    def land(self) -> None:
        with locked(GUARD):
            super().land()

    def clean(self) -> None:
        with locked(GUARD):
            super().clean()


class _IdleLock(simfs.Scenario):
    """A lock is held for long; a cleaner comes after the limit; another process wants the lock."""

    power = False

    def setup(self, m: Any) -> None:
        os.mkdir("/run")
        make_empty(WITNESS)

    def clean(self) -> None:
        raise NotImplementedError

    def take(self) -> int:
        fd = os.open(LOCK, os.O_RDWR | os.O_CREAT)
        fcntl.flock(fd, fcntl.LOCK_EX)
        return fd

    @simfs.process
    def holder(self, m: Any) -> None:
        fd = self.take()
        with holding(m):
            time.sleep(LIMIT_S + 2)
        os.close(fd)

    @simfs.process
    def cleaner(self, m: Any) -> None:
        time.sleep(LIMIT_S)
        self.clean()

    @simfs.process
    def newcomer(self, m: Any) -> None:
        time.sleep(LIMIT_S + 1)
        fd = self.take()
        with holding(m):
            pass
        os.close(fd)

    @simfs.law(CLM1)
    def one_holds_it(self, m: Any) -> None:
        assert_one_holder(m)

    @simfs.law(STG1)
    def what_is_held_stays(self, m: Any) -> None:
        assert not m.effects("took a held lock"), "the file of a lock that somebody holds was removed"


class RemovesByAge(_IdleLock):
    """What was not written to for the limit goes."""

    def clean(self) -> None:
        with suppress(FileNotFoundError):
            if time.time() - os.stat(LOCK).st_mtime >= LIMIT_S:
                os.unlink(LOCK)

    @simfs.law(STG1)
    def what_is_held_stays(self, m: Any) -> None:
        assert not m.effects("two holders"), "the file of a lock that somebody holds was removed"


class RemovesWhatItHolds(_IdleLock):
    """A lock file goes only while its remover holds the lock; a taker looks whether it still has its name."""

    def clean(self) -> None:
        try:
            fd = os.open(LOCK, os.O_RDWR)
        except FileNotFoundError:
            return
        with suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if time.time() - os.fstat(fd).st_mtime >= LIMIT_S and has_its_name(fd):
                os.unlink(LOCK)
        os.close(fd)

    def take(self) -> int:
        while True:
            fd = super().take()
            if has_its_name(fd):
                return fd
            os.close(fd)


def has_its_name(fd: int) -> bool:
    """Whether the name of the lock file still means the file that is open."""
    try:
        return os.path.samestat(os.stat(LOCK), os.fstat(fd))
    except FileNotFoundError:
        return False


CASES = (
    Case(
        "dulwich",
        "an empty directory is taken before its first file",
        "jelmer/dulwich#2336",
        MakesItOnce,
        MakesItAgain,
        (STG1,),
    ),
    Case(
        "jgit",
        "an index is taken for an orphan before its pack lands",
        "eclipse-jgit/jgit#246",
        LandsInTwoSteps,
        LandsUnderLock,
        (STG1,),
    ),
    Case(
        "systemd",
        "a held lock file is removed for its age",
        "systemd/systemd#30760",
        RemovesByAge,
        RemovesWhatItHolds,
        (CLM1, STG1),
    ),
)
