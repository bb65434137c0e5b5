"""Deleting a session: out of the listing at once and for good, then its bytes.

A storage is renamed to a tombstone and that rename made durable before anything in it is removed: at every moment
the session is whole under its name or not there. The tombstone's lock is held until all is gone; a deletion that dies
leaves a tombstone that a sweep takes. A storage that somebody has open for writing is in use, and stays.

A legacy file of the same name would be listed again as soon as the storage is gone, in the state before its import.
So it goes first.
"""

from __future__ import annotations

import fcntl
import os

from eukhe.directories import flush_directory
from eukhe.errors import StorageInUse, StorageUnusable
from eukhe.sessions.errors import SessionNotFound, SessionsFailed
from eukhe.sessions.rules import LEGACY_SUFFIX
from eukhe.staging.lock import HeldLock, leads_to
from eukhe.staging.rules import is_session_name
from eukhe.staging.tree import remove_tree
from eukhe.storage.rules import MAIN_NAME
from eukhe.system import OsSystem, System


def delete_session(directory: str, name: str, *, system: System | None = None) -> list[tuple[str, OSError]]:
    """Delete the session `name`. Answers what could not be removed of it: a sweep will try again.

    When this returns, the session is gone and stays gone. Raises `SessionNotFound`, `StorageInUse`, and
    `SessionsFailed` where a call fails. Source: seed D2, staging; design, delete.
    """
    used: System = OsSystem() if system is None else system
    place = f"{directory}/{name}"
    if not is_session_name(name):
        raise SessionNotFound(place)
    try:
        storage = _open_storage(used, place)
        if storage < 0:
            if not _remove_legacy(used, directory, place):
                raise SessionNotFound(place)
            storage = _open_storage(used, place)  # it may have been imported in between; from now on it cannot be
            if storage < 0:
                return []
        try:
            return _bury(used, directory, name, storage)
        finally:
            used.close(storage)
    except OSError as error:
        raise SessionsFailed(place, "delete", error.strerror or str(error)) from error


def _open_storage(system: System, place: str) -> int:
    """The main.jsonl of a storage, locked; -1 where there is no directory of the name. Raises `OSError` too."""
    try:
        fd = system.open(f"{place}/{MAIN_NAME}", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        try:
            system.lstat(place)
        except FileNotFoundError:
            return -1
        raise StorageUnusable(place, "no storage, so it is not deleted as one; look what it is") from None
    try:
        system.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not leads_to(system, f"{place}/{MAIN_NAME}", fd):
            # Somebody else deleted it, and the name may be another session's by now.
            raise SessionNotFound(place)
    except BlockingIOError:
        system.close(fd)
        raise StorageInUse(place) from None
    except BaseException:
        system.close(fd)
        raise
    return fd


def _bury(system: System, directory: str, name: str, storage: int) -> list[tuple[str, OSError]]:
    _remove_legacy(system, directory, f"{directory}/{name}")
    lock = HeldLock.make(system, directory, name, "deleted")
    buried = False
    try:
        try:
            system.rename(f"{directory}/{name}", lock.leftover)
        except FileNotFoundError:
            raise SessionNotFound(f"{directory}/{name}") from None
        buried = True
        flush_directory(system, directory)
        parent = system.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            problems = remove_tree(system, parent, os.path.basename(lock.leftover))
        finally:
            system.close(parent)
    except BaseException:
        if buried:
            lock.abandon()
        else:
            lock.remove()
        raise
    if problems:
        lock.abandon()
    else:
        lock.remove()
    return problems


def _remove_legacy(system: System, directory: str, place: str) -> bool:
    """Remove the legacy file of a name, durably; False where there is none. Raises `OSError`."""
    try:
        system.unlink(place + LEGACY_SUFFIX)
    except (FileNotFoundError, IsADirectoryError):
        return False
    flush_directory(system, directory)
    return True
