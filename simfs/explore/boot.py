"""One boot of a run: the processes on a machine under a list of choices, and what came of them.

The result is a `Run`: the op journal, the machine as it stands after every process ended, and how each process ended.
Nothing in here knows of crashes: those are computed from the journal afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simfs.explore.choices import Choices
from simfs.explore.handle import Event, Handle
from simfs.explore.scenario import Part, Spec
from simfs.explore.schedule import Runner, Scheduler
from simfs.explore.stage import Before
from simfs.machine.machine import Machine
from simfs.machine.ops import Ack, Effect, Op


@dataclass(slots=True)
class Run:
    """One execution. `schedule` is the list of answers that leads to it, `order` who made each step."""

    before: Before
    machine: Machine
    runners: list[Runner]
    parts: list[Part]
    schedule: tuple[int, ...]
    order: list[int]
    stuck: BaseException | None
    """A signal that ended the run early: Deadlock, StepLimit, NotSimulated."""

    @property
    def ops(self) -> list[Op]:
        return self.machine.journal.ops

    @property
    def names(self) -> list[str]:
        return [process.name for process in self.machine.processes]


def run_boot(
    spec: Spec,
    parts: Sequence[Part],
    attributes: dict[str, Any],
    before: Before,
    choices: Choices,
    sites: bool = False,
) -> Run:
    """Run `parts` as processes on a machine that starts from `before`."""
    machine = Machine(before.image, boot=before.boot, wall_ns=before.wall_ns, record_sites=sites)
    machine.step_limit = spec.options["steps_max"]
    scheduler = Scheduler(machine, choices)
    for part in parts:
        process = machine.spawn(part.name)
        handle = Handle(machine, process, before.past)
        instance = spec.instance(attributes)
        scheduler.add(process, _body(part, instance, handle))
    stuck: BaseException | None = None
    try:
        scheduler.run()
    except KeyboardInterrupt:
        raise
    except BaseException as signal:
        if isinstance(signal, Exception):
            raise
        stuck = signal
    return Run(before, machine, scheduler.runners, list(parts), tuple(choices.taken), scheduler.order, stuck)


def _body(part: Part, instance: Any, handle: Handle) -> Any:
    return lambda: part.call(instance, handle)


def events_of(ops: Sequence[Op], names: Sequence[str], boot: int) -> list[Event]:
    """The promises and effects among `ops`."""
    return [
        Event("ack" if isinstance(op, Ack) else "effect", op.label, op.value, names[op.process], boot, op.time_ns)
        for op in ops
        if isinstance(op, Ack | Effect)
    ]
