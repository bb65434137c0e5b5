"""The suite of session epochs: what is proved of the real sessions, and how far."""

from __future__ import annotations

import pytest

import simfs
from scenarios.entries import Ask
from scenarios.laws import epochs as laws
from scenarios.mutants import epochs as mutants
from scenarios.mutants.mutant import Mutant
from scenarios.suites import epoch_model, epochs, epochs_compaction, epochs_damage, epochs_repair, epochs_together

KINDS = (*epochs_compaction.SCENARIOS, *epochs_repair.SCENARIOS, *epochs_together.SCENARIOS)
BY_NAME = {kind.name: kind for kind in KINDS}
QUICK = ("epochs_create", "epochs_append", "epochs_resume", "epochs_abandoned", "epochs_repair", "epochs_repair_again",
         "epochs_new_home", "epochs_moved", "epochs_two_menders")  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_the_real_sessions_are_proved_on_every_model_they_claim(name: str) -> None:
    verdict = simfs.explore(BY_NAME[name]())
    assert verdict.status == "proved", verdict.counterexample.text() if verdict.counterexample else verdict.reason
    assert verdict.survived == list(epochs.CLAIMED)


@pytest.mark.parametrize("name", ["epochs_compact", "epochs_two_compactions", "epochs_fault", "epochs_old_descriptor"])
@pytest.mark.parametrize("disk", ["synced-only", "ext4"])
def test_larger_scenarios_are_proved_on_the_quick_models(name: str, disk: str) -> None:
    """On `prefix` and with more processes `simfs run` proves them."""
    verdict = simfs.explore(BY_NAME[name](), disk=disk)
    assert verdict.status == "proved", verdict.counterexample.text() if verdict.counterexample else verdict.reason


def test_one_compaction_with_a_reader_and_a_writer_is_searched_to_the_end() -> None:
    verdict = simfs.explore(BY_NAME["epochs_reader_writer"](), disk="ext4")
    assert (verdict.status, verdict.searched.bounds, verdict.searched.executions) == ("proved", [], 50)


def test_every_small_directory_is_read_as_the_rules_say() -> None:
    verdict = epochs_damage.rules().run(Ask())
    assert verdict.status == "proved", verdict.reason
    assert verdict.searched.executions > 2_500


def test_every_law_of_epochs_is_judged() -> None:
    judged = {law for kind in KINDS for law in _laws_of(kind)} | {law.id for law in epochs_damage.rules().laws}
    assert judged == {law.id for law in laws.LAWS}


def _laws_of(kind: type[simfs.Scenario]) -> set[str]:
    marks = [getattr(getattr(kind, name), "__simfs_law__", None) for name in dir(kind)]
    return {mark.law.id for mark in marks if mark is not None and mark.law is not None}


def test_the_model_reads_the_highest_epoch_and_spans_the_counts() -> None:
    files = epochs_damage.whole(
        epochs_damage.USER + epochs_damage.result(4, True) + epochs_damage.end(1, "so far"),
        epochs_damage.START + epochs_damage.USER,
    )
    found = epoch_model.read(files)
    assert (found.epoch, found.carry, found.turns, found.untrusted, found.next_call, found.slot) == (
        1,
        "so far",
        2,
        True,
        5,
        3,
    )
    assert epoch_model.read(files | {"0.jsonl": epochs_damage.USER}).error == "NoCarry 0.jsonl"
    assert epoch_model.read(files | {"1.jsonl": b"{"}).error == "Torn 1.jsonl 1"


@pytest.mark.parametrize("mutant", [one for one in mutants.mutants() if one.accepted], ids=lambda mutant: mutant.name)
@pytest.mark.parametrize("name", ["epochs_two_menders", "epochs_short_write"])
def test_what_may_go_is_redundant_on_every_model_where_several_processes_use_it(mutant: Mutant, name: str) -> None:
    verdict = simfs.explore(BY_NAME[name](mutant.wrap))
    assert (verdict.status, verdict.survived) == ("proved", list(epochs.CLAIMED)), verdict.reason


def test_every_law_of_epochs_has_a_mutant_made_for_it() -> None:
    assert {law for mutant in mutants.BY_HAND for law in mutant.made_for} == {law.id for law in laws.LAWS}
