"""A smaller story of several boots for the same broken law: a power loss, what came after it, the next power loss.

A story here is a list of boots, each ended by a power loss or, the last, by its own end; a boot is a run of the
processes, or of the recovery. The shape stays as it was found: fewer losses were tried before. What is looked for is
the least of that shape, in the order of `smaller.py`, where each number is a sum over the boots.

Numbers only grow from boot to boot. So the partial stories are taken in order of size, the least first: one that is not
complete is continued by a crash point of its next boot, and that by a disk that may be left there; the first complete
one that breaks the law is the smallest. Two partial stories that leave the same disk with the same past have
the same continuations, and the larger one is dropped.

Schedules are the recorded one and each process to its end in turn; kills and faults are those recorded, or fewer.
What is tried is bounded by counts; the clock ends only what would take very long.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count, islice, pairwise, permutations
from typing import Any

from simfs.disk.model import Disk, DiskModel, Pick
from simfs.errors import StaleToken
from simfs.explore.boot import Run, names_of, run_boot
from simfs.explore.choices import Replayed
from simfs.explore.cuts import SILENT, Cut, Known, cuts, stamp
from simfs.explore.handle import events_of
from simfs.explore.judge import Judge, event_key
from simfs.explore.plan import NOTHING, Plan
from simfs.explore.retrace import issued_at
from simfs.explore.search import Violation, add
from simfs.explore.smaller import LEAVES_MAX, UNTOLD, InTurn, loss, plans
from simfs.explore.spec import Part, Spec
from simfs.explore.stage import Before
from simfs.explore.verdict import Crash, Finding, Leg, Path, Searched
from simfs.machine.ops import Op, Write

TRIES_MAX = 20_000
"""Partial stories that are taken up at most."""
RUNS_MAX = 3_000
"""Boots that are run at most."""
ORDERS_MAX = 6
LONGEST_S = 8.0

Cost = tuple[int, int, int, int, int, int]
"""(processes that did something, ops told, switches, faults, ops lost or torn, bytes lost of torn writes)."""
FREE: Cost = (0, 0, 0, 0, 0, 0)


@dataclass(slots=True)
class Boot:
    """What was made in one boot, from the disk of `before` on. `run` is None for a recovery."""

    before: Before
    ops: list[Op]
    names: dict[int, str]
    parts: list[Part]
    """The processes of this boot, or of the last one before a recovery."""
    schedule: tuple[int, ...] = ()
    plan: Plan = NOTHING
    run: Run | None = None
    lanes: list[list[Op]] | None = None


@dataclass(slots=True)
class Point:
    """A power loss in a boot, with one disk that it may leave. `pick` is None where the boot ran to its end, or, with
    what `may_follow`, where no disk has been chosen yet."""

    boot: Boot
    made: Sequence[Op]
    cut: tuple[int, ...] = ()
    during: int = -1
    following: Op | None = None
    disk: Disk | None = None
    pick: Pick | None = None
    may_follow: Sequence[Op | None] = ()

    @property
    def after(self) -> Before:
        """What the next boot starts from."""
        boot = self.boot
        assert self.disk is not None and self.pick is not None
        events = (*boot.before.past, *events_of(self.made, boot.names, boot.before.boot))
        wall_ns = self.made[-1].time_ns if self.made else boot.before.wall_ns
        return Before(self.disk.image(self.pick, self.following), events, boot.before.boot + 1, wall_ns)

    @property
    def cost(self) -> Cost:
        told = [op.process for op in self.made if not isinstance(op, UNTOLD)]
        switches = sum(one != other for one, other in pairwise(told))
        plan = self.boot.plan
        faults = len(plan.kills) + len(plan.strikes) + (plan.jump is not None)
        lost = (0, 0)
        if self.disk is not None and self.pick is not None:
            lost = loss(self.disk, self.pick, self.following, self.boot.ops)
        return (len(set(told)), len(told), switches, faults, *lost)

    def leg(self) -> Leg:
        """As a leg of a path."""
        crash = Crash(self.cut, self.pick or (), self.during) if self.pick is not None or self.may_follow else None
        return Leg(self.boot.schedule, crash, self.boot.run is None, self.boot.plan)


@dataclass(slots=True)
class SmallerBoots:
    """Looks for smaller violations of one law by several boots of one scenario on one model."""

    spec: Spec
    model: DiskModel
    attributes: dict[str, Any]
    base: Before
    law: str
    runs: int = 0
    deadline: float = field(default_factory=lambda: time.monotonic() + LONGEST_S)
    _judge: Judge = field(init=False)

    def __post_init__(self) -> None:
        laws = [bound for bound in self.spec.laws if bound.law.id == self.law]
        self._judge = Judge(replace(self.spec, laws=laws), self.attributes, Searched())

    def than(self, violation: Violation) -> Violation:
        """The smallest that is found; the one given when none is smaller, or the search for one is not finished."""
        shape = violation.path
        worst = (self.size_of(shape), tuple(map(_order, shape)))
        number = count()
        heap: list[tuple[Cost, tuple[Any, ...], int, Cost, Path, Point]] = []
        known: set[object] = set()

        def push(cost: Cost, legs: Path, points: Iterator[Point]) -> None:
            for point in points:
                total = _sum(cost, point.cost)
                path = (*legs, point.leg())
                order = tuple(map(_order, path))
                if (total, order) < worst:
                    heappush(heap, (total, order, next(number), cost, path, point))

        push(FREE, (), self._points(self._runs(shape[0], self.base, self.spec.processes), shape[0]))
        for _ in range(TRIES_MAX):
            if not heap or self.runs >= RUNS_MAX or time.monotonic() > self.deadline:
                break
            cost, _, _, earlier, path, point = heappop(heap)
            if point.may_follow:
                push(earlier, path[:-1], self._disks(point))
                continue
            if point.pick is None:
                found = self._at_end(point.boot)
                if found is not None:
                    return Violation(found, path)
                continue
            after = point.after
            key = (len(path), after.image.digest, event_key(after.past), after.boot, after.wall_ns, point.boot.plan)
            if key in known:
                continue
            known.add(key)
            if len(path) < len(shape):
                leg = shape[len(path)]
                push(cost, path, self._points(self._next(leg, after, point.boot), leg))
                continue
            found = self._after_loss(after)
            if found is not None:
                return Violation(found, path)
        return violation

    def size_of(self, path: Path) -> Cost:
        """The size of a story that is known."""
        before, parts, total = self.base, self.spec.processes, FREE
        boot: Boot | None = None
        for leg in path:
            if boot is None:
                boot = self._of_run(before, parts, self._replayed(before, parts, leg), leg.schedule)
            else:
                boot = next(self._next(leg, before, boot, recorded=True))
            if leg.crash is None:
                return _sum(total, Point(boot, boot.ops).cost)
            made, following = issued_at(leg.crash, boot.ops, boot.lanes)
            disk = self._disk(boot, made)
            point = Point(boot, made, leg.crash.cut, leg.crash.during, following, disk, leg.crash.pick)
            total, before = _sum(total, point.cost), point.after
        return total

    def _next(self, leg: Leg, before: Before, last: Boot, recorded: bool = False) -> Iterator[Boot]:
        """The boots that may follow on a disk: the recovery, or runs of the processes that start again."""
        solo = self._judge.recovery(before)
        self.runs += solo is not None
        if leg.recovery:
            if solo is not None:
                ops = solo.machine.journal.ops
                yield Boot(before, ops, names_of(solo.machine), last.parts)
            return
        if solo is not None and solo.error is not None:
            return
        started = last.run.before.boot if last.run is not None else before.boot - 1
        parts = [part for part in last.parts if part.restart >= started]
        recovered = self._judge.after_recovery(before, solo)
        if not parts:
            return
        if recorded:
            yield self._of_run(recovered, parts, self._replayed(recovered, parts, leg), leg.schedule)
            return
        yield from self._runs(leg, recovered, parts)

    def _runs(self, leg: Leg, before: Before, parts: list[Part]) -> Iterator[Boot]:
        for plan in plans(leg.plan):
            made: set[tuple[int, ...]] = set()
            for order in [None, *islice(permutations(range(len(parts))), ORDERS_MAX)]:
                if order is None and plan != leg.plan:
                    continue
                self.runs += 1
                policy = Replayed(leg.schedule) if order is None else InTurn([(who, None) for who in order])
                try:
                    run = run_boot(self.spec, parts, self.attributes, before, policy, plan=plan)
                except StaleToken:
                    continue
                if run.stuck is None and run.schedule not in made:
                    made.add(run.schedule)
                    yield self._of_run(before, parts, run, run.schedule)

    def _replayed(self, before: Before, parts: list[Part], leg: Leg) -> Run:
        self.runs += 1
        return run_boot(self.spec, parts, self.attributes, before, Replayed(leg.schedule), plan=leg.plan)

    def _of_run(self, before: Before, parts: list[Part], run: Run, schedule: tuple[int, ...]) -> Boot:
        lanes = stamp(run) if len(run.machine.processes) > 1 else None
        return Boot(before, run.ops, run.names, parts, schedule, run.plan, run, lanes)

    def _points(self, boots: Iterator[Boot], leg: Leg) -> Iterator[Point]:
        """Every power loss in some boots, or their ends, as the shape says."""
        for boot in boots:
            if leg.crash is None:
                yield Point(boot, boot.ops)
                continue
            for cut in self._cuts(boot):
                following: list[Op | None] = list(cut.following) or [None]
                if boot.lanes is not None:
                    closed = self.model.closed_under_loss
                    following = [None] if closed else [op for op in cut.following if isinstance(op, Write)] or [None]
                yield Point(boot, cut.ops, cut.vector, -2, may_follow=following)

    def _disks(self, point: Point) -> Iterator[Point]:
        """A power loss with every disk that it may leave."""
        boot, disk = point.boot, self._disk(point.boot, point.made)
        for op in point.may_follow:
            during = op.process if op is not None and boot.lanes is not None else -1
            for _, pick in islice(disk.leaves(op), LEAVES_MAX):
                yield Point(boot, point.made, point.cut, during, op, disk, pick)

    def _cuts(self, boot: Boot) -> Iterator[Cut]:
        if boot.lanes is not None:
            yield from islice(cuts(boot.lanes, False, Known()), RUNS_MAX)
            return
        ops = boot.ops
        for at in range(len(ops) + 1):
            if at == len(ops) or not isinstance(ops[at], SILENT):
                yield Cut((at,), ops[:at], ops[at : at + 1])

    def _disk(self, boot: Boot, ops: Sequence[Op]) -> Disk:
        disk = self.model.start(boot.before.image)
        for op in ops:
            add(disk, op) if boot.lanes is not None else disk.add(op)
        return disk

    def _at_end(self, boot: Boot) -> Finding | None:
        assert boot.run is not None
        if any(runner.error is not None for runner in boot.run.runners):
            return None
        return next(iter(self._judge.findings(boot.run.end)), None)

    def _after_loss(self, before: Before) -> Finding | None:
        solo = self._judge.recovery(before)
        self.runs += 1
        failed = None if solo is None else self._judge.recovery_failed(solo)
        if failed is not None:
            return failed if failed.law.id == self.law else None
        recovered = self._judge.after_recovery(before, solo)
        for bound in self._judge.spec.laws:
            found = self._judge.broken(bound, recovered)
            if found is not None:
                return found
        return None


def _order(leg: Leg) -> tuple[Any, ...]:
    """What tells two legs of one size apart: the earlier crash, then the earlier pick."""
    return () if leg.crash is None else (leg.crash.cut, leg.crash.during, leg.crash.pick)


def _sum(one: Cost, other: Cost) -> Cost:
    a, b, c, d, e, f = (x + y for x, y in zip(one, other, strict=True))
    return (a, b, c, d, e, f)
