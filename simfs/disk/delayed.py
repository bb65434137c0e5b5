"""The blocks of one file under delayed allocation: which versions of each may be on the disk, and with which sizes.

Model. The page cache holds the file; each time an op changes a 4 KiB block of it, that block gets a new *version*. A
block lives in *incarnations*: truncating it away ends one, and what is written there later is another, with space of
its own. An incarnation either has space from the start (it was durable) or gets it later, when its data is written
back; only the metadata sequence makes that visible, so a block whose first version was issued after the surviving
beginning of the sequence is not there at all. Once it has space, any later version may be on the disk, in any order
with everything else; without data it reads as NULs (an unwritten extent).

Sizes: a truncation sets the size in the sequence at once; an append into the last block, if that has space and is
partly filled, moves it at once to at most the block's end; every other growth moves it when space is found for a
block: to that block's end, or to the size of the file if that is less (a size inside a block is so left behind by the
next append to it). Space is found by the program's own calls (a flush, a rename over a file, close after truncation to
0: an `alloc` event) or by background writeback, which may come at any moment and is never relied on.

Appended bytes reach the disk in the order of their offsets. Sizes and offsets are bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from simfs.disk.sequence import Step
from simfs.machine.ops import Meta, Truncate, Write

BLOCK = 4096
NONE = -2
"""The option "no space, or space without data": reads as NULs."""
BASE = -1
"""The option "as it was when this incarnation began"."""


@dataclass(slots=True, eq=False)
class Event:
    """One thing that happened to the inode; it is in the metadata sequence as `step`."""

    kind: Literal["write", "cut", "alloc", "meta"]
    step: Step
    op: Write | Truncate | Meta | None
    size_before: int
    size: int
    """Size in the page cache afterwards."""
    grows_to: int = 0
    """Size that an append into a partly filled block with space puts into the sequence at once; 0 if none."""
    allocates: bool = False
    """A flush found space for everything pending right after this event."""


@dataclass(slots=True, eq=False)
class Version:
    """A block as the page cache held it after event number `event`; `appends`: that event lengthened the file here."""

    event: int
    content: bytes
    appends: bool


@dataclass(slots=True, eq=False)
class Incarnation:
    """One life of a block, begun by event `begins` (-1: it was there). `base` is None when it began without space."""

    begins: int
    base: bytes | None
    versions: list[Version] = field(default_factory=list)
    floor: int = NONE
    """The oldest option that may still be on the disk: an index into `versions`, BASE or NONE."""
    limbo: int = -1
    """Versions up to this index were pending at a flush that failed: no later flush covers them."""
    alloc_event: int | None = None
    """The event at which, or right after which, the program's own calls found space for it."""

    @property
    def has_space(self) -> bool:
        """Whether the program's own calls, or the time before them, gave it space."""
        return self.base is not None or self.alloc_event is not None

    def waits_for_space(self, before: int) -> bool:
        """Whether, after the first `before` events, it was written and has no space as far as the program can tell."""
        spaced = self.base is not None or (self.alloc_event is not None and self.alloc_event < before)
        return not spaced and bool(self.versions) and self.versions[0].event < before


