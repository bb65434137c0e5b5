"""The indexed tree: the same decisions as the plain model, at the cost of what a record changes.

It works on numbers only: a value is an index given out by the journal. Each change of a node is one *effect*, kept
for ever in four columns: the node's id, its parent (`GONE` where the node goes), its value, and the effect that said
before how the node stood (-1 for none). So:

- the live tree is one dict from id to the effect that put the node there;
- the tree at any cursor is found from any other one by following effects forwards, or back through the fourth column;
- every so many effects the live dict is copied: a *kept version*. It is copied once as many effects have come as half
  the tree has nodes (`KEEP_EVERY` at least), so copying costs a record a constant, and so does its memory.

A record costs the effects it has, and one look-up. What a delete removes is found through the children of each node.
The children are kept as they were added and not looked after when nodes move or go: who asks for them drops those
that are no more. Each addition is dropped once, so this too costs a record a constant. Children of the root are not
kept: the root cannot be deleted. A change that leaves its node as it is has no effect.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TypeAlias

GONE = -1
"""In the column of parents: the node goes."""

KEEP_EVERY = 1024
"""A version is kept after so many effects at least."""

Change: TypeAlias = tuple[int, tuple[int, int] | None]
"""(id, (parent, value index)), or (id, None) for a node that goes."""


class Version:
    """The tree at one cursor: a kept version, and the nodes that differ from it (-1 where there is none). Fixed."""

    __slots__ = ("_base", "_over")

    def __init__(self, base: dict[int, int], over: dict[int, int]) -> None:
        self._base = base
        self._over = over

    def get(self, node: int) -> int:
        """The effect that put the node there, -1 where it is no node."""
        found = self._over.get(node)
        return self._base.get(node, -1) if found is None else found

    def items(self) -> Iterator[tuple[int, int]]:
        """(id, effect) of each node, in no order."""
        over = self._over
        for node, effect in self._base.items():
            if node not in over:
                yield node, effect
        for node, effect in over.items():
            if effect >= 0:
                yield node, effect

    def __len__(self) -> int:
        gone = sum(1 for node in self._over if node in self._base)
        return len(self._base) - gone + sum(1 for effect in self._over.values() if effect >= 0)


class IndexedTree:
    """The live tree and every earlier one. `cursor` is the number of records so far, rejected ones included."""

    __slots__ = ("_children", "_due", "_kept_at", "_kept_trees", "_starts", "ids", "live", "parents", "prior", "values")

    def __init__(self) -> None:
        self.ids = array("q")
        self.parents = array("q")
        self.values = array("q")
        self.prior = array("q")
        self.live: dict[int, int] = {}
        self._starts = array("q", [0])
        """How many effects there were at each cursor."""
        self._children: dict[int, int | list[int]] = {}
        self._kept_at = [0]
        self._kept_trees: list[dict[int, int]] = [{}]
        self._due = KEEP_EVERY

    @property
    def cursor(self) -> int:
        """Records so far."""
        return len(self._starts) - 1

    def put(self, node: int, parent: int, value: int) -> bool:
        """Whether the put is taken."""
        if not node > parent >= 0 or (parent and parent not in self.live):
            self._starts.append(len(self.ids))
            return False
        self._set(node, parent, value)
        effects = len(self.ids)
        self._starts.append(effects)
        if effects >= self._due:
            self._keep(effects)
        return True

    def delete(self, node: int) -> tuple[int, ...] | None:
        """The nodes that go, ascending; None when the delete is rejected."""
        if node == 0:
            self._end()
            return None
        gone = self._below(node) if node in self.live else []
        gone.sort()
        for one in reversed(gone):
            self._remove(one)
        self._end()
        return tuple(gone)

    def rewind(self, changes: Sequence[Change]) -> bool:
        """Whether the rewind is taken."""
        wanted = dict(changes)
        taken = self._would_be_sound(wanted)
        if taken:
            for node, to in wanted.items():
                if to is not None:
                    self._set(node, *to)
                elif node in self.live:
                    self._remove(node)
        self._end()
        return taken

    def effects(self, since: int) -> range:
        """The effects of the records after the first `since`."""
        return range(self._starts[since], len(self.ids))

    def effects_of(self, record: int) -> range:
        """The effects of the record at a place, from 0."""
        return range(self._starts[record], self._starts[record + 1])

    def version(self, cursor: int) -> Version:
        """The tree after the first `cursor` records, from the kept version with the fewest effects between."""
        wanted = self._starts[cursor]
        place = bisect_right(self._kept_at, wanted) - 1
        later = place + 1
        if later < len(self._kept_at) and self._kept_at[later] - wanted < wanted - self._kept_at[place]:
            back = slice(wanted, self._kept_at[later])
            # The first effect after the cursor knows how its node stood at the cursor; going backwards, it comes last.
            over = dict(zip(reversed(self.ids[back]), reversed(self.prior[back]), strict=True))
            return Version(self._kept_trees[later], over)
        on = slice(self._kept_at[place], wanted)
        over = dict(zip(self.ids[on], range(on.start, on.stop), strict=True))
        self._mark_gone(over, on)
        return Version(self._kept_trees[place], over)

    def differing(self, cursor: int) -> dict[int, int]:
        """The nodes that differ between the live tree and the one at a cursor, each with the effect that put it there
        at the cursor, -1 for none.

        Costs the effects since the cursor, or the sizes of both trees where that is less.
        """
        since = self.effects(cursor)
        if len(since) > 2 * len(self.live) + KEEP_EVERY:
            version = self.version(cursor)
            then = dict(version.items())
            for node in self.live:
                then.setdefault(node, -1)
        else:
            back = slice(since.start, since.stop)
            then = dict(zip(reversed(self.ids[back]), reversed(self.prior[back]), strict=True))
        live, parents, values = self.live, self.parents, self.values
        found = {}
        for node, before in then.items():
            now = live.get(node, -1)
            if now == before:
                continue
            if now < 0 or before < 0 or parents[now] != parents[before] or values[now] != values[before]:
                found[node] = before
        return found

    def check(self) -> None:
        """Assert what must hold inside; for tests."""
        for node, effect in self.live.items():
            parent = self.parents[effect]
            assert self.ids[effect] == node and node > parent >= 0, f"node {node} has effect {effect}"
            assert parent == 0 or parent in self.live, f"node {node} has lost its parent {parent}"
            assert parent == 0 or node in self._children_of(parent), f"node {node} is no child of its parent {parent}"
        assert len(self.ids) == len(self.parents) == len(self.values) == len(self.prior) == self._starts[-1]
        assert dict(self.version(self.cursor).items()) == self.live, "the last version is not the live tree"

    def _set(self, node: int, parent: int, value: int) -> None:
        effect = self.live.get(node, -1)
        before = GONE
        if effect >= 0:
            before = self.parents[effect]
            if before == parent and self.values[effect] == value:
                return
        if parent and before != parent:
            found = self._children.get(parent)
            if found is None:
                self._children[parent] = node
            elif type(found) is list:
                found.append(node)
            else:
                self._children[parent] = [found, node]  # type: ignore[list-item]
        self.live[node] = len(self.ids)
        self.ids.append(node)
        self.parents.append(parent)
        self.values.append(value)
        self.prior.append(effect)

    def _remove(self, node: int) -> None:
        self.prior.append(self.live.pop(node))
        self.ids.append(node)
        self.parents.append(GONE)
        self.values.append(-1)
        self._children.pop(node, None)

    def _end(self) -> None:
        effects = len(self.ids)
        self._starts.append(effects)
        if effects >= self._due:
            self._keep(effects)

    def _keep(self, effects: int) -> None:
        self._kept_at.append(effects)
        self._kept_trees.append(self.live.copy())
        self._due = effects + max(KEEP_EVERY, len(self.live) // 2)

    def _children_of(self, parent: int) -> set[int]:
        found = self._children.get(parent, ())
        live, parents = self.live, self.parents
        added = (found,) if isinstance(found, int) else found
        return {node for node in added if (effect := live.get(node, -1)) >= 0 and parents[effect] == parent}

    def _below(self, top: int) -> list[int]:
        found = [top]
        for node in found:
            if node in self._children:
                found.extend(self._children_of(node))
        return found

    def _would_be_sound(self, wanted: dict[int, tuple[int, int] | None]) -> bool:
        live = self.live
        for node, to in wanted.items():
            if to is not None:
                parent = to[0]
                if not node > parent >= 0:
                    return False
                there = parent in live if parent not in wanted else wanted[parent] is not None
                if parent and not there:
                    return False
            elif node in live:
                for child in self._children_of(node):
                    if child not in wanted:
                        return False
        return True

    def _mark_gone(self, over: dict[int, int], on: slice) -> None:
        """Put -1 for the nodes whose last effect in a stretch is that they go."""
        find, at = self.parents.index, on.start
        while True:
            try:
                at = find(GONE, at, on.stop)
            except ValueError:
                return
            node = self.ids[at]
            if over[node] == at:
                over[node] = -1
            at += 1
