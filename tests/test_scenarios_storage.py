"""The suite `storage`: what is proved of the real commit log, with exact counts, and that the model is a model."""

from __future__ import annotations

import pytest

import simfs
from scenarios.catalog import catalogue, storage_suite
from scenarios.entries import Ask, Family, One
from scenarios.suites import log_model, storage, storage_families
from scenarios.suites.plan_model import Paper
from scenarios.suites.storage_histories import StorageHistory, histories
from simfs.disk.models import MODELS
from simfs.explore.choices import Sampled


@pytest.mark.parametrize("kind", storage.SCENARIOS, ids=lambda kind: kind.name)
def test_the_real_storage_is_proved_on_every_model_it_claims(kind: type[storage.StorageScenario]) -> None:
    verdict = simfs.explore(kind())
    assert verdict.status == "proved", verdict.counterexample.text() if verdict.counterexample else verdict.reason
    assert verdict.survived == list(kind.disk)


def test_every_crash_point_of_three_commits_is_searched() -> None:
    verdict = simfs.explore(storage.StorageEpoch(), disk="prefix", power_depth=1)
    counts = verdict.searched
    assert (counts.executions, counts.crash_points, counts.distinct_images) == (1, 20, 370)


@pytest.mark.parametrize("name", ["storage_killed", "storage_failed", "storage_rules", "storage_damage"])
def test_families_and_checks_are_proved(name: str) -> None:
    verdict = catalogue()[name].run(Ask())
    assert verdict.status == "proved", verdict.counterexample.text() if verdict.counterexample else verdict.reason


def test_a_writer_is_killed_at_each_of_its_calls() -> None:
    spots = storage_families.spots()
    assert [spot.number for spot in spots] == list(range(1, len(spots) + 1))
    names = {member.name for member in storage_families.killed()}
    assert {f"storage_killed[{spot.number}]" for spot in spots} <= names
    assert len(names) == len(spots) + 3 * sum(spot.call == "pwrite" for spot in spots)


def test_120_histories_or_more_hold_and_are_called_sampled() -> None:
    verdict = histories().run(Ask(disk="prefix", seed=1))
    assert verdict.status == "sampled"
    assert verdict.searched.executions >= 120
    assert verdict.reason.endswith("histories, seed 1")


def test_a_history_is_a_function_of_its_choices() -> None:
    stories = []
    for _ in range(2):
        history = StorageHistory(MODELS["prefix"], Sampled("once more"))
        history.run()
        stories.append(history.story)
    assert stories[0] == stories[1]
    assert sum(line.startswith("open") for line in stories[0]) >= 3


def test_histories_hold_large_commits_and_characters_of_every_width() -> None:
    story = "\n".join(line for seed in range(60) for line in _story(seed))
    for part in ("bytes of é", "bytes of 雪", "bytes of 🙂", "commit of 1 bytes", "POWER LOSS", "killed"):
        assert part in story
    assert any(int(line.split()[2]) > 12_000 for line in story.split("\n") if "commit of" in line)


def _story(seed: int) -> list[str]:
    history = StorageHistory(MODELS["prefix"], Sampled(seed))
    history.run()
    return history.story


def test_the_model_reads_complete_lines_only() -> None:
    line = log_model.line_of(1, log_model.SESSION)
    assert log_model.lines_of(line + b'{"commit":2') == [log_model.SESSION]
    assert log_model.complete(b"no newline") == b""


def test_the_paper_disk_may_lose_what_is_not_flushed_and_nothing_else() -> None:
    entry = frozenset({"main.jsonl"})
    assert list(Paper(seen=3, durable=1, entries_durable=entry).may_be_left()) == [1, 2, 3]
    assert list(Paper(seen=2, durable=2).may_be_left()) == [0, 2]
    short = Paper(1, 0, entries_durable=entry, sidecar_seen={"s": 1}, needs=({"s": 1},))
    assert list(short.may_be_left()) == [0, 1, "s"]


def test_a_family_ends_at_its_first_counterexample_and_keeps_its_name() -> None:
    def member(number: int) -> simfs.Scenario:
        def judge() -> None:
            assert number < 2, "the second member breaks it"

        kind = simfs.scenario(processes=lambda m: m.effect("ran"), law=judge, name=f"family[{number}]")
        return kind()

    family = Family("family", "Three members.", lambda: (member(number) for number in (1, 2, 3)))
    verdict = family.run(Ask())
    assert (verdict.status, verdict.tags["members"]) == ("violated", 2)
    assert verdict.counterexample is not None
    assert verdict.counterexample.scenario == "family[2]"


def test_a_budget_is_for_the_whole_of_an_entry_and_never_reads_as_success() -> None:
    for entry in storage_suite():
        if isinstance(entry, One) and entry.name == "storage_reopen":
            assert entry.run(Ask(budget=0.001)).status == "inconclusive"