class Blocks:
    """The page cache of one file and, for each dirty block, its incarnations."""

    __slots__ = ("cache", "dirty", "events", "size_durable")

    def __init__(self, data: bytes) -> None:
        self.events: list[Event] = []
        self.settle(data)

    def settle(self, data: bytes) -> None:
        """Everything is durable as `data`."""
        self.cache = bytearray(data)
        self.size_durable = len(data)
        self.dirty: dict[int, list[Incarnation]] = {}
        self.events.clear()

    def incarnation(self, block: int, before: int) -> Incarnation | None:
        """The incarnation of `block` that is current when only the first `before` events count; None if clean."""
        found = None
        for life in self.dirty.get(block, ()):
            if life.begins < before:
                found = life
        return found

    def _current(self, block: int) -> Incarnation:
        lives = self.dirty.get(block)
        if lives is None:
            start = block * BLOCK
            there = start < self.size_durable
            content = bytes(self.cache[start : start + BLOCK])
            lives = self.dirty[block] = [Incarnation(-1, content if there else None)]
            if there:
                lives[0].floor = BASE
        return lives[-1]

    def write(self, op: Write, step: Step) -> None:
        """Note a write: new versions of the blocks it touches."""
        before, number = len(self.cache), len(self.events)
        end = op.offset + len(op.data)
        size = max(before, end) if op.data else before
        event = Event("write", step, op, before, size)
        self.events.append(event)
        if not op.data:
            return
        first, last = op.offset // BLOCK, (end - 1) // BLOCK
        for block in range(first, last + 1):
            self._current(block)
        if size > before and before % BLOCK:
            block = before // BLOCK
            life = self.dirty[block][-1] if block in self.dirty else None
            if block >= first and life is not None and life.has_space:
                event.grows_to = min(size, (block + 1) * BLOCK)
        if len(self.cache) < op.offset:
            self.cache.extend(bytes(op.offset - len(self.cache)))
        self.cache[op.offset : end] = op.data
        for block in range(first, last + 1):
            start = block * BLOCK
            content = bytes(self.cache[start : start + BLOCK])
            self.dirty[block][-1].versions.append(Version(number, content, min(end, start + BLOCK) > before))

    def truncate(self, op: Truncate, step: Step) -> None:
        """Note a truncation: blocks beyond end their life, the tail of a block cut inside is zeroed in place."""
        before, number, size = len(self.cache), len(self.events), op.size
        if size < before:
            inside = size % BLOCK
            if inside:
                self._current(size // BLOCK)
            first_freed = -(-size // BLOCK)
            for block in range(first_freed, -(-before // BLOCK)):
                self._current(block)
        self.events.append(Event("cut", step, op, before, size))
        if size < before:
            del self.cache[size:]
            for block, lives in self.dirty.items():
                if block >= first_freed:
                    lives.append(Incarnation(number, None))
            if inside:
                content = bytes(self.cache[size - inside : size])
                self.dirty[size // BLOCK][-1].versions.append(Version(number, content, False))
        else:
            self.cache.extend(bytes(size - before))

    def allocate(self, step: Step) -> None:
        """Note that a call of the program found space for everything pending."""
        number, size = len(self.events), len(self.cache)
        self.events.append(Event("alloc", step, None, size, size))
        self._give_space(number, number)

    def _give_space(self, before: int, event: int) -> None:
        for block in self.dirty:
            life = self.incarnation(block, before)
            if life is not None and life.waits_for_space(before):
                life.alloc_event = event

    def delayed(self, before: int) -> bool:
        """Whether, after the first `before` events, some block waits for space as far as the program's calls say."""
        for block in self.dirty:
            life = self.incarnation(block, before)
            if life is not None and life.waits_for_space(before):
                return True
        return False

    def needs_space(self, number: int) -> bool:
        """Whether the write that is event `number` began a block without space, or lengthened the file in one."""
        for block in self.dirty:
            life = self.incarnation(block, number + 1)
            if (
                life is not None
                and life.base is None
                and any(
                    version.event == number and (version is life.versions[0] or version.appends)
                    for version in life.versions
                )
            ):
                return True
        return False

    def flush(self, before: int) -> None:
        """A flush made the data of the first `before` events durable, except what a failed one left in limbo. Space
        for them was found at the latest by the flush, at the earliest right after the last write that needed any."""
        needed = [number for number in range(before) if self.needs_space(number)] if self.delayed(before) else []
        if needed:
            self.events[needed[-1]].allocates = True
            self._give_space(before, needed[-1])
        for block in self.dirty:
            life = self.incarnation(block, before)
            if life is not None:
                latest = sum(1 for version in life.versions if version.event < before) - 1
                if latest > max(life.limbo, life.floor):
                    life.floor = latest

    def fail(self, before: int) -> None:
        """A flush failed: what was pending of the first `before` events is covered only if written again."""
        for block in self.dirty:
            life = self.incarnation(block, before)
            if life is not None:
                latest = sum(1 for version in life.versions if version.event < before) - 1
                if latest > life.floor:
                    life.limbo = latest

    def quiet(self) -> bool:
        """Whether nothing of the data is undecided any more: each block's newest version is durable."""
        return all(
            lives[-1].floor == len(lives[-1].versions) - 1 or (not lives[-1].versions and lives[-1].base is None)
            for lives in self.dirty.values()
        )
