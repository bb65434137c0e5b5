"""Each reported fault is caught by the law that names it, and its right twin is silent on every model it claims."""

from __future__ import annotations

import pytest

import simfs
from scenarios.reported import (
    race_append,
    race_blind_spots,
    race_clocks,
    race_fixed_temp,
    race_job_runs,
    race_lost_updates,
    race_pid_file,
    race_settings,
    race_stale_lock,
    race_sweep,
    race_two_step_lock,
    race_unlinked_lock,
)
from scenarios.reported.laws import LAWS
from scenarios.reported.race_blind_spots import AnswersByMarkers
from scenarios.reported.race_clocks import WaitsForEver
from scenarios.reported.race_job_runs import SavesAfterTheRun
from scenarios.reported.race_stale_lock import PutsBack
from scenarios.reported.registry import Case, cases
from tests.broken_laws import breaks_and_replays

MODULES = (
    race_append, race_blind_spots, race_clocks, race_fixed_temp, race_job_runs, race_lost_updates, race_pid_file,
    race_settings, race_stale_lock, race_sweep, race_two_step_lock, race_unlinked_lock,
)  # fmt: skip
RACES: dict[str, Case] = {case.id: case for module in MODULES for case in module.CASES}
BOUNDED = {
    "D2": "at most 0 early steps of the clock in a run",
    "D2-putback": "at most 0 early steps of the clock in a run",
    "E6": "at most 0 early steps of the clock in a run",
    "E6-heartbeat": "at most 0 early steps of the clock in a run",
}
"""The right twins whose search is bounded, and by what: they say that a living process goes on before time does."""

BROKEN = [(name, law.id) for name, case in RACES.items() for law in case.laws]


@pytest.mark.parametrize(("name", "law"), BROKEN)
def test_the_wrong_program_breaks_the_law_that_the_report_names(name: str, law: str) -> None:
    breaks_and_replays(RACES[name].wrong, law)


@pytest.mark.parametrize("name", RACES)
def test_the_right_twin_breaks_no_law_on_any_model_it_claims(name: str) -> None:
    verdict = simfs.explore(RACES[name].right)
    assert verdict.counterexample is None, verdict.counterexample.text()
    assert verdict.survived == list(RACES[name].claims)
    if name in BOUNDED:
        assert (verdict.status, verdict.reason) == ("bounded", BOUNDED[name])
    else:
        assert verdict.status == "proved", verdict.reason


def test_every_report_of_the_list_has_a_case() -> None:
    reports = {case.report for case in RACES.values()}
    assert reports == {"A4", "A9", "B6", "C1", "C3", "D1", "D2", "D3", "D7", "D8", "E6", "blind"}


def test_the_registry_holds_every_case_of_every_module_by_id() -> None:
    known = {case.id: case for case in cases()}
    assert set(RACES) <= set(known)
    assert list(known) == sorted(known)
    names = [kind.name for case in cases() for kind in case.scenarios]
    assert all(name is not None and name.startswith("reported_") for name in names)


def test_laws_of_reports_have_an_id_of_their_own_each() -> None:
    assert len({law.id for law in LAWS}) == len(LAWS)


def test_the_handshake_takes_three_preemptions_and_no_fewer() -> None:
    two = simfs.explore(AnswersByMarkers, preemptions=2)
    assert (two.status, two.reason) == ("bounded", "at most 2 preemptions in a run")
    assert simfs.explore(AnswersByMarkers, preemptions=3).status == "violated"


def test_putting_a_fresh_lock_back_is_right_for_two_processes() -> None:
    assert simfs.explore(PutsBack, only=("clm1",)).status == "proved"


def test_a_deadlock_is_reported_with_who_waits_for_what() -> None:
    found = simfs.explore(WaitsForEver).counterexample
    assert found is not None
    assert "forwards waits for flock EX on /second; backwards waits for flock EX on /first" in found.finding.message


def test_a_run_that_is_saved_late_is_repeated_after_each_crash() -> None:
    found = simfs.explore(SavesAfterTheRun, only=("clm3",)).counterexample
    assert found is not None
    assert found.finding.message == "the job ran 2 times for one occurrence"
