"""Exhaustive search of schedules without trying equal ones twice: source-DPOR with sleep sets.

Model. Runs that differ only in the order of steps that do not conflict are one class; one run of each is enough. The
search keeps the current run as a stack of nodes. After a run it looks at every race of its new part: two conflicting
steps with nothing between them. For each it makes sure that the node before the first of them will also try a process
with which the second can come first ("source sets"). A process tried at a node sleeps there afterwards: it is not
tried again below until somebody has made a step that conflicts with the one it would make. A run in which everybody
who could go on sleeps is cut off and counted as blocked.

Restore is by replay from the state after setup. Each replayed step must touch what it touched before, or the program is
not deterministic, which is a finding of its own.

A search is of one `Branch` of the tree (`splitting.py`): nodes on the way to it are fixed, what a race asks of them is
noted for others, and after so many runs the search stops and says what it leaves.

With a bound on preemptions (switches away from a process that could have gone on) some of what a race asks for is out
of reach, and what stands in for it must be tried too: for each race the other process is tried also where the block
of steps that the first belongs to began, since to switch there may cost nothing. Source sets and sleep sets rely on
nothing being cut off, so they are left out: each race adds its process, and runs may repeat a class.

Sources: Abdulla, Aronis, Jonsson, Sagonas, Optimal dynamic partial order reduction, POPL 2014,
algorithm 1; Coons, Musuvathi, McKinley, Bounded partial-order reduction, OOPSLA 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from simfs.explore.happens import Order, conflict
from simfs.explore.splitting import MOST, Branch, Left, Node, Wanted
from simfs.explore.step import Blocked, Footprint, Step


class Diverged(Exception):
    """A replayed step was not what it was before: the code under test is not deterministic."""

    def __init__(self, step: int, what: str) -> None:
        super().__init__(f"step {step} {what} when it was run again")
        self.step = step


@dataclass(slots=True)
class Dpor:
    """A policy that makes every class of runs of a branch once: `while dpor.next(): run(dpor); dpor.learn()`; then
    `left` is what it leaves. After `most` runs it stops."""

    bound: int | None = None
    """How many preemptions a run may have; None for any number."""
    branch: Branch = field(default_factory=lambda: Branch(-1, []))
    most: int = MOST
    limited: bool = False
    """The bound left something out."""
    nodes: list[Node] = field(init=False)
    floor: int = field(init=False)
    """So many nodes are fixed."""
    runs: int = 0
    blocked: int = 0
    order: Order = field(default_factory=Order)
    _depth: int = 0
    _fresh: int = 0
    """The first step that was not made in exactly this context before: races of earlier ones are known."""
    _sleep: dict[int, Footprint] = field(default_factory=dict)
    _wanted: dict[Wanted, None] = field(default_factory=dict)
    _finished: bool = False

    def __post_init__(self) -> None:
        self.nodes = list(self.branch.nodes)
        self.floor = len(self.nodes)
        self._fresh = max(0, self.floor - 1)

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
        node = Node(tuple(enabled), awake[0], dict(sleep), {awake[0]})
        if self.nodes:
            before = self.nodes[-1]
            node.last = before.who
            node.preempted = before.preempted + before.cost(before.who)
        self.nodes.append(node)
        return awake[0]

    def stepped(self, step: Step) -> None:
        node = self.nodes[self._depth]
        self._depth += 1
        if node.step is not None:
            if node.step.footprint != step.footprint:
                raise Diverged(self._depth - 1, "touched other things")
            return
        if self._depth < self.floor and node.sleep[step.who] != step.footprint:
            raise Diverged(self._depth - 1, "touched other things")
        node.step = step
        self.order.add(step)
        if self._depth == len(self.nodes) and self.bound is None:
            footprint = step.footprint
            self._sleep = {
                who: theirs for who, theirs in node.sleep.items() if who != step.who and not conflict(theirs, footprint)
            }

    def learn(self, cut_off: bool = False) -> None:
        """After a run: turn its races round, and move to the next node that has something left to try."""
        self.runs += not cut_off
        self.blocked += cut_off
        self._turn_races()
        while len(self.nodes) > self.floor:
            node = self.nodes[-1]
            if node.step is None:
                self.nodes.pop()  # The run ended in the middle of this step.
                continue
            node.sleep[node.who] = node.step.footprint
            waiting = node.waiting(self.bound)
            self.limited |= self.bound is not None and len(waiting) < len(node.waiting(None))
            if waiting:
                node.who, node.step = waiting[0], None
                self._fresh = len(self.nodes) - 1
                self._finished = self.runs + self.blocked >= self.most
                return
            self.nodes.pop()
        self._finished = True

    @property
    def left(self) -> Left:
        """What others have to do, when there is no further run."""
        last = self.nodes[self.floor - 1].step if self.floor else None
        return Left(last.footprint if last else None, list(self._wanted), self.nodes[self.floor :], self.done)

    @property
    def done(self) -> float:
        """A guess how much of the branch was searched."""
        share, done = 1.0, 0.0
        for node in self.nodes[self.floor :]:
            width = max(1, len(node.backtrack))
            tried = len(node.backtrack & set(node.sleep)) - (node.who in node.sleep)
            done += share * max(0, tried) / width
            share /= width
        return done if len(self.nodes) > self.floor else 1.0

    def _turn_races(self) -> None:
        order = self.order
        for later in range(self._fresh, len(order.steps)):
            for earlier in order.races[later]:
                node = self.nodes[earlier]
                who = order.steps[later].who
                if self.bound is not None:
                    self._try_anyhow(earlier, who)
                    continue
                first = order.initials(order.notdep(earlier, later))
                if not node.backtrack.isdisjoint(first):
                    continue
                ready = [one for one in first if one in node.enabled]
                self._ask(earlier, first, (who if who in ready else ready[0],) if ready else node.enabled)

    def _ask(self, depth: int, first: Sequence[int], add: Sequence[int]) -> None:
        """Have the node at `depth` try those of `add`; where it is fixed, note it."""
        if depth >= self.floor:
            self.nodes[depth].backtrack.update(add)
        else:
            self._wanted[Wanted(depth, tuple(first), tuple(add))] = None

    def _try_anyhow(self, earlier: int, who: int) -> None:
        """Let `who` go on before step `earlier`, and where the block of steps that it belongs to began."""
        first = earlier
        while first > 0 and self.nodes[first - 1].who == self.nodes[earlier].who:
            first -= 1
        for depth in {earlier, first}:
            enabled = self.nodes[depth].enabled
            self._ask(depth, (), (who,) if who in enabled else enabled)
