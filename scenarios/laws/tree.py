"""Laws of the session tree: which records it takes, what a replay, a snapshot and a rewind give.

Two things are judged: the tree as such (a plain model that anyone can check by eye), and the indexed core that the
product runs, which must answer as the plain model does after every journal.
"""

from __future__ import annotations

from simfs.explore.law import Law

TREE_APPLY_SOUND = Law(
    "tree_apply_sound",
    "No record, valid or not, turns a sound tree into an unsound one: parents exist and have smaller ids, and "
    "there is no cycle",
    "tree",
)
TREE_REPLAY_SOUND = Law(
    "tree_replay_sound",
    "Whatever a journal holds, replaying it ends in a sound tree",
    "tree",
)
TREE_SNAPSHOT = Law(
    "tree_snapshot",
    "The snapshot at any cursor, followed by what was recorded since, is the live tree",
    "tree",
)
TREE_REWIND_REACHES = Law(
    "tree_rewind_reaches",
    "Carrying out the difference between the live tree and another one ends in exactly that other tree",
    "tree",
)
TREE_REWIND_STILL = Law(
    "tree_rewind_still",
    "A rewind to where the tree already stands has nothing to do",
    "tree",
)
TREE_REWIND_MINIMAL = Law(
    "tree_rewind_minimal",
    "A rewind leaves alone each node that is the same in both trees",
    "tree",
)
TREE_DELETE_REMOVES = Law(
    "tree_delete_removes",
    "After a delete its node is gone",
    "tree",
)
TREE_DELETE_ONLY_BELOW = Law(
    "tree_delete_only_below",
    "Every other node that a delete takes along stood below the deleted one",
    "tree",
)
TREE_DELETE_WITHIN = Law(
    "tree_delete_within",
    "The nodes that a delete keeps have the parent and the value that they had",
    "tree",
)
TREE_PUT_SETS = Law(
    "tree_put_sets",
    "A put below the root or below a node is found afterwards, with its parent and value",
    "tree",
)
TREE_PUT_KEEPS_OTHERS = Law(
    "tree_put_keeps_others",
    "A put leaves every node but its own as it was",
    "tree",
)
TREE_CORE_TREE = Law(
    "tree_core_tree",
    "After any journal the indexed core and the plain model hold the same tree",
    "tree",
)
TREE_CORE_ANSWER = Law(
    "tree_core_answer",
    "The core takes or keeps each record as the plain model does, and its deletes remove the same nodes",
    "tree",
)
TREE_CORE_NOTE = Law(
    "tree_core_note",
    "A live core with one more record is the core that replaying the longer journal builds",
    "tree",
)
TREE_CORE_PLAN = Law(
    "tree_core_plan",
    "The core's rewind plan to any cursor stops, starts and restores exactly the nodes in which the plain trees differ",
    "tree",
)
TREE_CORE_SNAP = Law(
    "tree_core_snap",
    "The core's snapshot at any cursor is the replay of that many records",
    "tree",
)
TREE_CORE_PLAN_KEEPS = Law(
    "tree_core_plan_keeps",
    "Asking for a rewind plan changes nothing in the core",
    "tree",
)
TREE_CORE_SNAP_KEEPS = Law(
    "tree_core_snap_keeps",
    "Asking for a snapshot changes nothing in the core",
    "tree",
)

LAWS = (
    TREE_APPLY_SOUND, TREE_REPLAY_SOUND, TREE_SNAPSHOT, TREE_REWIND_REACHES, TREE_REWIND_STILL, TREE_REWIND_MINIMAL,
    TREE_DELETE_REMOVES, TREE_DELETE_ONLY_BELOW, TREE_DELETE_WITHIN, TREE_PUT_SETS, TREE_PUT_KEEPS_OTHERS,
    TREE_CORE_TREE, TREE_CORE_ANSWER, TREE_CORE_NOTE, TREE_CORE_PLAN, TREE_CORE_SNAP, TREE_CORE_PLAN_KEEPS,
    TREE_CORE_SNAP_KEEPS,
)  # fmt: skip
