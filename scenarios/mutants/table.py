"""Judging mutants: which law notices each, and the table that says so.

Each mutant is run through the suite of its store until a law is broken. One that no scenario of the suite notices, on
any disk model that the store claims, must be accounted for: it is accepted with a reason, or it is a hole in the laws.

A mutant counts as killed only when the token of its counterexample, read as text and run on a fresh machine, breaks the
same law again. So whoever judges mutants tests replays too, without a second search.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from scenarios.catalog import cron_suite, epochs_suite, sidecars_suite, staging_suite, storage_suite, wire_suite
from scenarios.checks import Check
from scenarios.entries import Ask, Entry, Family, One
from scenarios.histories import Histories
from scenarios.mutants import corpus, cron, epochs, log_entry, sidecars, staging, state, storage, tree, tree_entry, wire
from scenarios.mutants.mutant import Mutant
from scenarios.mutants.replaying import replayed
from scenarios.suites.fuzz_corpus import corpus_suite
from scenarios.suites.log_entry import entry_check
from scenarios.suites.state import state_suite
from scenarios.suites.storage import Wrap
from scenarios.suites.tree import entry_suite as tree_entry_suite
from scenarios.suites.tree import tree_suite
from simfs.explore.law import COMPLETES
from simfs.explore.spec import spec_of
from simfs.explore.verdict import Verdict

QUICKEST_FIRST = (
    "storage_one_writer", "storage_new_home", "storage_build", "storage_reads", "storage_epoch", "storage_rules",
    "storage_damage", "storage_reopen", "storage_failed", "storage_killed", "storage_histories",
    "sidecars_after_build", "sidecars_epoch", "sidecars_reader", "sidecars_reopen", "sidecars_fault",
    "sidecars_second_opener", "sidecars_killed", "sidecars_histories",
    "epochs_new_home", "epochs_moved", "epochs_repair", "epochs_two_menders", "epochs_append", "epochs_create",
    "epochs_compact", "epochs_abandoned", "epochs_rules", "epochs_old_descriptor", "epochs_killed", "epochs_fault",
    "epochs_two_compacters", "epochs_reader_writer",
)  # fmt: skip
"""The order in which the suite is tried on a mutant; what is not named here comes last."""
SLOW = frozenset({
    "sidecars_reader", "sidecars_fault", "sidecars_second_opener", "sidecars_killed", "sidecars_fault_killed",
    "sidecars_build", "sidecars_long", "epochs_rules", "epochs_old_descriptor", "epochs_killed", "epochs_fault",
    "epochs_two_compacters", "epochs_two_compactions", "epochs_three_losses", "epochs_reader_writer",
    "epochs_two_creators", "tree_core_four", "cron_updates", "cron_bridge_calls", "cron_two_jobs", "cron_bridge",
    "cron_jumps", "cron_restart", "cron_three", "staging_together", "staging_together_elsewhere", "staging_clock",
    "staging_long_build", "staging_two_sweeps", "staging_ways_out", "staging_three_publishers", "listing_delete",
    "listing_reader", "wire_larger", "wire_stored", "wire_killed",
})  # fmt: skip
"""What is tried on every disk model only when all that is quick has noticed nothing."""


@dataclass(frozen=True, slots=True)
class Store:
    """A store with its suite and its mutants. A new store is one line in `STORES`."""

    name: str
    suite: Callable[[Wrap], Sequence[Entry]]
    mutants: Callable[[], list[Mutant]]


STORES = (
    Store("log", storage_suite, storage.mutants),
    Store("log with sidecars", sidecars_suite, sidecars.mutants),
    Store("log entry", lambda wrap: (entry_check(),), log_entry.mutants),
    Store("epochs", epochs_suite, epochs.mutants),
    Store("cron", lambda wrap: cron_suite(wrap, 300), cron.mutants),
    Store("staging", staging_suite, staging.mutants),
    Store("tree", tree_suite, tree.mutants),
    Store("tree entry", tree_entry_suite, tree_entry.mutants),
    Store("state tree", state_suite, state.mutants),
    Store("wire", wire_suite, wire.mutants),
    Store("corpus", corpus_suite, corpus.mutants),
)

MODELS = ("synced-only", "ext4", "prefix", "scc")
"""Disk models in the order in which they are tried, the quickest first; only those that an entry claims."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a mutant. `law` and `scenario` are empty when nobody noticed it."""

    mutant: Mutant
    law: str
    scenario: str
    disk: str
    text: str
    seconds: float
    token: str = ""
    """What broke the law again when it was replayed; "" where nothing is there to replay (a check of rules)."""
    store: str = ""

    @property
    def killed(self) -> bool:
        """Whether some law noticed."""
        return bool(self.law)

    @property
    def accounted(self) -> bool:
        """Killed, or accepted with a reason."""
        return self.killed or bool(self.mutant.accepted)


