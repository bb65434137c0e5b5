"""The disk model `prefix`: the seed documents' own, and the default.

Content: of the writes and truncations of a file since its last flush a byte prefix survives (`filestate.py`).
Names: of the entry ops since the last flush of either directory any downset survives, ordered by (directory, name)
(`entrystate.py`). Nothing orders the content of one file against another's, or content against names, except
flushes: a flush of a file covers its inode and never a name; a flush of a directory covers its names and no content.
A new inode with no surviving name is gone, with all its bytes. Times travel with their op. A failed flush is not a
flush: the blocks pending at it are kept or lost one by one and are covered later only if written again (`limbo.py`).

Source: the seed on session state, D2.2: a crash "keeps flushed bytes and any prefix of unflushed bytes; can lose
unflushed directory entries", in our words and made precise by the rulings of the disk-model design.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from simfs.disk.entrystate import EntryState, NameChanges, directories, names_of
from simfs.disk.filestate import BOUND, FileState, Survivor, new_inode
from simfs.disk.limbo import LIMBO_BOUND
from simfs.disk.model import Covers, Fate, Pick
from simfs.disk.namespace import Namespace
from simfs.disk.separate import Separation, Unit
from simfs.disk.worlds import Ways, World, WorldDisk
from simfs.machine.inode import Image, Inode
from simfs.machine.ops import (
    Create,
    FailedFlush,
    Flush,
    FlushAll,
    Link,
    Meta,
    Op,
    Rename,
    Truncate,
    Unlink,
    Write,
)


class PrefixDisk(WorldDisk):
    """One disk under byte-prefix and per-name survival."""

    any_downset = True
    """Every downset of pending entry ops may survive, not only some."""

    def __init__(self, base: Image, split_renames: bool = False) -> None:
        super().__init__(base)
        self.files: dict[int, FileState] = {}
        self.entries = EntryState(NameChanges(base, {}, {}), split_renames)
        self.issued: list[int] = []

    def add(self, op: Op, covers: Covers | None = None) -> None:
        if isinstance(op, Write | Truncate | Meta):
            self.issued.append(op.index)
            self._touch(op.ino, lambda state: state.add(op))
        elif isinstance(op, Create | Link | Unlink | Rename):
            self.issued.append(op.index)
            if isinstance(op, Create):
                self.files[op.ino] = FileState(new_inode(op, self.device(op.dir)))
            self.entries.add(op)
            self.changed()
        elif isinstance(op, Flush):
            self._flush_inode(op.ino, op.data_only, covers)
            if op.is_dir:
                self._flush_names(lambda name_op: op.ino in directories(name_op), covers)
        elif isinstance(op, FlushAll):
            self._flush_all(op.device, covers)
        elif isinstance(op, FailedFlush):
            self._fail(op, covers)

    def device(self, ino: int) -> int:
        """The mount that an inode is on; the first one for nameless files."""
        state = self.files.get(ino)
        if state is not None:
            return state.durable.device
        node = self.base.inodes.get(ino)
        return node.device if node is not None else 0

    def _touch(self, ino: int, change: Callable[[FileState], None]) -> None:
        state = self.files.get(ino)
        if state is None:
            state = self.files[ino] = FileState(self.base.inodes[ino])
        was_decided = state.decided
        change(state)
        if was_decided or not state.grows:
            self.changed()

    def _flush_inode(self, ino: int, data_only: bool, covers: Covers | None) -> None:
        state = self.files.get(ino)
        if state is not None and not state.decided:
            metas = 0 if data_only else covered(state.metas, covers)
            state.flush(covered(state.pending, covers), metas)
            self.changed()

    def _flush_names(self, picks: Callable[[Op], bool], covers: Covers | None) -> None:
        chosen = picks if covers is None else (lambda op: picks(op) and covers(op))
        if self.entries.pending and self.entries.flush(chosen):
            self.changed()

    def _flush_all(self, device: int | None, covers: Covers | None) -> None:
        for ino in self.files:
            if device is None or self.device(ino) == device:
                self._flush_inode(ino, False, covers)
        self._flush_names(lambda op: device is None or self.device(directories(op)[0]) == device, covers)

    def _fail(self, op: FailedFlush, covers: Covers | None) -> None:
        state = self.files.get(op.ino)
        if state is not None and state.pending:
            state.fail(covered(state.pending, covers))
            self.changed()
        if op.is_dir:
            self.entries.fail(lambda name_op: op.ino in directories(name_op) and (covers is None or covers(name_op)))

    def situation(self) -> object | None:
        files = frozenset((ino, state.situation()) for ino, state in self.files.items())
        names = self.entries.situation()
        return None if names is None or any(state is None for _, state in files) else (files, names)

    def build_worlds(self) -> Iterator[World]:
        made = {ino: state.durable for ino, state in self.files.items()}
        undecided = self.open_ways()
        for kept in self.downsets():
            yield self._world(kept, made, undecided)

    def _world(self, kept: tuple[bool, ...], made: Mapping[int, Inode], undecided: Mapping[int, Ways]) -> World:
        changes = self.entries.changes(kept)
        namespace = Namespace.build(self.base, changes.tables, made, undecided, changes.times)
        return World.of(namespace, undecided, kept)

    def downsets(self) -> Iterator[tuple[bool, ...]]:
        """The sets of pending entry ops that may survive."""
        return self.entries.downsets()

    def ways(self, ino: int) -> Ways:
        """Every way the content and attributes of an undecided inode may come out."""
        state = self.files[ino]
        found = state.ways()
        if state.bounded:
            self.bounds.add(BOUND)
        if state.limbo_bounded:
            self.bounds.add(LIMBO_BOUND)
        return found

    def separable(self) -> Separation | None:
        return Separation(self) if self.any_downset else None

    def units(self) -> Sequence[Unit]:
        """Each pending entry op, or part of one, for `separate.py`."""
        found = []
        for entry, waits in zip(self.entries.pending, self.entries.waits(), strict=True):
            victim = entry.op.victim if isinstance(entry.op, Rename) else None
            inodes = (entry.op.ino,) if victim is None else (entry.op.ino, victim)
            found.append(Unit(names_of(entry.op), inodes, 2, tuple(waits)))
        return found

    def durable_table(self, directory: int) -> Mapping[str, int]:
        """The entries of a directory that flushes cover."""
        table = self.entries.durable.tables.get(directory)
        node = self.base.inodes.get(directory)
        return table if table is not None else node.entries if node is not None else {}

    def open_ways(self) -> Mapping[int, Ways]:
        """The ways of each undecided inode."""
        return {ino: self.ways(ino) for ino, state in self.files.items() if not state.decided}

    def worlds_among(self, units: Collection[int], open_ways: Mapping[int, Ways]) -> Iterator[World]:
        """The worlds in which every other unit is lost and every other inode as it is durable."""
        made = {ino: state.durable for ino, state in self.files.items()}
        for kept in self.entries.downsets(units):
            yield self._world(kept, made, open_ways)

    def number_of(self, worlds: Sequence[World]) -> int:
        """A bit for each pending entry op that any of these keeps."""
        number = 0
        for world in worlds:
            assert isinstance(world.key, tuple)
            number |= sum(1 << at for at, keep in enumerate(world.key) if keep)
        return number

    def world_of(self, number: int) -> World:
        pending = self.entries.pending
        kept = tuple(bool(number >> at & 1) for at in range(len(pending)))
        waits = self.entries.waits()
        if number >> len(pending) or any(keep and not all(kept[w] for w in waits[at]) for at, keep in enumerate(kept)):
            return super().world_of(number)
        return self._world(kept, {ino: state.durable for ino, state in self.files.items()}, self.open_ways())

    def fates(self, pick: Pick, in_progress: Op | None = None) -> dict[int, str]:
        world, chosen = self.picked(pick)
        kept = world.key
        assert isinstance(kept, tuple)
        out = dict.fromkeys(self.issued, Fate.DURABLE)
        parts: dict[int, list[bool]] = {}
        for entry, keep in zip(self.entries.pending, kept, strict=True):
            parts.setdefault(entry.op.index, []).append(keep)
        out.update({index: Fate.part(sum(there), len(there), "parts") for index, there in parts.items()})
        for ino, state in self.files.items():
            way = chosen.get(ino)
            label = way.label if way is not None else None
            assert label is None or isinstance(label, Survivor)
            for index, (there, size) in state.fates(label).items():
                out[index] = Fate.part(there, size)
        return out


def covered(ops: Sequence[Op], covers: Covers | None) -> int:
    """How many of `ops`, a sequence, a flush covers: up to the last one that happened before it."""
    if covers is None:
        return len(ops)
    return max((place + 1 for place, op in enumerate(ops) if covers(op)), default=0)


class Prefix:
    """`prefix`: byte prefixes of content, downsets of names. Closed under loss."""

    name = "prefix"
    closed_under_loss = True

    def __init__(self, split_renames: bool = False) -> None:
        self.split_renames = split_renames

    def start(self, base: Image) -> PrefixDisk:
        return PrefixDisk(base, self.split_renames)
