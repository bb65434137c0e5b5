"""One boot of a run: the processes on a machine under a policy, and what came of them.

The result is a `Run`: the op journal, the machine as it stands after every process ended, how each process ended, and
the steps with their footprints. Nothing in here knows of crashes: those are computed from the journal afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simfs.explore.choices import Choices
from simfs.explore.handle import Event, Handle
from simfs.explore.policy import Drawn
from simfs.explore.scenario import Part, Spec
from simfs.explore.schedule import Blocked, Kill, Policy, Runner, Scheduler, Step
from simfs.explore.stage import Before
from simfs.machine.machine import Machine
from simfs.machine.ops import Ack, Effect, Op


@dataclass(slots=True)
class Run:
    """One execution. `schedule` is the list of answers that leads to it."""

    before: Before
    machine: Machine
    runners: list[Runner]
    parts: list[Part]
    schedule: tuple[int, ...]
    kills: tuple[Kill, ...]
    steps: list[Step]
    ticked_out: bool
    """The clock could have moved early once more, but its early steps were used up."""
    killed: int
    stuck: BaseException | None
    """A signal that ended the run early: Deadlock, StepLimit, NotSimulated, or Blocked by the policy."""

    @property
    def ops(self) -> list[Op]:
        return self.machine.journal.ops

    @property
    def names(self) -> list[str]:
        return [process.name for process in self.machine.processes]

    def part_of(self, runner: Runner) -> Part:
        return self.parts[runner.who % len(self.parts)]


def run_boot(
    spec: Spec,
    parts: Sequence[Part],
    attributes: dict[str, Any],
    before: Before,
    policy: Policy | Choices,
    sites: bool = False,
    kills: Sequence[Kill] = (),
) -> Run:
    """Run `parts` as processes on a machine that starts from `before`. `policy` may be a `Choices` to draw from."""
    machine = Machine(before.image, boot=before.boot, wall_ns=before.wall_ns, record_sites=sites)
    machine.step_limit = spec.options["steps_max"]

    def spawn(place: int, generation: int) -> Runner:
        part = parts[place]
        process = machine.spawn(part.name)
        machine.current = None
        handle = Handle(machine, process, before.past)
        instance = spec.instance(attributes)
        restarts = part.restart if generation == 0 else 0
        return Runner(place + generation * len(parts), process, lambda: part.call(instance, handle), restarts)

    chosen: Policy = Drawn(policy) if hasattr(policy, "draw") else policy
    scheduler = Scheduler(machine, chosen, spawn, len(parts), kills, spec.options["early_ticks"])
    stuck: BaseException | None = None
    try:
        scheduler.run()
    except KeyboardInterrupt:
        raise
    except BaseException as signal:
        if isinstance(signal, Exception):
            raise
        stuck = signal
    return Run(
        before,
        machine,
        list(scheduler.runners.values()),
        list(parts),
        tuple(scheduler.answers),
        tuple(kills),
        scheduler.steps,
        scheduler.ticked_out,
        scheduler.killed,
        stuck,
    )


def cut_off(run: Run) -> bool:
    """Whether the policy ended the run because every way on has been explored elsewhere."""
    return isinstance(run.stuck, Blocked)


def events_of(ops: Sequence[Op], names: Sequence[str], boot: int) -> list[Event]:
    """The promises and effects among `ops`."""
    return [
        Event("ack" if isinstance(op, Ack) else "effect", op.label, op.value, names[op.process], boot, op.time_ns)
        for op in ops
        if isinstance(op, Ack | Effect)
    ]
