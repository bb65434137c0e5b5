"""A disk under the rules of `ext4`, which the header of `ext4.py` states; numbers in brackets are its rules.

Every op that changes metadata is a step of its filesystem's sequence (`sequence.py`). A world is a surviving beginning
of each sequence: it fixes the names, and for each inode how many of its own events are in it; the ways that the inode
may then come out are `ext4file.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from simfs.disk.entrystate import NameChanges
from simfs.disk.ext4file import BOUND, Ext4Inode, Rules, Survivor
from simfs.disk.filestate import new_inode
from simfs.disk.model import Covers, Fate, Pick
from simfs.disk.namespace import Namespace
from simfs.disk.pieces import torn_renames
from simfs.disk.sequence import CUTS_BOUND, MetadataSequence, Step, happened_before
from simfs.disk.worlds import World, WorldDisk
from simfs.machine.inode import Image
from simfs.machine.ops import (
    Close,
    Create,
    EntryOp,
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


class Ext4Disk(WorldDisk):
    """One disk with an ext4 on each mount."""

    def __init__(self, base: Image, rules: Rules) -> None:
        super().__init__(base)
        self.rules = rules
        self.inodes: dict[int, Ext4Inode] = {}
        self.names = NameChanges(base, {}, {})
        """The entries that are durable."""
        self.sequences: dict[int, MetadataSequence] = {}
        """By device."""
        self.last_step: dict[tuple[int, bool], Step] = {}
        """(inode, fdatasync waits for it) -> the newest such step of the inode."""
        self.issued: list[int] = []

    def device(self, ino: int) -> int:
        """The mount that an inode is on; the first one for nameless files."""
        state = self.inodes.get(ino)
        if state is not None:
            return state.durable.device
        node = self.base.inodes.get(ino)
        return node.device if node is not None else 0

    def _state(self, ino: int) -> Ext4Inode:
        state = self.inodes.get(ino)
        if state is None:
            state = self.inodes[ino] = Ext4Inode(self.base.inodes[ino], self.rules)
        return state

    def _step(self, op: Op, inos: tuple[int, ...], size_inos: tuple[int, ...] = (), finds_space: bool = False) -> Step:
        step = Step(op, inos, size_inos, finds_space)
        sequence = self.sequences.setdefault(self.device(inos[0]), MetadataSequence())
        if not finds_space:
            self.last_step.update({(ino, False): step for ino in inos})
            self.last_step.update({(ino, True): step for ino in size_inos})
        return sequence.add(step)

    def add(self, op: Op, covers: Covers | None = None) -> None:
        if isinstance(op, Write | Truncate | Meta):
            self._change(op)
        elif isinstance(op, Create | Link | Unlink | Rename):
            self._entry(op)
        elif isinstance(op, Close):
            self._close(op)
        elif isinstance(op, Flush):
            if op.is_dir:
                self._flush_sequence(self.device(op.ino), covers)
            else:
                self._flush_file(op.ino, op.data_only, covers)
        elif isinstance(op, FlushAll):
            self._flush_all(op.device, covers)
        elif isinstance(op, FailedFlush):
            if not op.is_dir and op.ino in self.inodes:
                state = self.inodes[op.ino]
                state.blocks.fail(self._covered(state, covers))
                state.changed()
        else:
            return
        self.changed()

    def _change(self, op: Write | Truncate | Meta) -> None:
        self.issued.append(op.index)
        state = self._state(op.ino)
        step = self._step(op, (op.ino,), (op.ino,) if isinstance(op, Truncate) else ())
        state.add(op, step)
        blocks = state.blocks
        if isinstance(op, Write) and (blocks.events[-1].grows_to or blocks.needs_space(len(blocks.events) - 1)):
            step.size_inos = (op.ino,)
            self.last_step[op.ino, True] = step

    def _entry(self, op: EntryOp) -> None:
        self.issued.append(op.index)
        if isinstance(op, Create):
            self.inodes[op.ino] = Ext4Inode(new_inode(op, self.device(op.dir)), self.rules)
            self._step(op, (op.ino,), (op.ino,))
        elif isinstance(op, Rename):
            if op.victim is not None and not op.exchange and not op.is_dir:
                self._find_space(op, op.ino)
            self._step(op, (op.ino,) if op.victim is None else (op.ino, op.victim))
        else:
            self._step(op, (op.ino,))

    def _find_space(self, op: Op, ino: int) -> None:
        """Rules (5) and (6): the call starts writeback of delayed blocks and waits for nothing."""
        state = self.inodes.get(ino)
        if state is not None and state.blocks.delayed(len(state.blocks.events)):
            state.blocks.allocate(self._step(op, (ino,), finds_space=True))
            state.changed()

    def _close(self, op: Close) -> None:
        state = self.inodes.get(op.ino)
        if state is not None and state.truncated_to_nothing:
            state.truncated_to_nothing = False
            self._find_space(op, op.ino)

    def _covered(self, state: Ext4Inode, covers: Covers | None) -> int:
        """How many of the inode's events a flush covers."""
        events = state.blocks.events
        if covers is None:
            return len(events)
        return max((place + 1 for place, event in enumerate(events) if covers(event.step.op)), default=0)

    def _flush_file(self, ino: int, data_only: bool, covers: Covers | None) -> None:
        """Rule (7) for a regular file."""
        state = self.inodes.get(ino)
        last = self._last_covered(ino, data_only, covers)
        if last is not None:
            until = last
            self._cover(self.device(ino), lambda s: s.number <= until.number and happened_before(s.op, until.op))
        if state is not None:
            count = self._covered(state, covers)
            state.blocks.flush(count)
            self._forget_space(state, count)
            state.changed()

    def _forget_space(self, state: Ext4Inode, count: int) -> None:
        """Steps that only found space for what is durable now say nothing any more."""
        found = [event.step for event in state.blocks.events[:count] if event.step.finds_space]
        if found:
            self.sequences[state.durable.device].drop(found)

    def _last_covered(self, ino: int, data_only: bool, covers: Covers | None) -> Step | None:
        """The newest step of the inode that a flush of it waits for and that no flush has covered."""
        if covers is None:
            last = self.last_step.get((ino, data_only))
            return last if last is not None and not last.done else None
        steps = self.sequences[self.device(ino)].pending if self.device(ino) in self.sequences else []
        found = [
            s for s in steps if ino in (s.size_inos if data_only else s.inos) and covers(s.op) and not s.finds_space
        ]
        return found[-1] if found else None

    def _flush_sequence(self, device: int, covers: Covers | None) -> None:
        self._cover(device, lambda step: covers is None or covers(step.op))

    def _cover(self, device: int, picks: Callable[[Step], bool]) -> None:
        sequence = self.sequences.get(device)
        done = sequence.cover(picks) if sequence is not None else []
        if not done:
            return
        self.names = self.names.copy()
        touched: dict[int, None] = {}
        for step in done:
            if isinstance(step.op, Create | Link | Unlink | Rename) and not step.finds_space:
                self.names.apply(step.op)
            touched.update(dict.fromkeys(step.inos))
        for ino in touched:
            if ino in self.inodes:
                self.inodes[ino].changed()

    def _flush_all(self, device: int | None, covers: Covers | None) -> None:
        for number in self.sequences:
            if device is None or number == device:
                self._flush_sequence(number, covers)
        for ino, state in self.inodes.items():
            if device is None or self.device(ino) == device:
                state.blocks.flush(self._covered(state, covers))
                state.changed()

    def build_worlds(self) -> Iterator[World]:
        made = {ino: state.durable for ino, state in self.inodes.items()}
        open_states = {ino: state for ino, state in self.inodes.items() if not state.decided}
        sequences = list(self.sequences.values())
        known: dict[tuple[int, ...], list[Namespace]] = {}
        entry_bits = [_entry_bits(sequence) for sequence in sequences]
        for masks in product(*(sequence.cuts() for sequence in sequences)):
            shape = tuple(mask & bits for mask, bits in zip(masks, entry_bits, strict=True))
            namespaces = known.get(shape)
            if namespaces is None:
                namespaces = known[shape] = [
                    Namespace.build(self.base, changes.tables, made, open_states, changes.times)
                    for changes in self._names(sequences, masks)
                ]
            mask_of = dict(zip(self.sequences, masks, strict=True))
            for namespace in namespaces:
                kept = {}
                for ino in namespace.open_inodes:
                    state = open_states[ino]
                    mask = mask_of.get(state.durable.device, 0)
                    kept[ino] = sum(event.step.kept(mask) for event in state.blocks.events)
                yield from self._worlds_of(namespace, kept, masks)
        if any(sequence.bounded for sequence in sequences):
            self.bounds.add(CUTS_BOUND)
        if any(state.bounded for state in open_states.values()):
            self.bounds.add(BOUND)

    def _worlds_of(self, namespace: Namespace, kept: dict[int, int], masks: tuple[int, ...]) -> Iterator[World]:
        whole = {ino: self.inodes[ino].ways(count) for ino, count in kept.items()}
        if self.rules.tear:
            for ino, count in kept.items():
                torn = self.inodes[ino].ways(count, torn_only=True)
                if torn.ways:
                    yield World.of(namespace, {**whole, ino: torn}, masks)
        yield World.of(namespace, whole, masks)

    def _names(self, sequences: list[MetadataSequence], masks: tuple[int, ...]) -> list[NameChanges]:
        """The names that these beginnings leave; several where the last rename may be half done."""
        kept = [
            step.op
            for sequence, mask in zip(sequences, masks, strict=True)
            for step in sequence.pending
            if mask >> step.place & 1 and isinstance(step.op, Create | Link | Unlink | Rename) and not step.finds_space
        ]
        last = kept[-1] if kept and self.rules.split_renames else None
        halves: list[list[EntryOp]] = torn_renames(last) if isinstance(last, Rename) else []
        out = []
        for ending in [*halves, kept[-1:]]:
            changes = self.names.copy()
            for op in [*kept[:-1], *ending]:
                changes.apply(op)
            out.append(changes)
        return out

    def fates(self, pick: Pick, in_progress: Op | None = None) -> dict[int, str]:
        world, chosen = self.picked(pick)
        assert isinstance(world.key, tuple)
        out = dict.fromkeys(self.issued, Fate.DURABLE)
        for sequence, mask in zip(self.sequences.values(), world.key, strict=True):
            for step in sequence.pending:
                if not step.finds_space:
                    out[step.op.index] = Fate.KEPT if step.kept(mask) else Fate.LOST
        for ino, state in self.inodes.items():
            way = chosen.get(ino)
            for event in state.blocks.events:
                if isinstance(event.op, Write):
                    label = way.label if way is not None else None
                    assert label is None or isinstance(label, Survivor)
                    out[event.op.index] = state.fate(event.op, label)
        return out


def _entry_bits(sequence: MetadataSequence) -> int:
    """The mask of the pending steps that change entries."""
    return sum(
        1 << step.place
        for step in sequence.pending
        if isinstance(step.op, Create | Link | Unlink | Rename) and not step.finds_space
    )
