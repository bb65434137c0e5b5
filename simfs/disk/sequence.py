"""A metadata sequence: steps of which a power loss keeps a beginning, as a journaling filesystem does.

Model. Each op that changes metadata is one step. When one process ran, the steps stand in the order of the calls and
any prefix may survive. When several ran, the calls that nothing orders may have entered the sequence either way round,
so what may survive is any set of steps that is closed under happens-before. A flush makes steps durable together with
all that happened before them.

Sets of pending steps are bit masks: bit i stands for the i-th pending step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from simfs.machine.ops import Op

CUTS_MAX = 4096
CUTS_BOUND = f"at most {CUTS_MAX} beginnings of the metadata sequence a crash point"


def happened_before(first: Op, second: Op) -> bool:
    """Whether `first`, issued earlier, happened before `second`; always so where one process ran."""
    if first is second or not second.clock or first.process < 0:
        return True
    return second.clock[first.process] >= first.clock[first.process]


@dataclass(slots=True, eq=False)
class Step:
    """One metadata change. `inos`: the inodes it changes; `size_inos`: those of them that fdatasync waits for too.
    `finds_space`: only that the call found space for delayed blocks; what else it does is another step."""

    op: Op
    inos: tuple[int, ...]
    size_inos: tuple[int, ...]
    finds_space: bool = False
    number: int = 0
    """Counts the steps of its sequence from 1."""
    done: bool = False
    place: int = 0
    """Its bit among the pending steps; without meaning once done."""

    def kept(self, mask: int) -> bool:
        """Whether the step survives with this set of pending steps."""
        return self.done or bool(mask >> self.place & 1)


class MetadataSequence:
    """The steps of one filesystem that no flush has covered."""

    __slots__ = ("bounded", "count", "pending")

    def __init__(self) -> None:
        self.pending: list[Step] = []
        self.bounded = False
        self.count = 0

    def add(self, step: Step) -> Step:
        self.count += 1
        step.number, step.place = self.count, len(self.pending)
        self.pending.append(step)
        return step

    def cover(self, picks: Callable[[Step], bool]) -> list[Step]:
        """Make durable the pending steps that `picks` picks and all that happened before them; they are answered."""
        chosen = [step for step in self.pending if picks(step)]
        if not chosen:
            return []
        if not chosen[-1].op.clock:
            done = self.pending[: chosen[-1].place + 1]
        else:
            done = [s for s in self.pending if any(s.place <= c.place and happened_before(s.op, c.op) for c in chosen)]
        self.drop(done)
        return done

    def drop(self, steps: list[Step]) -> None:
        """These steps are done: they wait for nothing and nothing depends on their fate."""
        for step in steps:
            step.done = True
        self.pending = [step for step in self.pending if not step.done]
        for place, step in enumerate(self.pending):
            step.place = place

    def cuts(self) -> Iterator[int]:
        """Every set of pending steps that may survive: none first, all last."""
        steps = self.pending
        if not steps or not steps[-1].op.clock or len({step.op.process for step in steps}) == 1:
            yield from ((1 << size) - 1 for size in range(len(steps) + 1))
            return
        needs = [
            sum(1 << place for place in range(at) if happened_before(steps[place].op, step.op))
            for at, step in enumerate(steps)
        ]
        self.bounded = False
        for count, mask in enumerate(_downsets(needs), 1):
            if count >= CUTS_MAX:
                self.bounded = True
                yield (1 << len(steps)) - 1
                return
            yield mask


def _downsets(needs: list[int]) -> Iterator[int]:
    """Every mask that contains, with each bit, the mask that the bit needs; smaller ones first along each branch."""

    def grow(at: int, mask: int) -> Iterator[int]:
        if at == len(needs):
            yield mask
            return
        yield from grow(at + 1, mask)
        if not needs[at] & ~mask:
            yield from grow(at + 1, mask | 1 << at)

    return grow(0, 0)
