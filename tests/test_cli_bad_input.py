"""Bad input at the command line: a clear message, no traceback, the right exit code; and Ctrl-C."""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from scenarios import cli_images
from scenarios.cli import run_app
from scenarios.entries import Ask, Progress
from scenarios.mutants import table
from scenarios.mutants.mutant import Mutant
from scenarios.session import Session
from simfs import SimfsError, explore, scenario
from simfs.explore.jobs import leave_ctrl_c
from simfs.explore.verdict import Searched, Verdict

PROGRAMS = "tests/cli_programs.py"
Refused = Callable[..., tuple[int, str]]


@pytest.fixture
def simfs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Refused:
    """Run a command that fails; (exit code, everything that was printed), with no traceback in it."""
    monkeypatch.chdir(Path(__file__).parent.parent)

    def command(*arguments: str) -> tuple[int, str]:
        code = run_app(list(arguments))
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err + captured.out
        return code, captured.out + captured.err

    return command


def test_an_unknown_scenario_is_refused_and_near_names_are_suggested(simfs: Refused) -> None:
    code, text = simfs("run", "storage_epok")
    assert code == 2
    assert "no scenario 'storage_epok': did you mean storage_epoch" in text


def test_a_name_like_nothing_is_refused_with_where_to_look(simfs: Refused) -> None:
    code, text = simfs("run", "xyzzy")
    assert code == 2
    assert "simfs list shows what there is" in text


def test_a_module_without_a_scenario_is_refused(simfs: Refused) -> None:
    code, text = simfs("run", "reports.paths")
    assert code == 2
    assert "reports.paths has no scenario" in text


def test_a_missing_module_file_or_class_is_refused(simfs: Refused) -> None:
    for reference, message in (
        ("no.such.module:Thing", "no module 'no.such.module'"),
        ("no_such_file.py:Thing", "no file 'no_such_file.py'"),
        (f"{PROGRAMS}:Lose", "did you mean Loses?"),
        (f"{PROGRAMS}:number", "is no Scenario; there are Loses, Keeps"),
        (f"{PROGRAMS}:", "is not FILE:NAME"),
    ):
        code, text = simfs("run", reference)
        assert (code, message in text) == (2, True), text


def test_a_file_that_cannot_be_imported_is_refused_with_its_error(simfs: Refused, tmp_path: Path) -> None:
    bad = tmp_path / "bad_module.py"
    bad.write_text("raise RuntimeError('not today')\n")
    code, text = simfs("run", f"{bad}:Thing")
    assert code == 2
    assert "cannot be imported: RuntimeError: not today" in text


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("hello", "is no replay token"),
        ("s1~storage_epoch~prefix", "was it cut when it was copied?"),
        ("s1~storage_epoch~prefix~xyz~@1.0", "is no code fingerprint"),
        ("s1~storage_epoch~prefix~~@1", "is no leg of a path"),
        ("s9~storage_epoch~prefix~~@1.0", "token of version s9"),
        ("s1~storage_epoch~ext9~~@1.0", "no disk model ext9"),
        ("s1~storage_epok~prefix~~@1.0", "did you mean storage_epoch"),
        ("s1~tests.x:test.<locals>.T~prefix~~@1.0", "pytest FILE --simfs-replay TOKEN"),
        ("s1~storage_rules~prefix~~@1.0", "is a check of rules"),
    ],
)
def test_a_broken_token_is_refused_with_the_part_that_is_wrong(simfs: Refused, token: str, message: str) -> None:
    code, text = simfs("replay", token)
    assert (code, message in text) == (2, True), text


@pytest.mark.parametrize(
    "token",
    [
        "s1~storage_epoch~prefix~00000000~@5.0",
        "s1~storage_epoch~prefix~~@9999.0",
        "s1~storage_epoch~prefix~~@5.7.7.7",
        "s1~storage_epoch~prefix~~@5.0",
        "s1~storage_killed[999]~prefix~~@5.0",
        f"s1~{PROGRAMS}:Keeps~prefix~~@3.0",
    ],
)
def test_a_token_of_other_code_is_stale_and_never_passed(simfs: Refused, token: str) -> None:
    code, text = simfs("replay", token)
    assert code == 3, text
    assert "stale" in text
    assert "proved" not in text


