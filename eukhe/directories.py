"""The directories that lead to a store: which are missing, and what has to be made and flushed so that they stay.

A flushed file is gone after a power loss if the entry of a directory on its path was not durable. So a store that
opens takes care of the whole path below its home, by these rules:

1. A missing directory is made from the top down, and the directory that holds its entry is flushed before anything
   is put into the new one. So *a directory that holds something has a durable entry*, whoever made it.
2. A directory that is found empty may have been made by a process that died before it flushed. So before the first
   missing directory is made, the entry of the deepest one found is flushed too, by flushing the directory that
   holds it.
3. With nothing missing, the directories from the home down to the one that holds the store are owed a flush before
   open returns: an entry on the way may be from a process that died.
4. What is above the home is taken to be durable, except where rules 1 and 2 reach it. A directory above the home
   that we may not read is passed over: someone with more rights made the entry in it, before us.

Below the home no piece of the path may be a symbolic link: its target's entry lies elsewhere, and flushing by name
would not reach it. The home itself, and what is above, may.

`plan_directories` decides and does no I/O; `look` reads the facts; `carry_out` does the steps.
"""

from __future__ import annotations

import itertools
import os
import stat
from typing import Literal, NamedTuple

from eukhe.system import System

DirectoryStepKind = Literal["make", "flush", "flush_if_readable"]


class DirectoryStep(NamedTuple):
    """One thing to do with the directory at `path`."""

    kind: DirectoryStepKind
    path: str


class PathRefused(Exception):
    """The path cannot be a store's: outside its home, through a symbolic link, a file in the way."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


def plan_directories(
    fsync: bool, store: str, home: str, missing: tuple[str, ...]
) -> tuple[tuple[DirectoryStep, ...], tuple[str, ...]]:
    """The steps that make the missing directories (from the top; the last is the store's), and the directories whose
    flush the open still owes, from the top. Raises `PathRefused` for facts that cannot be."""
    above = ancestors_from(home, store)
    if not missing:
        return (), above if fsync else ()
    if missing[-1] != store or any(holder_of(low) != high for high, low in itertools.pairwise(missing)):
        raise PathRefused(store, "the missing directories are not one chain that ends at it")
    steps: list[DirectoryStep] = []
    found = holder_of(missing[0])
    if fsync:
        if found in above and found != home:
            steps.extend(DirectoryStep("flush", path) for path in ancestors_from(home, found))
        elif holder_of(found) != found:
            steps.append(DirectoryStep("flush_if_readable", holder_of(found)))
    for path in missing:
        steps.append(DirectoryStep("make", path))
        if fsync:
            steps.append(DirectoryStep("flush", holder_of(path)))
    return tuple(steps), ()


def ancestors_from(home: str, path: str) -> tuple[str, ...]:
    """The directories from the home down to the one that holds `path`, both in normal form. Raises `PathRefused`."""
    found: list[str] = []
    at = path
    while at != home:
        above = holder_of(at)
        if above == at or at == "." or at.endswith(".."):
            raise PathRefused(path, f"it does not lie below its home {home}")
        found.append(above)
        at = above
    if not found:
        raise PathRefused(path, "it is its own home")
    return tuple(reversed(found))


def holder_of(path: str) -> str:
    """The directory that holds a path's entry, by its spelling: `.` for a bare name, and `..` above that."""
    if path == ".":
        return ".."
    if path == ".." or path.endswith("/.."):
        return f"{path}/.."
    return os.path.dirname(path) or "."


def look(system: System, store: str, home: str) -> tuple[str, ...]:
    """The directories missing on the way to the store, from the top. Raises `PathRefused` and `OSError`."""
    between = ancestors_from(home, store)[1:]
    missing: list[str] = []
    at = store
    while not _is_directory(system, at, at == store or at in between):
        missing.append(at)
        at = holder_of(at)
    for above in between:
        if above != at and above not in missing:
            _is_directory(system, above, True)
    return tuple(reversed(missing))


def carry_out(system: System, steps: tuple[DirectoryStep, ...]) -> None:
    """Do the steps in order. Raises the first `OSError`, after taking back the directory whose entry's flush failed:
    a later flush would not cover that entry, and made anew it is covered."""
    made: str | None = None
    for step in steps:
        if step.kind == "make":
            made = step.path if _make(system, step.path) else None
        elif step.kind == "flush":
            try:
                flush_directory(system, step.path)
            except OSError:
                if made is not None:
                    _take_back(system, made)
                raise
        else:
            try:
                flush_directory(system, step.path)
            except PermissionError:
                pass


def _make(system: System, path: str) -> bool:
    try:
        system.mkdir(path, 0o700)
    except FileExistsError:
        # Someone else made it in the meantime, which serves as well: the flush that follows covers it too.
        return False
    return True


def _take_back(system: System, path: str) -> None:
    try:
        system.rmdir(path)
    except OSError:
        # As well as can be: what the caller hears of is the flush that failed.
        pass


def flush_directory(system: System, path: str) -> None:
    """Make the entries of a directory durable. Raises `OSError`."""
    fd = system.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        system.fsync(fd)
    finally:
        system.close(fd)


def _is_directory(system: System, path: str, below_home: bool) -> bool:
    """Whether a directory is there. Raises `PathRefused` for anything else."""
    try:
        found = system.lstat(path) if below_home else system.stat(path)
    except FileNotFoundError:
        return False
    if stat.S_ISLNK(found.st_mode):
        raise PathRefused(path, "a symbolic link below the home; use the path of the directory it leads to")
    if not stat.S_ISDIR(found.st_mode):
        raise PathRefused(path, "a file stands where a directory is needed; choose another path")
    return True
