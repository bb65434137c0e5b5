"""Which runs of a boot are made, in which order: plans times schedules.

Exhaustive: for each plan (nothing goes wrong; then every kill, fault and clock jump within the scenario's bounds)
every class of schedules, by `Dpor`, or those that so many `preemptions` allow. Plans grow from plans that had an
effect: once no run of "dies at call n" reaches call n, no larger n is tried. `naive` tries every schedule: for parity
tests.

Sampled: `random`, `pct`, `pos`, or all three in turn (`portfolio`); plans are drawn along with the schedule.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from simfs.explore.boot import Run, cut_off, run_boot
from simfs.explore.choices import Exhaustive, Sampled
from simfs.explore.dpor import Dpor
from simfs.explore.happens import Order
from simfs.explore.plan import NOTHING, Kill, Plan, Strike
from simfs.explore.policy import Budgeted, Drawn, Pct, Pos
from simfs.explore.spec import Part, Spec
from simfs.explore.splitting import MOST, Branch, Left, Splitting
from simfs.explore.stage import Before
from simfs.explore.step import Policy
from simfs.machine.faults import Fault
from simfs.machine.ops import Write

PAGE = 4096
SAMPLES = 200
"""Runs that a sampling strategy makes when no budget says otherwise."""
BATCH = 25
"""Sampled runs that are drawn together; what one learns helps the next, what a batch learns helps no other."""


@dataclass(slots=True)
class Runs:
    """Makes the runs of one boot. After they are all made, `bounds` says what was left out, `blocked` how many runs
    were cut off because their class was known, `classes` the fingerprints of sampled ones."""

    spec: Spec
    parts: Sequence[Part]
    attributes: dict[str, Any]
    before: Before
    bounds: set[str] = field(default_factory=set)
    blocked: int = 0
    classes: set[object] = field(default_factory=set)
    made: int = 0
    most: int = MOST
    """After so many runs the tree of a plan is split."""
    tree: Dpor | None = None
    parts_of_plan: Splitting | None = None
    _before: int = 0
    """Runs made before this plan's."""

    @property
    def sampled(self) -> bool:
        """The runs are drawn, not enumerated."""
        return self.spec.options["strategy"] not in ("exhaustive", "naive")

    def answers(self) -> tuple[int, ...]:
        """The schedule that an exhaustive search was on when it stopped."""
        nodes = self.tree.nodes if self.tree is not None else []
        return tuple(node.enabled.index(node.who) for node in nodes if len(node.enabled) > 1)

    def __iter__(self) -> Iterator[tuple[Run, Order | None]]:
        """Each run, with its happens-before order where crash points are to be taken from it."""
        strategy = self.spec.options["strategy"]
        if self.sampled:
            yield from self._samples(strategy)
        else:
            yield from self._every_plan()

    @property
    def _faults(self) -> Sequence[Fault]:
        return (*self.spec.options["faults"], *self.spec.faults)

    def _run(self, policy: Policy, plan: Plan) -> Run:
        return run_boot(self.spec, self.parts, self.attributes, self.before, policy, plan=plan)

    def _every_plan(self) -> Iterator[tuple[Run, Order | None]]:
        plans = Plans(self.spec, len(self.parts))
        while (plan := plans.next()) is not None:
            yield from self.of_plan(plan, plans.seen)
            plans.done(plan)

    def of_plan(self, plan: Plan, seen: Seen) -> Iterator[tuple[Run, Order | None]]:
        """Every class of runs of one plan; `seen` learns what they suggest."""
        self.parts_of_plan, self._before = Splitting(self.spec.options["preemptions"]), self.made
        while (branch := self.parts_of_plan.next()) is not None:
            yield from self.of_branch(plan, branch, seen)
            self.parts_of_plan.take(branch, self.left)

    def of_branch(self, plan: Plan, branch: Branch, seen: Seen) -> Iterator[tuple[Run, Order | None]]:
        """Runs of one branch of a plan; `left` is then what it leaves. `seen` learns what they suggest."""
        for run, order in self._schedules(plan, branch):
            seen.learn(run, plan)
            if run.ticked_out:
                self.bounds.add(f"at most {self.spec.options['early_ticks']} early steps of the clock in a run")
            yield run, order

    @property
    def left(self) -> Left:
        """What the last branch leaves: nothing where every schedule is tried."""
        return Left() if self.tree is None else self.tree.left

    def _schedules(self, plan: Plan, branch: Branch) -> Iterator[tuple[Run, Order | None]]:
        options = self.spec.options
        bound = options["preemptions"]
        if options["strategy"] == "naive":
            yield from self._plain(plan, bound)
            return
        search = self.tree = Dpor(bound, branch, self.most)
        while search.next():
            run = self._run(search, plan)
            self.made += 1
            blocked = cut_off(run)
            if not blocked:
                yield run, search.order
            search.learn(blocked)
        self.blocked += search.blocked
        if search.limited:
            self.bounds.add(f"at most {bound} preemptions in a run")

    def _plain(self, plan: Plan, preemptions: int | None) -> Iterator[tuple[Run, Order | None]]:
        search = Exhaustive()
        while search.next():
            if preemptions is None:
                yield self._run(Drawn(search), plan), None
                continue
            policy = Budgeted(search, preemptions)
            run = self._run(policy, plan)
            if policy.limited:
                self.bounds.add(f"at most {preemptions} preemptions in a run")
            yield run, Order.of(run.steps)

    def _samples(self, strategy: str) -> Iterator[tuple[Run, Order | None]]:
        endless = self.spec.options["budget"] is not None
        first = 0
        while endless or first < SAMPLES:
            yield from self.of_numbers(strategy, first)
            first += BATCH

    def of_numbers(self, strategy: str, first: int) -> Iterator[tuple[Run, Order | None]]:
        """The sampled runs number `first` and the next ones of its batch. Each batch is drawn by itself."""
        length, calls = 20, 8
        for number in range(first, first + BATCH):
            draw = random.Random(f"simfs {self.spec.options['seed']} {number}")
            kind = ("random", "pct", "pos")[number % 3] if strategy == "portfolio" else strategy
            plan = self._drawn_plan(draw, calls) if number % 2 else NOTHING
            policy: Policy
            if kind == "pct":
                policy = Pct(draw, length, 1 + number % 3)
            elif kind == "pos":
                policy = Pos(draw)
            else:
                policy = Drawn(Sampled(f"{self.spec.options['seed']}.{number}"))
            run = self._run(policy, plan)
            order = Order.of(run.steps)
            self.classes.add(order.class_key())
            length = max(length, len(run.steps))
            calls = max(calls, *(runner.calls for runner in run.runners))
            self.made += 1
            yield run, order

    def _drawn_plan(self, draw: random.Random, calls: int) -> Plan:
        options = self.spec.options
        kills = tuple(
            Kill(place, draw.randrange(calls))
            for place in sorted(draw.sample(range(len(self.parts)), min(options["kills"], len(self.parts))))
        )
        strikes = tuple(
            Strike(draw.randrange(len(self._faults)), draw.randrange(len(self.parts)), draw.randrange(calls))
            for _ in range(min(options["max_faults"], len(self._faults)))
        )
        jump = draw.randrange(len(options["clock_jumps"])) if options["clock_jumps"] else None
        return Plan(kills, strikes, jump, bool(options["reuse_inodes"]) and draw.random() < 0.5)

    def estimate(self) -> float | None:
        """How many runs the current plan will take, guessed from how far the tree is done; None when unknown."""
        if self.tree is None or self.parts_of_plan is None:
            return None
        done = self.parts_of_plan.done + self.tree.branch.share * self.tree.done
        return None if done <= 0 else (self.made - self._before) / done


