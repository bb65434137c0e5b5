"""Kill -9 of real writers on a real disk: what they acknowledged is there, by the laws of the simulated ones."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from eukhe.storage import Storage
from scenarios.histories import Broken
from tests import kill9

ROOT = Path(__file__).resolve().parents[1]


def test_two_hundred_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """In a process of its own, because it forks. The seed is printed, and begins the same draws again."""
    seed = int.from_bytes(os.urandom(4))
    command = [sys.executable, "-m", "tests.kill9", str(tmp_path), "--kills", "200", "--seed", str(seed)]
    print(f"seed {seed}: python -m tests.kill9 DIR --kills 200 --seed {seed}")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr, done.stderr
    assert int(done.stdout.splitlines()[1].split()[0]) >= 200, done.stdout


def made(tmp_path: Path) -> kill9.Experiment:
    experiment = kill9.Experiment(str(tmp_path / "one"), random.Random(0))
    experiment.begin()
    with Storage.open(tmp_path / "one" / "sessions" / "one", home=tmp_path / "one") as storage:
        for number in range(1, 7):
            storage.commit(kill9.changes_of(number))
    experiment.promised = 6
    return experiment


def test_the_judge_finds_nothing_wrong_with_what_is_whole(tmp_path: Path) -> None:
    experiment = made(tmp_path)
    experiment.judge_log()
    experiment.judge_session()


def test_the_judge_notices_a_commit_that_is_gone(tmp_path: Path) -> None:
    experiment = made(tmp_path)
    main = tmp_path / "one" / "sessions" / "one" / "main.jsonl"
    main.write_bytes(b"".join(main.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(Broken, match="6 commits promised"):
        experiment.judge_log()


def test_the_judge_notices_a_commit_that_nobody_tried(tmp_path: Path) -> None:
    experiment = made(tmp_path)
    experiment.promised = 4
    with pytest.raises(Broken, match="what was tried is not found"):
        experiment.judge_log()


def test_the_judge_notices_a_text_that_is_gone(tmp_path: Path) -> None:
    experiment = made(tmp_path)
    experiment.said = ["a1.1."]
    with pytest.raises(Broken, match="lost"):
        experiment.judge_session()
