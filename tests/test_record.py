"""The record run: distinct disks are counted once, the same with any number of processes, and it ends well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import simfs
from scenarios.cli import run_app
from scenarios.cli_record import as_document, table
from scenarios.record import record
from scenarios.suites.growing import GROWING, Growing
from simfs.explore.explorer import replay

SMALL = [one for one in GROWING if one.name in ("corpus_growing", "wire_growing")]


class Unflushed(simfs.Scenario):
    """A note is promised and never flushed; from world 2 on. Before that nothing is promised."""

    interpose = False
    disk = ("synced-only",)

    def __init__(self, n: int) -> None:
        self.n = n

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        fd = m.system.open(f"/note{self.n}", 0o101)
        m.system.close(fd)
        if self.n >= 2:
            m.ack("noted")

    @simfs.law
    def a_promised_note_is_there(self, m: simfs.Handle) -> None:
        assert not m.acks or f"note{self.n}" in m.system.listdir("/")


BROKEN = Growing("unflushed", "A note that is never flushed", Unflushed)


def counts(jobs: int) -> dict[str, object]:
    found = as_document(record(SMALL, 400, jobs))
    for one in (found, *found["series"].values()):  # type: ignore[attr-defined]
        del one["seconds"]
    for one in found["series"].values():  # type: ignore[attr-defined]
        del one["searched"]["seconds"]
    del found["jobs"]
    return found


def test_the_counts_are_the_same_with_any_number_of_processes() -> None:
    alone = counts(1)
    assert alone == counts(3)
    assert alone["ended"] == ""
    states = [one["states"] for one in alone["series"].values()]  # type: ignore[attr-defined]
    assert sum(states) == alone["states"] >= 400, "a disk counts for one series only"
    assert all(states)


def test_a_disk_that_was_met_before_does_not_count_again() -> None:
    """Both series have the same worlds, so the second one adds nothing."""
    corpus = next(one for one in GROWING if one.name == "corpus_growing")
    found = record([corpus, Growing("again", "The same worlds", corpus.make)], 150, 1)
    assert found.series["again"].worlds >= 1
    assert found.series["again"].states == 0
    assert found.series["corpus_growing"].states == found.states


def test_a_broken_law_ends_it_with_its_world_and_a_token() -> None:
    found = record([BROKEN], 1_000, 2)
    assert found.exit_code == 1
    assert found.series["unflushed"].worlds == 3
    assert found.broken is not None
    assert found.broken.counterexample is not None
    assert found.broken.counterexample.token.startswith("s1~unflushed[2]~synced-only~")
    again = replay(found.broken.counterexample.token, BROKEN.scenario("2"))
    assert again.law == "a_promised_note_is_there"
    assert "unflushed[2]" in "\n".join(table(found))


def test_a_budget_that_ends_it_is_no_success() -> None:
    found = record(SMALL, 10**9, 2, budget=0.5)
    assert (found.exit_code, found.ended) == (3, "the budget of 0.5 s ended")
    assert "ended before 1,000,000,000" in table(found)[-1]


def test_the_command_prints_a_table_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["run", "corpus_growing", "--exhaustive", "--states", "100", "--jobs", "1", "--disk", "prefix"]
    assert run_app(asked) == 0
    assert "distinct crash states recovered and judged" in capsys.readouterr().out
    assert run_app([*asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["states"] >= 100


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--exhaustive"], "--exhaustive --states N"),
        (["--states", "5"], "--exhaustive --states N"),
        (["--exhaustive", "--states", "5", "--github"], "--exhaustive --states N"),
        (["--exhaustive", "--states", "5", "storage"], "storage is none: log_growing"),
        (["--exhaustive", "--states", "5", "--seed", "3"], "leave out --seed"),
    ],
)
def test_what_it_cannot_do_is_said_before_it_runs(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run_app(["run", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_worlds_are_in_the_catalogue_by_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["run", "wire_growing", "--disk", "scc"]) == 0
    assert "the first 2 worlds" in capsys.readouterr().out
