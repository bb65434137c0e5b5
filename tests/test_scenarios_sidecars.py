"""The suite of sidecars: what is proved of the real commit log with long bodies, and how far."""

from __future__ import annotations

import pytest

import simfs
from scenarios.entries import Ask
from scenarios.suites import log_model, log_sidecars, log_sidecars_together
from scenarios.suites.log_entry import entry_check
from scenarios.suites.log_sidecar_histories import SidecarHistory, histories
from simfs.disk.models import MODELS
from simfs.explore.choices import Sampled

BY_NAME = {kind.name: kind for kind in (*log_sidecars.SCENARIOS, *log_sidecars_together.SCENARIOS)}
BOUNDED_ON_PREFIX = {"sidecars_long"}
"""Long bodies are torn at chosen bytes only."""
LONG_SEARCHES = {"sidecars_fault", "sidecars_fault_killed", "sidecars_second_opener", "sidecars_killed"}
"""Proved on every model they claim by `simfs run`; here on the quick ones."""


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("disk", log_sidecars.SIDECARS_CLAIMED)
def test_the_real_storage_with_sidecars_is_proved(name: str, disk: str) -> None:
    if (name in LONG_SEARCHES and disk == "prefix") or name == "sidecars_fault_killed":
        pytest.skip("a long search: `simfs run` makes it")
    verdict = simfs.explore(BY_NAME[name](), disk=disk)
    wanted = "bounded" if name in BOUNDED_ON_PREFIX and disk == "prefix" else "proved"
    assert verdict.status == wanted, verdict.counterexample.text() if verdict.counterexample else verdict.reason


def test_three_commits_two_sidecars_two_losses_and_one_fault_are_searched_to_the_end() -> None:
    scenario = log_sidecars.SidecarsFault
    assert (scenario.power_depth, len(scenario.tried), scenario.max_faults) == (2, 3, 1)
    assert {line["put"]["conversation"] for changes in scenario.tried for line in changes} == {1, 2}
    verdict = simfs.explore(scenario(), disk="ext4")
    assert (verdict.status, verdict.searched.bounds) == ("proved", [])
    assert verdict.searched.executions > 30


def test_histories_with_sidecars_hold_and_are_called_sampled() -> None:
    for disk in log_sidecars.SIDECARS_CLAIMED:
        verdict = histories().run(Ask(disk=disk, seed=1))
        assert verdict.status == "sampled", verdict.tags.get("text")
        assert verdict.searched.executions >= 120


def test_histories_fail_calls_kill_lose_power_and_grow_both_sidecars() -> None:
    told, stories = 0, []
    for seed in range(60):
        history = SidecarHistory(MODELS["prefix"], Sampled(seed))
        history.run()
        told += history.failures
        stories += history.story
    text = "\n".join(stories)
    assert told > 5
    for part in ("told: ", "killed", "POWER LOSS", "in conversation 1", "in conversation 2"):
        assert part in text


def test_the_model_puts_bodies_back_where_they_were() -> None:
    line = b'{"commit":2,"entry":3,"body":"b"}\n'
    place = {"offset": 0, "length": len(line)}
    moved = [{"put": {"type": "entry", "id": 3, "conversation": 2, "sidecar_body": place}}]
    assert log_model.with_bodies([moved], {"c2.entries.jsonl": line}) == [log_sidecars.entries((3, 2, "b"))]


def test_the_log_entry_answers_every_line_as_the_rules_say() -> None:
    verdict = entry_check().run(Ask())
    assert verdict.status == "proved", verdict.reason
    assert verdict.searched.executions > 50_000
