"""The file of the jobs on disk: reading it, the lock, putting a new one in place, keeping a damaged one.

All writers hold the lock, a file `NAME.lock` that is never removed: a lock on a file that somebody may remove is a lock
on nothing. It is given back by hand before its descriptor is closed, because a child that is being started may have a
copy of the descriptor. The kernel drops the lock of a process that dies; one that is stopped keeps it, and others get
`CronBusy` in the end. Nobody ever writes without it.

A new file is written whole under a name of its own, flushed, renamed over the old one, and the directory is flushed: at
every moment the name holds the old file or the new one, and after the last flush the new one for good. A damaged file
gets a second name, which is flushed before the first one is put to other use. What a writer that died left under a
temporary name is nobody's, and the next holder of the lock removes it.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from eukhe import directories
from eukhe.cron.errors import CronBusy, CronFailed
from eukhe.system import RENAME_NOREPLACE, System

READ_BYTES = 1 << 20
LOCK_POLL_S = 0.005
"""How long somebody who waits for the lock sleeps between two tries."""
SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR, errno.EAGAIN)
"""Errors of a read that say nothing of the file."""


class Unread(Exception):
    """The file is there and cannot be read. The message says why."""


@contextmanager
def step(path: str, what: str) -> Iterator[None]:
    """Turn an `OSError` into `CronFailed` that names the step."""
    try:
        yield
    except OSError as error:
        raise CronFailed(path, what, error.strerror or str(error)) from error


@contextmanager
def locked(system: System, path: str, wait_s: float | None) -> Iterator[None]:
    """Hold the lock of a file. Waits for it `wait_s` seconds, then raises `CronBusy`; for ever if None."""
    with step(path, "opening the lock file"):
        fd = system.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with step(path, "locking"):
            _take(system, fd, path, wait_s)
        try:
            yield
        finally:
            with step(path, "unlocking"):
                system.flock(fd, fcntl.LOCK_UN)
    finally:
        _close(system, fd)


def _take(system: System, fd: int, path: str, wait_s: float | None) -> None:
    if wait_s is None:
        system.flock(fd, fcntl.LOCK_EX)
        return
    deadline: float | None = None
    while True:
        try:
            system.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            now = system.monotonic_ns() / 1e9
            deadline = now + wait_s if deadline is None else deadline
            if now >= deadline:
                raise CronBusy(path, wait_s) from None
            system.sleep(min(LOCK_POLL_S, deadline - now))


def read(system: System, path: str) -> bytes | None:
    """The bytes of the file, None where there is none. Raises `Unread`, and `CronFailed` where the system is short of
    something that has nothing to do with the file."""
    try:
        fd = system.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unread(path, error) from error
    pieces: list[bytes] = []
    try:
        while piece := system.read(fd, READ_BYTES):
            pieces.append(piece)
    except OSError as error:
        raise _unread(path, error) from error
    finally:
        _close(system, fd)
    return b"".join(pieces)


def _unread(path: str, error: OSError) -> Exception:
    why = error.strerror or str(error)
    if error.errno == errno.ELOOP:
        return CronFailed(path, "reading", "it is a symbolic link; use the path that it leads to")
    return CronFailed(path, "reading", why) if error.errno in SHORTAGES else Unread(f"it cannot be read ({why})")


def put_in_place(system: System, path: str, data: bytes) -> None:
    """Replace the file, durably. The lock is held. Raises `CronFailed`; until the rename the file is the old one."""
    temporary = f"{_temporary_prefix(path)}{system.urandom(8).hex()}"
    with step(path, "making a new file"):
        fd = system.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            with step(path, "writing the new file"):
                while data:
                    data = data[system.write(fd, data) :]
            with step(path, "flushing the new file"):
                system.fsync(fd)
        finally:
            with step(path, "closing the new file"):
                system.close(fd)
        with step(path, "putting the new file in place"):
            system.rename(temporary, path)
    except CronFailed:
        _remove(system, temporary)
        raise
    flush_directory(system, path)


def keep_aside(system: System, path: str, now_ms: int) -> str:
    """Give a damaged file a second, durable name that nothing has, and answer it. The lock is held."""
    aside = f"{path}.corrupt-{now_ms}-{system.urandom(4).hex()}"
    with step(path, f"keeping the damaged file as {aside}"):
        try:
            system.link(path, aside)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
                raise
            # No hard links here, or the damaged file is a directory: then the name itself is moved.
            system.renameat2(path, aside, RENAME_NOREPLACE)
    flush_directory(system, path)
    return aside


def flush_directory(system: System, path: str) -> None:
    """Make the entries of the file's directory durable. Raises `CronFailed`."""
    with step(path, "flushing the directory"):
        directories.flush_directory(system, directories.holder_of(path))


def make_directory(system: System, path: str, home: str) -> None:
    """Make the file's directory and what leads to it from the home, durably. Raises `CronFailed`."""
    holder = directories.holder_of(path)
    top = home if holder != home else directories.holder_of(home)
    if top == holder:
        # The root of everything: nothing leads to it.
        return
    with step(path, "making the directory"):
        try:
            missing = directories.look(system, holder, top)
            steps, owed = directories.plan_directories(True, holder, top, missing)
        except directories.PathRefused as error:
            raise CronFailed(path, "looking for the directory", str(error)) from None
        directories.carry_out(system, steps)
        for above in owed:
            try:
                directories.flush_directory(system, above)
            except PermissionError:
                # Its entry was made by somebody with more rights, before us.
                pass


def remove_leftovers(system: System, path: str) -> None:
    """Remove the temporary files of writers that died. The lock is held, so nobody is writing one."""
    holder, prefix = directories.holder_of(path), os.path.basename(_temporary_prefix(path))
    with step(path, "looking for leftovers"), system.scandir(holder) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        if name.startswith(prefix):
            _remove(system, f"{holder}/{name}")


def _temporary_prefix(path: str) -> str:
    holder, name = os.path.split(path)
    return os.path.join(holder, f".{name}.tmp-")


def _close(system: System, fd: int) -> None:
    try:
        system.close(fd)
    except OSError:
        # Nothing was written through it, and the descriptor is gone all the same.
        pass


def _remove(system: System, path: str) -> None:
    try:
        system.unlink(path)
    except OSError:
        # As well as can be: it is found again, and in nobody's way.
        pass
