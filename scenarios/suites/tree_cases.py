"""The cases on which the session tree is judged: every small tree, every short journal, and generated long ones.

Trees: ids 1 to 5, each there or not, below the root or any lower node that is there: 326 of them with one value, and
with two values each those of ids 1 to 3. Records: every put of an id from -1 to 6 below a parent from -1 to 6 (the
rejected ones among them), every delete, and rewinds of up to two nodes, sound or not. Journals: every sequence of an
alphabet of `LETTERS` records.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from eukhe.tree import model
from eukhe.tree.journal import Journal
from eukhe.tree.model import Tree
from eukhe.tree.records import Delete, Put, Record, Rewind
from simfs.explore.choices import Sampled

VALUES = ("a", "b")
A, B = b'"a"', b'"b"'

PUTS = [Put(i, parent, value) for i in range(-1, 7) for parent in range(-1, 7) for value in VALUES]
DELETES = [Delete(i) for i in range(-1, 7)]
_CHANGES: list[tuple[int, tuple[int, str] | None]] = [
    (i, to) for i in range(4) for to in (None, *((parent, value) for parent in range(4) for value in VALUES))
]
REWINDS = [Rewind(changes) for count in range(3) for changes in product(_CHANGES, repeat=count)]

LETTERS: tuple[Record, ...] = (
    Put(1, 0, "a"), Put(1, 0, "b"), Put(2, 0, "a"), Put(2, 1, "a"), Put(2, 1, "b"), Put(3, 1, "a"), Put(3, 2, "a"),
    Put(1, 2, "a"), Put(0, 0, "a"), Delete(0), Delete(1), Delete(2), Delete(3),
    Rewind(()), Rewind(((1, None),)), Rewind(((1, None), (2, (0, "a")), (3, None))),
    Rewind(((2, (1, "b")), (1, (0, "b")))), Rewind(((3, (1, {"k": [1, 1.0, True, None]})), (3, (2, "a")))),
    Rewind(((2, (3, "a")), (3, (0, "a")))),
)  # fmt: skip
"""The alphabet of journals: puts new, changed, moved, without effect and rejected; deletes; rewinds sound and not."""


def trees(ids: int = 5, values: tuple[bytes, ...] = (A,)) -> list[Tree]:
    """Every sound tree with ids up to `ids`."""
    found: list[Tree] = [{}]
    for i in range(1, ids + 1):
        found += [{**t, i: (parent, value)} for t in found for parent in (0, *t) for value in values]
    return found


SMALL = [*trees(), *trees(3, (A, B))]


class Told:
    """A journal as it was built: its records, the plain tree at each cursor, and what became of each record."""

    def __init__(self, records: tuple[Record, ...]) -> None:
        self.records = records
        self.trees: list[Tree] = [{}]
        self.outcomes: list[model.Outcome] = []
        for record in records:
            outcome = model.apply(self.trees[-1], record)
            self.outcomes.append(outcome)
            self.trees.append(outcome.tree)

    def journal(self) -> Journal:
        """The real journal of the same records."""
        journal = Journal()
        for record in self.records:
            journal.push(record)
        return journal

    def __str__(self) -> str:
        if len(self.records) > 8:
            return f"a journal of {len(self.records)} records"
        return f"journal {list(self.records)}"


def journals(length: int) -> Iterator[Told]:
    """Every journal of so many records or fewer."""
    for count in range(length + 1):
        for records in product(LETTERS, repeat=count):
            yield Told(records)


def long_journal(seed: int, length: int, ids: int) -> Told:
    """A generated journal."""
    return Told(drawn_records(seed, length, ids))


def drawn_records(seed: int, length: int, ids: int) -> tuple[Record, ...]:
    """The records of a generated journal.

    Ids are drawn up to `ids`, so that nodes come, move, go and come back; rewinds to sound and unsound trees are among
    the records.
    """
    draw = Sampled(seed).draw
    records: list[Record] = []
    for _ in range(length):
        kind = draw(20, "kind of record")
        i = 1 + draw(ids, "id")
        if kind < 14:
            records.append(Put(i, draw(i + 1, "parent") if kind else 0, draw(5, "value")))
        elif kind < 17:
            records.append(Delete(i if draw(2, "a late id") else ids - draw(ids // 4, "late")))
        else:
            changes = []
            for _ in range(1 + draw(4, "changes")):
                node = 1 + draw(ids, "id")
                changes.append((node, None if draw(2, "goes") else (draw(node, "parent"), draw(5, "value"))))
            records.append(Rewind(tuple(changes)))
    return tuple(records)


def tree_of(journal: Journal, cursor: int) -> Tree:
    """A snapshot of the real journal as a plain tree."""
    return {node: (parent, text) for node, parent, text in journal.snapshot_at(cursor).texts()}
