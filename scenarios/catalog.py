"""The catalogue: everything that `simfs run` runs when it is given no name, each under its name.

`scenarios()` is what this package offers through the entry point group `simfs.scenarios`; any installed package may
offer its own in the same way: a function that returns scenarios (classes or objects) or entries. `catalogue()` gathers
them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Any

from scenarios.entries import Entry, Family, Listed, One
from scenarios.fuzz.planted import planted
from scenarios.fuzz.targets import programs
from scenarios.laws import laws
from scenarios.reported_cases import reported_suite
from scenarios.suites import (
    cron,
    cron_adversity,
    cron_bridge,
    cron_clocks,
    cron_damage,
    cron_histories,
    cron_rules,
    cron_updates,
    epochs_compaction,
    epochs_damage,
    epochs_repair,
    epochs_together,
    listing,
    listing_rules,
    log_entry,
    log_sidecar_histories,
    log_sidecars,
    log_sidecars_together,
    staging_publish,
    staging_rules,
    staging_sweeps,
    storage,
    storage_damage,
    storage_families,
    storage_histories,
    storage_rules,
    wire_stored,
)
from scenarios.suites.fuzz_corpus import corpus_suite
from scenarios.suites.growing import GROWING
from scenarios.suites.state import state_suite
from scenarios.suites.storage import Wrap, as_it_is
from scenarios.suites.tree import entry_suite as tree_entry_suite
from scenarios.suites.tree import tree_suite
from scenarios.suites.wire import LARGER, WIRE
from simfs.errors import UsageError
from simfs.explore.scenario import Scenario

GROUP = "simfs.scenarios"


def scenarios() -> Sequence[Entry]:
    """What this package offers: the suites of eukhe, those of its fuzzer, and the faults that people reported."""
    return (
        *storage_suite(planted),
        *sidecars_suite(planted),
        log_entry.entry_check(),
        *epochs_suite(planted),
        *cron_suite(planted),
        *tree_suite(),
        *tree_entry_suite(),
        *state_suite(),
        *wire_suite(planted),
        *staging_suite(planted),
        *corpus_suite(),
        *GROWING,
        *programs(),
        *reported_suite(),
    )


def storage_suite(wrap: Wrap = as_it_is) -> tuple[Entry, ...]:
    """The suite of the commit log; `wrap` is what a mutant puts between the machine and the store."""
    return (
        *(One(named(kind(wrap))) for kind in storage.SCENARIOS),
        Family(
            "storage_killed",
            "A writer is killed at each of its calls; another opens and commits; then the power goes.",
            lambda: (named(member) for member in storage_families.killed(wrap)),
        ),
        Family(
            "storage_failed",
            "Each call of a writer fails once; it opens again and commits; then the power goes.",
            lambda: (named(member) for member in storage_families.failed(wrap)),
        ),
        storage_rules.RULES,
        storage_damage.damage(wrap),
        storage_histories.histories(wrap),
    )


def sidecars_suite(wrap: Wrap = as_it_is) -> tuple[Entry, ...]:
    """The commit log with sidecars; `wrap` is what a mutant puts between the machine and the store."""
    return (
        *(One(named(kind(wrap))) for kind in (*log_sidecars.SCENARIOS, *log_sidecars_together.SCENARIOS)),
        log_sidecar_histories.histories(wrap),
    )


def epochs_suite(wrap: Wrap = as_it_is) -> tuple[Entry, ...]:
    """The suite of session epochs; `wrap` is what a mutant puts between the machine and the store."""
    kinds = (*epochs_compaction.SCENARIOS, *epochs_repair.SCENARIOS, *epochs_together.SCENARIOS)
    return (
        *(One(named(kind(wrap))) for kind in kinds),
        epochs_damage.rules(wrap),
    )


def cron_suite(wrap: Wrap = as_it_is, histories: int = cron_histories.HISTORIES) -> tuple[Entry, ...]:
    """The suite of the cron store; `wrap` is what a mutant puts between the machine and the store, `histories` how many
    are generated."""
    return (
        *(One(named(kind(wrap))) for kind in (*cron.SCENARIOS, *cron_updates.SCENARIOS, *cron_adversity.SCENARIOS)),
        Family(
            "cron_two_jobs",
            "Two processes claim, run, finish and recover a due job of each kind; one is killed; the power may go.",
            lambda: (named(cron.CronTwo(kind, wrap)) for kind in cron.SCHEDULES),
        ),
        cron_rules.RULES,
        cron_damage.damage(wrap),
        cron_clocks.clocks(wrap),
        cron_bridge.bridge_check(wrap),
        cron_histories.histories(wrap, histories),
    )


def staging_suite(wrap: Wrap = as_it_is) -> tuple[Entry, ...]:
    """The suites of staging and of the listing; `wrap` is what a mutant puts between the machine and the stores."""
    kinds = (*staging_publish.SCENARIOS, *staging_sweeps.SCENARIOS, *listing.SCENARIOS)
    return (staging_rules.RULES, listing_rules.RULES, *(One(named(kind(wrap))) for kind in kinds))


def wire_suite(wrap: Wrap = as_it_is) -> tuple[Entry, ...]:
    """The suite of the wire; `wrap` is what a mutant puts between the machine and the worker's storage."""
    return (
        WIRE,
        LARGER,
        Family(
            "wire_stored",
            "Supervisor, clients, a worker with a real log, in each state before an open or a commit; the power goes.",
            lambda: (named(member) for member in wire_stored.stored(wrap)),
        ),
        Family(
            "wire_killed",
            "The same, and the worker dies at each call of that open or commit; the others go on with a new one.",
            lambda: (named(member) for member in wire_stored.killed(wrap)),
        ),
    )


def named(scenario: Any) -> Any:
    """The scenario, with the name under which tokens and the command line find it here."""
    scenario.__simfs_reference__ = scenario.name
    return scenario


def catalogue() -> dict[str, Entry]:
    """Every entry of every installed package, by name. Raises UsageError for an offer that is none."""
    listed = Listed()
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        source = f"{point.value} (entry point {point.name} of {GROUP})"
        try:
            offered = point.load()()
        except Exception as error:
            raise UsageError(f"{source} offers no scenarios: {type(error).__name__}: {error}") from error
        for item in offered:
            listed.add(as_entry(item, source), source)
    return listed.entries


def as_entry(item: Any, source: str) -> Entry:
    """A scenario or an entry as an entry. Raises UsageError for anything else."""
    if isinstance(item, Scenario) or (isinstance(item, type) and issubclass(item, Scenario)):
        if not item.name:
            item.name = item.__name__ if isinstance(item, type) else type(item).__name__
        return One(named(item))
    if all(hasattr(item, part) for part in ("name", "statement", "laws", "run", "replay")):
        entry: Entry = item
        return entry
    raise UsageError(f"{source} offers {item!r}, which is no scenario")


def where_judged(entries: dict[str, Entry]) -> dict[str, list[str]]:
    """For each law of the catalogue the names of the entries that judge it."""
    found: dict[str, list[str]] = {law: [] for law in laws()}
    for entry in entries.values():
        for law in entry.laws:
            found.setdefault(law.id, []).append(entry.name)
    return found
