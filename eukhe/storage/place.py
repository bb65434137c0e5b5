"""Where a storage is to stand: which directories are there, and what has to be made or flushed so that it stays.

Only looks; the rules (`plan_directories`) say what follows. The home and what is above it may be reached through
symbolic links. Below the home there may be none: a directory's entry is flushed through the name of the directory
that holds it, and through a link that would be another one.
"""

from __future__ import annotations

import stat

from eukhe.errors import StorageUnusable
from eukhe.storage import rules
from eukhe.storage.rules import RuleRefused, Step
from eukhe.system import System


def plan_place(system: System, path: str, home: str, fsync: bool) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """Look at the directories from the storage upwards. Gives the steps to take before anything in the storage is
    opened, and the ancestors whose flush is owed before open returns. Raises `StorageUnusable` and `OSError`."""
    try:
        between = rules.ancestors_from(home, path)[1:]
    except RuleRefused as error:
        raise StorageUnusable(path, str(error)) from None
    missing: list[str] = []
    at = path
    while not _is_directory(system, at, at == path or at in between):
        missing.append(at)
        at = rules.holder_of(at)
    for above in between:
        if above != at and above not in missing:
            _is_directory(system, above, True)
    return rules.plan_directories(fsync, path, home, tuple(reversed(missing)))


def _is_directory(system: System, path: str, below_home: bool) -> bool:
    """Whether a directory is there. Raises `StorageUnusable` for anything else."""
    try:
        found = system.lstat(path) if below_home else system.stat(path)
    except FileNotFoundError:
        return False
    if stat.S_ISLNK(found.st_mode):
        raise StorageUnusable(path, "a symbolic link below the home; use the path of the directory it leads to")
    if not stat.S_ISDIR(found.st_mode):
        raise StorageUnusable(path, "a file stands where a directory is needed; choose another path")
    return True
