"""Laws of the commit log: what an open reads and cuts, what a commit promises, and what no crash may take away.

"The old log" is what the last open returned or what was acknowledged before; "tried" commits are those that somebody
began. A law speaks of every disk that a crash may leave on the models that the store claims to survive.
"""

from __future__ import annotations

from simfs.explore.law import Law

LOG_READS_LINES = Law(
    "log_reads_lines",
    "An open finds the complete lines of main.jsonl, all of them and in order, and never takes a torn tail for "
    "one",
    "log",
)
LOG_ACK_DURABLE = Law(
    "log_ack_durable",
    "What was acknowledged before a crash is in the log after it, behind the old log and before anything else",
    "log",
)
LOG_ONLY_COMMITS = Law(
    "log_only_commits",
    "The log after a crash is the old log and then the first so-and-so many of the commits that were tried, "
    "unchanged",
    "log",
)
LOG_OPEN_CUTS_THE_TORN_TAIL = Law(
    "log_open_cuts_the_torn_tail",
    "After an open a torn main.jsonl holds exactly the bytes of the lines that the open read",
    "log",
)
LOG_OPEN_KEEPS_THE_COMPLETE_LINES = Law(
    "log_open_keeps_the_complete_lines",
    "An open leaves a main.jsonl that ends in a newline as it is, to the byte",
    "log",
)
LOG_OPEN_REFUSES_ODD_FACTS = Law(
    "log_open_refuses_odd_facts",
    "The rule for opening takes no facts about a file that no file can have",
    "log",
)
LOG_PLAN_RUNS_THE_MODEL = Law(
    "log_plan_runs_the_model",
    "An open that flushes and its commits, stopped after any step of their plan, stand where the plain model "
    "stands",
    "log",
)
LOG_PLAN_ACK_DURABLE = Law(
    "log_plan_ack_durable",
    "Stopping a plan after any step, with any survivors, loses no commit whose acknowledgement was reached",
    "log",
)
LOG_PLAN_ONLY_COMMITS = Law(
    "log_plan_only_commits",
    "Stopping a plan after any step, with any survivors, leaves a first part of the commits and nothing else",
    "log",
)
LOG_COMMIT_PLAN = Law(
    "log_commit_plan",
    "A commit's steps are, in order: sidecar records, their flushes, a directory flush if one of their entries is "
    "new, the marker, its flush, a directory flush if main.jsonl's entry is new, acknowledgement; without "
    "flushing, the same less the flushes",
    "log",
)
LOG_OPEN_PLAN = Law(
    "log_open_plan",
    "An open's steps stand in the order that the rules give: the cut of main.jsonl, what makes the commits found "
    "durable, the cuts of sidecars, ancestors, acknowledgement",
    "log",
)
LOG_OPENS_AFTER_CRASH = Law(
    "log_opens_after_crash",
    "Whatever a crash leaves of an open or a commit, the storage opens again",
    "log",
)
LOG_FAILED_FLUSH_NEVER_ACKED = Law(
    "log_failed_flush_never_acked",
    "A commit whose write or flush failed is not acknowledged, and costs nothing that was acknowledged before",
    "log",
)
LOG_ONE_WRITER = Law(
    "log_one_writer",
    "While one writer has the storage open no other gets it",
    "log",
)
LOG_DAMAGE_UNTOUCHED = Law(
    "log_damage_untouched",
    "A damaged storage is refused with a typed error, and not one byte of it changes",
    "log",
)

LAWS = (
    LOG_READS_LINES, LOG_ACK_DURABLE, LOG_ONLY_COMMITS, LOG_OPEN_CUTS_THE_TORN_TAIL,
    LOG_OPEN_KEEPS_THE_COMPLETE_LINES, LOG_OPEN_REFUSES_ODD_FACTS, LOG_PLAN_RUNS_THE_MODEL, LOG_PLAN_ACK_DURABLE,
    LOG_PLAN_ONLY_COMMITS, LOG_COMMIT_PLAN, LOG_OPEN_PLAN, LOG_OPENS_AFTER_CRASH, LOG_FAILED_FLUSH_NEVER_ACKED,
    LOG_ONE_WRITER, LOG_DAMAGE_UNTOUCHED,
)  # fmt: skip
