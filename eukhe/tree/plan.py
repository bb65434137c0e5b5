"""A rewind plan: what has to be done to each node so that the live tree becomes an earlier one.

A node that is only in the live tree is *stopped*, one that is only in the earlier tree is *started*, one that is in
both with another parent or value is *restored*; every other node is not in the plan. Stops come deepest first (ids
descending), starts and restores highest first (ids ascending), so someone who carries the plan out from top to bottom
never stops a node before those below it, and never starts one before its parent.

Source: seed S1, first list, 4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from eukhe.tree.records import Rewind


class PlannedNode(NamedTuple):
    """A node as the earlier tree has it."""

    id: int
    parent: int
    value: Any


class RewindPlan(NamedTuple):
    """From the live tree to the one at `cursor`."""

    cursor: int
    stops: tuple[int, ...]
    starts: tuple[PlannedNode, ...]
    restores: tuple[PlannedNode, ...]

    def record(self) -> Rewind:
        """The record that carries the plan out on the tree."""
        back = sorted((*self.starts, *self.restores), key=lambda node: node.id)
        return Rewind((*((i, None) for i in self.stops), *((node.id, (node.parent, node.value)) for node in back)))

    def plain(self) -> dict[str, Any]:
        """The plan as JSON."""
        return {
            "cursor": self.cursor,
            "stops": list(self.stops),
            "starts": [list(node) for node in self.starts],
            "restores": [list(node) for node in self.restores],
        }
