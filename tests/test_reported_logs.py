"""Each reported fault of a log is caught by the law that names it, and its right twin is silent on all it claims."""

from __future__ import annotations

import pytest

import simfs
from scenarios.reported import log_compaction, log_readers
from scenarios.reported.registry import Case, cases
from tests.broken_laws import breaks_and_replays

CASES: dict[str, Case] = {case.id: case for module in (log_compaction, log_readers) for case in module.CASES}
BROKEN = [(name, law.id) for name, case in CASES.items() for law in case.laws]


def test_the_five_reports_about_logs_are_in_the_registry() -> None:
    reported = {case.reference for case in cases() if case.id in CASES}
    assert reported == {
        "openai/openai-agents-python#3116",
        "sipeed/picoclaw#2907",
        "ssbc/async-append-only-log#69",
        "QwenLM/qwen-code#3681",
        "google/leveldb#251",
    }


@pytest.mark.parametrize(("name", "law"), BROKEN)
def test_the_wrong_program_breaks_the_law_that_the_report_names(name: str, law: str) -> None:
    breaks_and_replays(CASES[name].wrong, law)


@pytest.mark.parametrize("name", CASES)
def test_the_right_twin_breaks_no_law_on_any_model_it_claims(name: str) -> None:
    verdict = simfs.explore(CASES[name].right)
    assert verdict.status == "proved", verdict.counterexample.text() if verdict.counterexample else verdict.reason
    assert verdict.survived == list(CASES[name].claims)
