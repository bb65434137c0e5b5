"""D3: a sweep that takes what a living process uses. pytest-dev/pytest#7911; relative: pytest-dev/py#30.

What happened. Each run makes a numbered directory with a lock file in it. A later run sweeps directories whose lock
file is older than three hours. A run that takes longer loses its files to its neighbour. The limit was raised to three
days; past that it is as before. In the relative, a sweep finds a directory dead; another one removes it; a new run
makes a directory of the same number; the first sweep now removes that one.

Why that is wrong. Age does not say whether an owner lives. And what was judged is not what is removed, when names are
used again.

What is right. The owner holds a lock of the kernel on the lock file while it lives; a sweep takes only what it can lock
itself. Directories are made, judged and removed under one lock of their parent, so that a sweep never meets one that is
half made, nor another of the same name.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from contextlib import suppress
from typing import Any

import simfs
from scenarios.reported.holding import locked, make_empty
from scenarios.reported.laws import STG1, STG2
from scenarios.reported.registry import Case

ROOT, PARENT_LOCK = "/runs", "/runs.lock"
LIMIT_S = 3 * 3600.0


class _Runs(simfs.Scenario):
    """A run makes a directory and is idle for longer than the limit, while others sweep; it finds its files after."""

    power = False

    def setup(self, m: Any) -> None:
        make_empty(PARENT_LOCK)
        os.mkdir(ROOT)

    def make(self) -> tuple[str, int]:
        """A directory of one's own, and the open file that says whose it is."""
        return make_numbered()

    def sweep(self) -> None:
        raise NotImplementedError

    @simfs.process
    def run(self, m: Any) -> None:
        path, fd = self.make()
        time.sleep(LIMIT_S + 2)
        try:
            with open(f"{path}/result", "w"):
                pass
        except FileNotFoundError:
            m.effect("lost")
        os.close(fd)

    @simfs.process
    def sweeper(self, m: Any) -> None:
        time.sleep(LIMIT_S + 1)
        self.sweep()

    @simfs.law(STG1)
    def the_living_keep_their_files(self, m: Any) -> None:
        assert not m.effects("lost"), "the directory of a living run was swept"

    @simfs.law(STG2)
    def the_dead_go(self, m: Any) -> None:
        time.sleep(LIMIT_S + 1)
        self.sweep()
        assert not os.listdir(ROOT), f"nobody lives, and {os.listdir(ROOT)} stays"


class _Reused(_Runs):
    """A dead directory is there; one process sweeps, another sweeps and then takes the lowest free number."""

    def setup(self, m: Any) -> None:
        super().setup(m)
        _, fd = make_numbered()
        os.close(fd)

    @simfs.process
    def run(self, m: Any) -> None:
        self.sweep()
        path, fd = self.make()
        try:
            with open(f"{path}/result", "w"):
                pass
        except FileNotFoundError:
            m.effect("lost")
        os.close(fd)

    @simfs.process
    def sweeper(self, m: Any) -> None:
        self.sweep()


class SweepsByAge(_Runs):
    """What is older than the limit is dead."""

    def sweep(self) -> None:
        for name in sorted(os.listdir(ROOT)):
            path = f"{ROOT}/{name}"
            if time.time() - os.stat(f"{path}/.lock").st_mtime > LIMIT_S:
                shutil.rmtree(path, ignore_errors=True)


class SweepsByName(_Reused):
    """What could be locked is dead; it is removed by name a moment later."""

    def sweep(self) -> None:
        for name in sorted(os.listdir(ROOT)):
            with suppress(FileNotFoundError):
                if is_free(f"{ROOT}/{name}/.lock"):
                    shutil.rmtree(f"{ROOT}/{name}", ignore_errors=True)


def make_numbered() -> tuple[str, int]:
    """The lowest free number, with a lock file that is held."""
    number = 0
    while True:
        path = f"{ROOT}/{number}"
        try:
            os.mkdir(path)
            break
        except FileExistsError:
            number += 1
    fd = os.open(f"{path}/.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return path, fd


def is_free(lock: str) -> bool:
    """Whether nobody holds this lock file."""
    fd = os.open(lock, os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(fd)


class _UnderParentLock(_Runs):
    """Made, judged and removed under the lock of the parent; a run may be killed anywhere."""

    kills = 1

    def make(self) -> tuple[str, int]:
        with locked(PARENT_LOCK):
            return make_numbered()

    def sweep(self) -> None:
        with locked(PARENT_LOCK):
            for name in sorted(os.listdir(ROOT)):
                path = f"{ROOT}/{name}"
                if not os.path.exists(f"{path}/.lock") or is_free(f"{path}/.lock"):
                    shutil.rmtree(path)


class SweepsWhatItLocks(_UnderParentLock):
    """A long run, and a sweep after the limit."""


class SweepsWhatItLocksTwice(_UnderParentLock, _Reused):
    """A dead directory, a sweep, and a run that sweeps too."""


CASES = (
    Case(
        "D3",
        "a directory swept by its age while its owner lives",
        "pytest-dev/pytest#7911",
        SweepsByAge,
        SweepsWhatItLocks,
        (STG1,),
    ),
    Case(
        "D3-reused",
        "a directory judged dead, removed by another, made anew, and removed again",
        "pytest-dev/py#30",
        SweepsByName,
        SweepsWhatItLocksTwice,
        (STG1,),
    ),
)
