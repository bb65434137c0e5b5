"""Laws of the cron store: scheduled jobs that several processes share in one file."""

from __future__ import annotations

from simfs.explore.law import Law

CRON_FIRES_ONCE = Law(
    "cron_fires_once",
    "However processes interleave, an occurrence that is due is dispatched by one of them, once",
    "cron",
)
CRON_ONCE_FINISHED_AFTER_END = Law(
    "cron_once_finished_after_end",
    "A one-shot job is complete only when its run has ended: by that run's last step, or by recovery afterwards",
    "cron",
)
CRON_NEVER_DROPS = Law(
    "cron_never_drops",
    "What cannot be parsed and what is unknown stays in the file, and a file that cannot be read is never written "
    "over",
    "cron",
)
CRON_CLAIM_OWNED = Law(
    "cron_claim_owned",
    "Nobody clears the claim of a living process; an owner clears its own dead runs, anybody those of a dead "
    "owner",
    "cron",
)
CRON_BACKOFF_BOUNDED = Law(
    "cron_backoff_bounded",
    "After failures a job waits 2, 4, 8, 16, 32 and then 60 minutes, never less than before in a streak, and "
    "stops at the eighth",
    "cron",
)
CRON_PAUSE_STICKS = Law(
    "cron_pause_sticks",
    "After the eighth failure only a person starts the job again; until then it is listed as paused, with its "
    "count and error",
    "cron",
)
CRON_MODEL_BRIDGE = Law(
    "cron_model_bridge",
    "Three processes with real stores on one file leave, step by step, the very bytes of the model",
    "cron",
)
CRON_UPDATE_DURABLE = Law(
    "cron_update_durable",
    "An update that returned outlives a power loss, and a crash leaves the file before or after it: never torn, "
    "never missing",
    "cron",
)
CRON_ACCOUNTED = Law(
    "cron_accounted",
    "Each occurrence ran, or that it was skipped or interrupted is on record",
    "cron",
)

LAWS = (
    CRON_FIRES_ONCE, CRON_ONCE_FINISHED_AFTER_END, CRON_NEVER_DROPS, CRON_CLAIM_OWNED, CRON_BACKOFF_BOUNDED,
    CRON_PAUSE_STICKS, CRON_MODEL_BRIDGE, CRON_UPDATE_DURABLE, CRON_ACCOUNTED,
)  # fmt: skip
