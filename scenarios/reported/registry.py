"""The registry of reported cases. A module of this package offers its own in a tuple `CASES`; nothing else is needed.

    CASES = (
        Case("A4", "an append in several writes is torn apart by another's", "owner/repo#3350", Wrong, Right, (DUR3,)),
    )

A report that was answered by several wrong programs has several cases: "D7-waits", "D7-debris". The id of the report
is what stands before the hyphen. The right twin's `disk` is what it claims; its verdict says what was searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules

import scenarios.reported as package
from simfs.disk.models import MODELS, models_named
from simfs.explore.law import Law
from simfs.explore.scenario import Scenario

EVERY_MODEL = tuple(MODELS)
"""What a right twin claims that is right on each disk model there is."""
ATOMIC_RENAMES = tuple(name for name in MODELS if name != "posix-weakest")
"""What a right twin claims that counts on a rename being there as a whole or not at all."""


@dataclass(frozen=True, slots=True)
class Case:
    """One fault: `wrong` breaks each law of `laws`, searched for by itself; `right` breaks none."""

    id: str
    title: str
    reference: str
    """Where it was reported: "owner/repo#number"."""
    wrong: type[Scenario]
    right: type[Scenario]
    laws: tuple[Law, ...]
    """The laws that `wrong` breaks, the one that the report is about first."""

    @property
    def report(self) -> str:
        """Id of the report, without the variant."""
        return self.id.split("-")[0]

    @property
    def law(self) -> Law:
        """The law that the report is about."""
        return self.laws[0]

    @property
    def claims(self) -> tuple[str, ...]:
        """Names of the disk models on which the right twin claims to be right."""
        return tuple(model.name for model in models_named(self.right.disk))

    @property
    def scenarios(self) -> tuple[type[Scenario], type[Scenario]]:
        """Both programs; their names are `reported_ID_wrong` and `reported_ID_right`."""
        return self.wrong, self.right


@lru_cache(maxsize=1)
def cases() -> tuple[Case, ...]:
    """Every case of every module of this package, by id. Two cases of one id are a mistake of the package."""
    found: dict[str, Case] = {}
    for info in iter_modules(package.__path__):
        module = import_module(f"{package.__name__}.{info.name}")
        for case in getattr(module, "CASES", ()):
            assert case.id not in found, f"two reported cases have the id {case.id}"
            found[case.id] = case
            for kind, end in zip(case.scenarios, ("wrong", "right"), strict=True):
                kind.name = f"reported_{case.id}_{end}"
    return tuple(found[key] for key in sorted(found))
