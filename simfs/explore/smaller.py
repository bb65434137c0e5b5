"""A smaller story for the same broken law: other crash points of the same run, then other runs.

The order of size, least first: processes that did something; ops that were made; switches between processes; faults,
kills and clock jumps; ops lost or torn; bytes lost of torn writes; then the earlier crash and the earlier pick.

Without re-running: every consistent cut of a recorded run is a crash point of some run of the same class, so a smaller
cut of the recorded one may break the law already; steps that do not depend on one another are commuted by leaving them
out of the cut. By re-running: the plan with kills, faults and jumps left out; and schedules in the order of how often
they switch: each process to its end in turn, then with one process stopped once in the middle, then with two.

What is tried is bounded by counts, so that the answer is the same on every machine; the clock ends only what would take
very long.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice, pairwise, permutations
from typing import Any

from simfs.disk.model import Disk, DiskModel, Pick
from simfs.explore.boot import Run, run_boot
from simfs.explore.choices import Replayed
from simfs.explore.cuts import SILENT, Cut, Known, cuts, stamp
from simfs.explore.handle import events_of
from simfs.explore.judge import Judge
from simfs.explore.plan import Plan
from simfs.explore.search import Violation, add
from simfs.explore.spec import Spec
from simfs.explore.stage import Before
from simfs.explore.step import Step
from simfs.explore.verdict import Crash, Finding, Leg, Searched
from simfs.machine.ops import Close, Op, Write, op_key

TRIES_MAX = 1_500
"""Disks that are judged at most."""
RUNS_MAX = 250
"""Runs that are made at most."""
LEAVES_MAX = 512
"""Disks of one crash point that are looked at, at most."""
LONGEST_S = 8.0
PLANS_MAX = 8

Size = tuple[int, int, int, int, int, int, tuple[int, ...], int, Pick]
UNTOLD = (*SILENT, Close)
"""Ops that make no story longer."""


@dataclass(slots=True)
class InTurn:
    """A policy: each (process, steps) in turn, None for as long as it can; then whoever went last goes on."""

    turns: list[tuple[int, int | None]]
    _left: int | None = None
    _started: bool = False

    def choose(self, enabled: Sequence[int]) -> int:
        while self.turns:
            who, steps = self.turns[0]
            if not self._started:
                self._left, self._started = steps, True
            if who in enabled and self._left != 0:
                if self._left is not None:
                    self._left -= 1
                return who
            self.turns.pop(0)
            self._started = False
        return enabled[0]

    def stepped(self, step: Step) -> None:
        """Nothing to learn."""


@dataclass(slots=True)
class Smaller:
    """Looks for smaller violations of one law of one scenario on one model."""

    spec: Spec
    model: DiskModel
    attributes: dict[str, Any]
    base: Before
    law: str
    crashes: bool
    """The violation has a power loss; without one, ends of runs are judged."""
    tries: int = 0
    runs: int = 0
    deadline: float = field(default_factory=lambda: time.monotonic() + LONGEST_S)
    _judge: Judge = field(init=False)
    _judged: dict[object, tuple[Finding, Crash, tuple[int, int]] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        laws = [bound for bound in self.spec.laws if bound.law.id == self.law]
        self._judge = Judge(replace(self.spec, laws=laws), self.attributes, Searched())

    @property
    def spent(self) -> bool:
        """Enough was tried."""
        return self.tries >= TRIES_MAX or self.runs >= RUNS_MAX or time.monotonic() > self.deadline

    def than(self, violation: Violation) -> Violation:
        """The smallest that is found; the one given when none is smaller."""
        leg = violation.path[0]
        best, size = violation, self.size_of(violation)
        for plan in plans(leg.plan):
            for turns in self._turns(plan, leg):
                if self.spent:
                    return best
                run = self._run(plan, turns, leg)
                if run is None:
                    continue
                for found, smaller in self.in_run(run, size):
                    best, size = found, smaller
        return best

    def size_of(self, violation: Violation) -> Size:
        """The size of a violation of one boot."""
        leg = violation.path[0]
        run, crash = self._replayed(leg), leg.crash
        if crash is None:
            return self._size(run, run.ops, (0, 0), (), -1, ())
        if len(crash.cut) == 1:
            ops = run.ops[: crash.cut[0]]
            following = run.ops[crash.cut[0]] if crash.cut[0] < len(run.ops) else None
        else:
            lanes = stamp(run)
            ops = [op for lane, count in zip(lanes, crash.cut, strict=True) for op in lane[:count]]
            ops.sort(key=lambda op: op.index)
            following = lanes[crash.during][crash.cut[crash.during]] if crash.during >= 0 else None
        disk = self._disk(ops, len(crash.cut) > 1)
        lost = loss(disk, crash.pick, following, run.ops)
        return self._size(run, ops, lost, crash.cut, crash.during, crash.pick)

    def _size(
        self, run: Run, ops: Sequence[Op], lost: tuple[int, int], cut: tuple[int, ...], during: int, pick: Pick
    ) -> Size:
        told = [op for op in ops if not isinstance(op, UNTOLD)]
        lanes = [op.process for op in told]
        switches = sum(one != other for one, other in pairwise(lanes))
        plan = run.plan
        faults = len(plan.kills) + len(plan.strikes) + (plan.jump is not None) + plan.reuse
        return (len(set(lanes)), len(told), switches, faults, *lost, cut, during, pick)

    def _replayed(self, leg: Leg) -> Run:
        choices = Replayed(leg.schedule)
        return run_boot(self.spec, self.spec.processes, self.attributes, self.base, choices, plan=leg.plan)

    def _run(self, plan: Plan, turns: list[tuple[int, int | None]] | None, leg: Leg) -> Run | None:
        self.runs += 1
        if turns is None:
            return self._replayed(leg)
        policy = InTurn(list(turns))
        run = run_boot(self.spec, self.spec.processes, self.attributes, self.base, policy, plan=plan)
        return run if run.stuck is None or not self.crashes else None

    def _turns(self, plan: Plan, leg: Leg) -> Iterator[list[tuple[int, int | None]] | None]:
        """Schedules to try, by how often they switch; None is the recorded one."""
        if plan == leg.plan:
            yield None
        places = range(len(self.spec.processes))
        if len(places) == 1:
            if plan != leg.plan:
                yield []
            return
        orders = list(islice(permutations(places), 24))
        for order in orders:
            yield [(who, None) for who in order]
        longest = 24
        for order in orders:
            for steps in range(1, longest):
                yield [(order[0], steps), *((who, None) for who in order[1:]), (order[0], None)]
        for order in orders:
            for one in range(1, longest):
                for other in range(1, longest):
                    yield [(order[0], one), (order[1], other), (order[0], None), *((who, None) for who in order[1:])]

    def in_run(self, run: Run, size: Size) -> Iterator[tuple[Violation, Size]]:
        """Violations of one run that are smaller than `size`, each smaller than the one before."""
        if not self.crashes:
            smaller = self._size(run, run.ops, (0, 0), (), -1, ())
            if smaller < size:
                found = self._at_end(run)
                if found is not None:
                    yield Violation(found, (Leg(run.schedule, None, plan=run.plan),)), smaller
            return
        several = len(run.machine.processes) > 1
        points = list(self._cuts(run, several))
        points.sort(key=lambda cut: self._size(run, cut.ops, (0, 0), cut.vector, -1, ()))
        for cut in points:
            least = self._size(run, cut.ops, (0, 0), cut.vector, -1, ())
            if least >= size or self.spent:
                return
            found_at = self._broken_at(run, cut, several)
            if found_at is None:
                continue
            found, crash, lost = found_at
            smaller = self._size(run, cut.ops, lost, crash.cut, crash.during, crash.pick)
            if smaller < size:
                size = smaller
                yield Violation(found, (Leg(run.schedule, crash, plan=run.plan),)), smaller

    def _cuts(self, run: Run, several: bool) -> Iterator[Cut]:
        if several:
            yield from islice(cuts(stamp(run), False, Known()), 4 * TRIES_MAX)
            return
        for point in range(len(run.ops) + 1):
            if point == len(run.ops) or not isinstance(run.ops[point], SILENT):
                yield Cut((point,), run.ops[:point], run.ops[point : point + 1])

    def _at_end(self, run: Run) -> Finding | None:
        if run.stuck is not None or any(runner.error is not None for runner in run.runners):
            return None
        self.tries += 1
        return next(iter(self._judge.findings(run.end)), None)

    def _broken_at(self, run: Run, cut: Cut, several: bool) -> tuple[Finding, Crash, tuple[int, int]] | None:
        """The least loss at a crash point that breaks the law."""
        made = tuple((op.process, op.clock, op_key(op)) for op in cut.ops)
        key = (several, made, tuple(map(op_key, cut.following)))
        if key not in self._judged:
            self._judged[key] = self._search_cut(run, cut, several)
        return self._judged[key]

    def _search_cut(self, run: Run, cut: Cut, several: bool) -> tuple[Finding, Crash, tuple[int, int]] | None:
        events = (*self.base.past, *events_of(cut.ops, run.names, self.base.boot))
        wall_ns = cut.ops[-1].time_ns if cut.ops else self.base.wall_ns
        disk = self._disk(cut.ops, several)
        closed = self.model.closed_under_loss
        following: list[Op | None] = list(cut.following) or [None]
        if several:
            following = [None] if closed else [op for op in cut.following if isinstance(op, Write)] or [None]
        leaves = []
        for op in following:
            during = op.process if op is not None and several else -1
            for digest, pick in islice(disk.leaves(op), LEAVES_MAX):
                leaves.append((loss(disk, pick, op, run.ops), during, pick, digest, op))
        seen: set[int] = set()
        for lost, during, pick, digest, op in sorted(leaves, key=lambda leaf: leaf[:3]):
            if digest in seen:
                continue
            seen.add(digest)
            if self.spent:
                return None
            self.tries += 1
            at = Before(disk.image(pick, op), events, self.base.boot + 1, wall_ns)
            found = self._broken(at)
            if found is not None:
                return found, Crash(cut.vector, pick, during), lost
        return None

    def _broken(self, before: Before) -> Finding | None:
        solo = self._judge.recovery(before)
        if solo is not None:
            failed = self._judge.recovery_failed(solo)
            if failed is not None:
                return failed if failed.law.id == self.law else None
        recovered = self._judge.after_recovery(before, solo)
        for bound in self._judge.spec.laws:
            found = self._judge.broken(bound, recovered)
            if found is not None:
                return found
        return None

    def _disk(self, ops: Sequence[Op], several: bool) -> Disk:
        disk = self.model.start(self.base.image)
        for op in ops:
            add(disk, op) if several else disk.add(op)
        return disk


def plans(plan: Plan) -> Iterator[Plan]:
    """The plan with ever fewer things left out of it: the emptiest first, the plan itself last."""
    parts: list[Any] = [*plan.kills, *plan.strikes, *(["jump"] if plan.jump is not None else [])]
    parts += ["reuse"] if plan.reuse else []
    if len(parts) > PLANS_MAX:
        yield plan
        return
    for count in range(len(parts) + 1):
        for kept in combinations(range(len(parts)), count):
            wanted = set(kept)
            kills = tuple(kill for at, kill in enumerate(plan.kills) if at in wanted)
            strikes = tuple(strike for at, strike in enumerate(plan.strikes, len(plan.kills)) if at in wanted)
            words = {parts[at] for at in kept if isinstance(parts[at], str)}
            yield Plan(kills, strikes, plan.jump if "jump" in words else None, "reuse" in words)


def loss(disk: Disk, pick: Pick, following: Op | None, ops: Sequence[Op]) -> tuple[int, int]:
    """(ops lost or torn, bytes lost of torn writes) of one leaf."""
    lost = torn = 0
    for index, fate in disk.fates(pick, following).items():
        if fate in ("durable", "kept"):
            continue
        lost += 1
        op = ops[index]
        if fate != "lost" and isinstance(op, Write):
            there = fate.split()[0]
            torn += len(op.data) - (int(there) if there.isdigit() else 0)
    return (lost, torn)
