"""The jobs of docs/ci.md are run as they are written, of GitHub Actions and of GitLab.

What the services do is done here: a job's directory, its variables, the cached corpus, artifacts that one job leaves
and another finds. Of a night two shards of the four are run, for a second instead of hours, and on one store.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

TEXT = (Path(__file__).parents[1] / "docs" / "ci.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
PROGRAM = next(block for language, block in BLOCK.findall(TEXT) if language == "python" and "# settings.py" in block)
PULL, NIGHT, GITLAB = [yaml.safe_load(block) for language, block in BLOCK.findall(TEXT) if language == "yaml"]
SHARDS = (1, 4)
CACHED = ("stays.json", "dropped.json")
VALUES = {"github.sha": "c0ffee", "github.run_id": "7", "CI_COMMIT_SHA": "c0ffee", "CI_PIPELINE_ID": "7"}
Job = dict[str, Any]


def filled(text: str, values: dict[str, str]) -> str:
    """The variables of both services."""
    text = re.sub(r"\$\{\{ (\S+) \}\}", lambda found: values[found[1]], text)
    return re.sub(r"\$(CI_\w+)", lambda found: values[found[1]], text)


def steps_of(job: Job) -> Iterator[Job]:
    """The steps of a job as GitHub has them, without those that install."""
    yield from ({"run": command} for command in job.get("script", ()))
    yield from (step for step in job.get("steps", ()) if "pip install" not in step.get("run", ""))


class Service:
    """Runs jobs below a directory. `kept` holds what jobs have left behind, each below a name; `ran` every command of
    simfs."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.kept = place / "kept"
        self.kept.mkdir()
        self.ran: list[str] = []

    def do(self, name: str, job: Job, values: dict[str, str]) -> Path:
        """One job, in a directory of its own."""
        here = self.place / name
        here.mkdir()
        (here / "settings.py").write_text(PROGRAM)
        if "corpus" in str(job.get("cache", job.get("steps"))):
            (here / "corpus").mkdir()
            for entry in CACHED:
                (here / "corpus" / entry).write_text("{}")
        if "needs" in job and "script" in job:
            for kept in self.kept.iterdir():
                shutil.copytree(kept, here, dirs_exist_ok=True)
        for step in steps_of(job):
            self.step(here, step, values)
        for path in job.get("artifacts", {}).get("paths", ()):
            shutil.copytree(here / path, self.kept / name / path)
        return here

    def step(self, here: Path, step: Job, values: dict[str, str]) -> None:
        """One step of a job."""
        asked = {name: filled(str(value), values) for name, value in step.get("with", {}).items()}
        if "upload-artifact" in step.get("uses", ""):
            shutil.copytree(here / asked["path"], self.kept / asked["name"])
        elif "download-artifact" in step.get("uses", ""):
            for found in self.kept.glob(asked["pattern"]):
                shutil.copytree(found, here / asked["path"] / found.name)
        elif "run" in step:
            command = filled(step["run"], values).replace("--budget 4h", "--budget 1s")
            self.ran += re.findall(r"^simfs (\w+)", command, re.M)
            command = command.replace("simfs fuzz", "simfs fuzz epochs_programs")
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            done = subprocess.run(
                ["bash", "-ec", command], cwd=here, capture_output=True, text=True, timeout=120,
                env={**os.environ, "PATH": path, "SIMFS_DATABASE": "off", "GITHUB_STEP_SUMMARY": str(here / "summary")},
            )  # fmt: skip
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("jobs", [{**PULL["jobs"], **NIGHT["jobs"]}, GITLAB], ids=["github", "gitlab"])
def test_the_jobs_of_ci_run_as_they_are_written(jobs: dict[str, Job], tmp_path: Path) -> None:
    service = Service(tmp_path)
    pull = service.do("exhaustive", jobs["exhaustive"], VALUES)
    assert json.loads((pull / "report" / "simfs.json").read_text())["status"] == "proved"
    shutil.rmtree(service.kept / "report", ignore_errors=True)
    for k in SHARDS:
        shard = {**VALUES, "matrix.shard": str(k), "CI_NODE_INDEX": str(k), "CI_NODE_TOTAL": "4"}
        service.do(f"shard-{k}", jobs["shard"], shard)
    next(service.kept.rglob("dropped.json")).unlink()
    merged = service.do("merge", jobs["merge"], VALUES)
    nights = json.loads((merged / "report" / "simfs.json").read_text())["nights"]
    assert [night["shard"] for night in nights] == [f"{k}/4" for k in SHARDS]
    entries = {file.name for file in (merged / "corpus").iterdir()}
    assert "stays.json" in entries, "of another program, and kept"
    assert "dropped.json" not in entries
    assert any(entry.startswith("epochs_programs.") for entry in entries)
    assert service.ran == ["run", "fuzz", "fuzz", "report"]


def test_the_jobs_of_github_leave_a_summary_and_a_report() -> None:
    for job in ({**PULL["jobs"], **NIGHT["jobs"]}).values():
        commands = [step["run"] for step in job["steps"] if "simfs" in step.get("run", "")]
        assert commands
        assert all("--github" in command and "--report" in command for command in commands)
        assert any("upload-artifact" in step.get("uses", "") for step in job["steps"])
