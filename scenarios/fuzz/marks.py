"""Marks: what a history has shown, as numbers that mean the same on every machine. A new one keeps a history.

| kind | what it stands for |
|---|---|
| branch | a branch of a store's rules that was taken (`branches`) |
| race | two steps of two processes that touched one thing in this order: what each did, and what it was |
| pending | two ops that were pending when the power went, in their order, and what became of each |
| rule | what a store that is rules alone was told, and how it took that |
| end | how a process or a boot ended |

A number says its kind, in its topmost digits.

Whole happens-before classes are counted (`class_of`), and do not keep a history: among generated programs nearly
every one has a class of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from simfs.disk.model import Covers, Disk, DiskModel, Draw, Pick
from simfs.explore.boot import Run
from simfs.explore.happens import Order
from simfs.machine.inode import Image
from simfs.machine.ops import Op

NEAR = 6
"""A pending op is paired with so many later ones."""
_DIGITS = re.compile(r"[0-9a-f]{8,}|\d+")


KINDS = ("branch", "race", "pending", "rule", "end", "class")
_BITS = 60


@lru_cache(maxsize=1 << 16)
def mark(kind: str, *parts: Any) -> int:
    """A number for some words, below 2**63."""
    digest = blake2b(repr((kind, parts)).encode(), digest_size=8).digest()
    return (KINDS.index(kind) << _BITS) | (int.from_bytes(digest, "big") >> 4)


def by_kind(marks: Iterable[int]) -> dict[str, int]:
    """How many there are of each kind."""
    counts = Counter(number >> _BITS for number in marks)
    return {kind: counts[at] for at, kind in enumerate(KINDS) if counts[at]}


@lru_cache(maxsize=1 << 12)
def shape(path: str) -> str:
    """A path without what is random or counted in it: the last part, digits as #."""
    return _DIGITS.sub("#", path.rpartition("/")[2])


def class_of(order: Order) -> int:
    """The happens-before class of a run."""
    return mark("class", order.class_key())


def races(run: Run, order: Order) -> set[int]:
    """A mark for each two steps that race."""
    found: set[int] = set()
    for later, earlier_ones in enumerate(order.races):
        for earlier in earlier_ones:
            one, other = order.steps[earlier], order.steps[later]
            kinds = tuple(sorted({resource[0] for resource in one.footprint if resource in other.footprint}))
            found.add(mark("race", _did(run, one), kinds, _did(run, other)))
    return found


def _did(run: Run, step: Any) -> tuple[str, ...]:
    return tuple(f"{type(op).__name__} {shape(op.path)}" for op in run.ops[step.ops_from : step.ops_to])


def pending(ops: Sequence[Op], fates: dict[int, str]) -> set[int]:
    """A mark for each two near ops that were pending, with what became of them."""
    waiting = [
        (type(op).__name__, shape(op.path), fates[op.index].partition(" ")[2] or fates[op.index])
        for op in ops
        if fates.get(op.index, "durable") != "durable"
    ]
    found = {mark("pending", *one) for one in waiting}
    for at, one in enumerate(waiting):
        found.update(mark("pending", *one, *other) for other in waiting[at + 1 : at + 1 + NEAR])
    return found


class Watching:
    """A disk model that notes what was pending at each power loss that is sampled from it."""

    def __init__(self, model: DiskModel) -> None:
        self.model = model
        self.marks: set[int] = set()

    @property
    def name(self) -> str:
        """That of the model."""
        return self.model.name

    @property
    def closed_under_loss(self) -> bool:
        """That of the model."""
        return self.model.closed_under_loss

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def start(self, base: Image) -> WatchedDisk:
        """A disk of the model, watched."""
        return WatchedDisk(self.model.start(base), self.marks)


class WatchedDisk:
    """A disk that remembers its ops, and notes what was pending when a leaf is sampled."""

    def __init__(self, disk: Disk, marks: set[int]) -> None:
        self.disk = disk
        self.marks = marks
        self.ops: list[Op] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.disk, name)

    def add(self, op: Op, covers: Covers | None = None) -> None:
        """As the disk's."""
        self.ops.append(op)
        self.disk.add(op, covers)

    def sample(self, draw: Draw, in_progress: Op | None = None) -> tuple[int, Pick]:
        """As the disk's."""
        digest, pick = self.disk.sample(draw, in_progress)
        self.marks |= pending(self.ops, self.disk.fates(pick, in_progress))
        return digest, pick
