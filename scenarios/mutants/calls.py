"""Mutants made by machine: each flush, lock, rename and truncation that a store makes, removed in turn.

Nobody lists the calls. A store is run once under a system that notes them; each becomes one mutant. A call is known by
what a person would call it: which call, of which file, in which public call of the store, and the how-manieth of
these ("the 2nd fsync of main.jsonl in commit"). The mutant answers that one without making it, in every process and
in every recovery. What the table shows beside it is the line of the store that made the call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import eukhe
from scenarios.mutants.mutant import Mutant, Wrapped

__simfs_machinery__ = True

KINDS = {
    "fsync": "flush",
    "fdatasync": "flush",
    "flock": "lock",
    "rename": "rename",
    "renameat2": "rename",
    "ftruncate": "truncation",
}
"""The calls that are removed, and what the table calls them."""

_STORES = str(Path(eukhe.__file__).parent)


@dataclass(frozen=True, slots=True)
class CallName:
    """One call of a store: `nth` counts from 1 among equal ones of one process."""

    call: str
    path: str
    public: str
    nth: int

    def __str__(self) -> str:
        place = "/".join(self.path.rsplit("/", 2)[-2:])
        return f"{self.call} of {place}, {ordinal(self.nth)} in {self.public}"


class Naming(Wrapped):
    """A system that gives each removable call its name, and asks what to do with it.

    `decide(name, site)` answers whether the call is made. Only calls that a store makes are asked about.
    """

    def __init__(self, system: Any, decide: Callable[[CallName, str], bool]) -> None:
        super().__init__(system)
        self.decide = decide
        self.paths: dict[int, str] = {}
        self.counts: dict[tuple[str, str, str], int] = {}

    def open(self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """As the system's, remembering which path a descriptor stands for."""
        fd: int = self.system.open(path, flags, mode, dir_fd=dir_fd)
        self.paths[fd] = path
        return fd

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.system, name)
        if name not in KINDS:
            return call

        def named(*arguments: Any, **keywords: Any) -> Any:
            first = arguments[0]
            path = self.paths.get(first, "?") if isinstance(first, int) else str(first)
            public, site = _in_store(sys._getframe(1))
            key = (name, path, public)
            self.counts[key] = self.counts.get(key, 0) + 1
            if self.decide(CallName(*key, self.counts[key]), site):
                return call(*arguments, **keywords)
            return None

        return named


def _in_store(frame: Any) -> tuple[str, str]:
    """(the public call of the store that is running, file and line of the innermost line of the store)."""
    public, site = "?", ""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_STORES):
            site = site or f"{Path(file).name}:{frame.f_lineno}"
            public = frame.f_code.co_name
        frame = frame.f_back
    return public, site


def call_of_store(frame: Any) -> str:
    """The public call of a store that a frame is in, "?" outside of the stores."""
    return _in_store(frame)[0]


def removals(runs: Iterable[Callable[[Callable[[Any, str], Any]], None]]) -> list[Mutant]:
    """A mutant for each removable call of some runs, in the order in which they were first seen.

    A run is a function that takes a wrapper, `(system, process name) -> system`, and runs the store under it.
    """
    seen: dict[CallName, str] = {}

    def note(name: CallName, site: str) -> bool:
        seen.setdefault(name, site)
        return True

    for run in runs:
        run(lambda system, process: Naming(system, note))
    return [_removal(name, site) for name, site in seen.items()]


def _removal(gone: CallName, site: str) -> Mutant:
    def wrap(system: Any, process: str) -> Any:
        return Naming(system, lambda name, _: name != gone)

    return Mutant(f"no {gone}", KINDS[gone.call], wrap, site=site)


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, ..."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
