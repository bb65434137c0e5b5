"""Laws of the state tree's wire: what a client sees, however worker, supervisor and client interleave."""

from __future__ import annotations

from simfs.explore.law import Law

WIRE_NO_GAP_NO_REPEAT = Law(
    "wire_no_gap_no_repeat",
    "A client that skips what its cursor has passed takes each record exactly once, however replies and frames "
    "overlap",
    "wire",
)
WIRE_LOSS_RESUBSCRIBES = Law(
    "wire_loss_resubscribes",
    "A frame that begins beyond the client's cursor makes it subscribe again, and it still arrives at the live "
    "tree",
    "wire",
)
WIRE_SUBSCRIBERS_ONLY = Law(
    "wire_subscribers_only",
    "Frames go to subscribers alone, move nobody's replay cursor, and end with the subscription or the connection",
    "wire",
)
WIRE_RESTART_NEW_SNAPSHOT = Law(
    "wire_restart_new_snapshot",
    "Records of one worker never reach a tree that another worker gave",
    "wire",
)

LAWS = (
    WIRE_NO_GAP_NO_REPEAT, WIRE_LOSS_RESUBSCRIBES, WIRE_SUBSCRIBERS_ONLY, WIRE_RESTART_NEW_SNAPSHOT,
)  # fmt: skip
