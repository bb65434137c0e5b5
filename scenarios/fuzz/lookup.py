"""From a name to what is fuzzed: a target of the catalogue, or one's own class as file.py:Class or module:Class.

A unit names its target by text, so whoever does it looks it up here: this process, one that was forked from it, or a
worker elsewhere that has the same files.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence

from scenarios import resolve
from scenarios.fuzz.targets import targets
from scenarios.histories import Histories
from simfs.errors import UsageError


def target_named(name: str) -> Histories:
    """The target of this name. Raises UsageError where there is none, or its module cannot be imported."""
    if _is_own(name):
        return resolve.drawn(name)
    known = targets()
    if name not in known:
        raise UsageError(_unknown(name, list(known)))
    return known[name]


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """The names of all that is asked for: a target, all of a store, a class, or all classes of a file. Raises
    UsageError."""
    known = targets()
    found: list[str] = []
    for name in names:
        fitting = [one for one in known if name in (one, one.partition("_")[0])]
        if not fitting and _is_own(name):
            fitting = [one.name for one in resolve.all_drawn(name)]
        if not fitting:
            raise UsageError(_unknown(name, list(known)))
        found += fitting
    return tuple(dict.fromkeys(found))


def why_unknown(name: str) -> str:
    """Why there is no such target, "" where there is: of one's own classes only the file or the module is looked for,
    and nothing is imported."""
    if not _is_own(name):
        known = targets()
        return "" if name in known else _unknown(name, list(known))
    place = name.rpartition(":")[0] or name
    if place.endswith(".py"):
        return "" if os.path.isfile(place) else f"there is no file {place!r} here"
    try:
        there = importlib.util.find_spec(place.partition(".")[0]) is not None or os.path.exists(place.partition(".")[0])
    except (ImportError, ValueError):
        there = False
    return "" if there else f"there is no module {place!r} here"


def _is_own(name: str) -> bool:
    return ":" in name or name.endswith(".py")


def _unknown(name: str, known: Sequence[str]) -> str:
    return f"no target {name!r}; there are {', '.join(known)}, and your own as file.py:Class"
