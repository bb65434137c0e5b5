"""Reports for machines: JUnit, GitHub's annotations and summary, and artifacts put together; and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import simfs
from reports.artifact import artifact, as_text
from reports.github import annotation_lines, step_summary
from reports.junit import junit
from reports.merge import merge, read_artifact
from scenarios.cli import run_app
from simfs.errors import UsageError
from tests import cli_programs, report_programs

HERE = Path(__file__).parent


@cache
def document() -> dict[str, Any]:
    verdicts = [
        simfs.explore(report_programs.RenameWithoutFlush, disk=["scc", "prefix"]),
        simfs.explore(cli_programs.Keeps, disk=["scc", "prefix"]),
        simfs.explore(cli_programs.NeverEnds, budget=0.05),
    ]
    return artifact(verdicts)


def test_in_junit_a_broken_law_is_a_failure_with_the_report_and_an_open_search_is_an_error() -> None:
    top = ElementTree.fromstring(junit(document()))
    assert (top.get("tests"), top.get("failures"), top.get("errors")) == ("5", "1", "1")
    (failure,) = top.iter("failure")
    assert failure.get("type") == "old_or_new"
    assert "simfs replay s1~" in (failure.text or "")
    (error,) = top.iter("error")
    assert "budget" in (error.get("message") or "")
    cases = [(case.get("classname"), case.get("name")) for case in top.iter("testcase")]
    assert cases[:2] == [("RenameWithoutFlush", "scc"), ("RenameWithoutFlush", "prefix")]


def test_junit_can_be_read_whatever_a_message_holds() -> None:
    evil = json.loads(json.dumps(document()))
    evil["verdicts"][0]["models"]["prefix"]["message"] = "a\x00b\x1b[31m]]> <&\ud800"
    (failure,) = ElementTree.fromstring(junit(evil)).iter("failure")
    assert failure.get("message") == "a\\x00b\\x1b[31m]]> <&\\xd800"


def test_an_annotation_stands_at_the_call_that_was_lost() -> None:
    broken, unfinished = annotation_lines(document(), str(HERE.parent))
    assert broken.startswith("::error file=tests/report_programs.py,line=18,title=RenameWithoutFlush%3A law old_or_new")
    assert "fsync the file settings.json.tmp" in broken
    assert "\n" not in broken
    assert unfinished.startswith("::warning title=NeverEnds%3A inconclusive::the budget")


def test_a_step_summary_shows_what_broke_before_the_table() -> None:
    text = step_summary(document())
    assert text.startswith("## simfs: 1 scenario of 3 broke a law\n")
    assert text.index("LAW BROKEN: old_or_new") < text.index("| scenario | status |")
    assert "| Keeps | ✓ proved | ✓ scc, ✓ prefix |" in text


def test_artifacts_of_two_jobs_are_one_with_all_models_and_the_worst_status() -> None:
    kinds = (report_programs.RenameWithoutFlush, cli_programs.Keeps)
    jobs = [artifact([simfs.explore(kind, disk=disk) for kind in kinds]) for disk in ("scc", "prefix")]
    merged = merge(jobs)
    assert merged["status"] == "violated"
    first, second = merged["verdicts"]
    assert (first["status"], list(first["models"]), first["survived"]) == ("violated", ["scc", "prefix"], ["scc"])
    assert first["counterexample"]["law"] == "old_or_new"
    assert (second["status"], second["counterexample"]) == ("proved", None)
    counts = [job["verdicts"][1]["searched"]["crash_points"] for job in jobs]
    assert second["searched"]["crash_points"] == sum(counts)


def test_merging_keeps_one_counterexample_for_each_law() -> None:
    merged = merge([document(), document()])
    assert len(merged["verdicts"]) == 3
    assert merged["verdicts"][0]["others"] == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("hello", "it is not JSON"),
        ("[1]", "is no simfs artifact: those are written by"),
        ('{"simfs": 9, "verdicts": []}', "an artifact of version 9, this program reads 1"),
        ('{"simfs": 1, "verdicts": [{"scenario": "x"}]}', "a verdict has no 'status'"),
    ],
)
def test_a_file_that_is_no_artifact_is_refused_by_name(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "file.json").write_text(text)
    with pytest.raises(UsageError, match=why):
        read_artifact(str(tmp_path / "file.json"))


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(HERE.parent)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = run_app(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_a_run_writes_every_report_that_it_is_asked_for(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    places = ("--report", str(tmp_path / "report"), "--junit", str(tmp_path / "junit.xml"), "--github")
    code, out, err = command("run", "tests/cli_programs.py:Loses", "storage_one_writer", *places)
    assert code == 1
    assert "::error file=tests/cli_programs.py,line=" in out
    assert f"report: {tmp_path}/report/index.html" in err
    assert "## simfs" in (tmp_path / "summary.md").read_text()
    assert 'failures="1"' in (tmp_path / "junit.xml").read_text()
    laws = {law["id"]: law["judged"] for law in read_artifact(str(tmp_path / "report/simfs.json"))["laws"]}
    assert laws["saved_is_there"] == ["Loses"]


def test_written_artifacts_become_one_report_with_the_exit_code_of_the_worst(command: Command, tmp_path: Path) -> None:
    files = []
    for number, verdict in enumerate(document()["verdicts"]):
        files.append(str(tmp_path / f"{number}.json"))
        Path(files[-1]).write_text(as_text({"simfs": 1, "status": verdict["status"], "verdicts": [verdict]}))
    code, _, _ = command("report", *files, "--report", str(tmp_path / "all"))
    assert code == 1
    assert len(read_artifact(str(tmp_path / "all/simfs.json"))["verdicts"]) == 3
    assert command("report", files[1], "--junit", str(tmp_path / "j.xml"))[0] == 0
    assert command("report", files[2], "--junit", str(tmp_path / "j.xml"))[0] == 3
    assert command("report", files[0])[0] == 2


def test_a_place_that_cannot_be_written_is_said_before_the_search(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, out, err = command("run", "tests/cli_programs.py:Loses", "--report", str(tmp_path / "file/below"))
    assert (code, out) == (2, "")
    assert "the report cannot be written" in err
    code, _, err = command("run", "tests/cli_programs.py:Loses", "--junit", str(tmp_path / "no/j.xml"))
    assert code == 2
    assert "there is no directory" in err
