"""The disk model `posix-weakest`: what is left when only a flush of the same file or directory orders anything.

Everything splits, in units of 4 KiB. An append is three things, of which any subset survives: the size, garbage (one
fixed pattern, GARBAGE) where the bytes belong, the bytes. An overwrite survives block by block, a truncation by itself.
Names: each (directory, name) holds what it held at the last flush of its directory, or what any later call made of it;
a rename may so leave both names, neither, or its target gone. A flush of a file covers its content and attributes and
never a name; a flush of a directory covers the names in it and no content.

Two things do not happen even here. A directory never stands under two names (a check of the filesystem would remove
one). A later change of the same name or byte, when both survive, is the one that is seen.

A failed flush is not a flush: the blocks pending at it are covered later only if they were written again, the names
only if their directory was changed again.

Source: the weakest of the persistence models of ALICE (Pillai et al., OSDI'14), whose unit is the system call in parts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from simfs.disk.filestate import new_inode
from simfs.disk.model import Covers, Fate, Pick
from simfs.disk.namespace import Namespace
from simfs.disk.pieces import pieces
from simfs.disk.separate import Separation, Unit
from simfs.disk.weakfile import BOUND, WeakInode
from simfs.disk.worlds import Ways, World, WorldDisk
from simfs.machine.inode import Image, Inode
from simfs.machine.ops import (
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


@dataclass(slots=True, eq=False)
class NameChange:
    """A pending change of one name: from now on it holds `ino`, or nothing."""

    op: EntryOp
    ino: int | None
    is_dir: bool
    stuck: bool = False


class WeakestDisk(WorldDisk):
    """One disk on which only flushes order anything."""

    def __init__(self, base: Image) -> None:
        super().__init__(base)
        self.inodes: dict[int, WeakInode] = {}
        self.tables: dict[int, dict[str, int]] = {}
        """Directories whose durable entries differ from the base image."""
        self.times: dict[int, int] = {}
        self.changes: dict[tuple[int, str], list[NameChange]] = {}
        self.issued: list[int] = []

    def device(self, ino: int) -> int:
        """The mount that an inode is on; the first one for nameless files."""
        state = self.inodes.get(ino)
        node = state.durable if state is not None else self.base.inodes.get(ino)
        return node.device if node is not None else 0

    def add(self, op: Op, covers: Covers | None = None) -> None:
        if isinstance(op, Write | Truncate | Meta):
            self.issued.append(op.index)
            if op.ino not in self.inodes:
                self.inodes[op.ino] = WeakInode(self.base.inodes[op.ino])
            self.inodes[op.ino].add(op)
        elif isinstance(op, Create | Link | Unlink | Rename):
            self.issued.append(op.index)
            if isinstance(op, Create):
                self.inodes[op.ino] = WeakInode(new_inode(op, self.device(op.dir)))
            for part in pieces(op):
                self._note(op, part)
        elif isinstance(op, Flush | FailedFlush):
            self._flush_inode(op, covers)
            if op.is_dir:
                self._flush_names([name for name in self.changes if name[0] == op.ino], isinstance(op, Flush), covers)
        elif isinstance(op, FlushAll):
            for ino in self.inodes:
                if op.device is None or self.device(ino) == op.device:
                    self._flush_inode(Flush(op.path, ino, False), covers)
            names = [n for n in self.changes if op.device is None or self.device(n[0]) == op.device]
            self._flush_names(names, True, covers)
        else:
            return
        self.changed()

    def _note(self, op: EntryOp, part: EntryOp) -> None:
        assert not isinstance(part, Rename)
        if not part.dir:
            return
        is_dir = isinstance(part, Unlink) and part.is_dir
        is_dir = is_dir or (isinstance(part, Create) and part.kind == "dir") or (isinstance(op, Rename) and op.is_dir)
        for name, others in self.changes.items():
            if name[0] == part.dir:
                for other in others:
                    other.stuck = False
        change = NameChange(op, None if isinstance(part, Unlink) else part.ino, is_dir)
        self.changes.setdefault((part.dir, part.name), []).append(change)

    def _flush_inode(self, op: Flush | FailedFlush, covers: Covers | None) -> None:
        state = self.inodes.get(op.ino)
        if state is None or state.decided:
            return
        contents, metas = len(state.pieces), len(state.metas)
        if covers is not None:
            contents = max((at + 1 for at, piece in enumerate(state.pieces) if covers(piece.op)), default=0)
            metas = max((at + 1 for at, meta in enumerate(state.metas) if covers(meta)), default=0)
        if isinstance(op, FailedFlush):
            state.fail(contents)
        else:
            state.flush(contents, 0 if op.data_only else metas)

    def _flush_names(self, names: list[tuple[int, str]], returned: bool, covers: Covers | None) -> None:
        for directory, name in names:
            pending = self.changes[directory, name]
            size = sum(1 for change in pending if covers is None or covers(change.op))
            if not returned:
                for change in pending[:size]:
                    change.stuck = True
                continue
            while size and pending[size - 1].stuck:
                size -= 1
            if size:
                table = self.durable_table(directory)
                self.tables[directory] = _with(table, name, pending[size - 1].ino)
                self.times[directory] = max(self.times.get(directory, 0), pending[size - 1].op.time_ns)
                del pending[:size]
            if not pending:
                del self.changes[directory, name]

    def build_worlds(self) -> Iterator[World]:
        return self.worlds_among(range(len(self.changes)), self.open_ways())

    def open_ways(self) -> Mapping[int, Ways]:
        """The ways of each undecided inode."""
        found = {ino: state.ways() for ino, state in self.inodes.items() if not state.decided}
        if any(state.bounded for state in self.inodes.values()):
            self.bounds.add(BOUND)
        return found

    def worlds_among(self, units: Collection[int], open_ways: Mapping[int, Ways]) -> Iterator[World]:
        """The worlds in which all other names are as they are durable, and every other inode likewise."""
        pending = self.changes.values()
        keys = product(*(range(-1, len(changes) if at in units else 0) for at, changes in enumerate(pending)))
        return self._worlds_of(keys, open_ways)

    def _worlds_of(self, keys: Iterable[tuple[int, ...]], open_ways: Mapping[int, Ways]) -> Iterator[World]:
        """Those of these worlds that may be, and of equal ones the first."""
        made = {ino: state.durable for ino, state in self.inodes.items()}
        directories = {change.ino for changes in self.changes.values() for change in changes if change.is_dir}
        settled = {
            ino
            for directory, table in self.tables.items()
            for name, ino in table.items()
            if ino in directories and (directory, name) not in self.changes
        }
        seen: set[tuple[int | None, ...]] = set()
        for key in keys:
            values = tuple(
                self.durable_table(name[0]).get(name[1]) if at < 0 else changes[at].ino
                for at, (name, changes) in zip(key, self.changes.items(), strict=True)
            )
            if values in seen or _directory_twice([*values, *settled], directories):
                continue
            seen.add(values)
            yield World.of(self._namespace(key, values, made, open_ways), open_ways, key)

    def separable(self) -> Separation | None:
        return Separation(self)

    def units(self) -> Sequence[Unit]:
        """Each name with pending changes, for `separate.py`."""
        found = []
        for name, changes in self.changes.items():
            inodes: dict[int, None] = {}
            for change in changes:
                inodes[change.op.ino] = None
                if isinstance(change.op, Rename) and change.op.victim is not None:
                    inodes[change.op.victim] = None
            found.append(Unit((name,), tuple(inodes), 1 + len(changes)))
        return found

    def durable_table(self, directory: int) -> dict[str, int]:
        """The entries of a directory that flushes cover."""
        table = self.tables.get(directory)
        if table is None:
            node = self.base.inodes.get(directory)
            table = node.entries if node is not None else {}
        return table

    def number_of(self, worlds: Sequence[World]) -> int:
        """How many of the changes of each name any of these keeps, as digits."""
        keys = [world.key for world in worlds if isinstance(world.key, tuple)]
        number = 0
        for at, changes in reversed([*enumerate(self.changes.values())]):
            number = number * (1 + len(changes)) + max((key[at] for key in keys), default=-1) + 1
        return number

    def world_of(self, number: int) -> World:
        rest, key = number, list[int]()
        for changes in self.changes.values():
            rest, digit = divmod(rest, 1 + len(changes))
            key.append(digit - 1)
        if rest:
            return super().world_of(number)
        for world in self._worlds_of([tuple(key)], self.open_ways()):
            return world
        return super().world_of(number)

    def _namespace(
        self,
        key: tuple[int, ...],
        values: tuple[int | None, ...],
        made: Mapping[int, Inode],
        undecided: Mapping[int, object],
    ) -> Namespace:
        tables, times = self.tables.copy(), self.times.copy()
        copied: set[int] = set()
        for at, ino, ((directory, name), changes) in zip(key, values, self.changes.items(), strict=True):
            if directory not in copied:
                copied.add(directory)
                tables[directory] = self.durable_table(directory).copy()
            if at >= 0:
                tables[directory] = _with(tables[directory], name, ino)
                times[directory] = max(times.get(directory, 0), changes[at].op.time_ns)
        return Namespace.build(self.base, tables, made, undecided, times)

    def fates(self, pick: Pick, in_progress: Op | None = None) -> dict[int, str]:
        world, chosen = self.picked(pick)
        assert isinstance(world.key, tuple)
        parts: dict[int, list[bool]] = {}
        for at, changes in zip(world.key, self.changes.values(), strict=True):
            for place, change in enumerate(changes):
                parts.setdefault(change.op.index, []).append(place <= at)
        for ino, state in self.inodes.items():
            way = chosen.get(ino)
            kept = way.label if way is not None else frozenset[int]()
            assert isinstance(kept, frozenset)
            for piece in state.pieces:
                parts.setdefault(piece.op.index, []).append(piece.done or id(piece) in kept)
            for meta in state.metas:
                parts.setdefault(meta.index, []).append(id(meta) in kept)
        out = dict.fromkeys(self.issued, Fate.DURABLE)
        out.update({index: Fate.part(sum(there), len(there), "parts") for index, there in parts.items()})
        return out


def _with(table: dict[str, int], name: str, ino: int | None) -> dict[str, int]:
    table = table.copy()
    if ino is None:
        table.pop(name, None)
    else:
        table[name] = ino
    return table


def _directory_twice(values: Sequence[int | None], directories: set[int | None]) -> bool:
    """Whether a directory would stand under two names."""
    found = [ino for ino in values if ino is not None and ino in directories]
    return len(found) > len(set(found))


class PosixWeakest:
    """`posix-weakest`. Closed under loss."""

    name = "posix-weakest"
    closed_under_loss = True

    def start(self, base: Image) -> WeakestDisk:
        return WeakestDisk(base)
