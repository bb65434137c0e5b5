"""One drawn life of a machine: boots with processes, kills, faults, clock jumps, power losses, also in recovery.

Who runs in each boot is said by `lives`: the drawn processes of a `Program`, or those of any other scenario. A history
runs boot after boot under a drawn schedule and a drawn plan of mishaps, within the scenario's bounds. Each boot is
recorded once and crashed at several drawn points; at each the disk model says what may survive, of which one leaf is
drawn, recovered (recovery may lose power in its turn) and judged. The last of these disks is where the next boot
begins.

Everything is drawn from one `Choices`, so its list is the history: it can be replayed, changed and shrunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from scenarios.fuzz.lives import lives_of
from scenarios.fuzz.marks import class_of, mark, races
from scenarios.histories import Broken
from simfs.disk.model import DiskModel
from simfs.explore.boot import Run, names_of, run_boot
from simfs.explore.choices import Choices
from simfs.explore.cuts import stamp
from simfs.explore.group import for_model
from simfs.explore.handle import events_of
from simfs.explore.happens import Order
from simfs.explore.judge import Inconclusive, Judge, finding
from simfs.explore.law import COMPLETES
from simfs.explore.plan import Kill, Plan, Strike
from simfs.explore.ready import prepare
from simfs.explore.search import add
from simfs.explore.spec import Part, Spec
from simfs.explore.stage import Before
from simfs.explore.step import Step
from simfs.explore.verdict import Finding, Searched
from simfs.machine.errors import Deadlock, StepLimit
from simfs.machine.ops import Op, Write

CRASHES_MAX, CALLS_MAX, PLACES_MAX = 4, 40, 60
"""Crash points drawn in a boot; calls before a kill; steps among which switches are drawn."""


@dataclass(slots=True)
class Sparse:
    """A schedule by few drawn switches: so many places at which somebody else goes on, and otherwise the same one."""

    choices: Choices
    _places: set[int] = field(default_factory=set)
    _steps: int = 0
    _always: bool = False

    def __post_init__(self) -> None:
        switches = self.choices.draw(7, "switches")
        self._always = switches == 6
        if not self._always:
            self._places = {self.choices.draw(PLACES_MAX, "step of a switch") for _ in range(switches)}

    def choose(self, enabled: Sequence[int]) -> int:
        """Who goes on; the first is who ran last, if it can."""
        self._steps += 1
        if len(enabled) == 1:
            return enabled[0]
        if self._always:
            return enabled[self.choices.draw(len(enabled), "who runs next")]
        if self._steps - 1 in self._places:
            return enabled[1 + self.choices.draw(len(enabled) - 1, "who runs instead")]
        return enabled[0]

    def stepped(self, step: Step) -> None:
        """Nothing to learn."""


class DrawnRun:
    """One history of a scenario on one disk model. `story` tells it, `crashes` counts what was judged after a power
    loss, `marks` and `classes` what it has shown."""

    def __init__(self, model: DiskModel, choices: Choices, spec: Spec) -> None:
        self.model = model
        self.draw = choices.draw
        self.choices = choices
        self.spec: Spec = for_model(spec, model)
        self.lives = lives_of(spec)
        self.story: list[str] = []
        self.crashes = 0
        self.marks: set[int] = set()
        self.classes: set[int] = set()

    def run(self) -> None:
        """Boot after boot. Raises `Broken`, and SetupFailed."""
        ready = prepare(self.spec)
        self.attributes = ready.attributes
        self.judge = Judge(self.spec, ready.attributes, Searched())
        self.losses = self.depth
        before, parts = ready.base, list(self.spec.processes)
        for _ in range(self.lives.boots(self.draw) if self.depth else 1):
            parts = self.lives.parts(self.draw, before, parts)
            if not parts:
                return
            before = self.boot(before, parts)

    @property
    def depth(self) -> int:
        """Power losses in a row."""
        return int(self.spec.options["power_depth"]) if self.spec.options["power"] else 0

    def boot(self, before: Before, parts: list[Part]) -> Before:
        """These processes from this disk on; the disk from which the next boot begins."""
        plan = self.plan(len(parts))
        self.story.append(f"boot {before.boot}" + (f", with {plan}" if str(plan) else ""))
        for part in parts:
            self.story.append(f"  {part.name}: {part.call.__doc__ or 'as written'}")
        run = run_boot(self.spec, parts, self.attributes, before, Sparse(self.choices), plan=plan)
        order = Order.of(run.steps)
        if len(parts) > 1:
            self.marks |= races(run, order)
            self.classes.add(class_of(order))
        losses = self.depth if self.lives.renews else self.losses
        try:
            self.ends(run)
            after = before
            for _ in range(1 + self.draw(CRASHES_MAX, "further crash points") if losses else 0):
                self.losses = losses
                after = self.power_loss(run, order, before)
        except Inconclusive as reason:
            self.marks.add(mark("end", "inconclusive"))
            self.story.append(f"  not judged: {reason}")
            return before
        return after

    def plan(self, places: int) -> Plan:
        """What goes wrong besides power."""
        options = self.spec.options
        kills = {self.draw(places, "who is killed"): self.draw(CALLS_MAX, "calls before the kill")
                 for _ in range(min(places, self.draw(1 + options["kills"], "kills")))}  # fmt: skip
        faults = len(options["faults"]) + len(self.spec.faults)
        strikes = [
            Strike(self.draw(faults, "fault"), self.draw(places, "whom it strikes"), self.draw(CALLS_MAX // 4, "match"))
            for _ in range(self.draw(1 + options["max_faults"], "faults") if faults else 0)
        ]
        jumps = options["clock_jumps"]
        jump = self.draw(len(jumps) + 1, "clock jump") - 1 if jumps else -1
        return Plan(
            tuple(Kill(place, call) for place, call in sorted(kills.items())),
            tuple(sorted(set(strikes))),
            None if jump < 0 else jump,
            bool(options["reuse_inodes"] and self.draw(2, "numbers of inodes are used again")),
        )

    def ends(self, run: Run) -> None:
        """The run itself, and what it left."""
        if isinstance(run.stuck, Deadlock):
            raise Broken(COMPLETES, str(run.stuck))
        if isinstance(run.stuck, StepLimit):
            raise Inconclusive(str(run.stuck))
        if run.stuck is not None:
            raise run.stuck
        for runner in run.runners:
            self.marks.add(mark("end", type(runner.error).__name__))
            part = run.part_of(runner)
            if runner.error is not None and not isinstance(runner.error, part.raises):
                self.broken(finding(COMPLETES, runner.error, part))
        self.judged(run.end)

    def judged(self, at: Before) -> None:
        """Every law, on this disk."""
        for found in self.judge.findings(at):
            self.broken(found)

    def broken(self, found: Finding) -> None:
        """Ends the history."""
        raise Broken(found.law, f"{found.error}: {found.message}" + (f" ({found.site})" if found.site else ""))

    def power_loss(self, run: Run, order: Order, before: Before) -> Before:
        """The power goes at a drawn cut of the run; what was left is recovered and judged."""
        point = len(run.ops) - self.draw(len(run.ops) + 1, "ops before the power loss")
        following: Op | None = run.ops[point] if point < len(run.ops) else None
        issued = run.ops[:point]
        several = len(run.machine.processes) > 1
        if several:
            issued, coming = self.cut(run, order, point)
            which = self.draw(len(coming) + 1, "what was in progress")
            following = coming[which - 1] if which else None
        disk = self.model.start(before.image)
        for op in issued:
            add(disk, op) if several else disk.add(op)
        at = self.left(disk, issued, run.ops, following, before, run.names)
        return self.recovered(at)

    def cut(self, run: Run, order: Order, point: int) -> tuple[list[Op], list[Op]]:
        """The first `point` ops, some fewer of each process, so that what an op depends on is there; and the writes
        that could come next."""
        lanes = stamp(run, order)
        made = [sum(op.index < point for op in lane) for lane in lanes]
        for place, count in enumerate(made):
            made[place] = count - min(count, self.draw(4, "fewer of a process")) if count else 0
        while True:
            lower = [
                count - 1 if count and any(n > m for n, m in zip(lane[count - 1].clock, made, strict=True)) else count
                for lane, count in zip(lanes, made, strict=True)
            ]
            if lower == made:
                break
            made = lower
        issued = sorted((op for lane, n in zip(lanes, made, strict=True) for op in lane[:n]), key=lambda op: op.index)
        if self.model.closed_under_loss:
            return issued, []
        following = [lane[n] for lane, n in zip(lanes, made, strict=True) if n < len(lane)]
        return issued, [
            op
            for op in following
            if isinstance(op, Write)
            and all(n <= m or at == op.process for at, (n, m) in enumerate(zip(op.clock, made, strict=True)))
        ]

    def left(
        self, disk: Any, issued: Sequence[Op], ops: Sequence[Op], following: Op | None, before: Before, names: Any
    ) -> Before:
        """A drawn disk of those that the power loss may leave."""
        self.crashes += 1
        self.losses -= 1
        _, pick = disk.sample(lambda n: self.draw(n, "survivors"), following)
        fates = disk.fates(pick, following)
        lost = [f"{type(op).__name__} {op.path}" for op in issued if fates.get(op.index, "durable") == "lost"]
        self.story.append(
            f"  POWER LOSS after {len(issued)} of {len(ops)} ops" + (f"; lost: {', '.join(lost[:6])}" if lost else "")
        )
        events = (*before.past, *events_of(issued, names, before.boot))
        wall_ns = issued[-1].time_ns if issued else before.wall_ns
        return Before(disk.image(pick, following), events, before.boot + 1, wall_ns)

    def recovered(self, at: Before) -> Before:
        """Recovery, in which the power may go again while there are losses left, and the laws on what it leaves."""
        while (solo := self.judge.recovery(at)) is not None:
            failed = self.judge.recovery_failed(solo)
            if failed is not None:
                self.broken(failed)
            if not self.losses or not self.draw(2, "the power goes in recovery"):
                at = self.judge.after_recovery(at, solo)
                break
            ops = solo.machine.journal.ops
            point = len(ops) - self.draw(len(ops) + 1, "ops before the power loss in recovery")
            disk = self.model.start(at.image)
            for op in ops[:point]:
                disk.add(op)
            following = ops[point] if point < len(ops) else None
            at = self.left(disk, ops[:point], ops, following, at, names_of(solo.machine))
        self.judged(at)
        return at
