"""The mutants of the cron store that a person thought of: its rules, its file and its lock broken in one way each.

Those made by machine are in `cron_calls`.
"""

from __future__ import annotations

from eukhe.cron import book, files, rules, store
from scenarios.mutants.cron_breaks import (
    AllAlive,
    AllDead,
    ByPid,
    OneTemporary,
    RemovesTheLock,
    WritesInPlace,
    all_missed,
    both,
    broken,
    by_schedule_alone,
    complete,
    empty_if_damaged,
    fails_quietly,
    finishes_anyway,
    kept_under_one_name,
    no_notice,
    no_stop,
    no_unknown,
    no_unreadable,
    restarts,
    shrinks,
    stays,
    unlocked_in_the_end,
    unstamped,
    with_paused,
)
from scenarios.mutants.cron_calls import made_by_machine
from scenarios.mutants.mutant import Mutant

__simfs_machinery__ = True


def mutants() -> list[Mutant]:
    """All of them, those made by machine first."""
    return [*made_by_machine(), *BY_HAND]


BY_HAND = [
    Mutant(
        "a claim completes a one-shot",
        "rule",
        broken=broken(rules, "claimed", complete),
        made_for=("cron_once_finished_after_end",),
        first=("cron_schedulers",),
    ),
    Mutant(
        "recovery clears the claims of the living",
        "rule",
        lambda system, process: AllDead(system),
        made_for=("cron_claim_owned",),
        first=("cron_run_now",),
    ),
    Mutant(
        "recovery clears nobody else's claim",
        "rule",
        lambda system, process: AllAlive(system),
        made_for=("cron_claim_owned",),
        first=("cron_run_now",),
    ),
    Mutant(
        "an owner is known by its pid alone", "rule", lambda system, process: ByPid(system), first=("cron_run_now",)
    ),
    Mutant(
        "records that cannot be read are dropped",
        "file",
        broken=broken(store, "render", no_unreadable),
        made_for=("cron_never_drops",),
        first=("cron_damage",),
    ),
    Mutant(
        "keys that are unknown are dropped",
        "file",
        broken=broken(store, "render", no_unknown),
        made_for=("cron_never_drops",),
        first=("cron_damage",),
    ),
    Mutant(
        "a damaged file reads as empty",
        "file",
        broken=broken(store, "parse", empty_if_damaged),
        made_for=("cron_never_drops",),
        first=("cron_kept_aside",),
    ),
    Mutant(
        "a damaged file is kept over an earlier one",
        "file",
        broken=broken(files, "keep_aside", kept_under_one_name),
        made_for=("cron_never_drops",),
        first=("cron_damage",),
    ),
    Mutant(
        "who waited too long writes without the lock",
        "lock",
        broken=broken(files, "_take", unlocked_in_the_end),
        first=("cron_holder_stops",),
    ),
    Mutant(
        "the lock file is removed with the lock",
        "lock",
        lambda system, process: RemovesTheLock(system),
        first=("cron_run_now",),
    ),
    Mutant(
        "one temporary name for all", "file", lambda system, process: OneTemporary(system), first=("cron_two_jobs",)
    ),
    Mutant(
        "the file is written in place",
        "file",
        lambda system, process: WritesInPlace(system),
        made_for=("cron_update_durable",),
        first=("cron_first",),
    ),
    Mutant(
        "a flush that failed is not told",
        "flush",
        broken=broken(files, "flush_directory", fails_quietly),
        first=("cron_fault",),
    ),
    Mutant(
        "the next run is saved with the result",
        "rule",
        broken=broken(rules, "claimed", stays),
        made_for=("cron_fires_once",),
        first=("cron_schedulers",),
    ),
    Mutant(
        "every missed occurrence is run",
        "rule",
        broken=broken(rules, "claimed", all_missed),
        made_for=("cron_accounted",),
        first=("cron_clocks",),
    ),
    Mutant(
        "the end of a run that nobody waits for counts",
        "rule",
        broken=broken(book.Book, "finish", finishes_anyway),
        first=("cron_rules",),
    ),
    Mutant(
        "an interrupted run is cleared without a word",
        "rule",
        broken=broken(rules, "interrupted", no_notice),
        made_for=("cron_accounted",),
        first=("cron_schedulers",),
    ),
    Mutant(
        "the rest after failures shrinks",
        "rule",
        broken=broken(rules, "rest_ms", shrinks),
        made_for=("cron_backoff_bounded",),
        first=("cron_rules",),
    ),
    Mutant(
        "a pass that fills in a lost next run forgets the rest",
        "rule",
        broken=broken(rules, "aligned", by_schedule_alone),
        made_for=("cron_backoff_bounded",),
        first=("cron_rules",),
    ),
    Mutant(
        "a job never stops failing",
        "rule",
        broken=broken(rules, "_ended", no_stop),
        made_for=("cron_pause_sticks",),
        first=("cron_rules",),
    ),
    Mutant(
        "a paused job gets a next run",
        "rule",
        broken=broken(rules, "next_run", restarts),
        first=("cron_bridge_histories",),
    ),
    Mutant(
        "a paused job that is due is run",
        "rule",
        broken=lambda: both(broken(rules, "is_due", with_paused)(), broken(rules, "next_run", restarts)()),
        made_for=("cron_pause_sticks",),
        first=("cron_rules",),
    ),
    Mutant(
        "a change is not stamped",
        "rule",
        broken=broken(rules, "stamped", unstamped),
        made_for=("cron_model_bridge",),
        first=("cron_bridge_histories",),
    ),
    Mutant(
        "a clock that was set back is not noticed",
        "rule",
        broken=broken(rules, "SET_BACK_SLACK_MS", lambda slack: 10**15),
        made_for=("cron_accounted",),
        first=("cron_clocks",),
    ),
    Mutant(
        "an hour that comes again counts anew",
        "rule",
        broken=broken(rules, "SET_BACK_ANEW_MS", lambda at: 0),
        first=("cron_clocks",),
    ),
]
"""Those that a person thought of."""
