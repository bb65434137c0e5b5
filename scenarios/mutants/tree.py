"""The mutants of the session tree: the definition, the indexed tree and the journal, each broken by hand."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from eukhe.tree import model
from eukhe.tree.indexed import IndexedTree
from eukhe.tree.journal import Journal
from eukhe.tree.model import Outcome
from eukhe.tree.records import Delete, Put, canonical
from scenarios.mutants.exchange import broken
from scenarios.mutants.mutant import Mutant

__simfs_machinery__ = True


def mutants() -> list[Mutant]:
    """All of them."""
    return [*MODEL, *CORE]


def _after(kind: type, change: Callable[[Any, Any, Any], Any]) -> Callable[[], AbstractContextManager[Any]]:
    """The definition with another outcome for one kind of record: `change(tree, record, outcome)`."""

    def made(apply: Any) -> Any:
        def other(tree: Any, record: Any) -> Any:
            outcome = apply(tree, record)
            return change(tree, record, outcome) if isinstance(record, kind) else outcome

        return other

    return broken(model, "apply", made)


def _keeps_node(tree: Any, record: Any, outcome: Outcome) -> Outcome:
    return Outcome({**outcome.tree, **{i: tree[i] for i in tree if i == record.id}}, True)


def _takes_a_later_one(tree: Any, record: Any, outcome: Outcome) -> Outcome:
    if not outcome.removed or not outcome.tree:
        return outcome
    return Outcome({i: node for i, node in outcome.tree.items() if i < record.id}, True, outcome.removed)


def _touches_the_first(tree: Any, record: Any, outcome: Outcome) -> Outcome:
    first = min(outcome.tree, default=None)
    if first is None or first == record.id:
        return outcome
    return outcome._replace(tree={**outcome.tree, first: (outcome.tree[first][0], b'"touched"')})


def _keeps_the_old_node(tree: Any, record: Any, outcome: Outcome) -> Outcome:
    return outcome._replace(tree={**outcome.tree, **{i: tree[i] for i in tree if i == record.id}})


def _takes_any_parent(tree: Any, record: Any, outcome: Outcome) -> Outcome:
    if record.id > record.parent >= 0:
        return Outcome({**tree, record.id: (record.parent, canonical(record.value))}, True)
    return outcome


def _forgets_values(real: Any) -> Any:
    return lambda live, target: {i: to for i, to in real(live, target).items() if to is None or i not in live}


def _names_all(real: Any) -> Any:
    return lambda live, target: {i: target.get(i) for i in sorted({*live, *target})}


MODEL = (
    Mutant("a delete keeps its node", "model", broken=_after(Delete, _keeps_node), made_for=("tree_delete_removes",)),
    Mutant(
        "a delete takes everything later along",
        "model",
        broken=_after(Delete, _takes_a_later_one),
        made_for=("tree_delete_only_below",),
    ),
    Mutant(
        "a delete changes a node that it keeps",
        "model",
        broken=_after(Delete, _touches_the_first),
        made_for=("tree_delete_within",),
    ),
    Mutant(
        "a put leaves a node that is there as it was",
        "model",
        broken=_after(Put, _keeps_the_old_node),
        made_for=("tree_put_sets",),
    ),
    Mutant(
        "a put changes another node",
        "model",
        broken=_after(Put, _touches_the_first),
        made_for=("tree_put_keeps_others",),
    ),
    Mutant(
        "a put below no node is taken",
        "model",
        broken=_after(Put, _takes_any_parent),
        made_for=("tree_apply_sound", "tree_replay_sound"),
    ),
    Mutant(
        "a difference forgets nodes that change",
        "model",
        broken=broken(model, "differences", _forgets_values),
        made_for=("tree_rewind_reaches",),
    ),
    Mutant(
        "a difference names every node",
        "model",
        broken=broken(model, "differences", _names_all),
        made_for=("tree_rewind_minimal", "tree_rewind_still"),
    ),
    Mutant(
        "a rewind is taken unseen",
        "model",
        broken=broken(model, "is_sound", lambda real: lambda tree: True),
        made_for=("tree_apply_sound", "tree_replay_sound"),
    ),
)


def _put_anywhere(real: Any) -> Any:
    def put(self: Any, node: int, parent: int, value: int) -> Any:
        if not node > parent >= 0:
            return real(self, node, parent, value)
        self._set(node, parent, value)
        self._end()
        return True

    return put


def _only_itself(real: Any) -> Any:
    return lambda self, top: [top]


def _stale_children(real: Any) -> Any:
    def children(self: Any, parent: int) -> Any:
        found = self._children.get(parent, ())
        return {node for node in ([found] if isinstance(found, int) else found) if node in self.live}

    return children


def _cursor_early(real: Any) -> Any:
    return lambda self, cursor: real(self, max(0, cursor - 1))


def _values_unseen(real: Any) -> Any:
    def differing(self: Any, cursor: int) -> Any:
        return {
            node: before
            for node, before in real(self, cursor).items()
            if before < 0 or node not in self.live or self.parents[before] != self.parents[self.live[node]]
        }

    return differing


def _gone_stay(real: Any) -> Any:
    return lambda self, over, on: None


def _carried_out(real: Any) -> Any:
    def plan(self: Any, cursor: int) -> Any:
        found = real(self, cursor)
        if found.stops:
            self.push(found.record())
        return found

    return plan


def _snapshot_prunes(real: Any) -> Any:
    def snapshot(self: Any, cursor: int) -> Any:
        found = real(self, cursor)
        if 0 < cursor < self.cursor:
            self._index.live.pop(min(self._index.live, default=0), None)
        return found

    return snapshot


def _rejected_forgotten(real: Any) -> Any:
    return lambda self, cursor: [
        one for one in real(self, cursor) if not (isinstance(one, Put) and one.id <= one.parent)
    ]


def _one_less(real: Any) -> Any:
    return lambda self, cursor: real(self, cursor)[1:]


CORE = (
    Mutant(
        "the index takes a put below no node",
        "index",
        broken=broken(IndexedTree, "put", _put_anywhere),
        made_for=("tree_core_answer", "tree_core_tree"),
    ),
    Mutant(
        "an indexed delete leaves what is below",
        "index",
        broken=broken(IndexedTree, "_below", _only_itself),
        made_for=("tree_core_answer", "tree_core_tree"),
    ),
    Mutant(
        "an indexed delete takes nodes that moved away",
        "index",
        broken=broken(IndexedTree, "_children_of", _stale_children),
        made_for=("tree_core_answer", "tree_core_tree"),
    ),
    Mutant(
        "versions are one record early",
        "index",
        broken=broken(IndexedTree, "version", _cursor_early),
        made_for=("tree_core_snap", "tree_snapshot"),
    ),
    Mutant(
        "nodes that went stay in versions",
        "index",
        broken=broken(IndexedTree, "_mark_gone", _gone_stay),
        made_for=("tree_core_snap",),
    ),
    Mutant(
        "a plan does not see changed values",
        "index",
        broken=broken(IndexedTree, "differing", _values_unseen),
        made_for=("tree_core_plan",),
    ),
    Mutant(
        "a plan is carried out when asked for",
        "journal",
        broken=broken(Journal, "rewind_plan", _carried_out),
        made_for=("tree_core_plan_keeps",),
    ),
    Mutant(
        "a snapshot of an earlier tree prunes the live one",
        "journal",
        broken=broken(Journal, "snapshot_at", _snapshot_prunes),
        made_for=("tree_core_snap_keeps",),
    ),
    Mutant(
        "rejected records are not kept",
        "journal",
        broken=broken(Journal, "records_since", _rejected_forgotten),
        made_for=("tree_core_note",),
    ),
    Mutant(
        "the records since a cursor miss the first",
        "journal",
        broken=broken(Journal, "records_since", _one_less),
        made_for=("tree_snapshot", "tree_core_note"),
    ),
)