@pytest.mark.parametrize("command", ["replay", "explain", "shrink", "repro"])
def test_every_command_refuses_a_token_of_other_code(simfs: Refused, command: str) -> None:
    code, text = simfs(command, f"s1~{PROGRAMS}:Loses~prefix~00000000~@3.0")
    assert (code, "stale token: Loses does not do what the token recorded" in text) == (3, True)


def test_of_a_long_text_that_is_no_token_the_beginning_is_shown(simfs: Refused) -> None:
    code, text = simfs("replay", "word " * 100)
    assert code == 2
    assert len(text) < 200


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x7fELF\xff", "is no simfs artifact: it is not JSON"),
        (b'{"simfs": 1, "verd', "is no simfs artifact: it is not JSON"),
        (b"[1, 2]", "is no simfs artifact: those are written by simfs run"),
        (b'{"version": 1}', "is no simfs artifact: those are written by simfs run"),
        (b'{"simfs": 99}', "is an artifact of version 99, this program reads 1"),
        (b'{"simfs": 1}', "is a damaged artifact: it has no list of verdicts"),
        (b'{"simfs": 1, "verdicts": [{}]}', "is a damaged artifact: a verdict has no 'scenario'"),
        (b'{"simfs": 1, "verdicts": [7]}', "is a damaged artifact: a verdict has no 'scenario'"),
    ],
)
def test_an_artifact_that_is_none_is_refused_and_nothing_is_written(
    simfs: Refused, tmp_path: Path, content: bytes, message: str
) -> None:
    file = tmp_path / "artifact.json"
    file.write_bytes(content)
    code, text = simfs("report", str(file), "--report", str(tmp_path / "out"))
    assert (code, f"{file} {message}" in text) == (2, True), text
    assert not (tmp_path / "out").exists()


def test_a_report_that_cannot_be_written_is_said_before_anything_is_searched(simfs: Refused, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for arguments, message in (
        (("--report", f"{tmp_path}/file"), "the report cannot be written"),
        (("--report", f"{tmp_path}/file/below"), "the report cannot be written"),
        (("--report", "/proc/nowhere"), "the report cannot be written"),
        (("--junit", f"{tmp_path}/nowhere/x.xml"), "cannot be written: there is no directory"),
    ):
        code, text = simfs("run", f"{PROGRAMS}:Loses", *arguments)
        assert (code, message in text, "LAW BROKEN" in text) == (2, True, False), text


def test_an_image_that_cannot_be_read_is_told_with_the_scenario_that_wants_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "odd").mkdir()
    os.mkfifo(tmp_path / "odd/pipe")
    nothing = scenario(processes=lambda m: m.effect("x"), law=lambda: None, name="Wants")
    for place, why in (
        ("nowhere", "No such file or directory"),
        ("file", "is not a directory"),
        ("odd", "is neither file, directory nor symlink"),
    ):
        with pytest.raises(SimfsError) as refused:
            explore(nothing, image=str(tmp_path / place))
        assert f"Wants cannot start from image = '{tmp_path}/{place}': " in str(refused.value)
        assert why in str(refused.value)


def test_a_setup_that_raises_is_told_with_its_error_and_line(simfs: Refused) -> None:
    code, text = simfs("run", f"{PROGRAMS}:BadSetup")
    assert code == 3
    flat = " ".join(text.split())
    assert "setup of BadSetup raised FileNotFoundError at cli_programs.py:" in flat
    assert "BadSetup inconclusive" in flat


@pytest.mark.parametrize("name", ["LooksOutside", "UsesSqlite", "SwallowsEverything"])
def test_a_reach_for_the_real_disk_is_told_with_its_line_and_never_passed(simfs: Refused, name: str) -> None:
    code, text = simfs("run", f"{PROGRAMS}:{name}")
    flat = " ".join(text.split())
    assert code == 3, text
    assert f"{name} inconclusive" in flat
    assert "cannot be judged" in flat
    assert "cli_programs.py:" in flat


