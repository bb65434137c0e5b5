"""One boot of a run: the processes on a machine under a policy, and what came of them.

The result is a `Run`: the op journal, the machine as it stands after every process ended, how each process ended, and
the steps with their footprints. Nothing in here knows of crashes: those are computed from the journal afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from simfs.explore.choices import Choices
from simfs.explore.handle import Handle, events_of
from simfs.explore.plan import NOTHING, Plan
from simfs.explore.policy import Drawn
from simfs.explore.schedule import Runner, Scheduler
from simfs.explore.spec import Part, Spec
from simfs.explore.stage import Before, refuse
from simfs.explore.step import Blocked, Policy, Step
from simfs.machine.faults import Fault, FaultySystem, by_count
from simfs.machine.machine import Machine
from simfs.machine.ops import Op
from simfs.patch import taken_escapes


@dataclass(slots=True)
class Run:
    """One execution. `schedule` is the list of answers that leads to it."""

    before: Before
    machine: Machine
    runners: list[Runner]
    parts: list[Part]
    schedule: tuple[int, ...]
    plan: Plan
    steps: list[Step]
    ticked_out: bool
    """The clock could have moved early once more, but its early steps were used up."""
    killed: int
    struck: int
    """How many faults struck."""
    stuck: BaseException | None
    """A signal that ended the run early: Deadlock, StepLimit, NotSimulated, or Blocked by the policy."""

    _end: Before | None = None

    @property
    def end(self) -> Before:
        """What the run left, as laws see it at its end."""
        if self._end is None:
            events = (*self.before.past, *events_of(self.ops, self.names, self.before.boot))
            self._end = Before(self.machine.freeze(), events, self.before.boot, self.machine.wall_ns)
        return self._end

    @property
    def ops(self) -> list[Op]:
        return self.machine.journal.ops

    @property
    def names(self) -> dict[int, str]:
        return names_of(self.machine)

    def part_of(self, runner: Runner) -> Part:
        return self.parts[runner.who % len(self.parts)]


def run_boot(
    spec: Spec,
    parts: Sequence[Part],
    attributes: dict[str, Any],
    before: Before,
    policy: Policy | Choices,
    sites: bool = False,
    plan: Plan = NOTHING,
) -> Run:
    """Run `parts` as processes on a machine that starts from `before`. `policy` may be a `Choices` to draw from."""
    machine = Machine(before.image, boot=before.boot, wall_ns=before.wall_ns, record_sites=sites or spec.sites)
    machine.step_limit = spec.options["steps_max"]
    machine.freed = {} if plan.reuse else None
    options = spec.options
    struck = Struck()
    refuse(machine, spec.refusals)
    if plan.strikes:
        faults = (*options["faults"], *spec.faults)
        aims = [aimed(faults[s.fault], parts[s.place].name, s.match) for s in plan.strikes]
        machine.system = FaultySystem(machine.system, aims, struck)  # type: ignore[assignment]

    def spawn(place: int, generation: int) -> Runner:
        part = parts[place]
        process = machine.spawn(part.name)
        machine.current = None
        handle = Handle(machine, process, before.past, spec.ordered)
        instance = spec.instance(attributes)
        restarts = part.restart if generation == 0 else 0
        return Runner(place + generation * len(parts), process, lambda: spec.run(part, instance, handle), restarts)

    chosen = policy if isinstance(policy, Policy) else Drawn(policy)
    jump_ns = None if plan.jump is None else round(options["clock_jumps"][plan.jump] * 1e9)
    scheduler = Scheduler(machine, chosen, spawn, len(parts), plan.kills, options["early_ticks"], jump_ns)
    scheduler.flush_order = spec.flush_order
    if spec.isolation is not None:
        scheduler.switched = spec.isolation.switch
    stuck: BaseException | None = None
    try:
        scheduler.run()
    except KeyboardInterrupt:
        raise
    except BaseException as signal:
        if isinstance(signal, Exception):
            raise
        stuck = signal
    escapes = taken_escapes()
    if escapes:
        stuck = escapes[0]
    return Run(
        before,
        machine,
        list(scheduler.runners.values()),
        list(parts),
        tuple(scheduler.answers),
        plan,
        scheduler.steps,
        scheduler.ticked_out,
        scheduler.killed,
        struck.count,
        stuck,
    )


def names_of(machine: Machine) -> dict[int, str]:
    """The name of each process by its index."""
    return {process.index: process.name for process in machine.processes}


class Struck:
    """Decides as the rule's own count says, and counts how often a fault struck."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, fault: Fault, call: str, count: int) -> bool:
        hit = by_count(fault, call, count)
        self.count += hit
        return hit


NOBODY = ""
"""The name of no process."""


def aimed(fault: Fault, process: str, match: int) -> Fault:
    """The fault rule, made to strike one call: the `match`-th that it matches in that process, counting from 0. A rule
    for another process strikes nobody there."""
    return replace(fault, nth=match + 1, process=process if fault.process in (None, process) else NOBODY)


def cut_off(run: Run) -> bool:
    """Whether the policy ended the run because every way on has been explored elsewhere."""
    return isinstance(run.stuck, Blocked)


def loop_of(run: Run, shown: int = 6) -> str:
    """The last steps of a run that did not end, for a person."""
    ops = [op for op in run.ops[-200:] if op.path][-shown:]
    return ", ".join(f"{type(op).__name__.lower()} {op.path}" for op in ops) or "no call that changes anything"
