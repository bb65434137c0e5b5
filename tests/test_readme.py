"""What the README says is so: its example, its report, its commands, and what CI runs of it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import simfs
from scenarios.cli import app
from scenarios.laws import laws

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


@pytest.fixture
def example(tmp_path: Path) -> Any:
    """The module of the example, as a file named as the README names it."""
    (tmp_path / "app").mkdir()
    file = tmp_path / "app" / "settings.py"
    file.write_text(blocks("python")[0])
    module: dict[str, Any] = {"__name__": "settings", "__file__": str(file)}
    exec(compile(file.read_text(), str(file), "exec"), module)
    return module["SaveSettings"]


def test_the_example_is_broken_as_the_readme_says_line_by_line(example: Any) -> None:
    found = simfs.explore(example).counterexample
    assert found is not None
    report = found.text().split("\n")
    shown = [line for line in blocks("text")[0].split("\n") if line and "simfs replay" not in line]
    assert [line for line in shown if line not in report] == []


def test_the_example_holds_with_the_flushes_that_its_report_asks_for(tmp_path: Path) -> None:
    source = blocks("python")[0]
    source = source.replace(
        "        json.dump(value, file)\n",
        "        json.dump(value, file)\n        file.flush()\n        os.fsync(file.fileno())\n",
    )
    flush = '    fd = os.open("/app", os.O_RDONLY)\n    os.fsync(fd)\n    os.close(fd)\n'
    rename = '    os.replace(path + ".tmp", path)\n'
    source = source.replace(rename, rename + flush)
    module: dict[str, Any] = {"__name__": "settings"}
    exec(compile(source, str(tmp_path / "settings.py"), "exec"), module)
    assert simfs.check(module["SaveSettings"]).status == "proved"


def test_two_commands_set_up_and_do_the_main_job_and_the_tests() -> None:
    commands = [line for line in blocks("sh")[0].split("\n") if line and not line.startswith("#")]
    assert len(commands) == 2
    assert all(command.startswith("python3 -m venv .venv && .venv/bin/pip install -q -e ") for command in commands)
    assert commands[0].endswith("simfs run storage")
    assert "pytest" in commands[1]


def test_ci_runs_the_test_command_of_the_readme() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "grep -m 1 '^python3 -m venv .*pytest' README.md" in script.read_text()
    subprocess.run(["bash", "-n", str(script)], check=True)


def test_every_command_is_in_the_readme() -> None:
    for command in app.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__
        assert f"`simfs {name}" in README, name


def test_the_first_screen_says_what_it_is_who_it_is_for_and_how_to_start() -> None:
    first = README.split("\n")[:60]
    text = "\n".join(first)
    for part in ("loses power", "For people who", "pip install", "import simfs"):
        assert part in text


def test_words_of_the_readme_about_laws_are_true() -> None:
    assert any(law.planned for law in laws().values()) == ("planned" in README)
