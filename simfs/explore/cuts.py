"""Crash points of a run with several processes: the consistent cuts of its happens-before order.

Model. Power may fail at an instant that no prefix of the recorded schedule shows: had the processes run a little
differently, in the same class, other calls would have been made by then. Those instants are the *cuts*: for each
process how many of its ops had been made, such that whatever an op in the cut depends on is in the cut too. No user
code is run again to find them.

In a cut a flush covers only what happens before it: what merely ran earlier in the recorded schedule might have come
later. On a model closed under loss only those cuts count to which nothing can be added but a flush or a promise; the
images of any other are among those of a larger one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any

from simfs.explore.boot import Run
from simfs.explore.happens import Order
from simfs.explore.ledger import digest_of
from simfs.machine.ops import Ack, Ask, Effect, Fail, FailedFlush, Flush, FlushAll, Lock, Note, Op, op_key

CUTS_MAX = 200_000
CUTS_BOUND = f"at most {CUTS_MAX} crash points a run"
SILENT = (Note, Lock)
"""Ops that leave the disk and all promises as they were."""
DECISIVE = (Ack, Ask, Effect, Fail, Flush, FlushAll, FailedFlush)
"""Ops before which a crash point must be looked at also on a model closed under loss."""

Vector = tuple[int, ...]


@dataclass(slots=True)
class Cut:
    """A crash point: `ops` made by then, in a legal order; `following` are those that could come next."""

    vector: Vector
    ops: list[Op]
    following: list[Op]
    key: tuple[int, ...] = ()
    """What each process had done, as numbers of `Known`."""


def happens_before(earlier: Op, later: Op) -> bool:
    """Whether `earlier` comes before `later`, or is it, in every run of the class. Needs `stamp`."""
    return later.clock[earlier.process] >= earlier.clock[earlier.process]


def stamp(run: Run, order: Order | None = None) -> list[list[Op]]:
    """Give each op of the run its vector clock over ops; answer the ops of each process, in order."""
    if order is None:
        order = Order.of(run.steps)
    width = len(run.machine.processes)
    index = {runner.who: runner.process.index for runner in run.runners}
    lanes: list[list[Op]] = [[] for _ in range(width)]
    reached: dict[int, list[int]] = {runner.who: [0] for runner in run.runners}
    done = 0
    first = run.steps[0].ops_from if run.steps else len(run.ops)
    for op in run.ops[:first]:
        if op.process >= 0:
            lanes[op.process].append(op)
            op.clock = _unit(width, op.process, len(lanes[op.process]))
    for who in reached:
        reached[who][0] = len(lanes[index[who]]) if index[who] < width else 0
    for step, clock in zip(run.steps, order.clocks, strict=True):
        known = [0] * width
        for who, count in clock.items():
            if who in reached and (who != step.who):
                known[index[who]] = reached[who][min(count, len(reached[who]) - 1)]
        for op in run.ops[step.ops_from : step.ops_to]:
            if op.process < 0:
                continue
            lanes[op.process].append(op)
            mine = list(known)
            mine[op.process] = len(lanes[op.process])
            if step.who in index and op.process != index[step.who]:
                mine[index[step.who]] = len(lanes[index[step.who]])
            op.clock = tuple(mine)
        for who in reached:
            if who == step.who:
                reached[who].append(len(lanes[index[who]]))
        done += 1
    return lanes


def _unit(width: int, place: int, count: int) -> Vector:
    return tuple(count if at == place else 0 for at in range(width))


def cuts(lanes: Sequence[Sequence[Op]], closed_under_loss: bool, known: Known) -> Iterator[Cut]:
    """Every consistent cut worth looking at that `known` has not seen in another run.

    Worth looking at are the cuts to which nothing can be added that makes no difference: the walk goes from one such
    cut to the next, by an op that does make one and all that may then be added, and visits no other.
    """
    ids = known.lane_ids(lanes)
    marks = [
        [isinstance(op, DECISIVE) if closed_under_loss else not isinstance(op, SILENT) for op in lane] for lane in lanes
    ]
    start = _filled([0] * len(lanes), lanes, marks)
    stack, visited = [start], {start}
    while stack:
        vector = stack.pop()
        following = []
        for place, count in enumerate(vector):
            if count < len(lanes[place]) and _may_follow(lanes[place][count], vector, place):
                following.append(lanes[place][count])
                longer = _filled([n + (at == place) for at, n in enumerate(vector)], lanes, marks)
                if longer not in visited:
                    if len(visited) >= CUTS_MAX:
                        known.bounded = True
                        continue
                    visited.add(longer)
                    stack.append(longer)
        key = tuple(ids[place][count] for place, count in enumerate(vector))
        if known.first_time(key):
            made = [op for lane, count in zip(lanes, vector, strict=True) for op in lane[:count]]
            made.sort(key=lambda op: op.index)
            yield Cut(vector, made, following, key)


def _may_follow(op: Op, vector: Sequence[int], place: int) -> bool:
    """Whether all that `op`, the next one of its process, depends on is in the cut."""
    return all(need <= have or at == place for at, (need, have) in enumerate(zip(op.clock, vector, strict=True)))


def _filled(vector: list[int], lanes: Sequence[Sequence[Op]], marks: Sequence[Sequence[bool]]) -> Vector:
    """The cut with everything added to it that makes no difference; `marks` says which ops do make one."""
    grown = True
    while grown:
        grown = False
        for place, lane in enumerate(lanes):
            count = vector[place]
            while count < len(lane) and not marks[place][count] and _may_follow(lane[count], vector, place):
                count += 1
            if count != vector[place]:
                vector[place] = count
                grown = True
    return tuple(vector)


def whole(ops: Sequence[Op]) -> Iterator[Cut]:
    """The instants of a run of one process: every beginning of its journal that ends in something noticeable."""
    for point in range(len(ops) + 1):
        if point == 0 or not isinstance(ops[point - 1], SILENT):
            yield Cut((point,), list(ops[:point]), list(ops[point : point + 1]))


class Known:
    """Crash points looked at before, over all runs: by what each process had done, op by op. `scope` tells the runs of
    one boot from those of another."""

    def __init__(self, scope: object = ()) -> None:
        self.bounded = False
        self.scope = scope
        self._numbers: dict[Any, int] = {}
        self._names: list[bytes] = []
        self._seen: set[tuple[int, ...]] = set()

    def lane_ids(self, lanes: Sequence[Sequence[Op]]) -> list[list[int]]:
        """For each process a number for each of its prefixes: equal numbers are equal ops with equal pasts.

        Silent ops are counted neither among the ops nor in the pasts: what they order, the clocks of the others say.
        """
        noticed = [list(accumulate((not isinstance(op, SILENT) for op in lane), initial=0)) for lane in lanes]
        out = []
        for place, lane in enumerate(lanes):
            number = self._number(("start", place))
            ids = [number]
            for op in lane:
                if not isinstance(op, SILENT):
                    past = tuple(counts[count] for counts, count in zip(noticed, op.clock, strict=True))
                    number = self._number((number, op_key(op), past))
                ids.append(number)
            out.append(ids)
        return out

    def _number(self, key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def question(self, key: tuple[int, ...]) -> object:
        """A crash point in words that mean the same on every host."""
        for before, *rest in islice(self._numbers, len(self._names), None):
            self._names.append(digest_of((self._names[before] if isinstance(before, int) else before, *rest)))
        return (self.scope, *(self._names[number] for number in key))

    def first_time(self, key: tuple[int, ...]) -> bool:
        if key in self._seen:
            return False
        self._seen.add(key)
        return True
