"""Walking down a directory without ever being led out of it.

Every step is taken from an open descriptor to a name in it, and no name is followed: a directory that is exchanged for
a symbolic link between the look and the step makes the step fail, or removes the link, and never what it leads to.
Another filesystem that is mounted below is not entered. What fails on one entry is told, and the walk goes on with
the others.

The walk is depth first, entries before the directory that holds them, with one open descriptor for each level.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import NamedTuple

from eukhe.staging.lock import newest
from eukhe.staging.rules import EntryKind
from eukhe.system import DirectoryEntry, System

DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_GONE_OR_LINK = (errno.ENOTDIR, errno.ELOOP)


class Visit(NamedTuple):
    """An entry of a walk: `name` in the directory open as `parent`; `fd` is its own descriptor if it is a directory,
    else -1. `path` says where it is, below where the walk began."""

    parent: int
    name: str
    fd: int
    path: str


class _Level(NamedTuple):
    fd: int
    name: str
    path: str
    entries: list[tuple[str, EntryKind]]


Problems = list[tuple[str, OSError]]
"""(where, what) of everything that failed on a walk."""


def names_in(system: System, fd: int) -> list[tuple[str, EntryKind]]:
    """The entries of an open directory, each with what it is, in the order of their names. Raises `OSError`."""
    with system.scandir(fd) as entries:
        return sorted((entry.name, kind_of(entry)) for entry in entries)


def kind_of(entry: DirectoryEntry) -> EntryKind:
    """What an entry is, never followed."""
    if entry.is_symlink():
        return "symlink"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def walk(system: System, parent: int, name: str, visit: Callable[[Visit], None]) -> Problems:
    """Visit everything in the directory `name`, then the directory itself. Answers what failed, `visit` included.

    Raises `OSError` where the directory itself cannot be entered.
    """
    problems: Problems = []
    levels = [_enter(system, parent, name, name)]
    device = 0
    try:
        device = system.fstat(levels[0].fd).st_dev
        while levels:
            level = levels[-1]
            if level.entries:
                child, kind = level.entries.pop()
                path = f"{level.path}/{child}"
                try:
                    if kind != "directory" or not _push(system, levels, child, path, device):
                        visit(Visit(level.fd, child, -1, path))
                except FileNotFoundError:
                    pass
                except OSError as error:
                    problems.append((path, error))
                continue
            above = levels[-2].fd if len(levels) > 1 else parent
            try:
                visit(Visit(above, level.name, level.fd, level.path))
            except FileNotFoundError:
                pass
            except OSError as error:
                problems.append((level.path, error))
            system.close(levels.pop().fd)
    finally:
        while levels:
            system.close(levels.pop().fd)
    return problems


def remove_tree(system: System, parent: int, name: str) -> Problems:
    """Remove a directory and all that is in it. Answers what could not be removed. Raises `OSError`."""

    def remove(entry: Visit) -> None:
        if entry.fd < 0:
            system.unlink(entry.name, dir_fd=entry.parent)
        else:
            system.rmdir(entry.name, dir_fd=entry.parent)

    return walk(system, parent, name, remove)


def newest_in(system: System, parent: int, name: str) -> int | None:
    """The newest time in a directory, its own included, in nanoseconds; None where not all could be looked at.

    Raises `OSError` where the directory cannot be entered.
    """
    times = [0]

    def look(entry: Visit) -> None:
        found = system.fstat(entry.fd) if entry.fd >= 0 else system.lstat(entry.name, dir_fd=entry.parent)
        times.append(newest(found))

    problems = walk(system, parent, name, look)
    return None if problems else max(times)


def flush_tree(system: System, parent: int, name: str) -> None:
    """Make a directory's files and entries durable, from the leaves up. Raises the first `OSError`."""

    def flush(entry: Visit) -> None:
        if entry.fd >= 0:
            system.fsync(entry.fd)
            return
        fd = system.open(entry.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=entry.parent)
        try:
            system.fsync(fd)
        finally:
            system.close(fd)

    for _, error in walk(system, parent, name, flush):
        raise error


def _enter(system: System, parent: int, name: str, path: str) -> _Level:
    fd = system.open(name, DIRECTORY_FLAGS, dir_fd=parent)
    try:
        return _Level(fd, name, path, names_in(system, fd)[::-1])
    except BaseException:
        system.close(fd)
        raise


def _push(system: System, levels: list[_Level], name: str, path: str, device: int) -> bool:
    """Go down into a directory; False where it is none any more. Raises `OSError`."""
    try:
        level = _enter(system, levels[-1].fd, name, path)
    except OSError as error:
        if error.errno in _GONE_OR_LINK:
            return False
        raise
    if system.fstat(level.fd).st_dev != device:
        system.close(level.fd)
        raise OSError(errno.EXDEV, "another filesystem is mounted here", path)
    levels.append(level)
    return True
