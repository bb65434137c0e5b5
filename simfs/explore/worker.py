"""What a worker does: search units of an exploration, and answer with values.

A unit is a branch of the schedules of a plan (`splitting.py`), or a batch of sampled runs, by the number of its first.
It means the same wherever it is searched. The worker searches it on every model of the group; its searches go on from
unit to unit, so no worker judges an image twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from simfs.disk.model import DiskModel
from simfs.explore.boot import Run
from simfs.explore.cuts import Known
from simfs.explore.dpor import Diverged
from simfs.explore.happens import Order
from simfs.explore.judge import Inconclusive
from simfs.explore.ledger import Counts, Ledger
from simfs.explore.plan import Plan
from simfs.explore.ready import Ready
from simfs.explore.search import Found, OutOfBudget, Search, Violation
from simfs.explore.splitting import Branch, Left
from simfs.explore.strategy import Runs, Seen
from simfs.explore.verdict import Searched

Unit = tuple[Plan, Branch] | int
"""A branch of a plan, or the number of the first run of a sampled batch."""


@dataclass(slots=True)
class Part:
    """What one unit showed on one model. `ledger` says what of the counts belongs to which question."""

    searched: Searched
    digests: frozenset[int]
    ledger: dict[bytes, Counts] = field(default_factory=dict)
    violation: Violation | None = None
    status: str = ""
    reason: str = ""


@dataclass(slots=True)
class Answer:
    """What one unit showed, in the order of the models."""

    parts: list[Part]
    seen: Seen
    made: int
    left: Left
    classes: set[object] = field(default_factory=set)
    answers: tuple[int, ...] = ()
    """Where the schedule stood when the program turned out not to be deterministic."""


@dataclass(slots=True)
class Lane:
    """A worker's search on one model."""

    search: Search
    known: Known
    ledger: Ledger
    part: Part
    counted: Searched

    @classmethod
    def of(cls, ready: Ready, model: DiskModel) -> Lane:
        """A search that has not begun."""
        search = Search(ready.spec, model, ready.attributes, ready.base)
        search.ledger = Ledger(search.searched)
        return cls(search, Known(), search.ledger, Part(Searched(), frozenset()), Searched())

    def begin(self, deadline: float | None) -> None:
        """A new unit, to end at that monotonic time."""
        self.search.deadline = deadline
        self.counted = replace(self.search.searched, bounds=[])
        self.part = Part(Searched(), frozenset())

    def take(self, run: Run, order: Order | None) -> None:
        """Judge one run of the unit, if the unit has not ended on this model."""
        if not self.runs:
            return
        try:
            self.search.take(run, order, self.search.depth, (), self.known)
            self.search.check_time()
        except Found as found:
            self.part.violation = found.violation
        except Inconclusive as reason:
            self.part.status, self.part.reason = "inconclusive", str(reason)
        except OutOfBudget:
            self.part.status = "out of budget"

    @property
    def runs(self) -> bool:
        return self.part.violation is None and not self.part.status

    def end(self, runs: Runs) -> Part:
        """What the unit added."""
        self.search.close(runs, self.known)
        self.part.searched = self.search.searched.since(self.counted)
        self.part.digests = self.search.take_digests()
        self.part.ledger = self.ledger.take()
        return self.part


@dataclass(slots=True)
class Worker:
    """Searches units of one prepared scenario on some models."""

    ready: Ready
    models: Sequence[DiskModel]
    _lanes: list[Lane] = field(default_factory=list)

    def do(self, unit: Unit, deadline: float | None) -> Answer:
        """Search one unit; it ends early at that monotonic time."""
        ready, spec = self.ready, self.ready.spec
        self._lanes = self._lanes or [Lane.of(ready, model) for model in self.models]
        for lane in self._lanes:
            lane.begin(deadline)
        runs, seen = Runs(spec, spec.processes, ready.attributes, ready.base), Seen()
        made = runs.of_numbers(spec.options["strategy"], unit) if isinstance(unit, int) else runs.of_branch(*unit, seen)
        answers: tuple[int, ...] = ()
        try:
            for run, order in made:
                for lane in self._lanes:
                    lane.take(run, order)
                if not any(lane.runs for lane in self._lanes):
                    break
        except Diverged as diverged:
            answers = runs.answers()
            for lane in self._lanes:
                if lane.runs:
                    lane.part.status, lane.part.reason = "diverged", str(diverged)
        parts = [lane.end(runs) for lane in self._lanes]
        return Answer(parts, seen, runs.made, runs.left, runs.classes, answers)
