"""A night finds what is planted, says how to replay it, keeps it for the next one, and ends well whatever happens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scenarios.catalog import catalogue
from scenarios.cli import run_app
from scenarios.fuzz import unit as units
from scenarios.fuzz.corpus import Corpus, Entry, digest
from scenarios.fuzz.night import Night, Wish
from scenarios.fuzz.planted import planting
from scenarios.fuzz.unit import Result, Unit, run_unit
from simfs.errors import StaleToken
from simfs.explore.token import parse


class Here:
    """Workers that do a unit when its result is asked for, one at a time, in this process."""

    died = 0

    def __init__(self, fails: str = "") -> None:
        self.fails = fails
        self.given: list[Unit] = []
        self.done: list[Unit] = []

    @property
    def room(self) -> int:
        return 1 - len(self.given)

    def give(self, unit: Unit, seconds: float) -> None:
        self.given.append(unit)

    def take(self, seconds: float) -> list[Result]:
        if not self.given:
            return []
        unit = self.given.pop(0)
        self.done.append(unit)
        if self.fails and unit.seed != "canary":
            raise ConnectionError(self.fails)
        return [run_unit(unit, 5.0)]

    def close(self) -> None:
        self.given = []


def test_a_unit_is_done_again_with_the_same_result() -> None:
    unit = Unit("epochs_programs", "prefix", "seed", 0, 12)
    one, other = run_unit(unit), run_unit(unit)
    one.seconds = other.seconds = 0.0
    assert one == other
    assert one.histories == 12
    assert one.states > 0


def test_a_unit_that_cannot_be_judged_says_why_and_keeps_what_it_showed(monkeypatch: pytest.MonkeyPatch) -> None:
    def one(self: units._Run, choices: object, own: object = ()) -> None:
        self.result.histories += 1
        if self.result.histories == 3:
            raise AssertionError("not when it was run again")

    monkeypatch.setattr(units._Run, "one", one)
    found = run_unit(Unit("epochs_programs", "prefix", "seed", 0, 9))
    assert found.histories == 3
    assert found.trouble == "epochs_programs on prefix: AssertionError: not when it was run again"


def test_a_night_whose_workers_went_away_has_a_whole_report() -> None:
    night = Night(Wish(("epochs_programs",)), Here("the scheduler is gone"))
    night.run()
    assert night.alarm
    assert night.ended == "the workers went away: the scheduler is gone"


def entry_file(directory: Path, value: object) -> str:
    data = json.dumps(value).encode() + b"\n"
    name = f"epochs_programs.{digest(data)}.json"
    (directory / name).write_bytes(data)
    return name


GOOD = {"simfs-corpus": 1, "target": "epochs_programs", "disk": "prefix", "law": "", "choices": [1, 2]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"disk": "cloud"}, "cloud"),
        ({"choices": [1, -2]}, "counted from 0"),
        ({"law": 7}, "names are texts"),
        ({"simfs-corpus": 9}, "of version 9"),
    ],
)
def test_an_entry_that_cannot_be_used_is_skipped_by_name_and_kept(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    name = entry_file(tmp_path, {**GOOD, **change})
    good = entry_file(tmp_path, GOOD)
    found, skipped = Corpus(str(tmp_path)).entries()
    assert found == [Entry("epochs_programs", "prefix", (1, 2))]
    assert len(skipped) == 1
    assert name in skipped[0]
    assert said in skipped[0]
    assert {file.name for file in tmp_path.iterdir()} == {name, good}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--shard", "5/4"], "no shard 5 of 4"),
        (["--budget", "soon"], "no time"),
        (["nothing_of_the_kind"], "nothing_of_the_kind"),
    ],
)
def test_bad_input_is_told_before_anything_runs(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["fuzz", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flaw", "target", "law"),
    [
        ("cron-rule", "cron_programs", "cron_accounted"),
        ("staging-rename", "staging_programs", "sweep_never_live_real"),
        ("tree-index", "tree_histories", "tree_core_answer"),
    ],
)
def test_a_planted_fault_is_found_kept_and_found_at_once_by_the_next_night(
    flaw: str, target: str, law: str, tmp_path: Path
) -> None:
    wish = Wish((target,), budget_s=60.0, seed="a seed", planted=(flaw,), stop_at_first=True)
    said: list[str] = []
    first = Night(wish, Here(), Corpus(str(tmp_path)), tell=said.append)
    first.run()
    assert [failure.law for failure in first.new_failures] == [law]
    assert f"  simfs replay {first.new_failures[0].token}" in said
    kept = [entry for entry in Corpus(str(tmp_path)).entries()[0] if entry.law]
    assert [(entry.target, entry.law) for entry in kept] == [(target, law)]

    workers = Here()
    second = Night(wish, workers, Corpus(str(tmp_path)), known={first.new_failures[0].id: "ticket 7"})
    second.run()
    assert [unit.replay for unit in workers.done[:2]] == [False, True], "the canary, then what failed last night"
    assert set(second.tally.failures) == set(first.tally.failures)
    assert second.new_failures == [], "it is known"
    assert not second.trouble


def test_a_night_without_its_canary_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarios.fuzz.night.CANARY_S", 0.0)
    night = Night(Wish(("tree_histories",), budget_s=60.0), Here())
    night.run()
    assert (night.alarm, night.ended) == (False, "the canary was not found")


def test_a_fault_is_planted_once_and_its_token_replays_with_that_fault_alone() -> None:
    with planting(("wire-frames", "log-flush")):
        unit = Unit("storage_histories", "prefix", "seed", 0, 400, planted=("log-flush", "wire-frames"))
        found = run_unit(unit, 20.0)
        (failure, *_) = found.failures
    token = parse(failure.token)
    with planting(("log-flush",)):
        assert failure.law in str(catalogue()["storage_histories"].replay(token))
    with pytest.raises(StaleToken):
        catalogue()["storage_histories"].replay(token)
