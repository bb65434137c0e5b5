"""Laws of staging: building beside the final place, publishing without replacing, and sweeping what was left behind."""

from __future__ import annotations

from simfs.explore.law import Law

PUBLISH_NEVER_OVERWRITES = Law(
    "publish_never_overwrites",
    "Publishing to a name that is taken fails, and nothing has changed",
    "staging",
)
PUBLISH_MOVES = Law(
    "publish_moves",
    "Publishing to a free name moves the whole storage there",
    "staging",
)
PUBLISH_SETTLES = Law(
    "publish_settles",
    "The answer is \"exists\" exactly when the rename that must not replace met an entry",
    "staging",
)
PUBLISH_SETTLE_REFINES = Law(
    "publish_settle_refines",
    "What the real publish answers and leaves is what the plain model does",
    "staging",
)
PUBLISH_DURABLE = Law(
    "publish_durable",
    "A storage whose publish returned is there in full after a power loss",
    "staging",
)
SWEEP_NEVER_LIVE = Law(
    "sweep_never_live",
    "Nothing whose lock is held by a living process is swept",
    "staging",
)
SWEEP_NEVER_YOUNG = Law(
    "sweep_never_young",
    "Nothing that was touched within the last day is swept",
    "staging",
)
SWEEP_STAYS_OUT = Law(
    "sweep_stays_out",
    "A sweep neither removes nor enters what is none of its business: storages, symbolic links, leftovers' "
    "insides",
    "staging",
)
SWEEP_REACHES_EVERY_DEPTH = Law(
    "sweep_reaches_every_depth",
    "Each leftover that is free, old and reachable goes, however deep it lies",
    "staging",
)
MEET_EXACT = Law(
    "meet_exact",
    "Whether a sweep enters, keeps or judges an entry follows from the entry's name and type alone",
    "staging",
)
MEET_MINTED = Law(
    "meet_minted",
    "Every name that a builder makes up is known to the sweep as a leftover, and no session's name is",
    "staging",
)
SWEEP_STAYS_OUT_REAL = Law(
    "sweep_stays_out_real",
    "The sweep on a real directory stays out wherever the model does",
    "staging",
)
JUDGE_EXACT = Law(
    "judge_exact",
    "What is planned for a judged entry follows from its lock and its times, exact to the nanosecond",
    "staging",
)
JUDGE_REFINES = Law(
    "judge_refines",
    "Carrying out that plan is the removal of the model",
    "staging",
)
SWEEP_NEVER_LIVE_REAL = Law(
    "sweep_never_live_real",
    "The sweep on a real directory spares what lives, as the model does",
    "staging",
)
SWEEP_NEVER_YOUNG_REAL = Law(
    "sweep_never_young_real",
    "The sweep on a real directory spares what is young, as the model does",
    "staging",
)
SWEEP_TAKES_STALE_FREE_REAL = Law(
    "sweep_takes_stale_free_real",
    "The sweep on a real directory takes each leftover that is old and free",
    "staging",
)
BUILD_ALL_OR_NOTHING = Law(
    "build_all_or_nothing",
    "A build that fails, is killed or loses power leaves a whole storage under its name, or nothing there",
    "staging",
)
DELETE_WHOLE_OR_GONE = Law(
    "delete_whole_or_gone",
    "A session that is being deleted is whole under its name or gone, and gone for good once the call returned",
    "staging",
)

LAWS = (
    PUBLISH_NEVER_OVERWRITES, PUBLISH_MOVES, PUBLISH_SETTLES, PUBLISH_SETTLE_REFINES, PUBLISH_DURABLE,
    SWEEP_NEVER_LIVE, SWEEP_NEVER_YOUNG, SWEEP_STAYS_OUT, SWEEP_REACHES_EVERY_DEPTH, MEET_EXACT, MEET_MINTED,
    SWEEP_STAYS_OUT_REAL, JUDGE_EXACT, JUDGE_REFINES, SWEEP_NEVER_LIVE_REAL, SWEEP_NEVER_YOUNG_REAL,
    SWEEP_TAKES_STALE_FREE_REAL, BUILD_ALL_OR_NOTHING, DELETE_WHOLE_OR_GONE,
)  # fmt: skip
