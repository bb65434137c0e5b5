"""Every way one inode may come out on `ext4`, given how much of the metadata sequence survives.

Model. The surviving beginning of the sequence holds the first `kept` events of the inode. That fixes its attributes,
the sizes it may have and which blocks have space; the rest is which version of each dirty block is on the disk
(`delayed.py`). Blocks that only lengthen the file follow each other: of the blocks with appended bytes, in the order
of their offsets, some are complete, at most one holds a part, the rest none. All other dirty blocks are independent.

Enumeration is exact up to PLACES_MAX sizes, appended blocks or independent blocks of one file; beyond it takes the
first and last few and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from simfs.disk.delayed import BASE, BLOCK, NONE, Blocks, Event, Incarnation
from simfs.disk.filestate import apply_meta
from simfs.disk.model import Fate
from simfs.disk.sequence import Step
from simfs.disk.tearing import torn
from simfs.disk.worlds import Way, Ways
from simfs.machine.inode import Inode
from simfs.machine.ops import Meta, Truncate, Write

PLACES_MAX = 8
WAYS_MAX = 20_000
BOUND = (
    f"of more than {PLACES_MAX} sizes, appended blocks or overwritten blocks of one file: the first and last few; "
    f"{WAYS_MAX} contents a file at most"
)


@dataclass(frozen=True, slots=True)
class Rules:
    """The options of the model. `ordered`: data goes to new blocks before the sequence shows them (dioread=lock);
    `tear`: one block of an image may be torn (tear=sector); `split_renames`: the last rename that survives may be half
    done (rename_atomic=no)."""

    ordered: bool = False
    tear: bool = False
    split_renames: bool = False


@dataclass(frozen=True, slots=True)
class Survivor:
    """What one way keeps: the first `kept` events, the size, and the version of each dirty block in sight."""

    kept: int
    size: int
    versions: tuple[tuple[int, int], ...]
    torn_block: int = -1


@dataclass(slots=True, eq=False)
class _Sight:
    """A dirty block within the size: what may stand there. `needs`: the option that has all bytes appended to it."""

    block: int
    life: Incarnation
    options: list[int]
    needs: int | None


@dataclass(slots=True, eq=False)
class Ext4Inode:
    """One inode with what is pending on it. `durable` is its state when nothing pending survives."""

    durable: Inode
    rules: Rules
    blocks: Blocks = field(init=False)
    truncated_to_nothing: bool = False
    """Truncated to 0 by some call since the last close: the next close starts writeback."""
    bounded: bool = False
    _ways: dict[tuple[int, bool], Ways] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.blocks = Blocks(bytes(self.durable.data))

    def add(self, op: Write | Truncate | Meta, step: Step) -> None:
        """Issue an op of this inode, which stands in the metadata sequence as `step`."""
        self._ways.clear()
        if isinstance(op, Write):
            self.blocks.write(op, step)
        elif isinstance(op, Truncate):
            self.blocks.truncate(op, step)
            self.truncated_to_nothing |= op.size == 0
        else:
            self.blocks.events.append(_meta_event(op, step, len(self.blocks.cache)))

    def changed(self) -> None:
        """Something was decided about the pending events."""
        self._ways.clear()
        events = self.blocks.events
        if events and all(event.step.done for event in events) and self.blocks.quiet():
            self.durable = self._node(bytes(self.blocks.cache), len(events))
            self.blocks.settle(bytes(self.blocks.cache))

    @property
    def decided(self) -> bool:
        return not self.blocks.events

    def ways(self, kept: int, torn_only: bool = False) -> Ways:
        """Every way with the first `kept` events in the sequence; only those with one torn block, if asked."""
        known = self._ways.get((kept, torn_only))
        if known is None:
            found: dict[bytes, Way] = {}
            for content, survivor in self._contents(kept, torn_only):
                if content not in found:
                    if len(found) == WAYS_MAX:
                        self.bounded = True
                        break
                    found[content] = Way(self._node(content, kept), survivor)
            known = self._ways[kept, torn_only] = Ways(list(found.values()))
        return known

    def fate(self, op: Write, survivor: Survivor | None) -> str:
        """What became of the bytes of a write that is not wholly durable."""
        if survivor is None:
            return Fate.LOST
        number = next(at for at, event in enumerate(self.blocks.events) if event.op is op)
        chosen = dict(survivor.versions)
        end = min(op.offset + len(op.data), survivor.size)
        there = 0
        for block in range(op.offset // BLOCK, -(-end // BLOCK)):
            life = self.blocks.incarnation(block, survivor.kept)
            option = chosen.get(block, NONE)
            if life is not None and option >= 0 and life.begins < number <= life.versions[option].event:
                there += max(0, min(end, (block + 1) * BLOCK) - max(op.offset, block * BLOCK))
        if not there and number < survivor.kept and survivor.size >= op.offset + len(op.data):
            return "size kept, bytes lost"
        return Fate.part(there, len(op.data))

    def _node(self, data: bytes, kept: int) -> Inode:
        node = self.durable.alias()
        if node.kind == "file":
            node.data = data
        for event in self.blocks.events[:kept]:
            if isinstance(event.op, Meta):
                apply_meta(node, event.op)
            elif event.op is not None:
                node.mtime_ns = node.ctime_ns = event.op.time_ns
        return node

    def _sizes(self, kept: int) -> tuple[list[int], int]:
        """The sizes possible, smallest first, and the size that the last surviving truncation set."""
        blocks = self.blocks
        least = base = last = blocks.size_durable
        since = -1
        for number, event in enumerate(blocks.events[:kept]):
            last = event.size
            if event.kind == "cut":
                least = base = event.size
                since = number
            least = max(least, event.grows_to)
            if event.kind == "alloc" or event.allocates:
                least = max(least, event.size)
        later = {last}
        for block in blocks.dirty:
            life = blocks.incarnation(block, kept)
            if life is not None and life.waits_for_space(kept):
                end = (block + 1) * BLOCK
                grown = [v.event for v in life.versions if v.appends and since < v.event < kept]
                later.update(min(blocks.events[number].size, end) for number in grown[-1:])
                later.add(min(last, end))
        return self._few([least, *sorted(size for size in later if size > least)]), base

    def _few(self, places: list[int]) -> list[int]:
        if len(places) <= PLACES_MAX:
            return places
        self.bounded = True
        half = PLACES_MAX // 2
        return places[:half] + places[-half:]

    def _contents(self, kept: int, torn_only: bool) -> Iterator[tuple[bytes, Survivor]]:
        if self.durable.kind != "file":
            if not torn_only:
                yield b"", Survivor(kept, 0, ())
            return
        sizes, set_size = self._sizes(kept)
        whole = bytes(self.durable.data)
        for event in self.blocks.events[:kept]:
            if event.kind == "cut":
                whole = whole[: event.size]
        for size in sizes:
            sights = self._in_sight(kept, size, set_size)
            ground = whole[:size].ljust(size, b"\0")
            for options in self._assignments(sights, kept):
                if torn_only:
                    yield from self._torn(ground, size, kept, sights, options)
                else:
                    yield self._content(ground, size, sights, options), _survivor(kept, size, sights, options)

    def _in_sight(self, kept: int, size: int, set_size: int) -> list[_Sight]:
        found = []
        for block in sorted(self.blocks.dirty):
            life = self.blocks.incarnation(block, kept)
            if life is None or block * BLOCK >= size:
                continue
            options = self._options(life, kept, block * BLOCK >= set_size)
            appends = [at for at, v in enumerate(life.versions) if v.appends and v.event < kept]
            needs = appends[-1] if appends and life.limbo < 0 else None
            found.append(_Sight(block, life, options, needs))
        return found

    def _options(self, life: Incarnation, kept: int, beyond: bool) -> list[int]:
        """What may stand in this block. `beyond`: the size shows that space was found for it."""
        every = list(range(len(life.versions)))
        if life.base is not None:
            return [option for option in (BASE, *every) if option >= life.floor]
        if not life.versions or life.versions[0].event >= kept:
            return [NONE]
        least = life.floor
        if self.rules.ordered and life.limbo < 0 and (beyond or not life.waits_for_space(kept)):
            least = max(least, 0)
        return [option for option in (NONE, *every) if option >= least]

    def _assignments(self, sights: list[_Sight], kept: int) -> Iterator[tuple[int, ...]]:
        """Every choice of one option for each block in sight that keeps appended bytes in order."""
        ordered = [at for at, sight in enumerate(sights) if sight.needs is not None]
        free = [at for at, sight in enumerate(sights) if sight.needs is None and len(sight.options) > 1]
        lists = [sight.options for sight in sights]
        for frontier in self._few(list(range(max(len(ordered), 1)))):
            for rank, at in enumerate(ordered):
                lists[at] = _by_rank(sights[at], rank - frontier, rank == len(ordered) - 1)
            if len(free) <= PLACES_MAX:
                yield from product(*lists)
            else:
                self.bounded = True
                yield from _few_of(lists, free)

    def _content(self, ground: bytes, size: int, sights: list[_Sight], options: tuple[int, ...]) -> bytes:
        if not sights:
            return ground
        data = bytearray(ground)
        for sight, option in zip(sights, options, strict=True):
            start = sight.block * BLOCK
            room = min(BLOCK, size - start)
            data[start : start + room] = _bytes_of(sight.life, option)[:room].ljust(room, b"\0")
        return bytes(data)

    def _torn(
        self, ground: bytes, size: int, kept: int, sights: list[_Sight], options: tuple[int, ...]
    ) -> Iterator[tuple[bytes, Survivor]]:
        """The contents in which one block, about to hold its option, holds some of its sectors only."""
        whole = self._content(ground, size, sights, options)
        for at, (sight, option) in enumerate(zip(sights, options, strict=True)):
            older = [old for old in sight.options if NONE < old < option]
            start = sight.block * BLOCK
            for old in older:
                if (
                    sight.needs is not None
                    and old < sight.needs
                    and any(
                        later.needs is not None and chosen >= 0
                        for later, chosen in zip(sights[at + 1 :], options[at + 1 :], strict=True)
                    )
                ):
                    continue
                for content in torn(_bytes_of(sight.life, old), _bytes_of(sight.life, option), size - start):
                    data = whole[:start] + content + whole[start + len(content) :]
                    yield data, _survivor(kept, size, sights, options, sight.block)


def _meta_event(op: Meta, step: Step, size: int) -> Event:
    return Event("meta", step, op, size, size)


def _bytes_of(life: Incarnation, option: int) -> bytes:
    if option >= 0:
        return life.versions[option].content
    return (life.base or b"") if option == BASE else b""


def _by_rank(sight: _Sight, distance: int, is_last: bool) -> list[int]:
    """The options of an appended block before (all of it), at (a part, or all of the last) or after the frontier."""
    needs = sight.needs
    assert needs is not None
    if distance < 0:
        return [option for option in sight.options if option >= needs]
    if distance == 0:
        return sight.options if is_last else [option for option in sight.options if option < needs]
    first = next(at for at, version in enumerate(sight.life.versions) if version.appends)
    return [option for option in sight.options if option < first]


def _few_of(lists: list[list[int]], free: list[int]) -> Iterator[tuple[int, ...]]:
    """Of many independent blocks: all oldest, all newest, one newest, one oldest."""
    oldest, newest = [options[0] for options in lists], [options[-1] for options in lists]
    rest = [options[-1:] if at in free else options for at, options in enumerate(lists)]
    for fixed in product(*rest):
        for pattern in (oldest, newest):
            other = newest if pattern is oldest else oldest
            for odd in (-1, *free):
                yield tuple(
                    (other if at == odd else pattern)[at] if at in free else fixed[at] for at in range(len(lists))
                )


def _survivor(kept: int, size: int, sights: list[_Sight], options: tuple[int, ...], torn_block: int = -1) -> Survivor:
    chosen = tuple((sight.block, option) for sight, option in zip(sights, options, strict=True))
    return Survivor(kept, size, chosen, torn_block)