@dataclass(slots=True)
class Seen:
    """What the runs of one plan showed: whether all its mishaps happened in one of them, how many noticeable calls each
    process made at most in its first life, and the writes that a process could die in the middle of."""

    effective: bool = False
    calls: dict[int, int] = field(default_factory=dict)
    torn: set[Kill] = field(default_factory=set)

    def include(self, other: Seen) -> None:
        """What other runs of the plan showed."""
        self.effective |= other.effective
        self.torn |= other.torn
        for place, calls in other.calls.items():
            self.calls[place] = max(self.calls.get(place, 0), calls)

    def learn(self, run: Run, plan: Plan) -> None:
        happened = run.struck >= len(plan.strikes) and run.killed >= len(plan.kills)
        self.effective |= happened and (run.machine.reused > 0 or not plan.reuse)
        self.torn |= torn_kills(run)
        for runner in run.runners:
            if runner.who < len(run.parts):
                self.calls[runner.who] = max(self.calls.get(runner.who, 0), runner.calls)


@dataclass(slots=True)
class Plans:
    """The plans of an exhaustive search, in a fixed order: each is asked for once and reported when its runs are made.

    A plan leads to others only when it had an effect: its last kill or fault one call later, or one mishap more. Kills
    of all the calls that were seen so far are planned at once, also on top of faults: a process that was told of one
    makes other calls, and more of them, than one that was not.
    """

    spec: Spec
    places: int
    seen: Seen = field(default_factory=Seen)
    waiting: list[Plan] = field(default_factory=list)
    known: set[Plan] = field(default_factory=set)

    def __post_init__(self) -> None:
        jumps = [NOTHING, *(Plan(jump=at) for at in range(len(self.spec.options["clock_jumps"])))]
        reusing = [replace(plan, reuse=True) for plan in jumps] if self.spec.options["reuse_inodes"] else []
        self.waiting = [*jumps, *reusing]
        self.known = set(self.waiting)

    def next(self) -> Plan | None:
        """The next plan, None when there is none at the moment."""
        self.seen = Seen()
        return self.waiting.pop(0) if self.waiting else None

    def done(self, plan: Plan, seen: Seen | None = None) -> None:
        """The runs of `plan` have been made and showed `seen` (by default what `self.seen` learned)."""
        found = self.seen if seen is None else seen
        for further in self._further(plan, found) if found.effective else ():
            if further not in self.known:
                self.known.add(further)
                self.waiting.append(further)

    def _further(self, plan: Plan, seen: Seen) -> Iterator[Plan]:
        options = self.spec.options
        if plan.kills and not plan.strikes and not plan.kills[-1].kept_bytes:
            *rest, last = plan.kills
            yield replace(plan, kills=(*rest, Kill(last.place, last.call + 1)))
        if len(plan.kills) < options["kills"]:
            first = plan.kills[-1].place + 1 if plan.kills else 0
            for place in range(first, self.places):
                for call in range(max(1, seen.calls.get(place, 0))):
                    yield replace(plan, kills=(*plan.kills, Kill(place, call)))
            for kill in sorted(seen.torn):
                if kill.place >= first:
                    yield replace(plan, kills=(*plan.kills, kill))
        yield from self._struck(plan)

    def _struck(self, plan: Plan) -> Iterator[Plan]:
        options = self.spec.options
        faults = len(options["faults"]) + len(self.spec.faults)
        if plan.strikes:
            *others, strike = plan.strikes
            yield replace(plan, strikes=(*others, strike._replace(match=strike.match + 1)))
        if len(plan.strikes) < (options["max_faults"] if faults else 0):
            least = plan.strikes[-1] if plan.strikes else Strike(0, 0, 0)
            for fault in range(faults):
                for place in range(self.places):
                    if (fault, place) >= (least.fault, least.place):
                        start = least.match + 1 if plan.strikes and (fault, place) == least[:2] else 0
                        yield replace(plan, strikes=(*plan.strikes, Strike(fault, place, start)))


def torn_kills(run: Run) -> set[Kill]:
    """Deaths in the middle of a write over one page, one for each page boundary inside, that this run suggests."""
    found: set[Kill] = set()
    for step in run.steps:
        for op in run.ops[step.ops_from : step.ops_to]:
            if isinstance(op, Write) and len(op.data) > PAGE and 0 <= step.who < len(run.parts):
                found.update(Kill(step.who, step.call, kept) for kept in range(PAGE, len(op.data), PAGE))
    return found
