"""Each reported crash is caught by the law that names it, its right twin is silent on every model it claims, and the
advice for the wrong one names the flush that the public fix added, or says why none helps."""

from __future__ import annotations

import pytest

import simfs
from scenarios.reported import disk_generations, disk_publish, disk_replace, disk_tails
from scenarios.reported.registry import Case
from simfs.explore.advice import MAY_FAIL, WRONG_ORDER, advise
from tests.broken_laws import breaks_and_replays

MODULES = (disk_generations, disk_publish, disk_replace, disk_tails)
CASES: dict[str, Case] = {case.id: case for module in MODULES for case in module.CASES}
BROKEN = [(name, law.id) for name, case in CASES.items() for law in case.laws]
FLUSHES = {
    "B4": ["file /MANIFEST"],
    "B5": ["file /app/settings.tmp", "directory /app"],
    "B5-directory": ["file /app/settings.tmp"],
    "F3": ["file /ingest/x"],
    "F5": ["directory /", "file /db.sum"],
    "F6": ["file /info.tmp", "directory /"],
    "etcd": ["directory /app"],
    "git": ["file /app/settings.lock", "directory /app"],
    "publish": ["file /stage/a"],
}
"""What the public fix flushed (a site in a loop is named once). F3: on ext4 the flush of the database orders the rename
before it, so that the blob's own flush is enough there."""


@pytest.mark.parametrize(("name", "law"), BROKEN)
def test_the_wrong_program_breaks_the_law_that_the_report_names(name: str, law: str) -> None:
    breaks_and_replays(CASES[name].wrong, law)


@pytest.mark.parametrize("name", CASES)
def test_the_right_twin_breaks_no_law_on_any_model_it_claims(name: str) -> None:
    verdict = simfs.explore(CASES[name].right)
    assert verdict.counterexample is None, verdict.counterexample.text()
    assert verdict.survived == list(CASES[name].claims)
    assert verdict.status == "proved", verdict.reason


@pytest.mark.parametrize("name", CASES)
def test_advice_names_the_flush_of_the_public_fix_or_says_why_none_helps(name: str) -> None:
    wrong = CASES[name].wrong
    assert isinstance(wrong.disk, str)
    advice = advise(wrong, wrong.disk)
    assert advice is not None and advice.decided and advice.smallest
    found = [f"{'file' if flush.what == 'file' else 'directory'} {flush.path}" for flush in advice.added]
    assert found == FLUSHES.get(name, [])
    assert advice.exists or advice.why == (MAY_FAIL if name == "fsyncgate" else WRONG_ORDER)
    assert len(advice.causes) == len(found)


def test_a_rename_that_starts_writeback_saves_the_content_only_where_data_come_before_the_commit() -> None:
    wrong = CASES["B5"].wrong
    assert simfs.explore(wrong, disk="ext4", only=("dur6",)).status == "violated"
    assert simfs.explore(wrong, disk="ext4:dioread=lock", only=("dur6",)).status == "proved"


def test_every_report_of_the_list_has_a_case() -> None:
    reports = {case.report for case in CASES.values()}
    assert {"A1", "A2", "B4", "B5", "B7", "B8", "B9", "F2", "F3", "F4", "F5", "F6"} <= reports
    assert {"kde", "git", "publish", "chrome", "etcd", "leveldb", "fsyncgate", "rotate"} <= reports
