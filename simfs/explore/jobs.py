"""One exploration over several processes of this host, with the answer of one.

Model. The unit of work is a plan of an exhaustive search, or a batch of sampled runs: both mean the same wherever
they are run. Workers are forked after setup, so they share the scenario as it stands; each takes a unit, searches it
on every model of the group, and answers with values: counts, digests of the images it met, the first broken law, and
what its runs suggest to plan next. The parent hands out units, and takes answers in the order of the units, never in
the order of arrival. So the plans that follow, the first broken law, and with it the shrunk counterexample are those
of one process alone. Only counts may differ: two workers may both judge an image that one process would have met
twice.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from simfs.disk.model import DiskModel
from simfs.explore.boot import Run
from simfs.explore.cuts import Known
from simfs.explore.dpor import Diverged
from simfs.explore.happens import Order
from simfs.explore.judge import Inconclusive
from simfs.explore.plan import Plan
from simfs.explore.ready import Ready
from simfs.explore.search import Found, OutOfBudget, Search, Violation
from simfs.explore.strategy import BATCH, SAMPLES, Plans, Runs, Seen
from simfs.explore.verdict import Searched

Unit = Plan | int
"""A plan, or the number of the first run of a sampled batch."""


@dataclass(slots=True)
class Part:
    """What one unit showed on one model."""

    searched: Searched
    digests: frozenset[int]
    violation: Violation | None = None
    status: str = ""
    reason: str = ""


@dataclass(slots=True)
class Answer:
    """What one unit showed, in the order of the models."""

    parts: list[Part]
    seen: Seen
    made: int
    classes: set[object] = field(default_factory=set)
    answers: tuple[int, ...] = ()
    """Where the schedule stood when the program turned out not to be deterministic."""


@dataclass(slots=True)
class Work:
    """What every worker inherits when it is forked."""

    ready: Ready
    models: Sequence[DiskModel]
    deadline: float | None


@dataclass(slots=True)
class Lane:
    """A worker's search on one model. It goes on from unit to unit, so that no image is judged twice by one worker."""

    search: Search
    known: Known
    part: Part
    counted: Searched

    def begin(self) -> None:
        """A new unit."""
        self.counted = replace(self.search.searched, bounds=[])
        self.part = Part(Searched(), self.search.digests)

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
        self.part.digests = self.search.digests - self.part.digests
        return self.part


_work: Work | None = None
_lanes: list[Lane] = []


def do_unit(unit: Unit) -> Answer:
    """Search one unit: the work of a worker."""
    assert _work is not None
    ready, spec = _work.ready, _work.ready.spec
    if not _lanes:
        for model in _work.models:
            search = Search(spec, model, ready.attributes, ready.base, _work.deadline)
            _lanes.append(Lane(search, Known(), Part(Searched(), frozenset()), Searched()))
    for lane in _lanes:
        lane.begin()
    runs, seen = Runs(spec, spec.processes, ready.attributes, ready.base), Seen()
    made = runs.of_plan(unit, seen) if isinstance(unit, Plan) else runs.of_numbers(spec.options["strategy"], unit)
    answers: tuple[int, ...] = ()
    try:
        for run, order in made:
            for lane in _lanes:
                lane.take(run, order)
            if not any(lane.runs for lane in _lanes):
                break
    except Diverged as diverged:
        answers = runs.answers()
        _end([lane.part for lane in _lanes], "diverged", str(diverged))
    parts = [lane.end(runs) for lane in _lanes]
    return Answer(parts, seen, runs.made, runs.classes, answers)


def _end(parts: Sequence[Part], status: str, reason: str) -> None:
    for part in parts:
        if part.violation is None and not part.status:
            part.status, part.reason = status, reason


def leave_ctrl_c() -> None:
    """Ctrl-C reaches every process of a terminal: what to do about it is for the one that shares out the work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def forked(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of forked workers; what they are still doing at its end is given up."""
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), leave_ctrl_c) as pool:
        try:
            yield pool
        finally:
            for process in list((pool._processes or {}).values()):
                process.terminate()


def share_out(work: Work, jobs: int) -> Iterator[Answer]:
    """The answers of all units, in the order of the units, from `jobs` workers. Stops when the caller does."""
    global _work
    spec = work.ready.spec
    sampled = spec.options["strategy"] not in ("exhaustive", "naive")
    plans = Plans(spec, len(spec.processes))
    _work = work
    try:
        with forked(jobs) as pool:
            waiting: list[tuple[Unit, Future[Answer]]] = []
            numbers = _batches(spec.options["budget"] is not None)
            while True:
                while len(waiting) < 2 * jobs:
                    unit: Unit | None = next(numbers, None) if sampled else plans.next()
                    if unit is None:
                        break
                    waiting.append((unit, pool.submit(do_unit, unit)))
                if not waiting:
                    return
                wait([waiting[0][1]], return_when=FIRST_COMPLETED)
                done, future = waiting.pop(0)
                answer = future.result()
                if isinstance(done, Plan):
                    plans.done(done, answer.seen)
                yield answer
    finally:
        _work = None


def _batches(endless: bool) -> Iterator[int]:
    first = 0
    while endless or first < SAMPLES:
        yield first
        first += BATCH
