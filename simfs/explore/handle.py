"""`m`, the machine as a scenario sees it: promises, effects, time, and what was promised before.

`ack` is a promise: after a power loss it must have been durable. `effect` is something done to the outside world,
which no crash undoes. Both are ops of the journal, so what had been promised when the power went is a matter of order.
A law or a recovery asks `acked` and `effects`, which answer for all boots so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simfs.machine.ops import Ack, Ask, Effect, Fail, HistoryOp, Op

if TYPE_CHECKING:
    from simfs.machine.machine import Machine
    from simfs.machine.process import Process
    from simfs.machine.system import SimSystem


KINDS: dict[type[Op], str] = {Ask: "ask", Ack: "ack", Fail: "fail", Effect: "effect"}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that was asked for ("ask"), promised ("ack"), given up ("fail") or done to the outside world ("effect")
    in some boot. `value` is what was passed along with it."""

    kind: str
    label: str
    value: Any
    process: str
    boot: int
    time_ns: int

    def key(self) -> tuple[str, str, str, str]:
        """What tells two events apart for a law: order and time are not in it."""
        return (self.kind, self.label, repr(self.value), self.process)


def events_of(ops: Sequence[Op], names: Mapping[int, str], boot: int) -> list[Event]:
    """The promises and effects among `ops`; `names` gives the name of each process by index."""
    return [
        Event(KINDS[type(op)], op.label, op.value, names[op.process], boot, op.time_ns)
        for op in ops
        if isinstance(op, HistoryOp)
    ]


class Handle:
    """What the functions of a scenario are given as `m`. One for each simulated process."""

    __slots__ = ("_machine", "_ordered", "_past", "_process")

    def __init__(self, machine: Machine, process: Process, past: Sequence[Event], ordered: bool = False) -> None:
        self._ordered = ordered
        self._machine = machine
        self._process = process
        self._past = past

    def __repr__(self) -> str:
        """The same in every run: pytest puts it into the messages of failed assertions."""
        return "m"

    @property
    def system(self) -> SimSystem:
        """The machine's system calls, under the names of os, fcntl and time: for stores that take a `System`."""
        return self._machine.system

    @property
    def boot(self) -> int:
        """1 for the run itself, 2 after the first power loss, and so on."""
        return self._machine.boot

    @property
    def process(self) -> str:
        """Name of the process that asks."""
        return self._process.name

    def ask(self, label: str, value: Any = None) -> None:
        """Note that a caller asked for this; it may or may not happen. `value` is anything with a stable repr."""
        self._tell(Ask("", label, value))

    def ack(self, label: str, value: Any = None) -> None:
        """Promise: from here on it must survive. `value` is anything with a stable repr."""
        self._tell(Ack("", label, value))

    def fail(self, label: str, value: Any = None) -> None:
        """Note that a caller was told that this did not happen, or may not have."""
        self._tell(Fail("", label, value))

    def effect(self, label: str, value: Any = None) -> None:
        """Say that something was done to the outside world; promises nothing, is never undone."""
        self._tell(Effect("", label, value))

    def _tell(self, op: HistoryOp) -> None:
        self._machine.promise(op)
        if self._ordered and self._machine.footprint is not None:
            self._machine.footprint.append((("history",), "W"))

    @property
    def history(self) -> list[Event]:
        """All that was asked, promised, given up and done so far, in all boots, in one legal order."""
        names = {p.index: p.name for p in self._machine.processes}
        return [*self._past, *events_of(self._machine.journal.ops, names, self.boot)]

    @property
    def acks(self) -> list[tuple[str, Any]]:
        """(label, value) of every promise so far, in order."""
        return [(event.label, event.value) for event in self.history if event.kind == "ack"]

    def acked(self, label: str) -> bool:
        """Whether this was promised, in any boot."""
        return any(event.kind == "ack" and event.label == label for event in self.history)

    def effects(self, label: str | None = None) -> int:
        """How many effects with this label (any by default) there were, in all boots."""
        return sum(1 for e in self.history if e.kind == "effect" and (label is None or e.label == label))

    def sleep(self, seconds: float) -> None:
        """Let simulated time pass."""
        self._machine.system.sleep(seconds)
