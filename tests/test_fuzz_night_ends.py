"""How nights end: dead workers, a time too short for the corpus, a fault that is fixed, Ctrl-C, a full disk.
In each case what was found is kept and said."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from eukhe.system import OsSystem
from scenarios.cli import run_app
from scenarios.fuzz.corpus import Corpus, Entry
from scenarios.fuzz.night import Night, Wish
from scenarios.fuzz.unit import Result, Unit, run_unit
from scenarios.fuzz.workers import DEATHS_MAX, LocalWorkers

SIMFS = str(Path(sys.executable).with_name("simfs"))


class Here:
    """Workers that do a unit when its result is asked for, in this process."""

    died = 0

    def __init__(self, fails_after: int = 10**9, raises: BaseException | None = None) -> None:
        self.given: list[Unit] = []
        self.done: list[Unit] = []
        self.fails_after, self.raises = fails_after, raises

    @property
    def room(self) -> int:
        return 2 - len(self.given)

    def give(self, unit: Unit, seconds: float) -> None:
        self.given.append(unit)

    def take(self, seconds: float) -> list[Result]:
        if len(self.done) >= self.fails_after and self.raises is not None:
            raise self.raises
        given, self.given = self.given, []
        self.done += given
        return [run_unit(unit, 5.0) for unit in given]

    def close(self) -> None:
        self.given = []


def night_of(directory: Path, workers: Any, **wish: Any) -> tuple[Night, list[str]]:
    said: list[str] = []
    asked = Wish(**{"names": ("tree_histories",), "budget_s": 30.0, "seed": "ends", "stop_at_first": True, **wish})
    return Night(asked, workers, Corpus(str(directory)), tell=said.append), said


def test_a_unit_that_kills_its_worker_is_given_up_and_the_others_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def deadly(unit: Unit, seconds: float) -> Result:
        if unit.first == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return run_unit(unit, seconds)

    monkeypatch.setattr("scenarios.fuzz.workers.run_unit", deadly)
    workers = LocalWorkers(2)
    for number in range(3):
        workers.give(Unit("tree_histories", "scc", "ends", 30 * number, 30), 20.0)
    results: list[Result] = []
    deadline = time.monotonic() + 60
    while len(results) < 3 and time.monotonic() < deadline:
        results += workers.take(1.0)
    assert workers.room == 4
    workers.close()
    by_first = {one.unit.first: one for one in results}
    assert [by_first[first].histories for first in (0, 30, 60)] == [0, 30, 30]
    assert by_first[0].trouble == (
        "tree_histories on scc: histories 0 to 29 of seed 'ends': given up, for it killed its worker 3 times"
    )
    assert workers.died == DEATHS_MAX


def test_a_night_with_a_unit_that_is_given_up_was_not_judged_whole(tmp_path: Path) -> None:
    class Deadly(Here):
        def take(self, seconds: float) -> list[Result]:
            came = super().take(seconds)
            return [Result(one.unit, trouble="given up") if one.unit.first else one for one in came]

    night, said = night_of(tmp_path, Deadly(3, KeyboardInterrupt()))
    night.run()
    assert night.trouble == ["could not be judged: given up"]
    assert night.trouble[0] in said


def test_what_there_is_no_time_to_replay_is_said_and_kept(tmp_path: Path) -> None:
    corpus = Corpus(str(tmp_path))
    entries = [Entry("tree_histories", "scc", (number, 1)) for number in range(3)]
    for entry in entries:
        corpus.add(entry)
    night, said = night_of(tmp_path, Here(), budget_s=1e-9)
    night.run()
    assert night.ended == "the budget ended"
    assert "3 entries of the corpus were not replayed; they are kept" in said
    assert sorted(corpus.entries()[0]) == sorted(entries)
    assert (night.before, night.unreplayed, night.pruned) == (3, 3, 0)


def test_a_failure_that_is_fixed_is_said_and_becomes_a_plain_list(tmp_path: Path) -> None:
    first, _ = night_of(tmp_path, Here(), planted=("tree-index",))
    first.run()
    corpus = Corpus(str(tmp_path))
    broke = [entry for entry in corpus.entries()[0] if entry.law]
    assert {entry.law for entry in broke} == {"tree_core_answer"}
    second, said = night_of(tmp_path, Here(3, KeyboardInterrupt()))
    second.run()
    assert f"fixed: tree_histories: tree_core_answer is not broken any more by {len(broke)} of the corpus" in said
    assert second.new_failures == []
    entries = corpus.entries()[0]
    assert not [entry for entry in entries if entry.law]
    assert entries
    third, said = night_of(tmp_path, Here(2, KeyboardInterrupt()))
    third.run()
    assert not [line for line in said if line.startswith("fixed")]


def test_ctrl_c_loses_no_result_that_had_come(tmp_path: Path) -> None:
    """It comes while a failure is being told of, and other results wait."""
    workers = Here()
    night, _ = night_of(tmp_path, workers, planted=("tree-index",))
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        if len(told) == 1:
            raise KeyboardInterrupt

    night.tell = tell
    night.run()
    assert told[0].startswith("FAILED")
    assert night.ended == "interrupted"
    assert night.new_failures
    assert [entry for entry in Corpus(str(tmp_path)).entries()[0] if entry.law]
    assert night.tally.by_target["tree_histories"].histories == sum(unit.count for unit in workers.done[1:])


class FullDisk(OsSystem):
    """No room for another file after so many."""

    def __init__(self, room: int) -> None:
        self.room = room

    def pwrite(self, fd: int, data: Any, offset: int) -> int:
        self.room -= 1
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().pwrite(fd, data, offset)


def test_a_disk_that_is_full_in_the_middle_of_a_night_is_said_once_and_keeps_what_is_there(tmp_path: Path) -> None:
    workers = Here(5, KeyboardInterrupt())
    night, said = night_of(tmp_path, workers, planted=("tree-index",), stop_at_first=False)
    night.corpus = Corpus(str(tmp_path), FullDisk(3))
    night.run()
    assert len(workers.done) >= 5, "the night went on"
    assert [line for line in said if "No space left on device" in line] == night.trouble
    assert len(night.trouble) == 1
    assert night.new_failures
    entries, skipped = Corpus(str(tmp_path)).entries()
    assert (len(entries), skipped) == (3, [])
    assert len(list(tmp_path.iterdir())) == 3, "no half of a file is left"


def test_ctrl_c_ends_a_night_with_its_report_and_no_process_is_left(tmp_path: Path) -> None:
    command = [SIMFS, "fuzz", "tree", "--budget", "60s", "--seed", "s", "--jobs", "2", "--report", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0) as night:
        assert night.stdout is not None
        assert night.stdout.readline() == "seed s\n"
        time.sleep(2.5)
        os.killpg(night.pid, signal.SIGINT)
        out, err = night.communicate(timeout=60)
    assert night.returncode == 3
    assert out.startswith("interrupted after ")
    assert "Traceback" not in err
    (record,) = json.loads((tmp_path / "simfs.json").read_text())["nights"]
    assert record["ended"] == "interrupted"
    assert record["histories"] > 0
    with pytest.raises(ProcessLookupError):
        os.killpg(night.pid, 0)


def test_two_shards_of_a_night_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each replays one of two lists that break a law; nothing is drawn, so time plays no part."""
    monkeypatch.setattr(Night, "_draw", lambda night, started: None)
    monkeypatch.setenv("SIMFS_PLANTED", "tree-index")
    failure = run_unit(Unit("tree_histories", "scc", "ends", 0, 400, planted=("tree-index",))).failures[0]
    for more in ((), (0,)):
        Corpus(str(tmp_path / "corpus")).add(Entry("tree_histories", "scc", failure.choices + more, failure.law))
    night = ["fuzz", "tree", "--budget", "60s", "--seed", "s", "--corpus", str(tmp_path / "corpus")]
    for k in ("1", "2"):
        assert run_app([*night, "--shard", f"{k}/2", "--report", str(tmp_path / k)]) == 1
    both = [str(tmp_path / "1"), str(tmp_path / "2")]
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    assert run_app(["report", "--merge", *both, "--report", str(tmp_path / "all"), "--github"]) == 1
    parts = [json.loads((tmp_path / shard / "simfs.json").read_text()) for shard in ("1", "2")]
    merged = json.loads((tmp_path / "all" / "simfs.json").read_text())
    assert sorted(night["shard"] for night in merged["nights"]) == ["1/2", "2/2"]
    (verdict,) = merged["verdicts"]
    assert verdict["status"] == "violated"
    assert verdict["searched"]["executions"] == sum(part["verdicts"][0]["searched"]["executions"] for part in parts)
    assert (tmp_path / "all" / "trend.html").exists()
    summary = (tmp_path / "summary.md").read_text()
    assert "Night s, 2 shards: 2 histories, 0 crash states judged, " in summary
    for failure in merged["nights"][0]["failures"]:
        assert f"✗ new {failure['id']} tree&#95;histories: " in summary
        assert summary.count(f"simfs replay {failure['token']}\n") >= 1


def test_a_corpus_that_cannot_be_there_makes_no_green_night(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert run_app(["fuzz", "tree", "--budget", "1s", "--seed", "s", "--corpus", f"{tmp_path}/file/corpus"]) == 3
    assert f"the corpus {tmp_path}/file/corpus cannot be" in capsys.readouterr().out
