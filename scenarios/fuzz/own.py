"""Anybody's own class as a target: a `Program`, or any other scenario, with the stage that its code needs.

Unmodified code reaches the machine as it does under `simfs run`: `interpose` and `isolate` hold here too. The branches
that guide the drawing are those of the class's module, of the modules beside it that it uses, and of what it isolates.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import partial
from types import ModuleType
from typing import Any

import simfs
from scenarios.entries import laws_of
from scenarios.fuzz.drawn_run import DrawnRun
from scenarios.fuzz.lives import lives_of
from scenarios.histories import Histories, History
from simfs.disk.model import DiskModel
from simfs.disk.models import models_named
from simfs.explore.choices import Choices
from simfs.explore.explorer import stage_set
from simfs.explore.law import COMPLETES
from simfs.explore.reference import reference_of
from simfs.explore.spec import drawn_spec_of

DRAWN = "drawn"
"""In brackets behind the name of a scenario that is no program: histories of it, not its search."""


def is_program(found: Any) -> bool:
    """Whether its processes are drawn."""
    return issubclass(found if isinstance(found, type) else type(found), simfs.Program)


def own_target(found: Any, reference: str = "") -> Histories:
    """A class or object as a target, which tokens call by this reference. Raises UsageError."""
    spec = drawn_spec_of(found)
    lives_of(spec)
    name = reference or reference_of(found)

    def make(model: DiskModel, choices: Choices) -> History:
        return DrawnRun(model, choices, spec)

    return Histories(
        name if is_program(found) else f"{name}[{DRAWN}]",
        spec.statement,
        make,
        (COMPLETES, *laws_of(found)),
        tuple(model.name for model in models_named(spec.options["disk"])),
        stage=partial(stage_set, spec),
        modules=tuple(sorted(_modules_of(found, spec.options["isolate"]))),
    )


def _modules_of(found: Any, isolated: Any) -> set[str]:
    """The modules whose branches are counted."""
    kind = found if isinstance(found, type) else type(found)
    own = {base.__module__ for base in kind.__mro__ if base.__module__.partition(".")[0] not in ("simfs", "builtins")}
    names = set(own)
    for name in own:
        module = sys.modules.get(name)
        place = os.path.dirname(getattr(module, "__file__", None) or "")
        names |= {other for other in _used_by(module) if place and _lies_below(other, place)}
    names |= {name for name in sys.modules if any(f"{name}.".startswith(f"{one}.") for one in isolated)}
    return names


def _used_by(module: ModuleType | None) -> Iterator[str]:
    for value in list(vars(module or ModuleType("none")).values()):
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name in sys.modules:
            yield name


def _lies_below(name: str, place: str) -> bool:
    file = getattr(sys.modules[name], "__file__", None) or ""
    return file.startswith(f"{place}{os.sep}") and "site-packages" not in file
