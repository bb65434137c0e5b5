"""Holding and probing the lock file of a leftover.

The lock is the kernel's (`flock`): it dies with its process, whatever the process's number is used for later. A lock
on a file that has lost its name protects nothing, so who takes one looks whether the name still leads to the file.
The one who builds waits for a sweep that looks at the file just then; a sweep waits for nobody.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat

from eukhe.staging import rules
from eukhe.staging.rules import Probe, Purpose
from eukhe.system import StatResult, System

TRIES_MAX = 8
"""How many names a builder tries before it gives up: each was swept away at once, which a sane clock does not do."""


class HeldLock:
    """A lock file that this process made and holds. `leftover` is the path that it protects."""

    def __init__(self, system: System, leftover: str, fd: int) -> None:
        self._system = system
        self.leftover = leftover
        self._fd = fd

    @classmethod
    def make(cls, system: System, directory: str, name: str, purpose: Purpose) -> HeldLock:
        """Make and lock the lock file for a new leftover of `name`. Raises `OSError` and `RuleRefused`."""
        for _ in range(TRIES_MAX):
            leftover = f"{directory}/{rules.mint(name, purpose, system.urandom(16).hex())}"
            path = leftover + rules.LOCK_SUFFIX
            fd = system.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                system.flock(fd, fcntl.LOCK_EX)
                if leads_to(system, path, fd):
                    return cls(system, leftover, fd)
            except BaseException:
                system.close(fd)
                raise
            system.close(fd)
        raise OSError(errno.EBUSY, f"{TRIES_MAX} lock files were swept away at once; check the clock", directory)

    def remove(self) -> None:
        """Remove the lock file and give up the lock: the last step of a build. Raises `OSError`."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        try:
            self._system.unlink(self.leftover + rules.LOCK_SUFFIX)
        except FileNotFoundError:
            pass
        finally:
            self._system.close(fd)

    def abandon(self) -> None:
        """Give up the lock and leave the file, for a sweep to find. Raises `OSError`."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            self._system.close(fd)


class ProbedLock:
    """The lock file of a leftover as a sweep finds it; while `probe` is "free", the sweep holds it."""

    def __init__(self, probe: Probe, fd: int = -1, touched_ns: int | None = 0) -> None:
        self.probe = probe
        self.fd = fd
        self.touched_ns = touched_ns

    @classmethod
    def take(cls, system: System, parent: int, name: str) -> ProbedLock:
        """Try to lock the file `name` of the directory open as `parent`. Never raises for what the file is."""
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            fd = system.open(name, flags, dir_fd=parent)
        except FileNotFoundError:
            return cls("missing")
        except OSError:
            return cls("unknown", touched_ns=None)
        try:
            system.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = system.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, "no regular file", name)
        except BlockingIOError:
            system.close(fd)
            return cls("held")
        except OSError:
            system.close(fd)
            return cls("unknown", touched_ns=None)
        return cls("free", fd, newest(found))

    def give_up(self, system: System) -> None:
        """Let go of the lock. Raises `OSError`."""
        if self.fd >= 0:
            system.close(self.fd)
            self.fd = -1


def newest(found: StatResult) -> int:
    """When an inode was last touched, in nanoseconds: its content or names, or anything else of it."""
    return max(found.st_mtime_ns, found.st_ctime_ns)


def leads_to(system: System, path: str, fd: int) -> bool:
    """Whether a name leads to the very file that is open as `fd`. Raises `OSError`."""
    try:
        named = system.lstat(path)
    except FileNotFoundError:
        return False
    opened = system.fstat(fd)
    return (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)