def judge_all(stores: Sequence[Store] = STORES) -> Iterator[tuple[Store, Judged]]:
    """Every mutant of every store, each as it has been judged."""
    for store in stores:
        for mutant in store.mutants():
            yield store, judge(store, mutant)


def judge(store: Store, mutant: Mutant, only: Sequence[str] = ()) -> Judged:
    """Run a store's suite on a mutant until one of `only` (any law when empty) is broken, and replay that."""
    started = time.monotonic()
    for entry, disk, depth in trials(store.suite(mutant.wrap), mutant.first):
        if only and not {law.id for law in entry.laws}.intersection(only):
            continue
        try:
            with mutant.broken():
                verdict = entry.run(Ask(disk=disk, only=tuple(only), power_depth=depth, shrink=False))
        except AssertionError as error:  # The broken store notices itself, in a check of its rules: nothing to replay.
            if only or not isinstance(entry, Check):
                raise
            seconds = time.monotonic() - started
            return Judged(mutant, COMPLETES.id, entry.name, disk, str(error), seconds, "", store.name)
        law = broken_law(verdict)
        if law and (not only or law in only):
            found = verdict.counterexample
            text, where = (found.finding.message, found.disk) if found else (verdict.reason, verdict.disk)
            with mutant.broken():
                token = replayed(entry, verdict, law, only)
            return Judged(mutant, law, entry.name, where, text, time.monotonic() - started, token, store.name)
    return Judged(mutant, "", "", "", "", time.monotonic() - started, "", store.name)


def trials(entries: Iterable[Entry], first: Sequence[str] = ()) -> Iterator[tuple[Entry, str, int | None]]:
    """Each entry on each disk model that it claims, with one power loss and then with as many in a row as it has: those
    named first, then the quick ones, then the slow ones."""
    ordered = in_order(entries)
    for depth in (1, None):
        for group in (0, 1, 2):
            for disk in MODELS:
                for one in ordered:
                    again = depth is None and not isinstance(one, One | Family)
                    turn = 0 if one.name in first else 2 if one.name in SLOW else 1
                    if turn == group and claims(one, disk) and not again:
                        yield one, disk, depth


def claims(entry: Entry, disk: str) -> bool:
    """Whether an entry is to be asked on a disk model: one that it claims; a check of rules once."""
    if isinstance(entry, Check):
        return disk == MODELS[0]
    if isinstance(entry, Histories):
        return disk in entry.disk
    first = entry.kind if isinstance(entry, One) else next(entry.members()) if isinstance(entry, Family) else None
    return first is None or disk in spec_of(first).options["disk"]


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """The quickest first."""
    place = {name: at for at, name in enumerate(QUICKEST_FIRST)}
    return sorted(entries, key=lambda entry: place.get(entry.name, len(place)))


def broken_law(verdict: Verdict) -> str:
    """The id of the law that a verdict says is broken; "" when none is."""
    if verdict.counterexample is not None:
        return verdict.counterexample.law
    return str(verdict.tags.get("law", ""))


def table(judged: Sequence[Judged], width: int = 80) -> list[str]:
    """The table of mutants, by kind."""
    lines = [f"{'mutant':<46} killed by", "-" * width]
    for one in judged:
        name = one.mutant.name
        if one.killed:
            lines.append(f"{_fit(name, 46):<46} {one.law}")
        else:
            lines.append(f"{_fit(name, 46):<46} {'accepted' if one.mutant.accepted else 'NOBODY'}")
            if one.mutant.accepted:
                lines.append(f"    {one.mutant.accepted}")
    killed = sum(one.killed for one in judged)
    accepted = sum(not one.killed and one.accounted for one in judged)
    lines.append("-" * width)
    alive = len(judged) - killed - accepted
    lines.append(f"{len(judged)} mutants: {killed} killed, {accepted} accepted, {alive} alive")
    return lines


def _fit(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"
