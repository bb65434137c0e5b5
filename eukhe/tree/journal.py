"""The journal of a session tree: every record in order, and the tree at each moment.

The journal keeps every record, taken or rejected. The *cursor* is how many there are; the tree after the first n of
them is the snapshot at cursor n, and `rewind_plan(n)` says what would lead from the live tree back to it. What each
record does is decided by the indexed tree; the journal puts values in its place for their indexes, each value once,
and keeps the records themselves.

A put that changed its node is its own effect in the indexed tree and is read back from there; every other record is
kept beside it. Nothing here does I/O, and the tree has no file of its own.

Source: seed S1, first list, 3 and 4. Not for several threads at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from eukhe.tree.indexed import IndexedTree, Version
from eukhe.tree.plan import PlannedNode, RewindPlan
from eukhe.tree.records import ID_MAX, Delete, Put, Record, Rewind, canonical, checked, decode_value


class Answer(NamedTuple):
    """What became of a record: taken or rejected, and the nodes that a delete removed, ids ascending."""

    taken: bool
    removed: tuple[int, ...] = ()


class Node(NamedTuple):
    """One node of a tree."""

    id: int
    parent: int
    value: Any


_TAKEN = Answer(True)
_REJECTED = Answer(False)


class Snapshot:
    """The tree at one cursor; later records do not change it. Iterating gives its nodes, ids ascending."""

    def __init__(self, cursor: int, version: Version, index: IndexedTree, texts: list[bytes]) -> None:
        self.cursor = cursor
        self._version = version
        self._index = index
        self._texts = texts

    def __iter__(self) -> Iterator[Node]:
        for node, parent, text in self.texts():
            yield Node(node, parent, decode_value(text))

    def __len__(self) -> int:
        return len(self._version)

    def __contains__(self, node: int) -> bool:
        return self._version.get(node) >= 0

    def get(self, node: int) -> Node | None:
        """One node, None where there is none."""
        effect = self._version.get(node)
        if effect < 0:
            return None
        return Node(node, self._index.parents[effect], decode_value(self._texts[self._index.values[effect]]))

    def texts(self) -> Iterator[tuple[int, int, bytes]]:
        """(id, parent, canonical text of the value) of each node, ids ascending."""
        parents, values, texts = self._index.parents, self._index.values, self._texts
        for node, effect in sorted(self._version.items()):
            yield node, parents[effect], texts[values[effect]]


class Journal:
    """A session tree that remembers. Starts empty; every record goes through `push`."""

    __slots__ = ("_index", "_others", "_texts", "_value_of")

    def __init__(self) -> None:
        self._index = IndexedTree()
        self._texts: list[bytes] = []
        self._value_of: dict[bytes, int] = {}
        self._others: dict[int, tuple[Any, ...]] = {}
        """Records that no effect tells, by their place from 0: as (kind, ...) with values as indexes."""

    @property
    def cursor(self) -> int:
        """How many records there are."""
        return self._index.cursor

    def push(self, record: Record) -> Answer:
        """Add a record and say what the tree made of it. Raises `BadRecord`, and then has added nothing."""
        index = self._index
        if isinstance(record, Put):
            node, parent, given = record
            if type(node) is not int or type(parent) is not int or not 0 <= parent < node <= ID_MAX:
                checked(record)
            text = canonical(given)
            value = self._value_of.setdefault(text, len(self._texts))
            if value == len(self._texts):
                self._texts.append(text)
            before = len(index.ids)
            taken = index.put(node, parent, value)
            if len(index.ids) == before:
                self._others[index.cursor - 1] = (Put, node, parent, value)
            return _TAKEN if taken else _REJECTED
        checked(record)
        if isinstance(record, Delete):
            removed = index.delete(record.id)
            self._others[index.cursor - 1] = (Delete, record.id)
            return _REJECTED if removed is None else Answer(True, removed)
        changes = self._indexed(record)
        taken = index.rewind(changes)
        self._others[index.cursor - 1] = (Rewind, changes)
        return _TAKEN if taken else _REJECTED

    def snapshot_at(self, cursor: int) -> Snapshot:
        """The tree after the first `cursor` records. Raises `IndexError` for a cursor that has not been."""
        self._check(cursor)
        return Snapshot(cursor, self._index.version(cursor), self._index, self._texts)

    def rewind_plan(self, cursor: int) -> RewindPlan:
        """What leads from the live tree to the one at `cursor`. Raises `IndexError` for one that has not been."""
        self._check(cursor)
        index, texts = self._index, self._texts
        stops: list[int] = []
        starts: list[PlannedNode] = []
        restores: list[PlannedNode] = []
        for node, before in sorted(index.differing(cursor).items()):
            if before < 0:
                stops.append(node)
            else:
                planned = PlannedNode(node, index.parents[before], decode_value(texts[index.values[before]]))
                (restores if node in index.live else starts).append(planned)
        return RewindPlan(cursor, tuple(reversed(stops)), tuple(starts), tuple(restores))

    def records_since(self, cursor: int) -> list[Record]:
        """The records after the first `cursor`, in order. Raises `IndexError` for a cursor that has not been."""
        self._check(cursor)
        index, others = self._index, self._others
        found: list[Record] = []
        for place in range(cursor, index.cursor):
            kept = others.get(place)
            if kept is None:
                (effect,) = index.effects_of(place)
                value = decode_value(self._texts[index.values[effect]])
                found.append(Put(index.ids[effect], index.parents[effect], value))
            else:
                found.append(self._restored(kept))
        return found

    def check(self) -> None:
        """Assert what must hold inside; for tests."""
        self._index.check()
        assert len(self._texts) == len(self._value_of) == len(set(self._texts)), "a value is kept twice"

    def _value(self, given: object) -> int:
        text = canonical(given)
        value = self._value_of.setdefault(text, len(self._texts))
        if value == len(self._texts):
            self._texts.append(text)
        return value

    def _indexed(self, record: Rewind) -> tuple[tuple[int, tuple[int, int] | None], ...]:
        texts = [None if to is None else canonical(to[1]) for _, to in record.changes]
        assert len(texts) == len(record.changes)
        return tuple((i, None if to is None else (to[0], self._value(to[1]))) for i, to in record.changes)

    def _restored(self, kept: tuple[Any, ...]) -> Record:
        if kept[0] is Put:
            return Put(kept[1], kept[2], decode_value(self._texts[kept[3]]))
        if kept[0] is Delete:
            return Delete(kept[1])
        return Rewind(
            tuple((i, None if to is None else (to[0], decode_value(self._texts[to[1]]))) for i, to in kept[1])
        )

    def _check(self, cursor: int) -> None:
        if not 0 <= cursor <= self._index.cursor:
            raise IndexError(f"cursor {cursor} has not been: the journal has {self._index.cursor} records")
