"""Each reported fault of staging and clean-up is caught by the law that names it; its right twin is silent."""

from __future__ import annotations

import pytest

import simfs
from scenarios.reported import stage_inherited, stage_links, stage_moment_later
from scenarios.reported.registry import Case
from tests.broken_laws import breaks_and_replays

CASES: dict[str, Case] = {
    case.id: case for module in (stage_inherited, stage_links, stage_moment_later) for case in module.CASES
}


@pytest.mark.parametrize(("name", "law"), [(name, law.id) for name, case in CASES.items() for law in case.laws])
def test_the_wrong_program_breaks_the_law_that_the_report_names(name: str, law: str) -> None:
    breaks_and_replays(CASES[name].wrong, law)


@pytest.mark.parametrize("name", CASES)
def test_the_right_twin_breaks_no_law_on_any_model_it_claims(name: str) -> None:
    verdict = simfs.explore(CASES[name].right)
    assert verdict.counterexample is None, verdict.counterexample.text()
    assert verdict.survived == list(CASES[name].claims)
    wanted = ("bounded", "at most 2 early steps of the clock in a run") if name == "systemd" else ("proved", "")
    assert (verdict.status, verdict.reason) == wanted


def test_the_listed_reports_have_a_case_each() -> None:
    assert {case.report for case in CASES.values()} == {"D9", "dulwich", "jgit", "matplotlib", "pip", "systemd"}
