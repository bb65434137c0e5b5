"""Fuzzing of one's own code: a program or a scenario of a file is found, its faults too, and tokens are replayed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import simfs
from scenarios.cli import run_app
from scenarios.fuzz.corpus import Corpus, Entry
from scenarios.fuzz.lookup import chosen, target_named, why_unknown
from scenarios.fuzz.night import Night, Wish
from scenarios.fuzz.unit import Result, Unit, run_unit
from scenarios.fuzz.workers import LocalWorkers
from simfs.errors import UsageError
from tests import fuzz_own_programs

ROOT = Path(__file__).resolve().parents[1]
FILE = "tests/fuzz_own_programs.py"


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def fuzzed(name: str, count: int = 60) -> Result:
    """So many histories of a class of the file."""
    (target,) = chosen([f"{FILE}:{name}"])
    (disk,) = target_named(target).disk
    return run_unit(Unit(target, disk, "a seed", 0, count))


@pytest.mark.parametrize(
    ("name", "law", "called"),
    [
        ("Saves", "what_was_saved_is_there", "Saves"),
        ("Count", "none_is_lost", "Count[drawn]"),
        ("Restarts", "boots_are_as_many", "Restarts[drawn]"),
        ("Shared", "completes", "Shared"),
        ("Faulty", "completes", "Faulty"),
    ],
)
def test_a_fault_of_ones_own_code_is_found_and_its_token_is_replayed(
    name: str, law: str, called: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = fuzzed(name)
    assert not found.trouble
    failure = found.failures[0]
    assert (failure.law, failure.target) == (law, f"{FILE}:{called}")
    assert run_app(["replay", failure.token]) == 1
    assert f"LAW BROKEN: {law}" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["DurableSaves", "RestartsLess", "Cached", "Calm"])
def test_code_that_keeps_its_laws_is_silent(name: str) -> None:
    found = fuzzed(name)
    assert (found.trouble, found.failures, found.histories) == ("", [], 60)


def test_branches_of_ones_own_module_are_counted() -> None:
    modules = target_named(f"{FILE}:Saves").modules
    assert modules == (fuzz_own_programs.__name__,) or modules == ("fuzz_own_programs",)
    assert len({mark for kept in fuzzed("DurableSaves").kept for mark in kept.marks if not mark >> 60}) > 5


@pytest.mark.parametrize(
    ("name", "why"),
    [("Networked", "socket"), ("NoSetup", "no beginning")],
)
def test_what_cannot_be_run_is_trouble_and_no_failure(name: str, why: str) -> None:
    found = fuzzed(name, 3)
    assert not found.failures and why in found.trouble and name in found.trouble


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        (f"{FILE}:Aimless", "op_NAME"),
        (f"{FILE}:Narrow", "must take (self, m, n)"),
        (f"{FILE}:Savse", "did you mean Saves?"),
        (f"{FILE}:load", "is no Scenario"),
        ("tests/nowhere.py", "no file 'tests/nowhere.py'"),
        ("nowhere.at:All", "no module 'nowhere.at'"),
        ("storag", "no target 'storag'"),
    ],
)
def test_what_cannot_be_fuzzed_is_said(reference: str, why: str) -> None:
    with pytest.raises(UsageError) as error:
        chosen([reference])
    assert why in str(error.value)


def test_a_program_is_not_searched_and_the_reader_is_told_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["run", f"{FILE}:Saves"]) == 2
    assert f"simfs fuzz {FILE}:Saves" in capsys.readouterr().err
    with pytest.raises(UsageError, match="simfs_fuzz"):
        simfs.check(fuzz_own_programs.Saves)


def test_a_night_finds_it_and_skips_by_name_what_has_no_file_any_more(tmp_path: Path) -> None:
    corpus = Corpus(str(tmp_path / "corpus"))
    gone = Entry("tests/gone.py:Saves", "prefix", (1,), "")
    corpus.add(gone)
    told: list[str] = []
    wish = Wish(chosen([f"{FILE}:Saves"]), 60.0, "a", stop_at_first=True)
    Night(wish, LocalWorkers(1), corpus, {}, told.append).run()
    assert f"skipped: {corpus.directory}/{gone.name}: there is no file 'tests/gone.py' here" in told
    assert any(line.startswith(f"  simfs replay s1~{FILE}:Saves~prefix~") for line in told), told
    entries, skipped = corpus.entries()
    assert gone in entries and not skipped
    assert any(entry.law and entry.target == f"{FILE}:Saves" for entry in entries)


def test_a_target_is_known_without_importing_it() -> None:
    assert why_unknown("tree_histories") == why_unknown(f"{FILE}:Nobody") == why_unknown("simfs.nothing:Class") == ""
    assert why_unknown("tree_historie") and why_unknown("nowhere.py:A") and why_unknown("nowhere.at:A")


@pytest.mark.parametrize(
    "target",
    [
        "tests/test_it.py:Saves",
        "./it.py:Saves",
        "../it.py:Saves",
        "a.b:Saves",
        "é/it.py:Saves",
        "d/" * 200 + "it.py:Saves",
    ],
)
def test_a_target_named_by_a_file_is_kept_below_the_corpus_and_read_again(target: str, tmp_path: Path) -> None:
    corpus, entry = Corpus(str(tmp_path / "corpus")), Entry(target, "prefix", (1, 2), "")
    other = Entry(target.replace("/", "-"), "prefix", (1, 2), "")
    assert corpus.add(entry) and not corpus.add(entry)
    assert corpus.entries() == ([entry], [])
    (name,) = os.listdir(corpus.directory)
    assert not name.startswith(".") and ":" not in name and len(name) < 120
    assert other == entry or other.name != entry.name


def test_the_name_of_a_target_of_the_catalogue_is_as_it_was() -> None:
    assert Entry("tree_histories", "scc", (1,)).name.startswith("tree_histories.")
