"""The catalogue of laws: every law of every store, under its id, whether its store is built yet or not.

One file a store. A law of a store that does not exist yet is marked `planned` and is shown as such, never as passed.
Where a law is checked, and which mutants it kills, is asked of the suites: a law does not know who judges by it.
"""

from __future__ import annotations

from scenarios.laws import (
    corpus,
    cron,
    epochs,
    listing,
    log,
    log_entry,
    staging,
    staging_entry,
    state_tree,
    tree,
    tree_entry,
    wire,
)
from simfs.explore.law import Law

_STORES = (
    tree, tree_entry, state_tree, wire, log, log_entry, staging, staging_entry, listing, cron, epochs, corpus,
)  # fmt: skip


def laws() -> dict[str, Law]:
    """Every law by its id, store by store."""
    found: dict[str, Law] = {}
    for store in _STORES:
        for law in store.LAWS:
            assert law.id not in found, f"two laws have the id {law.id}"
            found[law.id] = law
    return found
