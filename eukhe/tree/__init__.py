"""The session tree: a journal of records, the tree at each moment, and the tree that a storage's commits make.

`model` is the definition, slow and obvious; `Journal` is what the product runs, over an indexed tree that must answer
as the definition does.
"""

from eukhe.tree.errors import StateError, StateTreeStopped
from eukhe.tree.journal import Answer, Journal, Node, Snapshot
from eukhe.tree.live import LiveStateTree
from eukhe.tree.plan import PlannedNode, RewindPlan
from eukhe.tree.records import BadRecord, Delete, Put, Record, Rewind
from eukhe.tree.state import StateTree

__all__ = [
    "Answer",
    "BadRecord",
    "Delete",
    "Journal",
    "LiveStateTree",
    "Node",
    "PlannedNode",
    "Put",
    "Record",
    "Rewind",
    "RewindPlan",
    "Snapshot",
    "StateError",
    "StateTree",
    "StateTreeStopped",
]
