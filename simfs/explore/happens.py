"""Happens-before: which step of a run had to come before which other, because they touched the same thing.

Two steps of different processes conflict when they touch one resource and at least one writes, or one reads and the
other adds ("C", changes that commute with each other). Happens-before is the smallest order that has each process's own
steps in order and every two conflicting steps in the order in which they ran. Runs with the same happens-before are
the same run to everybody in it.

`Order` keeps, for each step, a vector clock: how many steps of each process came before it or are it. Races are pairs
of conflicting steps with nothing between them in this order; they are what a search turns round.

Locks need care. That a lock was dropped before a waiter took it cannot be turned round: the waiter could not have gone.
What can be turned round is who took it first. So a step that had been waiting races, on a lock, with the last step
that took it (unless it had to come after that step for another reason as well), not with the one that dropped it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from simfs.explore.step import CLOCK, Footprint, Step

Clock = dict[int, int]
Resource = tuple[Any, ...]


def conflict(one: Footprint, other: Footprint) -> bool:
    """Whether two footprints touch something that makes their order matter."""
    if len(other) < len(one):
        one, other = other, one
    for resource, mode in one.items():
        against = other.get(resource)
        if against is not None and (mode != against or mode == "W"):
            return True
    return False


class _Table:
    """The accesses to one resource that a later one may directly follow from: steps by number."""

    __slots__ = ("adds", "reads", "taken", "write")

    def __init__(self) -> None:
        self.write = -1
        self.reads: tuple[int, ...] = ()
        self.adds: tuple[int, ...] = ()
        self.taken = -1
        """The last step that took it, where it is a lock."""


@dataclass(slots=True)
class Order:
    """Happens-before of the steps added so far."""

    steps: list[Step] = field(default_factory=list)
    clocks: list[Clock] = field(default_factory=list)
    ordinals: list[int] = field(default_factory=list)
    """The how-manieth step of its process each step is, counting from 1."""
    previous: list[int] = field(default_factory=list)
    """The step before it in its process, -1 for none."""
    races: list[list[int]] = field(default_factory=list)
    """For each step, the earlier ones it races with."""
    _last: dict[int, int] = field(default_factory=dict)
    _tables: dict[Resource, _Table] = field(default_factory=dict)
    _undo: list[list[tuple[_Table, int, tuple[int, ...], tuple[int, ...], int]]] = field(default_factory=list)

    @staticmethod
    def of(steps: Sequence[Step]) -> Order:
        order = Order()
        for step in steps:
            order.add(step)
        return order

    def before(self, one: int, other: int) -> bool:
        """Whether step `one` happens before step `other`, or is it."""
        return self.clocks[other].get(self.steps[one].who, 0) >= self.ordinals[one]

    def add(self, step: Step) -> None:
        """The next step of the run."""
        number = len(self.steps)
        who = step.who
        own = self._last.get(who, -1)
        clock = dict(self.clocks[own]) if own >= 0 else {}
        if own < 0 and step.parent != CLOCK:
            clock = dict(self.clocks[self._last[step.parent]])
        preds: set[int] = set()
        locks: list[int] = []
        tables = self._tables
        undo = []
        for resource, mode in step.footprint.items():
            table = tables.get(resource)
            if table is None:
                table = tables[resource] = _Table()
            write, reads, adds = table.write, table.reads, table.adds
            undo.append((table, write, reads, adds, table.taken))
            found = preds
            if resource[0] == "lock":
                if step.waited:
                    found = set()
                    if table.taken >= 0:
                        locks.append(table.taken)
                if ("acquire", *resource[1:]) in step.footprint:
                    table.taken = number
            if write >= 0:
                found.add(write)
            if mode == "W":
                found.update(reads, adds)
                table.write, table.reads, table.adds = number, (), ()
            elif mode == "R":
                found.update(adds)
                table.reads = (*reads, number)
            else:
                found.update(reads)
                table.adds = (*adds, number)
            if found is not preds:
                self._join(clock, found)
        before_locks = dict(self.clocks[own]) if own >= 0 else {}
        self._join(before_locks, preds)
        self._join(clock, preds)
        steps = self.steps
        races = [p for p in preds if steps[p].who != who and self._direct(p, own, preds)] if preds else []
        for taker in locks:
            other = self.steps[taker].who
            if taker not in races and other != who and before_locks.get(other, 0) < self.ordinals[taker]:
                races.append(taker)
        ordinal = clock[who] = (self.ordinals[own] if own >= 0 else 0) + 1
        self.steps.append(step)
        self.clocks.append(clock)
        self.ordinals.append(ordinal)
        self.previous.append(own)
        self._undo.append(undo)
        self.races.append(races)
        self._last[who] = number

    def _join(self, clock: Clock, steps: Sequence[int] | set[int]) -> None:
        for number in steps:
            for who, count in self.clocks[number].items():
                if clock.get(who, 0) < count:
                    clock[who] = count

    def _direct(self, one: int, own: int, preds: set[int]) -> bool:
        """Whether nothing stands between `one` and the step being added."""
        if own >= 0 and self.before(one, own):
            return False
        return not any(other != one and self.before(one, other) for other in preds)

    def rewind(self, count: int) -> None:
        """Forget all steps but the first `count`."""
        while len(self.steps) > count:
            step = self.steps.pop()
            self.clocks.pop()
            self.ordinals.pop()
            self.races.pop()
            own = self.previous.pop()
            if own >= 0:
                self._last[step.who] = own
            else:
                del self._last[step.who]
            for table, write, reads, adds, taken in self._undo.pop():
                table.write, table.reads, table.adds, table.taken = write, reads, adds, taken

    def notdep(self, one: int, other: int) -> list[int]:
        """The steps between `one` and `other` that do not happen after `one`, then `other`."""
        return [k for k in range(one + 1, other) if not self.before(one, k)] + [other]

    def initials(self, steps: Sequence[int]) -> list[int]:
        """The processes that could make the first of `steps`, in the order they appear."""
        out: list[int] = []
        for place, number in enumerate(steps):
            who = self.steps[number].who
            if who in out:
                continue
            if not any(self.before(earlier, number) for earlier in steps[:place]):
                out.append(who)
        return out

    def class_key(self) -> tuple[object, ...]:
        """What is the same for all runs of one class: each step's process, ordinal, footprint and clock."""
        return tuple(
            sorted(
                (step.who, ordinal, tuple(sorted(clock.items())))
                for step, ordinal, clock in zip(self.steps, self.ordinals, self.clocks, strict=True)
            )
        )
