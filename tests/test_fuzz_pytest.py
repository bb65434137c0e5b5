"""The fixture `simfs_fuzz`: what it finds, that it is the same each time, its budget, its corpus, alone and shared by
workers. Each test runs a pytest of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scenarios.fuzz.corpus import Corpus

Run = Callable[..., tuple[int, str]]
REPLAY = "from scenarios.cli import main; main()"

PROGRAMS = '''
import os
import simfs


class Notes(simfs.Program):
    """A note that was written is there."""

    processes_max = 1
    length_max = 3
    durably = False

    def op_write(self, m, n):
        with open(f"/{m.process}-{n}", "w") as file:
            file.write(str(n))
            if self.durably:
                file.flush()
                os.fsync(file.fileno())
        if self.durably:
            fd = os.open("/", os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)
        m.ack("wrote", f"/{m.process}-{n}")

    @simfs.law
    def what_was_written_is_there(self, m):
        lost = [path for label, path in m.acks if label == "wrote" and not os.path.exists(path)]
        assert not lost, f"{lost[0]} is gone"


class Durable(Notes):
    """It is there, for it is flushed."""

    durably = True
'''
TESTS = """
import pytest
import simfs
from programs import Durable, Notes


def test_notes(simfs_fuzz):
    simfs_fuzz(Notes)


def test_durable(simfs_fuzz):
    assert simfs_fuzz(Durable, histories=30).status == "sampled"


def test_by_name(simfs_fuzz):
    simfs_fuzz("tree_histories", histories=5)
"""
SHARED = """
import pytest
from programs import Durable

@pytest.mark.parametrize("seed", ["one", "other"])
def test_durable(simfs_fuzz, seed):
    simfs_fuzz(Durable, seed=seed, histories=80, corpus=seed)
"""
BAD = """
import pytest
import simfs
from programs import Durable, Notes

def test_name(simfs_fuzz):
    simfs_fuzz("tree_historie")

def test_option(simfs_fuzz):
    simfs_fuzz(Durable, count=3)

def test_number(simfs_fuzz):
    simfs_fuzz(Durable, histories=0)

@pytest.mark.simfs(budget="soon")
def test_time(simfs_fuzz):
    simfs_fuzz(Durable)

def test_check(simfs_check):
    simfs_check(Durable)

def test_other(simfs_fuzz):
    simfs_fuzz(int)

def test_inside(simfs_fuzz):
    class Inside(Notes):
        pass
    simfs_fuzz(Inside)
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a pytest in a directory with the programs above: (exit code, output)."""
    (tmp_path / "programs.py").write_text(PROGRAMS)

    def pytest_run(tests: str, *arguments: str) -> tuple[int, str]:
        (tmp_path / "test_it.py").write_text(tests)
        return command("-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)

    def command(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTEST_ADDOPTS": "", "SIMFS_DATABASE": ".simfs"},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    pytest_run.command = command  # type: ignore[attr-defined]
    return pytest_run


def token_in(output: str) -> str:
    return output.split("simfs replay ")[1].split()[0]


def test_a_broken_law_fails_with_the_history_and_the_line_that_replays_it(run: Run) -> None:
    code, output = run(TESTS, "--simfs-report", "v.json")
    assert code == 1
    assert "LAW BROKEN: what_was_written_is_there" in output and "POWER LOSS" in output
    assert "Found with --simfs-seed 0" in output
    assert "1 failed, 2 passed" in output
    assert "Traceback" not in output and "def fuzz" not in output
    code, again = run.command("-c", REPLAY, "replay", token_in(output))  # type: ignore[attr-defined]
    assert (code, "LAW BROKEN: what_was_written_is_there" in again) == (1, True), again
    code, third = run(TESTS, "--simfs-replay", token_in(output))
    assert (code, "1 failed, 2 skipped" in third) == (1, True), third


def test_without_options_every_run_is_the_same(run: Run, tmp_path: Path) -> None:
    def verdicts(*arguments: str) -> list[dict[str, object]]:
        run(TESTS, "--simfs-report", "v.json", *arguments)
        found = json.loads((tmp_path / "v.json").read_text())["verdicts"]
        for one in found:
            one["searched"].pop("seconds")
        return sorted(found, key=lambda one: str(one["test"]))

    one, other = verdicts("--simfs-corpus", "off"), verdicts("--simfs-corpus", "off", "-p", "no:xdist")
    assert one == other
    assert [verdict["status"] for verdict in one] == ["sampled", "sampled", "violated"]
    assert one[2]["token"] in one[2]["text"]  # type: ignore[operator]
    assert not (tmp_path / ".simfs").exists()


def test_what_broke_a_law_is_replayed_first(run: Run, tmp_path: Path) -> None:
    _, output = run(TESTS, "-k", "notes")
    corpus = tmp_path / ".simfs" / "corpus"
    assert [entry.law for entry in Corpus(str(corpus)).entries()[0] if entry.law] == ["what_was_written_is_there"]
    few = TESTS.replace("simfs_fuzz(Notes)", "simfs_fuzz(Notes, histories=1, disk='scc')")
    code, _ = run(few, "-k", "notes")
    assert code == 0, "nothing is lost on this disk"
    code, again = run(TESTS.replace("(Notes)", "(Notes, histories=1)"), "-k", "notes", "--simfs-seed", "calm")
    assert (code, token_in(again)) == (1, token_in(output))


def test_two_workers_share_a_corpus_and_nothing_is_lost_or_doubled(run: Run, tmp_path: Path) -> None:
    for arguments in ([], ["-n", "2", "--simfs-corpus", "both"]):
        code, output = run(SHARED, *arguments)
        assert code == 0, output
    found = {name: Corpus(str(tmp_path / name)).entries() for name in ("one", "other", "both")}
    assert not any(skipped for _, skipped in found.values())
    one, other, both = (found[name][0] for name in ("one", "other", "both"))
    assert len(one) > 3 and len(other) > 3 and set(one) != set(other)
    assert sorted(both) == sorted(set(one) | set(other))
    names = os.listdir(tmp_path / "both")
    assert sorted(names) == sorted(entry.name for entry in both)


def test_a_budget_in_time_ends_the_drawing_and_its_seed_is_said(run: Run, tmp_path: Path) -> None:
    code, output = run(TESTS, "--simfs-budget", "300ms", "--simfs-report", "v.json")
    assert code == 1
    assert re.search(r"Found with --simfs-seed [0-9a-f]{12}\n", output)
    verdicts = {one["scenario"]: one for one in json.loads((tmp_path / "v.json").read_text())["verdicts"]}
    assert 0.3 <= verdicts["programs:Durable"]["searched"]["seconds"] < 10
    assert verdicts["tree_histories"]["searched"]["executions"] > 5


def test_what_cannot_be_fuzzed_is_said_without_a_traceback(run: Run) -> None:
    code, output = run(BAD)
    assert code == 1
    assert "7 failed" in output and "Traceback" not in output and "During handling" not in output.split("test_check")[0]
    for said in (
        "no target 'tree_historie'",
        "unknown option count",
        "histories=0",
        "budget='soon'",
        "simfs fuzz programs:Durable, or the fixture simfs_fuzz",
        "is no Scenario",
        "pytest test_it.py::test_inside --simfs-replay 's1~test_it:test_inside.<locals>.Inside~prefix~",
    ):
        assert said in output, said
