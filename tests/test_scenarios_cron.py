"""The suite `cron`: what is proved of the real cron store, with exact counts, and that its model is a model."""

from __future__ import annotations

import os

import pytest

import simfs
from scenarios.catalog import cron_suite
from scenarios.entries import Ask, Entry
from scenarios.histories import Broken
from scenarios.suites import cron, cron_adversity, cron_bridge, cron_damage, cron_rules, cron_updates
from scenarios.suites.cron_histories import BridgeHistory
from scenarios.suites.cron_model import Model
from simfs.explore.choices import Sampled

ENTRIES: dict[str, Entry] = {entry.name: entry for entry in cron_suite(histories=300)}
PROVED = (
    "cron_schedulers", "cron_restart", "cron_run_now", "cron_first", "cron_new_home", "cron_fault", "cron_full",
    "cron_full_later", "cron_kept_aside", "cron_child_copies", "cron_paused_again", "cron_updates",
)  # fmt: skip
"""Small enough to be searched here on one model; `simfs run` searches all on every model that they claim."""
CHECKS = ("cron_rules", "cron_damage", "cron_clocks")


@pytest.mark.parametrize("name", PROVED)
def test_the_real_store_is_proved(name: str) -> None:
    verdict = ENTRIES[name].run(Ask(disk="synced-only"))
    assert verdict.status == "proved", verdict.counterexample.text() if verdict.counterexample else verdict.reason


@pytest.mark.parametrize("disk", ["scc", "prefix", "ext4"])
def test_the_first_job_of_a_new_home_survives_on_every_model(disk: str) -> None:
    verdict = ENTRIES["cron_first"].run(Ask(disk=disk))
    assert verdict.status == "proved", verdict.counterexample.text() if verdict.counterexample else verdict.reason


def test_two_processes_with_a_kill_at_every_call_and_every_power_loss_are_searched_whole() -> None:
    verdict = simfs.explore(cron.CronTwo("once"), disk="synced-only")
    assert verdict.status == "proved", verdict.counterexample.text() if verdict.counterexample else verdict.reason
    assert (verdict.searched.executions, verdict.searched.distinct_images) == (1110, 39)


def test_three_processes_are_searched_up_to_a_named_bound() -> None:
    verdict = simfs.explore(cron.CronThree(), disk="scc", power=False, preemptions=1)
    assert (verdict.status, verdict.reason) == ("bounded", "at most 1 preemptions in a run")
    assert cron.CronThree.preemptions == 3


def test_a_holder_that_stops_or_dies_keeps_others_waiting_and_no_update_is_lost() -> None:
    verdict = simfs.explore(cron_adversity.CronHolderStops(), disk="scc", power=False)
    assert (verdict.status, verdict.reason) == ("bounded", "at most 2 early steps of the clock in a run")


def test_inside_of_calls_the_file_is_the_models_at_every_instant() -> None:
    verdict = simfs.explore(cron_adversity.CronBridgeCalls(), preemptions=1)
    assert verdict.status == "bounded", verdict.counterexample.text() if verdict.counterexample else verdict.reason
    assert verdict.counterexample is None


@pytest.mark.parametrize("name", CHECKS)
def test_every_small_case_holds(name: str) -> None:
    verdict = ENTRIES[name].run(Ask())
    assert verdict.status == "proved", verdict.reason


def test_generated_histories_leave_the_models_bytes() -> None:
    """EUKHE_CRON_HISTORIES=10000 runs ten thousand of them, in two to three minutes."""
    for number in range(int(os.environ.get("EUKHE_CRON_HISTORIES", "400"))):
        history = BridgeHistory(Sampled(f"cron {number}"))
        try:
            history.run()
        except Broken as broken:
            raise AssertionError("\n".join([f"history {number}: {broken}", *history.story])) from None


def test_generated_histories_are_called_sampled() -> None:
    verdict = ENTRIES["cron_bridge_histories"].run(Ask())
    assert verdict.status == "sampled"
    assert verdict.searched.executions >= 300
    assert verdict.reason.endswith("histories, seed 0")


def test_every_interleaving_of_three_processes_of_three_steps_is_among_the_bridges_cases() -> None:
    assert sum(1 for _ in cron_bridge._orders((3, 3, 3))) == 1680
    cases = cron_bridge.every_interleaving()
    assert [next(cases)[1] for _ in range(60)] == [None] * 60


def test_the_model_knows_the_rests_and_the_stop() -> None:
    model = Model()
    model.create(0, "job", "interval", "every 10s", 10_000)
    now = 10_000
    ends = []
    for number in range(8):
        (claim,) = model.claim({"pid": 1, "start": "b:1"}, now, now, [f"{number}"], None)
        model.finish(claim["id"], "it failed", now)
        ends.append(now)
        now = model.jobs[0]["nextRunAt"] or 0
    assert ends[7] - ends[0] == 182 * 60_000
    assert (model.jobs[0]["status"], model.jobs[0]["failures"]) == ("paused", 8)


def test_damage_is_tried_at_every_byte_of_a_file_of_three_jobs() -> None:
    whole = cron_damage.three_jobs()
    tried = [how for how, _ in cron_damage.damaged_files()]
    assert all(f"byte {at} is 0xff" in tried for at in range(len(whole)))
    assert len(tried) > 3 * len(whole)


def test_no_person_is_among_those_who_meet_a_paused_job() -> None:
    assert not any("resume" in name for name in cron_rules.NO_PERSON)
    assert len(cron_rules.RESTS) == 7
    assert sum(cron_rules.RESTS) == 182


def test_every_scenario_of_the_store_is_in_the_catalogue() -> None:
    kinds = (*cron.SCENARIOS, *cron_updates.SCENARIOS, *cron_adversity.SCENARIOS)
    assert {kind.name for kind in kinds} <= set(ENTRIES)
