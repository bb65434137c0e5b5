"""Directory entries between flushes, under per-name order: the pending ops are a partial order, any downset survives.

Model. Each entry op (create, link, unlink, rename) waits for the op pending before it on the same (directory, name).
A rename stands in the chains of both its names and is kept or lost whole. Renames of directories wait for each other,
as the kernel does them one at a time: otherwise losing one alone could make a directory its own ancestor. A flush of
a directory makes the ops on its names durable together with all they wait for; an op on two directories is durable
when either is flushed. An unlink that was not flushed may come back.

A flush of a directory that failed covers nothing, and its blocks are no longer dirty: what was pending in it is kept or
lost as before, and a later flush covers it only if the directory was changed again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from simfs.disk.pieces import pieces
from simfs.machine.inode import Image
from simfs.machine.ops import Create, EntryOp, Link, Op, Rename, Unlink, op_key


def names_of(op: EntryOp) -> tuple[tuple[int, str], ...]:
    """The (directory, name) pairs whose chain the op stands in; none for a nameless file."""
    if isinstance(op, Rename):
        return ((op.src_dir, op.src_name), (op.dst_dir, op.dst_name))
    return ((op.dir, op.name),) if op.dir else ()


def directories(op: Op) -> tuple[int, ...]:
    """The directories whose flush covers this op; none for an op that changes no entry."""
    if isinstance(op, Rename):
        return (op.src_dir, op.dst_dir)
    return (op.dir,) if isinstance(op, Create | Link | Unlink) else ()


class NameChanges:
    """Entries that differ from a base image: directory -> its whole table. Tables are replaced, never changed."""

    __slots__ = ("base", "tables", "times")

    def __init__(self, base: Image, tables: dict[int, dict[str, int]], times: dict[int, int]) -> None:
        self.base, self.tables, self.times = base, tables, times

    def copy(self) -> NameChanges:
        return NameChanges(self.base, self.tables.copy(), self.times.copy())

    def _table(self, directory: int, time_ns: int) -> dict[str, int]:
        table = self.tables.get(directory)
        if table is None:
            node = self.base.inodes.get(directory)
            table = node.entries if node is not None else {}
        table = self.tables[directory] = table.copy()
        self.times[directory] = time_ns
        return table

    def apply(self, op: EntryOp) -> None:
        """Do to the tables what the op does."""
        if isinstance(op, Rename):
            source = self._table(op.src_dir, op.time_ns)
            target = source if op.dst_dir == op.src_dir else self._table(op.dst_dir, op.time_ns)
            source.pop(op.src_name, None)
            target[op.dst_name] = op.ino
            if op.exchange:
                assert op.victim is not None
                source[op.src_name] = op.victim
        elif isinstance(op, Unlink):
            self._table(op.dir, op.time_ns).pop(op.name, None)
        elif isinstance(op, Create | Link) and op.dir:
            self._table(op.dir, op.time_ns)[op.name] = op.ino


@dataclass(slots=True, eq=False)
class Pending:
    """An entry op that no flush has covered. `waits` are the pending ops that must be kept if it is."""

    op: EntryOp
    waits: list[Pending] = field(default_factory=list)
    done: bool = False
    """Durable already: a flush covered it."""
    stuck: bool = False
    """Pending at a flush that failed: no flush covers it until its directory is written again."""


@dataclass(slots=True, eq=False)
class EntryState:
    """The names of one disk. `durable` is what flushes covered; `pending` the ops since, in order."""

    durable: NameChanges
    split_renames: bool = False
    """Each part of a rename survives by itself (`pieces.py`); of a directory's, the parts in their order."""
    pending: list[Pending] = field(default_factory=list)
    _last: dict[tuple[int, str], Pending] = field(default_factory=dict)
    _last_dir_rename: Pending | None = None

    def add(self, op: EntryOp) -> None:
        """Issue an entry op; a nameless file has no entry."""
        if isinstance(op, Create) and not op.dir:
            return
        dirs = directories(op)
        for other in self.pending:
            if other.stuck and any(directory in dirs for directory in directories(other.op)):
                other.stuck = False
        moves_dir = isinstance(op, Rename) and op.is_dir
        before = [self._last_dir_rename] if moves_dir and self._last_dir_rename is not None else []
        for part in pieces(op) if self.split_renames else [op]:
            entry = Pending(part, [other for other in before if not other.done])
            for name in names_of(part):
                last = self._last.get(name)
                if last is not None and not last.done:
                    entry.waits.append(last)
                self._last[name] = entry
            self.pending.append(entry)
            if moves_dir:
                before = [entry]
                self._last_dir_rename = entry

    def fail(self, covers: Callable[[EntryOp], bool]) -> None:
        """A flush that would have covered what `covers` picks failed."""
        for entry in self.pending:
            entry.stuck = entry.stuck or covers(entry.op)

    def flush(self, covers: Callable[[EntryOp], bool]) -> bool:
        """Make durable the pending ops that `covers` picks and all they wait for. Answers whether any were."""
        chosen = [entry for entry in self.pending if not entry.stuck and covers(entry.op)]
        if not chosen:
            return False
        while chosen:
            entry = chosen.pop()
            if not entry.done:
                entry.done = True
                chosen.extend(entry.waits)
        self.durable = self.durable.copy()
        for entry in self.pending:
            if entry.done:
                self.durable.apply(entry.op)
        self.pending = [entry for entry in self.pending if not entry.done]
        return True

    def situation(self) -> object | None:
        """Equal for names that may come out in the same ways; None after a flush of a directory that failed."""
        found: dict[int, object] = {}
        for entry in self.pending:
            if entry.stuck:
                return None
            found[id(entry)] = op_key(entry.op), frozenset(found[id(w)] for w in entry.waits if not w.done)
        tables = ((at, frozenset(table.items())) for at, table in self.durable.tables.items())
        return frozenset(tables), frozenset(self.durable.times.items()), frozenset(found.values())

    def waits(self) -> list[list[int]]:
        """For each pending op, the places of those that it waits for."""
        place = {id(entry): at for at, entry in enumerate(self.pending)}
        return [[place[id(w)] for w in entry.waits if not w.done] for entry in self.pending]

    def downsets(self, among: Collection[int] | None = None) -> Iterator[tuple[bool, ...]]:
        """Every set of pending ops that may survive, as one keep or lose for each: all lost first, all kept last.

        `among`: places of the only ones that may; they wait for none but each other.
        """
        pending = self.pending
        waits = self.waits()
        kept = [False] * len(pending)

        def grow(at: int) -> Iterator[tuple[bool, ...]]:
            if at == len(pending):
                yield tuple(kept)
                return
            kept[at] = False
            yield from grow(at + 1)
            if (among is None or at in among) and all(kept[w] for w in waits[at]):
                kept[at] = True
                yield from grow(at + 1)
                kept[at] = False

        yield from grow(0)

    def changes(self, kept: tuple[bool, ...]) -> NameChanges:
        """The names that a downset leaves."""
        out = self.durable.copy()
        for entry, keep in zip(self.pending, kept, strict=True):
            if keep:
                out.apply(entry.op)
        return out
