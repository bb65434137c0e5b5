"""Faults planted on purpose, to see that a night finds them: in tests, and one of them at the beginning of each night.

`PLANTED` has one for each store and kind: mutants of the catalogue of mutants, by a short name. `planting(names)`
breaks the stores in those ways while it lasts; `planted` is the wrapper through which every target gives a store its
system calls. Nothing is planted in any other way than by that, or by the variable SIMFS_PLANTED in the environment,
which tests set so that workers and replays have the same faults.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

from scenarios.mutants.mutant import Mutant
from simfs.errors import UsageError

__simfs_machinery__ = True

VARIABLE = "SIMFS_PLANTED"
CANARY, CANARY_TARGET = "tree-index", "tree_histories"
"""Found within a second, by any seed."""
PLANTED: dict[str, tuple[str, str]] = {
    "log-flush": ("storage", "no fsync of one/main.jsonl, 3rd in commit"),
    "log-truncation": ("storage", "a torn tail is not cut"),
    "sidecars-order": ("sidecars", "sidecars flushed behind the marker"),
    "epochs-order": ("epochs", "the epoch's end after the new files"),
    "epochs-lock": ("epochs", "a holder does not look what others did"),
    "cron-rule": ("cron", "an interrupted run is cleared without a word"),
    "cron-lock": ("cron", "no lock of .eukhe/cron-jobs.json.lock in claim_due"),
    "staging-rename": ("staging", "a publish may replace"),
    "listing-flush": ("staging", "no flush of the directory that holds it"),
    "tree-index": ("tree", "an indexed delete leaves what is below"),
    "state-rule": ("state", "a child before its parent is dropped"),
    "wire-frames": ("wire", "a frame begins one record late"),
}
"""Short name -> (module of `scenarios.mutants`, name of the mutant)."""

_wraps: dict[str, Callable[[Any, str], Any]] = {}
"""Of the faults that are planted at the moment."""


def planted(system: Any, process: str) -> Any:
    """The system calls of a process, with every planted fault in them."""
    for wrap in _wraps.values():
        system = wrap(system, process)
    return system


@cache
def mutant(name: str) -> Mutant:
    """A planted fault by its short name. Raises UsageError for one that there is not."""
    if name not in PLANTED:
        raise UsageError(f"{VARIABLE}: there is no planted fault {name!r}; there are {', '.join(PLANTED)}")
    module, wanted = PLANTED[name]
    made: list[Mutant] = __import__(f"scenarios.mutants.{module}", fromlist=["mutants"]).mutants()
    return next(one for one in made if one.name == wanted)


@contextmanager
def planting(names: Sequence[str]) -> Iterator[None]:
    """Inside the block the stores are broken in these ways; a fault that is planted already is not planted twice."""
    with ExitStack() as stack:
        for name in dict.fromkeys(names):
            if name in _wraps:
                continue
            one = mutant(name)
            stack.enter_context(one.broken())
            _wraps[name] = one.wrap
            stack.callback(_wraps.pop, name)
        yield


def asked_for() -> list[str]:
    """The names in the environment."""
    return [name for name in os.environ.get(VARIABLE, "").split(",") if name]
