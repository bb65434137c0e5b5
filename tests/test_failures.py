"""Failures are remembered and replayed first: by the command line, by `simfs.check`, in pytest and in its workers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import simfs
from simfs.explore import failures
from simfs.explore.failures import AGAIN, Failures, bounds_of, explore_known_first
from simfs.explore.reference import same
from simfs.explore.spec import spec_of
from simfs.explore.token import parse
from tests.shrink_programs import KillNeeded, RenameFirst

HEAD = '''
import os
import simfs

FLUSH = {flush}

class Saves(simfs.Scenario):
    """A note is old or new."""

    disk = ("scc", "prefix")

    def setup(self, m):
        with open("/note", "w") as file:
            file.write("old")

    @simfs.process
    def writer(self, m):
        with open("/new", "w") as file:
            file.write("new")
            file.flush()
            if FLUSH:
                os.fsync(file.fileno())
        os.replace("/new", "/note")

    @simfs.law
    def old_or_new(self, m):
        assert open("/note").read() in ("old", "new")
'''
TESTS = """
def test_fixture(simfs_check):
    simfs_check(Saves)

def test_check():
    simfs.check(Saves)
"""


@pytest.fixture
def database(tmp_path: Path) -> Failures:
    return Failures(tmp_path / "failures")


def searches(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Which models are searched from here on."""
    made: list[list[str]] = []
    real = simfs.explore

    def counted(scenario: Any, **options: Any) -> simfs.Verdict:
        made.append(list(options["disk"]))
        return real(scenario, **options)

    monkeypatch.setattr(failures, "explore", counted)
    return made


def test_a_known_failure_is_the_verdict_of_its_model_without_a_search(
    database: Failures, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = explore_known_first(RenameFirst, database, disk=["scc", "prefix"])
    made = searches(monkeypatch)
    again = explore_known_first(RenameFirst, database, disk=["scc", "prefix"])
    assert made == [["scc"]]
    assert first.counterexample is not None and again.counterexample is not None
    assert first.counterexample.token == again.counterexample.token
    assert AGAIN in again.reason and AGAIN not in first.reason
    assert {name: part.status for name, part in again.by_model.items()} == {"scc": "proved", "prefix": "violated"}


def test_other_bounds_leave_a_failure_alone(database: Failures) -> None:
    """A failure by a kill says nothing of a search without one, which must not be told of it and must not drop it."""
    assert explore_known_first(KillNeeded, database).status == "violated"
    assert explore_known_first(KillNeeded, database, kills=0).status == "proved"
    assert AGAIN in explore_known_first(KillNeeded, database).reason


def test_a_failure_that_is_mended_is_forgotten_and_the_search_goes_on(database: Failures) -> None:
    explore_known_first(RenameFirst, database)

    class Mended(RenameFirst):
        @simfs.process
        def writer(self, m: simfs.Handle) -> None:
            m.effect("nothing")

    Mended.__simfs_reference__ = spec_of(RenameFirst).reference  # type: ignore[attr-defined]
    assert explore_known_first(Mended, database).status == "proved"
    assert database.known(lambda token: True) == []


def test_a_law_that_is_not_judged_is_not_told(database: Failures) -> None:
    explore_known_first(RenameFirst, database)
    verdict = explore_known_first(RenameFirst, database, only=("another",))
    assert verdict.counterexample is None


def test_the_command_line_and_pytest_know_a_scenario_by_two_names() -> None:
    assert same("tests/test_a.py:Saves", "tests.test_a:Saves")
    assert same("test_a.py:Saves", "test_a:Saves")
    assert not same("test_a.py:Saves", "test_b:Saves")
    assert not same("storage_epoch", "storage_build")


def test_what_is_no_token_is_passed_over(database: Failures, tmp_path: Path) -> None:
    assert database.directory is not None
    database.directory.mkdir()
    (database.directory / "a.token").write_bytes(b"\xff\xfe")
    (database.directory / "b.token").write_text("hello\n")
    (database.directory / "c.token").mkdir()
    (database.directory / "d.token").write_text("s9~x~prefix~~@1.0\n")
    assert explore_known_first(RenameFirst, database).status == "violated"
    assert len(database.known(lambda token: True)) == 1


def test_a_token_without_a_mark_is_tried_within_any_bounds(database: Failures) -> None:
    verdict = simfs.explore(RenameFirst)
    database.remember(verdict)
    assert AGAIN in explore_known_first(RenameFirst, database).reason


def test_bounds_are_told_apart_by_the_options_that_set_them() -> None:
    options = spec_of(RenameFirst).options
    assert bounds_of(options) == bounds_of({**options, "budget": 3.0, "disk": "scc", "seed": 9, "shrink": False})
    assert set(options) >= failures.NO_BOUNDS
    for name, value in (("kills", 2), ("power_depth", 2), ("preemptions", 1), ("faults", ("x",)), ("power", False)):
        assert bounds_of(options) != bounds_of({**options, name: value})


def test_nobody_searches_where_nobody_may_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert explore_known_first(RenameFirst, Failures(tmp_path / "file/below")).status == "violated"
    assert explore_known_first(RenameFirst, Failures(None)).status == "violated"


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run pytest on the tests above: (exit code, output). `flush` mends the fault."""

    def pytest_run(*arguments: str, flush: bool = False, database: str | None = None) -> tuple[int, str]:
        (tmp_path / "test_it.py").write_text(HEAD.format(flush=flush) + TESTS)
        env = {**os.environ, "PYTEST_ADDOPTS": ""}
        for name in ("SIMFS_DATABASE", "CI", "BUILD_NUMBER"):  # in CI pytest prints a failure twice, in full
            env.pop(name, None)
        if database is not None:
            env["SIMFS_DATABASE"] = database
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
            cwd=tmp_path, env=env, capture_output=True, text=True,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    return pytest_run


def kept(tmp_path: Path, place: str = ".simfs") -> list[str]:
    return [path.read_text().split("\n")[0] for path in sorted((tmp_path / place / "failures").glob("*.token"))]


def test_pytest_replays_failures_first_until_they_are_mended(run: Run, tmp_path: Path) -> None:
    code, output = run()
    assert (code, len(kept(tmp_path))) == (1, 1)
    assert parse(kept(tmp_path)[0]).scenario == "test_it:Saves"
    assert output.count(AGAIN) <= 2, "the second test, of the same scenario, may replay the first one's"
    code, output = run("-n", "2")
    assert code == 1
    assert output.count("LAW BROKEN: old_or_new") == 2
    assert output.count(AGAIN) >= 2, "both the fixture and simfs.check replay, in both workers"
    code, output = run(flush=True)
    assert (code, "2 passed" in output, kept(tmp_path)) == (0, True, [])


def test_pytest_is_told_where_or_nowhere(run: Run, tmp_path: Path) -> None:
    assert run("--simfs-database", "off")[0] == 1
    assert not (tmp_path / ".simfs").exists()
    assert run("--simfs-database", "elsewhere", database="off")[0] == 1
    assert len(kept(tmp_path, "elsewhere")) == 1
    assert (tmp_path / "elsewhere/failures/.gitignore").read_text() == "*\n"
