"""Exhaustive search of schedules without trying equal ones twice: source-DPOR with sleep sets.

Model. Runs that differ only in the order of steps that do not conflict are one class; one run of each is enough. The
search keeps the current run as a stack of nodes. After a run it looks at every race of its new part: two conflicting
steps with nothing between them. For each it makes sure that the node before the first of them will also try a process
with which the second can come first ("source sets"). A process tried at a node sleeps there afterwards: it is not
tried again below until somebody has made a step that conflicts with the one it would make. A run in which everybody
who could go on sleeps is cut off and counted as blocked.

Restore is by replay from the state after setup. Each replayed step must touch what it touched before, or the program is
not deterministic, which is a finding of its own.

Source: Abdulla, Aronis, Jonsson, Sagonas, Optimal dynamic partial order reduction, POPL 2014, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from simfs.explore.happens import Order, conflict
from simfs.explore.step import Blocked, Footprint, Step


class Diverged(Exception):
    """A replayed step was not what it was before: the code under test is not deterministic."""

    def __init__(self, step: int, what: str) -> None:
        super().__init__(f"step {step} {what} when it was run again")
        self.step = step


@dataclass(slots=True)
class Node:
    """The state before one step: who could go on, who goes on now, who sleeps, who must be tried."""

    enabled: tuple[int, ...]
    who: int
    sleep: dict[int, Footprint]
    backtrack: set[int]
    step: Step | None = None


@dataclass(slots=True)
class Dpor:
    """A policy that makes every class of runs once: `while dpor.next(): run(dpor); dpor.learn()`."""

    nodes: list[Node] = field(default_factory=list)
    runs: int = 0
    blocked: int = 0
    order: Order = field(default_factory=Order)
    _depth: int = 0
    _fresh: int = 0
    """The first step that was not made in exactly this context before: races of earlier ones are known."""
    _sleep: dict[int, Footprint] = field(default_factory=dict)
    _finished: bool = False

    def next(self) -> bool:
        """Prepare the next run; False when there is none left."""
        if self._finished:
            return False
        self._depth = 0
        self._sleep = {}
        self.order.rewind(self._fresh)
        return True

    def choose(self, enabled: Sequence[int]) -> int:
        if self._depth < len(self.nodes):
            node = self.nodes[self._depth]
            if tuple(enabled) != node.enabled:
                raise Diverged(self._depth, f"offered processes {list(enabled)} instead of {list(node.enabled)}")
            return node.who
        sleep = self._sleep
        awake = [who for who in enabled if who not in sleep] if sleep else enabled
        if not awake:
            raise Blocked
        self.nodes.append(Node(tuple(enabled), awake[0], sleep, {awake[0]}))
        return awake[0]

    def stepped(self, step: Step) -> None:
        node = self.nodes[self._depth]
        self._depth += 1
        if node.step is not None:
            if node.step.footprint != step.footprint:
                raise Diverged(self._depth - 1, "touched other things")
            return
        node.step = step
        self.order.add(step)
        if self._depth == len(self.nodes):
            footprint = step.footprint
            self._sleep = {
                who: theirs for who, theirs in node.sleep.items() if who != step.who and not conflict(theirs, footprint)
            }

    def learn(self, cut_off: bool = False) -> None:
        """After a run: turn its races round, and move to the next node that has something left to try."""
        self.runs += not cut_off
        self.blocked += cut_off
        self._turn_races()
        while self.nodes:
            node = self.nodes[-1]
            if node.step is None:
                self.nodes.pop()  # The run ended in the middle of this step.
                continue
            node.sleep[node.who] = node.step.footprint
            left = [who for who in node.enabled if who in node.backtrack and who not in node.sleep]
            if left:
                node.who, node.step = left[0], None
                self._fresh = len(self.nodes) - 1
                return
            self.nodes.pop()
        self._finished = True

    def _turn_races(self) -> None:
        order = self.order
        for later in range(self._fresh, len(order.steps)):
            for earlier in order.races[later]:
                node = self.nodes[earlier]
                first = order.initials(order.notdep(earlier, later))
                if not node.backtrack.isdisjoint(first):
                    continue
                ready = [who for who in first if who in node.enabled]
                if ready:
                    later_who = order.steps[later].who
                    node.backtrack.add(later_who if later_who in ready else ready[0])
                else:
                    node.backtrack.update(node.enabled)
