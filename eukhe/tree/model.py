"""The session tree as its definition says it: a plain dict, every step written out, nothing clever.

A tree is `{id: (parent, value)}`. It is sound when every id is positive and greater than its node's parent, and every
parent is the root (0) or a node. From that follows that there is no cycle, for ids fall all the way up to the root.

A record is taken or rejected, and a rejected one changes nothing:

1. *Put* sets a node. Rejected: an id that is not greater than its parent, id 0 among them; a parent that is neither
   the root nor a node. (A put never hangs a node below itself, since what stands below has greater ids.)
2. *Delete* removes a node and all below it; an id that is no node removes nothing. Rejected: the root.
3. *Rewind* sets and removes the named nodes one by one, in order. Rejected when what comes out is not sound.

A journal is a list of records; its tree is what they leave when applied in order, and the tree of its first n records
is the snapshot at cursor n. Going back to a tree means one rewind by the difference. Everything here costs the size
of the tree: it is what the indexed tree is compared with, and nothing in the product waits for it.

Source: seed S1, first list.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from eukhe.tree.records import ROOT, Delete, Put, Record, Rewind, canonical

Node: TypeAlias = tuple[int, bytes]
"""(parent, canonical text of the value)."""

Tree: TypeAlias = dict[int, Node]


class Outcome(NamedTuple):
    """The tree after a record, whether the record was taken, and the nodes that a delete removed, ascending."""

    tree: Tree
    taken: bool
    removed: tuple[int, ...] = ()


def is_sound(tree: Tree) -> bool:
    """Ids positive and above their parents, every parent the root or a node."""
    return all(i > parent >= ROOT and (parent == ROOT or parent in tree) for i, (parent, _) in tree.items())


def apply(tree: Tree, record: Record) -> Outcome:
    """What a record makes of a tree, which itself is left as it is."""
    if isinstance(record, Put):
        if record.id <= record.parent or not (record.parent == ROOT or record.parent in tree):
            return Outcome(tree, False)
        return Outcome({**tree, record.id: (record.parent, canonical(record.value))}, True)
    if isinstance(record, Delete):
        if record.id == ROOT:
            return Outcome(tree, False)
        gone = below(tree, record.id)
        return Outcome({i: node for i, node in tree.items() if i not in gone}, True, tuple(sorted(gone)))
    changed = rewound(tree, record)
    return Outcome(changed, True) if is_sound(changed) else Outcome(tree, False)


def below(tree: Tree, top: int) -> set[int]:
    """A node and all below it; nothing when it is no node."""
    return {i for i in tree if _is_below(tree, i, top)}


def _is_below(tree: Tree, node: int, top: int) -> bool:
    while node != ROOT:
        if node == top:
            return True
        node = tree[node][0]
    return False


def rewound(tree: Tree, rewind: Rewind) -> Tree:
    """A tree with the named nodes set and removed, sound or not."""
    changed = dict(tree)
    for i, to in rewind.changes:
        if to is None:
            changed.pop(i, None)
        else:
            changed[i] = (to[0], canonical(to[1]))
    return changed


def replay(records: Iterable[Record], tree: Tree | None = None) -> Tree:
    """The tree that a journal leaves, from nothing or from a given tree."""
    found: Tree = {} if tree is None else tree
    for record in records:
        found = apply(found, record).tree
    return found


def differences(live: Tree, target: Tree) -> dict[int, Node | None]:
    """What has to be set (or, for None, removed) so that `live` becomes `target`, ids ascending."""
    return {i: target.get(i) for i in sorted({*live, *target}) if live.get(i) != target.get(i)}
