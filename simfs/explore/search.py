"""The search of one scenario on one disk model: every run, every crash point, every image, every law.

Flow. A run is recorded once. Its op journal is then walked, and at each point the disk model enumerates what a power
loss right there may leave; each distinct image is recovered and judged. Recovery has an op journal of its own, whose
points are walked in the same way while losses remain (`power_depth`). Processes that restart after a power loss make
another boot from each recovered image, with all its runs. Nobody is re-run for a power loss.

A *crash point* stands after an op that changes the disk, flushes, promises, or after which nothing comes. On a model
closed under loss only the points before a flush or a promise, and the last, need enumerating: the images of the others
are among those of the next such point. The counts say how many points are covered.

The search stops at the first broken law and keeps the path to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from simfs.disk.model import Disk, DiskModel
from simfs.explore.boot import Run, events_of, run_boot
from simfs.explore.choices import Choices, Exhaustive, Sampled
from simfs.explore.handle import Event
from simfs.explore.judge import Judge, event_key, finding
from simfs.explore.law import COMPLETES
from simfs.explore.scenario import Part, Spec
from simfs.explore.stage import Before
from simfs.explore.verdict import Crash, Finding, Leg, Path, Searched
from simfs.machine.errors import Deadlock, StepLimit
from simfs.machine.ops import Ack, Effect, FailedFlush, Flush, FlushAll, Lock, Note, Op

SILENT = (Note, Lock)
"""Ops that leave the disk and all promises as they were: no crash point of their own."""
DECISIVE = (Ack, Effect, Flush, FlushAll, FailedFlush)
"""Ops before which a point must be enumerated also on a model closed under loss."""


class OutOfBudget(Exception):
    """The time is up; what was found so far stands."""


class Inconclusive(Exception):
    """A run could not be judged; the text says why."""


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
class Search:
    """One search. `deadline` is real monotonic time in seconds; `progress` is told the counts now and then."""

    spec: Spec
    model: DiskModel
    attributes: dict[str, Any]
    base: Before
    deadline: float | None = None
    progress: Callable[[Searched], None] | None = None
    searched: Searched = field(default_factory=Searched)
    judge: Judge = field(init=False)
    _seen: set[object] = field(default_factory=set)
    _digests: set[int] = field(default_factory=set)
    _told: float = 0.0

    def __post_init__(self) -> None:
        self.judge = Judge(self.spec, self.attributes, self.searched)

    def run(self) -> None:
        """Search everything. Raises Found, OutOfBudget or Inconclusive."""
        depth = self.spec.options["power_depth"] if self.spec.options["power"] else 0
        self._boot(self.spec.processes, self.base, depth, ())

    def finish(self) -> None:
        """Bring the counts up to date."""
        self.searched.distinct_images = len(self._digests)

    def _choices(self) -> Iterator[Choices]:
        if self.spec.options["strategy"] == "exhaustive":
            search = Exhaustive()
            while search.next():
                yield search
            return
        number = 0
        while True:
            yield Sampled(f"{self.spec.options['seed']}.{number}")
            number += 1

    def _boot(self, parts: list[Part], before: Before, depth: int, path: Path) -> None:
        for choices in self._choices():
            self._check_time()
            run = run_boot(self.spec, parts, self.attributes, before, choices)
            self.searched.executions += 1
            self.judge_end(run, path)
            if depth > 0:
                self._power_losses(run, depth, path)

    def judge_end(self, run: Run, path: Path) -> None:
        """The run itself: it ended well, and the laws hold on what it left."""
        leg = (*path, Leg(run.schedule, None))
        if run.stuck is not None:
            if isinstance(run.stuck, Deadlock | StepLimit):
                raise Inconclusive(str(run.stuck))
            raise run.stuck
        for runner, part in zip(run.runners, run.parts, strict=True):
            if runner.error is not None and not isinstance(runner.error, part.raises):
                raise Found(Violation(finding(COMPLETES, runner.error, part), leg))
        events = (*run.before.past, *events_of(run.ops, run.names, run.before.boot))
        end = Before(run.machine.freeze(), events, run.before.boot, run.machine.wall_ns)
        for found in self.judge.findings(end):
            raise Found(Violation(found, leg))

    def _power_losses(self, run: Run, depth: int, path: Path) -> None:
        restarts = [part for part in run.parts if part.restart >= run.before.boot]
        self._crashes(run.ops, run.names, run.before, run.schedule, depth, path, restarts)

    def _crashes(
        self,
        ops: list[Op],
        names: list[str],
        before: Before,
        schedule: tuple[int, ...] | None,
        depth: int,
        path: Path,
        restarts: list[Part],
    ) -> None:
        """Every power loss among `ops`, issued on the disk `before.image`; `schedule` is None for a recovery's."""
        disk = self.model.start(before.image)
        wall_ns = before.wall_ns
        events: list[Event] = list(before.past)
        for point in range(len(ops) + 1):
            following = ops[point] if point < len(ops) else None
            if following is None or not isinstance(following, SILENT):
                self.searched.crash_points += 1
                if following is None or not self.model.closed_under_loss or isinstance(following, DECISIVE):
                    at = Before(before.image, tuple(events), before.boot, wall_ns)
                    self._images(disk, following, at, point, schedule, depth, path, restarts)
            if following is not None:
                disk.add(following)
                wall_ns = following.time_ns
                if isinstance(following, Ack | Effect):
                    events.extend(events_of([following], names, before.boot))
        for bound in sorted(disk.bounds):
            if bound not in self.searched.bounds:
                self.searched.bounds.append(bound)

    def _images(
        self,
        disk: Disk,
        following: Op | None,
        at: Before,
        point: int,
        schedule: tuple[int, ...] | None,
        depth: int,
        path: Path,
        restarts: list[Part],
    ) -> None:
        seen, searched = self._seen, self.searched
        rest = (event_key(at.past), at.boot, at.wall_ns, depth)
        for digest, pick in disk.leaves(following):
            searched.images += 1
            key = (digest, rest)
            if key in seen:
                continue
            seen.add(key)
            self._digests.add(digest)
            leg = (*path, Leg(schedule or (), Crash(point, pick), schedule is None))
            self._image(Before(disk.image(pick, following), at.past, at.boot + 1, at.wall_ns), depth - 1, leg, restarts)
        self._check_time()

    def _image(self, before: Before, depth: int, path: Path, restarts: list[Part]) -> None:
        """One distinct image: recover, crash the recovery while losses remain, judge, start again what restarts."""
        solo = self.judge.recovery(before)
        if solo is not None:
            failed = self.judge.recovery_failed(solo)
            if failed is not None:
                raise Found(Violation(failed, path))
            if depth > 0:
                names = [process.name for process in solo.machine.processes]
                self._crashes(solo.machine.journal.ops, names, before, None, depth, path, restarts)
        recovered = self.judge.after_recovery(before, solo)
        for found in self.judge.findings(recovered):
            raise Found(Violation(found, path))
        if restarts:
            key = ("restart", recovered.image.digest, event_key(recovered.past), recovered.boot, depth)
            if key not in self._seen:
                self._seen.add(key)
                self._boot(restarts, recovered, depth, path)

    def _check_time(self) -> None:
        now = time.monotonic()
        if self.progress is not None and now - self._told > 0.1:
            self._told = now
            self.finish()
            self.progress(self.searched)
        if self.deadline is not None and now > self.deadline:
            raise OutOfBudget


