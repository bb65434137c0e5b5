"""Running a part of a scenario alone: setup, recovery and laws.

These run directly, without a scheduler: nothing else is on the machine, so nothing can come between two of their calls,
and a power loss during them is computed from the op journal like any other. What they raise is an outcome, not an
escape: an `Exception` is kept in the `Solo`; signals of the harness (`NotSimulated`, `Deadlock`, `StepLimit`) are kept
too, and whoever asked decides what they mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simfs.explore.handle import Event, Handle
from simfs.explore.spec import Part, Spec
from simfs.machine import running
from simfs.machine.calls import Footprint
from simfs.machine.faults import Fault, FaultySystem
from simfs.machine.inode import EPOCH_NS, Image
from simfs.machine.machine import Machine
from simfs.patch import end_of_process, taken_escapes

RECOVERY_STREAM, LAW_STREAM = 32, 48
"""Where the inode numbers of a recovery and of a law begin, after those of the processes of the same boot."""


@dataclass(slots=True)
class Solo:
    """What a part that ran alone left: the machine after its process exited, and what it raised."""

    machine: Machine
    handle: Handle
    error: BaseException | None


@dataclass(frozen=True, slots=True)
class Before:
    """Where a boot begins: the disk, everything promised so far, the number of the boot and its wall clock (ns)."""

    image: Image
    past: tuple[Event, ...] = ()
    boot: int = 1
    wall_ns: int = EPOCH_NS


def refuse(machine: Machine, refusals: Sequence[Fault]) -> None:
    """Make the machine's system refuse what the disk model says it refuses."""
    if refusals:
        machine.system = FaultySystem(machine.system, refusals)  # type: ignore[assignment]


def run_alone(
    spec: Spec,
    part: Part,
    attributes: dict[str, Any],
    before: Before,
    sites: bool = False,
    stream: int = 0,
    looks: Footprint | None = None,
) -> Solo:
    """Run `part` in a fresh process on a fresh machine; the process exits when it ends, whatever it raised.

    `stream` keeps its inode numbers apart from those of other processes of the same boot. `looks` is given all that it
    touches.
    """
    machine = Machine(before.image, boot=before.boot, wall_ns=before.wall_ns, record_sites=sites or spec.sites)
    machine.footprint = looks
    machine.step_limit = spec.options["steps_max"]
    refuse(machine, spec.refusals)
    process = machine.spawn(part.name)
    process.stream += stream
    handle = Handle(machine, process, before.past)
    instance = spec.instance(attributes)
    error: BaseException | None = None
    outer = running.active
    running.active, machine.current = machine, process
    try:
        try:
            spec.run(part, instance, handle)
        finally:
            end_of_process()
    except KeyboardInterrupt:
        raise
    except BaseException as raised:
        error = raised
    finally:
        machine.current = None
        running.active = outer
        if spec.isolation is not None:
            spec.isolation.switch(None)
    machine.exit(process)
    escapes = taken_escapes()
    if escapes:
        error = escapes[0]
    if part is spec.setup:
        spec.kept.clear()
        spec.kept.update(instance.__dict__)
    return Solo(machine, handle, error)

