"""Laws of the state tree: the session tree that the commits of a storage make, built in the background."""

from __future__ import annotations

from simfs.explore.law import Law

STATE_PARENTS = Law(
    "state_parents",
    "Every stored record hangs where the rules put its type: below the root or below a conversation, in every history",
    "state tree",
)
STATE_UNORDERED_CHANGES = Law(
    "state_unordered_changes",
    "The changes of one commit may stand in any order, for a put waits until its parent is there",
    "state tree",
)
STATE_ERROR_KEEPS_TREE = Law(
    "state_error_keeps_tree",
    "A change without its parent or node is a typed error that is told, and the tree stays as it was",
    "state tree",
)
STATE_COMMIT_ONCE = Law(
    "state_commit_once",
    "A commit that is recorded again, or one before it, adds nothing",
    "state tree",
)
STATE_WRITES_EQUAL_PUBLICATIONS = Law(
    "state_writes_equal_publications",
    "Following what the storage writes and following what it publishes gives one and the same journal",
    "state tree",
)
STATE_HISTORY_TREE = Law(
    "state_history_tree",
    "A tree built from history holds the records, values and parents of one that saw each commit; only ids and "
    "cursor may differ",
    "state tree",
)
STATE_IDS_FIRST_SEEN = Law(
    "state_ids_first_seen",
    "Ids are given in the order in which records first appear, and keep within one worker",
    "state tree",
)
STATE_CONVERSATIONS_STAY = Law(
    "state_conversations_stay",
    "No commit makes a conversation disappear",
    "state tree",
)
STATE_HISTORY_KEPT = Law(
    "state_history_kept",
    "What was replayed and what was committed since stays with the storage until somebody takes it",
    "state tree",
)
STATE_NEVER_BLOCKS = Law(
    "state_never_blocks",
    "Opening, attaching and committing never wait for the tree to be built; only reading it does",
    "state tree",
)
STATE_FAILURE_STOPS = Law(
    "state_failure_stops",
    "Once building or recording failed unexpectedly the subscription is over and every read raises",
    "state tree",
)

LAWS = (
    STATE_PARENTS, STATE_UNORDERED_CHANGES, STATE_ERROR_KEEPS_TREE, STATE_COMMIT_ONCE,
    STATE_WRITES_EQUAL_PUBLICATIONS, STATE_HISTORY_TREE, STATE_IDS_FIRST_SEEN, STATE_CONVERSATIONS_STAY,
    STATE_HISTORY_KEPT, STATE_NEVER_BLOCKS, STATE_FAILURE_STOPS,
)  # fmt: skip
