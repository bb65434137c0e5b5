"""Bad input at the command line: a clear message, no traceback, the right exit code; and Ctrl-C."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from scenarios.cli import run_app
from scenarios.entries import Ask, Progress
from scenarios.session import Session
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
