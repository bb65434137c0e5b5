"""What a night has found so far: counts by target, marks, happens-before classes, and failures grouped by their cause.

All of it is sums and sets, so results may be added in any order and the tallies of shards may be added up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from scenarios.fuzz.shrinking import size
from scenarios.fuzz.unit import Failure, Result


@dataclass(slots=True)
class Counts:
    """Of one target. `states` are disks recovered and judged after a power loss or a kill."""

    histories: int = 0
    states: int = 0
    seconds: float = 0.0
    broken: int = 0
    """Histories that broke a law."""


@dataclass(slots=True)
class Tally:
    """Everything; `failures` by id, of each the smallest list."""

    by_target: dict[str, Counts] = field(default_factory=dict)
    by_disk: dict[tuple[str, str], Counts] = field(default_factory=dict)
    marks: dict[str, set[int]] = field(default_factory=dict)
    classes: set[int] = field(default_factory=set)
    failures: dict[str, Failure] = field(default_factory=dict)
    fresh_of: dict[str, int] = field(default_factory=dict)
    """By target, marks that drawn histories showed and the corpus had not."""
    added: int = 0
    """Entries that the corpus did not have."""

    def add(self, result: Result) -> None:
        """The counts of one unit."""
        unit = result.unit
        for counts in (
            self.by_target.setdefault(unit.target, Counts()),
            self.by_disk.setdefault((unit.target, unit.disk), Counts()),
        ):
            counts.histories += result.histories
            counts.states += result.states
            counts.seconds += result.seconds
            counts.broken += sum(result.times.values())
        self.classes |= result.classes

    def note(self, target: str, marks: Iterable[int]) -> int:
        """How many of these marks nobody has shown before; they are known from now on."""
        known = self.marks.setdefault(target, set())
        new = set(marks) - known
        known |= new
        return len(new)

    @property
    def fresh(self) -> int:
        """Of all targets."""
        return sum(self.fresh_of.values())

    def fail(self, failure: Failure) -> bool:
        """Add a failure; whether it is the first of its id. Of several the smallest is kept."""
        other = self.failures.get(failure.id)
        if other is None or size(failure.choices) < size(other.choices):
            self.failures[failure.id] = failure
        return other is None