def test_an_unknown_disk_model_is_refused_with_the_ones_there_are(simfs: Refused) -> None:
    for arguments in (("run", "storage_epoch", "--disk", "ext9"), ("outcomes", f"{PROGRAMS}:save", "--disk", "ext9")):
        code, text = simfs(*arguments)
        assert code == 2
        assert "no disk model ext9" in text
        assert "prefix" in text


def test_a_store_without_mutants_is_refused(simfs: Refused) -> None:
    code, text = simfs("mutants", "lag")
    assert code == 2
    assert "no store 'lag' has mutants; there are log" in text


def test_wrong_usage_ends_with_2(simfs: Refused) -> None:
    for arguments in (
        ("run", "--budget", "soon"),
        ("run", "--budget", "0s"),
        ("run", "--seed", "x"),
        ("run", "--no-such-option"),
        ("no-such-command",),
        ("replay",),
        ("outcomes", f"{PROGRAMS}:number"),
        ("outcomes", PROGRAMS),
    ):
        assert simfs(*arguments)[0] == 2, arguments


class Interrupted:
    """An entry in which a person presses Ctrl-C."""

    name = "interrupted"
    statement = "Somebody presses Ctrl-C."
    laws: list[object] = []  # noqa: RUF012

    def run(self, ask: Ask, progress: Progress | None = None) -> Verdict:
        assert progress is not None
        progress(Searched(executions=3, crash_points=7, distinct_images=5))
        raise KeyboardInterrupt


class Finished:
    """An entry that is proved at once."""

    statement = "Nothing happens."
    laws: list[object] = []  # noqa: RUF012

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, ask: Ask, progress: Progress | None = None) -> Verdict:
        return Verdict(self.name, "proved", Searched(crash_points=1))


def test_ctrl_c_ends_with_what_was_found_so_far() -> None:
    entries = [Finished("first"), Interrupted(), Finished("never reached")]
    session = Session(entries, Ask(), io.StringIO())  # type: ignore[arg-type]
    first, second = session.run()
    assert (first.status, second.status) == ("proved", "inconclusive")
    assert second.searched.crash_points == 7
    assert second.reason == "interrupted by Ctrl-C"
    assert session.interrupted
    assert session.exit_code == 3


def test_a_violation_outweighs_what_is_inconclusive() -> None:
    session = Session([], Ask(), io.StringIO())
    session.verdicts = [Verdict("a", "inconclusive", Searched()), Verdict("b", "violated", Searched())]
    assert session.exit_code == 1


def test_ctrl_c_while_mutants_are_judged_shows_those_that_were(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def judged(stores: Sequence[table.Store]) -> Iterator[tuple[table.Store, table.Judged]]:
        yield stores[0], table.Judged(Mutant("no lock", "lock"), "log_in_order", "storage_epoch", "prefix", "", 0.1)
        raise KeyboardInterrupt

    monkeypatch.setattr(table, "judge_all", judged)
    assert run_app(["mutants", "log"]) == 3
    text = capsys.readouterr().out
    assert "no lock" in text and "1 mutants: 1 killed" in text
    assert "interrupted: what was not reached is not in the table" in text


def test_ctrl_c_while_an_image_is_explained_shows_the_bounds_that_were_searched(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "main.jsonl").write_bytes(b"{}{}\n")
    answers = iter([Verdict("x", "proved", Searched(crash_points=7))])
    monkeypatch.setattr(cli_images, "search", lambda *arguments: next(answers, None) or interrupt())
    assert run_app(["explain-image", str(tmp_path)]) == 3
    text = " ".join(capsys.readouterr().out.split())
    assert "7 crash points" in text
    assert "one power loss: synced-only, and all after that: interrupted by Ctrl-C" in text


def interrupt() -> None:
    raise KeyboardInterrupt


def test_workers_leave_ctrl_c_to_the_process_that_shares_out_the_work() -> None:
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=context, initializer=leave_ctrl_c) as pool:
        assert pool.submit(press_ctrl_c).result() == "went on"


def press_ctrl_c() -> str:
    os.kill(os.getpid(), signal.SIGINT)
    return "went on"
