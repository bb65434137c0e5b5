"""Reported faults of schedulers, their stores and locks: the wrong program is caught, the right twin is silent."""

from __future__ import annotations

import pytest

import simfs
from scenarios.reported import cron_leases, cron_stores, cron_times
from scenarios.reported.registry import Case
from tests.broken_laws import breaks_and_replays

CASES: dict[str, Case] = {case.id: case for module in (cron_leases, cron_stores, cron_times) for case in module.CASES}
BOUNDED = {
    "borg10077": "at most 0 early steps of the clock in a run",
}
"""The right twins whose search is bounded, and by what: they say that a living process goes on before time does."""


def test_every_report_about_cron_has_a_case() -> None:
    assert {case.report for case in CASES.values()} == {
        "C6", "C7", "C8", "C10", "C11", "apscheduler864", "openclaw17949", "systemd21166", "borg10077",
        "properlockfile109", "filelock634",
    }  # fmt: skip


@pytest.mark.parametrize(("name", "law"), [(name, law.id) for name, case in CASES.items() for law in case.laws])
def test_the_wrong_program_breaks_the_law_that_the_report_names(name: str, law: str) -> None:
    breaks_and_replays(CASES[name].wrong, law)


@pytest.mark.parametrize("name", CASES)
def test_the_right_twin_breaks_no_law_on_any_model_it_claims(name: str) -> None:
    verdict = simfs.explore(CASES[name].right)
    assert verdict.counterexample is None, verdict.counterexample.text()
    assert verdict.survived == list(CASES[name].claims)
    assert (verdict.status, verdict.reason) == (("bounded", BOUNDED[name]) if name in BOUNDED else ("proved", ""))


def test_a_dbm_file_fails_to_open_in_more_ways_than_its_own_error() -> None:
    """What C6 is about: the errors that the repair of the wrong twin would have to know."""
    found = simfs.explore(cron_stores.KnowsSomeErrors, only=("clm5",)).counterexample
    assert found is not None
    assert "No such file or directory" in found.finding.message
