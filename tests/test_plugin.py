"""The pytest plugin: fixture, options, report, replay; alone and with workers. Each test runs a pytest of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = '''
import os
import simfs


class Loses(simfs.Scenario):
    """A note that was saved is there."""

    @simfs.process
    def writer(self, m):
        with open("/note", "w") as file:
            file.write("text")
        m.ack("saved")

    @simfs.law
    def saved_is_there(self, m):
        assert not m.acked("saved") or open("/note").read() == "text", "not what was saved"


class Idle(simfs.Scenario):
    """Nothing happens."""

    @simfs.process
    def idler(self, m):
        m.effect("idle")

    @simfs.law
    def holds(self, m):
        pass


def test_loses(simfs_check):
    simfs_check(Loses)


def test_idle(simfs_check):
    verdict = simfs_check(Idle)
    assert verdict.ok


def test_other(simfs_check):
    simfs_check(simfs.scenario(processes=lambda m: m.effect("x"), law=lambda: None, name="other"))
'''


@pytest.fixture
def run(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Run pytest on the tests above in a directory of their own: (exit code, output)."""
    (tmp_path / "test_it.py").write_text(TESTS)

    def pytest_run(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTEST_ADDOPTS": ""},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    return pytest_run


def token_in(output: str) -> str:
    return output.split("simfs replay ")[1].split()[0]


def test_a_broken_law_fails_the_test_with_the_report_and_no_traceback(run) -> None:  # type: ignore[no-untyped-def]
    code, output = run()
    assert code == 1
    assert "LAW BROKEN: saved_is_there" in output
    assert "1 failed, 2 passed" in output
    assert "Traceback" not in output
    assert "def writer" not in output


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "two workers"])
def test_the_report_gathers_every_verdict(run, tmp_path: Path, workers: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    code, output = run("--simfs-report", "verdicts.json", *workers)
    assert code == 1, output
    document = json.loads((tmp_path / "verdicts.json").read_text())
    assert document["simfs"] == 1
    verdicts = {verdict["scenario"]: verdict for verdict in document["verdicts"]}
    assert {name: verdict["status"] for name, verdict in verdicts.items()} == {
        "Loses": "violated",
        "Idle": "proved",
        "other": "proved",
    }
    assert verdicts["Loses"]["law"] == "saved_is_there"
    assert verdicts["Loses"]["test"] == "test_it.py::test_loses"
    assert verdicts["Loses"]["token"] in verdicts["Loses"]["text"]
    assert "3 verdicts in verdicts.json" in output


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "two workers"])
def test_a_token_is_replayed_by_the_test_that_has_its_scenario(run, workers: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    _, output = run()
    code, again = run("--simfs-replay", token_in(output), *workers)
    assert code == 1
    assert "LAW BROKEN: saved_is_there" in again
    assert "1 failed, 2 skipped" in again
    assert "nothing was replayed" not in again


def test_a_token_that_no_test_has_fails_the_run(run) -> None:  # type: ignore[no-untyped-def]
    code, output = run("--simfs-replay", "s1~somewhere:Else~prefix~~@1.0")
    assert code == 1
    assert "nothing was replayed" in output


def test_a_stale_token_fails_its_test(run) -> None:  # type: ignore[no-untyped-def]
    _, output = run()
    scenario = token_in(output).split("~")[1]
    code, again = run("--simfs-replay", f"s1~{scenario}~prefix~00000000~@6.1.0")
    assert code == 1
    assert "stale token" in again


def test_disk_models_and_budgets_of_the_command_line_hold_for_every_test(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, _ = run("--simfs-disk", "scc,synced-only", "--simfs-budget", "30s", "--simfs-report", "verdicts.json")
    assert code == 1
    document = json.loads((tmp_path / "verdicts.json").read_text())
    assert all(set(verdict["models"]) == {"scc", "synced-only"} for verdict in document["verdicts"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("--simfs-budget", "soon"),
        ("--simfs-disk", "ext9"),
        ("--simfs-replay", "hello"),
        ("--simfs-report", "/proc/nowhere/x.json"),
        ("--simfs-report", "test_it.py/below"),
    ],
    ids=lambda arguments: "=".join(arguments),
)
def test_a_bad_option_is_wrong_usage_before_anything_runs(run, arguments: tuple[str, str]) -> None:  # type: ignore[no-untyped-def]
    code, output = run(*arguments)
    assert code == 4
    assert arguments[0] in output or "replay token" in output
    assert "passed" not in output and "Traceback" not in output


def test_a_scenario_of_a_test_file_is_named_so_that_the_command_line_finds_it(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "tests").mkdir()
    (tmp_path / "test_it.py").rename(tmp_path / "tests" / "test_it.py")
    token = token_in(run()[1])
    assert token.startswith("s1~tests/test_it.py:Loses~")
    done = subprocess.run(
        [sys.executable, "-c", "from scenarios.cli import main; main()", "replay", token],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    assert "LAW BROKEN: saved_is_there" in done.stdout


def test_a_directory_gets_the_page_of_all_workers(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, output = run("--simfs-report", "report", "-n", "2")
    assert code == 1
    assert "3 verdicts in report" in output
    page = (tmp_path / "report/index.html").read_text()
    assert all(name in page for name in ("Loses", "Idle", "other", "saved_is_there"))


def test_a_marker_gives_options_and_the_command_line_wins(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    test = tmp_path / "test_it.py"
    mark = 'import pytest\npytestmark = pytest.mark.simfs(disk=["scc", "prefix"])\n'
    test.write_text(mark + test.read_text())
    run("-k", "loses", "--simfs-report", "verdicts.json")
    run("-k", "loses", "--simfs-disk", "scc", "--simfs-report", "overruled.json")
    models = [
        json.loads((tmp_path / name).read_text())["verdicts"][0]["models"]
        for name in ("verdicts.json", "overruled.json")
    ]
    assert models == [{"scc": "proved", "prefix": "violated"}, {"scc": "proved"}]
