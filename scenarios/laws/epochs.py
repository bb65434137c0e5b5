"""Laws of session epochs: a session whose log is compacted into a next one, from time to time."""

from __future__ import annotations

from simfs.explore.law import Law

EPOCH_OPENS_HIGHEST = Law(
    "epoch_opens_highest",
    "The epoch that is opened is the highest with a baseline and a log",
    "epochs",
)
EPOCH_CARRY = Law(
    "epoch_carry",
    "What is carried into an epoch is the summary that the last fitting end record of the log before gives; "
    "without one, an error names that log",
    "epochs",
)
EPOCH_COUNTS_SPAN = Law(
    "epoch_counts_span",
    "Turns, untrusted and the next call count over all epochs, while the records are those of the current one",
    "epochs",
)
EPOCH_APPEND_CURRENT = Law(
    "epoch_append_current",
    "An append goes to the log of the current epoch",
    "epochs",
)
EPOCH_HALF_COMPACTION = Law(
    "epoch_half_compaction",
    "Wherever a compaction is cut, the old epoch can be used or the new one is whole, and the compaction can be "
    "taken up again",
    "epochs",
)
EPOCH_ACKED_SURVIVE = Law(
    "epoch_acked_survive",
    "No acknowledged append is lost in a crash, and a torn last line is reported with its file and line",
    "epochs",
)
EPOCH_SLOT = Law(
    "epoch_slot",
    "The slot is the one that the current log's first record names, or 0; creating keeps the one it was given",
    "epochs",
)

LAWS = (
    EPOCH_OPENS_HIGHEST, EPOCH_CARRY, EPOCH_COUNTS_SPAN, EPOCH_APPEND_CURRENT, EPOCH_HALF_COMPACTION,
    EPOCH_ACKED_SURVIVE, EPOCH_SLOT,
)  # fmt: skip
