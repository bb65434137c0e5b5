"""The check `tree_model`: the definition of the session tree keeps its own laws, on every small tree.

The plain model is what everything else is compared with, so nobody but its laws can judge it. Each is asked on every
tree of up to five nodes (`tree_cases`), with every put and delete, and every rewind of up to two nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

from eukhe.tree import model
from eukhe.tree.model import Tree
from eukhe.tree.records import Delete, Record, Rewind
from scenarios.checks import Case, Check, Question
from scenarios.laws import tree as laws
from scenarios.suites import tree_cases as cases

PAIRS = cases.trees(3, (cases.A, cases.B))


def sound(tree: Tree) -> bool:
    """Said in another way than the model says it: every node climbs to the root in steps that go down in number."""
    for i in tree:
        path = [i]
        while path[-1] != 0:
            if path[-1] not in tree or len(path) > len(tree):
                return False
            path.append(tree[path[-1]][0])
        if any(low >= high for high, low in pairwise(path)):
            return False
    return True


def apply_sound() -> Iterator[Case]:
    """Every record on every tree."""
    one_node: list[Record] = [*cases.PUTS, *cases.DELETES]
    for tree in cases.SMALL:
        for record in one_node:
            yield _case(tree, record, sound(model.apply(tree, record).tree), "the tree is not sound afterwards")
    for tree in PAIRS:
        for record in cases.REWINDS:
            yield _case(tree, record, sound(model.apply(tree, record).tree), "the tree is not sound afterwards")


def replay_sound() -> Iterator[Case]:
    """Every journal of three records, and long ones; after each record."""
    short = (records for count in range(4) for records in product(cases.LETTERS, repeat=count))
    for records in (*short, *(cases.drawn_records(seed, 300, 12) for seed in range(20))):
        tree: Tree = {}
        for place, record in enumerate(records):
            tree = model.replay((record,), tree)
            if not sound(tree):
                yield f"the journal {records[: place + 1]}", f"its tree is {tree}"
                break
        yield "", None


def snapshot() -> Iterator[Case]:
    """Every cut of every journal of three records, and of long ones, on the real journal."""
    for told in (*cases.journals(3), *(cases.long_journal(seed, 300, 12) for seed in range(5))):
        journal = told.journal()
        live = cases.tree_of(journal, journal.cursor)
        wrong = None
        for cursor in range(journal.cursor + 1):
            later = model.replay(journal.records_since(cursor), cases.tree_of(journal, cursor))
            if later != live:
                wrong = f"the snapshot at {cursor} and the records since give {later}, and the live tree is {live}"
        yield str(told), wrong


def rewind_reaches() -> Iterator[Case]:
    """Every pair of trees."""
    for live, target in _pairs():
        reached = model.apply(live, _rewind(live, target)).tree
        yield f"{live} back to {target}", None if reached == target else f"it ends at {reached}"


def rewind_still() -> Iterator[Case]:
    """Every tree to itself."""
    for tree in cases.SMALL:
        found = model.differences(tree, tree)
        yield f"{tree}", f"there is something to do: {found}" if found else None


def rewind_minimal() -> Iterator[Case]:
    """Every pair of trees."""
    for live, target in _pairs():
        touched = set(model.differences(live, target))
        same = {i for i in (*live, *target) if live.get(i) == target.get(i)}
        yield f"{live} back to {target}", f"nodes {touched & same} are the same" if touched & same else None


def delete_removes() -> Iterator[Case]:
    """Every delete but the root's."""
    for tree, record in _deletes():
        after = model.apply(tree, record)
        yield _case(tree, record, record.id not in after.tree and after.taken, "the node is still there")


def delete_only_below() -> Iterator[Case]:
    """What goes stood below, and what stood below goes."""
    for tree, record in _deletes():
        gone = set(tree) - set(model.apply(tree, record).tree)
        stood = {i for i in tree if record.id in _ancestors(tree, i)}
        yield _case(tree, record, gone <= stood, f"{gone - stood} did not stand below it")


def delete_within() -> Iterator[Case]:
    """What stays is as it was."""
    for tree, record in _deletes():
        after = model.apply(tree, record).tree
        changed = {i for i in after if after[i] != tree.get(i)}
        yield _case(tree, record, not changed, f"{changed} changed")


def put_sets() -> Iterator[Case]:
    """Every put below the root or a node."""
    for tree in cases.SMALL:
        for record in cases.PUTS:
            if record.id > record.parent and (record.parent == 0 or record.parent in tree):
                node = model.apply(tree, record).tree.get(record.id)
                wanted = (record.parent, b'"a"' if record.value == "a" else b'"b"')
                yield _case(tree, record, node == wanted, f"the node is {node}")


def put_keeps_others() -> Iterator[Case]:
    """Every put, taken or not."""
    for tree in cases.SMALL:
        for record in cases.PUTS:
            after = model.apply(tree, record).tree
            changed = {i for i in {*tree, *after} - {record.id} if tree.get(i) != after.get(i)}
            yield _case(tree, record, not changed, f"{changed} changed")


def _ancestors(tree: Tree, node: int) -> set[int]:
    """A node and all above it, the root too."""
    return {node} | (_ancestors(tree, tree[node][0]) if node in tree else set())


def _deletes() -> Iterator[tuple[Tree, Delete]]:
    return ((tree, record) for tree in cases.SMALL for record in cases.DELETES if record.id != 0)


def _pairs() -> Iterator[tuple[Tree, Tree]]:
    """Every pair of trees of up to four nodes, and of up to three with two values."""
    for some in (cases.trees(4), PAIRS):
        yield from ((live, target) for live in some for target in some)
    deep = cases.trees(5)
    yield from ((live, target) for live in deep[::7] for target in deep)


def _rewind(live: Tree, target: Tree) -> Rewind:
    found = model.differences(live, target)
    return Rewind(tuple((i, None if to is None else (to[0], to[1].decode()[1:-1])) for i, to in found.items()))


def _case(tree: Tree, record: Record, good: bool, wrong: str) -> Case:
    return ("", None) if good else (f"{record} on {tree}", wrong)


MODEL = Check(
    "tree_model",
    "The definition of the session tree keeps its laws, on every small tree and with every record.",
    (
        Question(laws.TREE_DELETE_REMOVES, delete_removes),
        Question(laws.TREE_DELETE_ONLY_BELOW, delete_only_below),
        Question(laws.TREE_DELETE_WITHIN, delete_within),
        Question(laws.TREE_REWIND_STILL, rewind_still),
        Question(laws.TREE_REWIND_REACHES, rewind_reaches),
        Question(laws.TREE_REWIND_MINIMAL, rewind_minimal),
        Question(laws.TREE_PUT_SETS, put_sets),
        Question(laws.TREE_PUT_KEEPS_OTHERS, put_keeps_others),
        Question(laws.TREE_APPLY_SOUND, apply_sound),
        Question(laws.TREE_REPLAY_SOUND, replay_sound),
        Question(laws.TREE_SNAPSHOT, snapshot),
    ),
)
