"""The search of one scenario on one disk model: every run, every crash point, every image, every law.

Flow. A run is recorded once. Its crash points are walked (prefixes of the op journal where one process ran, consistent
cuts where several did, see `cuts.py`), and at each the disk model enumerates what a power loss right there may leave;
each distinct image is recovered and judged. Recovery has an op journal of its own, whose points are walked in the same
way while losses remain (`power_depth`). Processes that restart after a power loss make another boot from each
recovered image, with all its runs. Nobody is re-run for a power loss.

On a model closed under loss only the points before a flush or a promise, and the last, need enumerating: the images of
the others are among those of the next such point. The counts say how many points are covered.

The search stops at the first broken law and keeps the path to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from simfs.disk.model import Disk, DiskModel
from simfs.disk.scc import SccDisk
from simfs.explore.boot import Run, loop_of, names_of
from simfs.explore.cuts import CUTS_BOUND, DECISIVE, SILENT, Cut, Known, cuts, happens_before, stamp, whole
from simfs.explore.handle import Event, events_of
from simfs.explore.happens import Order
from simfs.explore.judge import Inconclusive, Judge, event_key, finding, point_key
from simfs.explore.law import COMPLETES
from simfs.explore.lazy import Lazy
from simfs.explore.ledger import NO_LEDGER, Counts, Ledger, Merged
from simfs.explore.spec import Part, Spec
from simfs.explore.stage import Before
from simfs.explore.strategy import Runs
from simfs.explore.verdict import COUNTS, Crash, Finding, Leg, Path, Searched
from simfs.machine.errors import Deadlock, StepLimit
from simfs.machine.ops import FailedFlush, Flush, FlushAll, HistoryOp, Op, Write


class OutOfBudget(Exception):
    """The time is up; what was found so far stands."""


@dataclass(slots=True)
class Violation:
    """A broken law and the way to it."""

    finding: Finding
    path: Path


class Found(Exception):
    """Ends the search with a violation."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(violation.finding.message)
        self.violation = violation


@dataclass(slots=True)
class Way:
    """How a crash point is reached: the path before this boot, the leg so far, and what may still follow."""

    path: Path
    leg: Leg
    depth: int
    """Power losses left, this one included."""
    restarts: list[Part]

    def crashed(self, crash: Crash) -> Path:
        return (*self.path, Leg(self.leg.schedule, crash, self.leg.recovery, self.leg.plan))


