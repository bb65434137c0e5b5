"""What can be fuzzed: for each store a way to make a history out of choices, on each disk model that the store claims.

A target is an entry of the catalogue, so `simfs run` draws some of its histories as well, and `simfs replay` plays a
token back. Where a history of a store was there already it is the target, as `storage_histories`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from scenarios.entries import laws_of
from scenarios.fuzz.drawn_run import DrawnRun
from scenarios.fuzz.planted import planted
from scenarios.fuzz.programs_cron import CronProgram
from scenarios.fuzz.programs_epochs import EpochProgram
from scenarios.fuzz.programs_rules import StateHistory, TreeHistory, WireHistory
from scenarios.fuzz.programs_staging import ListingProgram, StagingProgram
from scenarios.histories import Histories, History
from scenarios.laws import state_tree, tree, wire
from scenarios.suites import cron_histories, log_sidecar_histories, storage_histories
from scenarios.suites.cron import CLAIMED as CRON_CLAIMED
from scenarios.suites.epochs import CLAIMED as EPOCHS_CLAIMED
from scenarios.suites.staging import CLAIMED as STAGING_CLAIMED
from scenarios.suites.storage import Wrap
from simfs.disk.model import DiskModel
from simfs.explore.choices import Choices
from simfs.explore.law import COMPLETES, Law
from simfs.explore.spec import drawn_spec_of

COUNT = 12
"""Histories that `simfs run` draws on each model; nights draw as many as they have time for."""


def _program(kind: Any, name: str, statement: str, disk: tuple[str, ...], wrap: Wrap) -> Histories:
    def make(model: DiskModel, choices: Choices) -> History:
        return DrawnRun(model, choices, drawn_spec_of(kind(wrap)))

    return Histories(name, statement, make, (COMPLETES, *laws_of(kind(wrap))), disk, COUNT)


def _rules(kind: Callable[[DiskModel, Choices], History], name: str, statement: str, *laws: Law) -> Histories:
    return Histories(name, statement, kind, (COMPLETES, *laws), ("scc",), COUNT)


EPOCHS = partial(
    _program, EpochProgram, "epochs_programs",
    "Drawn processes create, say, compact, repair and read a session, over several boots.", EPOCHS_CLAIMED,
)  # fmt: skip
CRON = partial(
    _program, CronProgram, "cron_programs",
    "Drawn processes recover, claim, run and record scheduled jobs, over several boots.", tuple(CRON_CLAIMED),
)  # fmt: skip
STAGING = partial(
    _program, StagingProgram, "staging_programs",
    "Drawn processes build and publish one name, sweep, list and wait, over several boots.", STAGING_CLAIMED,
)  # fmt: skip
LISTING = partial(
    _program, ListingProgram, "listing_programs",
    "Drawn processes import, fork, delete, list and sweep, over several boots.", ("scc", "synced-only", "ext4"),
)  # fmt: skip
TREE = _rules(
    TreeHistory, "tree_histories", "Drawn records and questions: the session tree is the definition's each time.",
    tree.TREE_CORE_ANSWER, tree.TREE_CORE_TREE, tree.TREE_CORE_SNAP, tree.TREE_CORE_PLAN, tree.TREE_CORE_PLAN_KEEPS,
    tree.TREE_CORE_NOTE,
)  # fmt: skip
STATE = _rules(
    StateHistory, "state_histories", "Drawn commits, possible and not: the state tree is the model's each time.",
    state_tree.STATE_UNORDERED_CHANGES, state_tree.STATE_ERROR_KEEPS_TREE, state_tree.STATE_PARENTS,
)  # fmt: skip
WIRE = _rules(
    WireHistory, "wire_histories", "Drawn clients and moves: supervisor, worker and followers keep the wire's laws.",
    wire.WIRE_SUBSCRIBERS_ONLY, wire.WIRE_NO_GAP_NO_REPEAT,
)  # fmt: skip


def programs(wrap: Wrap = planted) -> tuple[Histories, ...]:
    """The targets that are only here; the catalogue lists them too."""
    return (EPOCHS(wrap), CRON(wrap), STAGING(wrap), LISTING(wrap), TREE, STATE, WIRE)


def targets() -> dict[str, Histories]:
    """Every target by its name."""
    found = (
        storage_histories.histories(planted),
        log_sidecar_histories.histories(planted),
        cron_histories.histories(planted),
        *programs(),
    )
    return {one.name: one for one in found}
