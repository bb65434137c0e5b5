"""The suites `staging` and `listing`: what is proved of the real code, with exact counts."""

from __future__ import annotations

import pytest

import simfs
from scenarios.entries import Ask
from scenarios.suites import listing, listing_rules, staging_model, staging_publish, staging_rules, staging_sweeps
from scenarios.suites.staging import CLAIMED, StagingScenario
from scenarios.suites.staging_publish import StagingPublishers, StagingTogether

BOUNDED = {"staging_clock": "at most 0 early steps of the clock in a run"}
SLOW = (
    "staging_together", "staging_together_elsewhere", "staging_three_publishers", "listing_delete", "listing_reader",
)  # fmt: skip
"""Searched by `simfs run`; here their smaller relatives are, see below."""
KINDS = [
    kind
    for kind in (*staging_publish.SCENARIOS, *staging_sweeps.SCENARIOS, *listing.SCENARIOS)
    if kind.name not in SLOW
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_real_code_is_proved_on_every_model_that_it_claims(kind: type[StagingScenario]) -> None:
    verdict = simfs.explore(kind())
    assert verdict.counterexample is None, verdict.counterexample.text()
    wanted = ("bounded", BOUNDED[kind.name]) if kind.name in BOUNDED else ("proved", "")
    assert (verdict.status, verdict.reason) == wanted


def test_two_publishers_are_searched_with_every_kill_and_every_power_loss() -> None:
    verdict = simfs.explore(StagingPublishers(), disk="prefix")
    assert verdict.status == "proved"
    assert (verdict.searched.executions, verdict.searched.distinct_images) == (58, 140)
    assert StagingPublishers.disk == CLAIMED


def test_all_four_at_once_are_searched_in_every_order() -> None:
    verdict = simfs.explore(StagingTogether(), kills=0, preemptions=None, disk="prefix")
    assert (verdict.status, verdict.searched.executions) == ("proved", 3192)


@pytest.mark.parametrize("kind", [listing.ListingDelete, listing.ListingReader], ids=lambda kind: kind.name)
def test_the_larger_ones_hold_with_few_preemptions(kind: type[StagingScenario]) -> None:
    verdict = simfs.explore(kind(), preemptions=0, disk="synced-only")
    assert (verdict.status, verdict.reason) == ("bounded", "at most 0 preemptions in a run")


@pytest.mark.parametrize("check", [staging_rules.RULES, listing_rules.RULES], ids=lambda check: check.name)
def test_the_rules_are_proved_in_every_small_case(check: object) -> None:
    verdict = check.run(Ask())  # type: ignore[attr-defined]
    assert verdict.status == "proved", verdict.reason


def test_the_model_of_a_sweep_says_by_hand_what_goes() -> None:
    old = staging_model.Node("directory", staging_model.DAY)
    held = staging_model.Node("file", staging_model.DAY, held=True)
    name = staging_model.IMPORT
    assert staging_model.should_go(((name, old),), (name,))
    assert not staging_model.should_go(((name, old), (f"{name}.lock", held)), (name,))
    assert list(staging_model.swept(((name, old),))) == [(name,)]