@dataclass(slots=True)
class Search:
    """One search. `deadline` is real monotonic time in seconds; `progress` is told the counts now and then."""

    spec: Spec
    model: DiskModel
    attributes: dict[str, Any]
    base: Before
    deadline: float | None = None
    progress: Callable[[Searched], None] | None = None
    ledger: Ledger | None = None
    """Where it is one of several: what each question added to the counts."""
    searched: Searched = field(default_factory=Searched)
    judge: Judge = field(init=False)
    _seen: set[object] = field(default_factory=set)
    _digests: set[int] = field(default_factory=set)
    _points: dict[object, tuple[int, int, int]] = field(default_factory=dict)
    """Crash points whose images have all been judged -> images, those that stood for others, for how many."""
    _instants: Known = field(default_factory=Known)
    _lazy: Lazy = field(init=False)
    _merged: Merged = field(default_factory=Merged)
    _anytime: bool = False
    _told: float = 0.0

    def __post_init__(self) -> None:
        self.judge = Judge(self.spec, self.attributes, self.searched)
        self._lazy = Lazy(self.judge, self.searched, self._seen, self._digests, self.check_time)
        self._anytime = any(bound.anytime for bound in self.spec.laws)

    @property
    def depth(self) -> int:
        """How many power losses in a row are tried."""
        return self.spec.options["power_depth"] if self.spec.options["power"] else 0

    def run(self) -> None:
        """Search everything. Raises Found, OutOfBudget or Inconclusive."""
        self._boot(self.spec.processes, self.base, self.depth, ())

    def finish(self) -> None:
        """Bring the counts up to date."""
        self.searched.distinct_images = len(self._digests)

    def _boot(self, parts: list[Part], before: Before, depth: int, path: Path) -> None:
        runs = Runs(self.spec, parts, self.attributes, before)
        known = Known((before.image.digest, event_key(before.past), before.boot, depth))
        try:
            for run, order in runs:
                self.take(run, order, depth, path, known)
                self.check_time(runs)
        finally:
            self.close(runs, known)

    def take(self, run: Run, order: Order | None, depth: int, path: Path, known: Known) -> None:
        """Judge one run: its end, and every power loss in it while losses remain. Raises Found or Inconclusive."""
        self.searched.executions += 1
        self._judge_end(run, path)
        if depth > 0:
            self._power_losses(run, order, depth, path, known)
        if self._anytime:
            self._judge_anytime(run, order, path)

    def close(self, runs: Runs, known: Known) -> None:
        """Add to the counts what the runs themselves know, when they have all been taken or the search ends."""
        self.searched.classes += len(runs.classes)
        self.searched.blocked += runs.blocked
        self._bound(runs.bounds | ({CUTS_BOUND} if known.bounded else set()))

    def _bound(self, bounds: set[str]) -> None:
        for bound in sorted(bounds):
            if bound not in self.searched.bounds:
                self.searched.bounds.append(bound)

    def _judge_end(self, run: Run, path: Path) -> None:
        """The run itself: it ended well, and the laws hold on what it left."""
        leg = (*path, Leg(run.schedule, None, plan=run.plan))
        if isinstance(run.stuck, Deadlock):
            raise Found(Violation(Finding(COMPLETES, str(run.stuck), "Deadlock", None, "the machine"), leg))
        if isinstance(run.stuck, StepLimit):
            raise Inconclusive(f"{run.stuck}; its last steps: {loop_of(run)}")
        if run.stuck is not None:
            raise run.stuck
        for runner in run.runners:
            part = run.part_of(runner)
            if runner.error is not None and not isinstance(runner.error, part.raises):
                raise Found(Violation(finding(COMPLETES, runner.error, part), leg))
        for found in self.judge.findings(run.end):
            raise Found(Violation(found, leg))

    def _judge_anytime(self, run: Run, order: Order | None, path: Path) -> None:
        """Laws that hold at every instant, on what readers see there: nothing is lost, every process stops."""
        lanes = stamp(run, order) if order is not None and len(run.machine.processes) > 1 else None
        vectors = cuts(lanes, False, self._instants) if lanes else whole(run.ops)
        for cut in vectors:
            disk = SccDisk(run.before.image)
            for op in cut.ops:
                disk.add(op)
            events = (*run.before.past, *events_of(cut.ops, run.names, run.before.boot))
            wall_ns = cut.ops[-1].time_ns if cut.ops else run.before.wall_ns
            at = Before(disk.image((0,)), events, run.before.boot, wall_ns)
            for found in self.judge.findings(at, anytime=True):
                raise Found(Violation(found, (*path, Leg(run.schedule, Crash(cut.vector, ()), plan=run.plan))))

    def _power_losses(self, run: Run, order: Order | None, depth: int, path: Path, known: Known) -> None:
        restarts = [part for part in run.parts if part.restart >= run.before.boot]
        way = Way(path, Leg(run.schedule, None, plan=run.plan), depth, restarts)
        if order is None or len(run.machine.processes) == 1:
            self._prefixes(run.ops, run.names, run.before, way)
            return
        closed = self.model.closed_under_loss
        for cut in cuts(stamp(run, order), closed, known):
            with self._asked(known.question, cut.key):
                self._cut(run, cut, way)

    def _cut(self, run: Run, cut: Cut, way: Way) -> None:
        """A power loss at one instant of a run of several processes."""
        self.searched.crash_points += 1
        disk = self.model.start(run.before.image)
        for op in cut.ops:
            add(disk, op)
        events = (*run.before.past, *events_of(cut.ops, run.names, run.before.boot))
        wall_ns = cut.ops[-1].time_ns if cut.ops else run.before.wall_ns
        at = Before(run.before.image, events, run.before.boot, wall_ns)
        closed = self.model.closed_under_loss
        writes: list[Op | None] = [] if closed else [op for op in cut.following if isinstance(op, Write)]
        for following in writes or [None]:
            during = following.process if following is not None else -1
            self._images(disk, following, at, cut.vector, during, way)
        self._bound(disk.bounds)

    def _asked(self, name: Callable[[Any], object], key: Any) -> AbstractContextManager[None]:
        """What is counted inside the block belongs to a question, where somebody keeps a ledger."""
        return NO_LEDGER if self.ledger is None else self.ledger.asked(name(key))

    def _prefixes(self, ops: Sequence[Op], names: dict[int, str], before: Before, way: Way) -> None:
        """Every power loss among `ops`, made by one process on the disk `before.image`."""
        disk = self.model.start(before.image)
        wall_ns = before.wall_ns
        events: list[Event] = list(before.past)
        closed = self.model.closed_under_loss
        for point in range(len(ops) + 1):
            following = ops[point] if point < len(ops) else None
            if following is None or not isinstance(following, SILENT):
                self.searched.crash_points += 1
                if following is None or not closed or isinstance(following, DECISIVE):
                    at = Before(before.image, tuple(events), before.boot, wall_ns)
                    self._images(disk, following, at, (point,), -1, way)
            if following is not None:
                disk.add(following)
                wall_ns = following.time_ns
                if isinstance(following, HistoryOp):
                    events.extend(events_of([following], names, before.boot))
        self._bound(disk.bounds)

    def _images(
        self, disk: Disk, following: Op | None, at: Before, cut: tuple[int, ...], during: int, way: Way
    ) -> None:
        """Every image that the disk may leave at this crash point, each distinct one judged once."""
        seen, searched = self._seen, self.searched
        rest = (event_key(at.past), at.boot, at.wall_ns, way.depth)
        point = None if way.leg.recovery else point_key(disk, at, rest)
        if point is not None and point in self._points:
            images, blocks, leaves = self._points[point]
            searched.images += images
            searched.lazy_images += blocks
            searched.lazy_leaves += leaves
            return
        blocks, leaves = searched.lazy_images, searched.lazy_leaves
        parts = self._lazy.undecided(disk, not way.restarts and (way.depth == 1 or self.spec.recover is None))
        if parts is not None:
            for found, pick in self._lazy.findings(disk, parts, at, rest):
                raise Found(Violation(found, way.crashed(Crash(cut, pick, during))))
        images = searched.lazy_leaves - leaves
        for digest, pick in disk.leaves(following) if parts is None else ():
            searched.images += 1
            images += 1
            key = (digest, rest)
            if key in seen:
                continue
            seen.add(key)
            self._digests.add(digest)
            before = Before(disk.image(pick, following), at.past, at.boot + 1, at.wall_ns)
            with self._asked(tuple, key):
                self._image(before, way.depth - 1, way.crashed(Crash(cut, pick, during)), way.restarts)
        if point is not None:
            self._points[point] = (images, searched.lazy_images - blocks, searched.lazy_leaves - leaves)
        self.check_time()

    def _image(self, before: Before, depth: int, path: Path, restarts: list[Part]) -> None:
        """One distinct image: recover, crash the recovery while losses remain, judge, start again what restarts."""
        solo = self.judge.recovery(before)
        if solo is not None:
            failed = self.judge.recovery_failed(solo)
            if failed is not None:
                raise Found(Violation(failed, path))
            if depth > 0:
                names = names_of(solo.machine)
                way = Way(path, Leg((), None, recovery=True), depth, restarts)
                self._prefixes(solo.machine.journal.ops, names, before, way)
        recovered = self.judge.after_recovery(before, solo)
        for found in self.judge.findings(recovered):
            raise Found(Violation(found, path))
        if restarts:
            key = ("restart", recovered.image.digest, event_key(recovered.past), recovered.boot, depth)
            if key not in self._seen:
                self._seen.add(key)
                with self._asked(tuple, key):
                    self._boot(restarts, recovered, depth, path)

    def take_digests(self) -> frozenset[int]:
        """The images met since this was last asked."""
        met = frozenset(self._digests)
        self._digests.clear()
        return met

    def include(self, searched: Searched, digests: frozenset[int], ledger: dict[bytes, Counts]) -> None:
        """Count what another process searched as this search's own, each question once."""
        self._digests |= digests
        self._merged.add(ledger, searched)
        for name in COUNTS:
            setattr(self.searched, name, getattr(self.searched, name) + getattr(searched, name))
        self._bound(set(searched.bounds))

    def tell(self, runs: Runs | None = None) -> None:
        """Report the counts to whoever wants to show progress."""
        if self.progress is not None:
            self.finish()
            self.searched.estimate = runs.estimate() if runs is not None else None
            self.progress(self.searched)

    def check_time(self, runs: Runs | None = None) -> None:
        """Report now and then; raise OutOfBudget when the time is up."""
        now = time.monotonic()
        if self.progress is not None and now - self._told > 0.1:
            self._told = now
            self.tell(runs)
        if self.deadline is not None and now > self.deadline:
            raise OutOfBudget


def add(disk: Disk, op: Op) -> None:
    """Issue an op of a run with several processes: a flush covers what happens before it."""
    if isinstance(op, Flush | FlushAll | FailedFlush):
        disk.add(op, lambda earlier: happens_before(earlier, op))
    else:
        disk.add(op)
