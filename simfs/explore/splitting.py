"""The schedules of one plan, split by their prefixes into parts that can be searched anywhere, in any order.

A `Branch` is a part of the tree of schedules: the steps that lead to a state, and who goes on there. `Dpor` searches
below it and answers with what is `Left`: after `MOST` runs it stops, and the nodes of its last run, with what is still
to be tried at each, become `Fork`s, from which further branches begin. Races of its runs with steps of the prefix ask
forks above to try somebody else too: they are asked when the answer is taken, not by the search.

A fork hands out one branch at a time: who sleeps in the next one depends on what the first step of the one before has
touched. Branches of different forks do not depend on each other, so as many of them may be searched at a time as
there are hands; and answers are taken in the order in which branches were handed out. Both make the search the same
with any number of hands: the same runs, each class once, the same runs cut off.

Sources: as `dpor.py`; Yang, Chen, Gopalakrishnan, Kirby, Distributed dynamic partial order reduction, SPIN 2007.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from simfs.explore.step import CLOCK, Footprint, Step

MOST = 200
"""Runs, those that were cut off included, after which a branch is split."""


@dataclass(slots=True)
class Node:
    """The state before one step: who could go on, who goes on now, who sleeps, who must be tried."""

    enabled: tuple[int, ...]
    who: int
    sleep: dict[int, Footprint]
    backtrack: set[int]
    step: Step | None = None
    last: int = CLOCK
    """Who made the step before."""
    preempted: int = 0
    """How many preemptions were made before."""

    def cost(self, who: int) -> int:
        """1 if it is a preemption to let `who` go on here."""
        return int(who != self.last >= 0 and self.last in self.enabled)

    def waiting(self, bound: int | None) -> list[int]:
        """Who is still to be tried here; with a bound on preemptions, only those that it leaves."""
        left = [who for who in self.enabled if who in self.backtrack and who not in self.sleep]
        if bound is None:
            return left
        return [who for who in left if self.preempted + self.cost(who) <= bound]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a race asks of the node at `depth`: unless one of `first` is tried there anyhow, try those of `add`."""

    depth: int
    first: tuple[int, ...]
    add: tuple[int, ...]


@dataclass(slots=True)
class Branch:
    """A part of the tree: the nodes on the way to it, in the last of which somebody new goes on. Nodes before the last
    have, as who sleeps, the one who goes on, with what that step touched when it was made first."""

    at: int
    nodes: list[Node]
    share: float = 1.0
    """A guess how much of the whole tree is in it."""


@dataclass(slots=True)
class Left:
    """What the search of a branch leaves to others. `first` is what its first step touched, None if it made none;
    `nodes` those with something left to try, and all above them."""

    first: Footprint | None = None
    wanted: list[Wanted] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    done: float = 1.0
    """A guess how much of the branch was searched."""


@dataclass(slots=True)
class Fork:
    """A node at which several branches begin. `above` is the number of the fork before, -1 for none, `came` who went on
    there. While a branch from here is `busy`, no other is handed out."""

    above: int
    came: int
    node: Node
    busy: bool = False
    share: float = 0.0


@dataclass(slots=True)
class Splitting:
    """The parts of one tree. `next` hands out a branch, None when there is none at the moment; `take` is given what
    each has left, in the order in which they were handed out. `done` is a guess how much of the tree was searched."""

    bound: int | None = None
    done: float = 0.0
    _forks: list[Fork] = field(default_factory=list)
    _ready: deque[Branch] = field(default_factory=lambda: deque([Branch(-1, [])]))

    def next(self) -> Branch | None:
        """Hand out a branch."""
        return self._ready.popleft() if self._ready else None

    def take(self, branch: Branch, left: Left) -> None:
        """A branch was searched."""
        self.done += branch.share * left.done
        way = self._way(branch.at)
        for wanted in left.wanted:
            node = self._forks[way[wanted.depth]].node
            if node.backtrack.isdisjoint(wanted.first):
                node.backtrack.update(wanted.add)
        if branch.at >= 0:
            fork, who = self._forks[branch.at], branch.nodes[-1].who
            fork.busy = False
            if left.first is not None:
                fork.node.sleep[who] = left.first
            else:
                fork.node.backtrack.clear()
        self._graft(branch, left)
        new = range(len(self._forks) - len(left.nodes), len(self._forks))
        for at in (*reversed(new), *reversed(way)):
            self._offer(at)

    def _graft(self, branch: Branch, left: Left) -> None:
        """Nodes of the last run of a branch as forks, the undone rest of the branch shared among them."""
        above, came = branch.at, branch.nodes[-1].who if branch.nodes else CLOCK
        rest = branch.share * (1 - left.done)
        for node in left.nodes:
            if node.step is not None:
                node.sleep[node.who] = node.step.footprint
                node.step = None
            self._forks.append(Fork(above, came, node))
            above, came = len(self._forks) - 1, node.who
        open_ones = [fork for fork in self._forks[len(self._forks) - len(left.nodes) :] if self._waiting(fork)]
        for fork in open_ones:
            fork.share = rest / len(open_ones)

    def _waiting(self, fork: Fork) -> list[int]:
        return fork.node.waiting(self.bound)

    def _offer(self, at: int) -> None:
        """Hand out the next branch of a fork, if it has one and none is being searched."""
        fork = self._forks[at]
        waiting = self._waiting(fork)
        if fork.busy or not waiting:
            return
        share = fork.share / len(waiting)
        fork.busy, fork.share = True, fork.share - share
        way = self._way(at)
        goes_on = [*(self._forks[below].came for below in way[1:]), waiting[0]]
        nodes = [self._copy(number, who) for number, who in zip(way, goes_on, strict=True)]
        nodes[-1].sleep = dict(fork.node.sleep)
        self._ready.append(Branch(at, nodes, share))

    def _copy(self, at: int, who: int) -> Node:
        """A fork's node for a branch that goes on with `who`; of those who sleep, only that one's step."""
        node = self._forks[at].node
        slept = {who: node.sleep[who]} if who in node.sleep else {}
        return Node(node.enabled, who, slept, set(node.backtrack), None, node.last, node.preempted)

    def _way(self, at: int) -> list[int]:
        """The forks from the first one to this."""
        way = []
        while at >= 0:
            way.append(at)
            at = self._forks[at].above
        return way[::-1]
