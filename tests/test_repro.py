"""From a token to files: the saved disk, the regression test, the explanation, a smaller token, and the database."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import simfs
from scenarios.cli import run_app

PROGRAM = '''
import json, os
import simfs

def save(path, value):
    with open(path + ".tmp", "w") as file:
        json.dump(value, file)
    os.replace(path + ".tmp", path)

class SaveSettings(simfs.Scenario):
    """settings.json is old or new."""

    def setup(self, m):
        os.mkdir("/app")
        save("/app/settings.json", {"v": 1})

    @simfs.process
    def saver(self, m):
        save("/app/settings.json", {"v": 2})
        os.mkdir("/app/later")

    @simfs.law
    def old_or_new(self, m):
        assert json.load(open("/app/settings.json"))["v"] in (1, 2)
'''
MENDED = PROGRAM.replace("json.dump(value, file)", "json.dump(value, file); file.flush(); os.fsync(file.fileno())")
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Run simfs in a directory that holds settings.py: (exit code, output, error stream)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings.py").write_text(PROGRAM)

    def run(*arguments: str) -> tuple[int, str, str]:
        for name in [name for name, module in sys.modules.items() if _below(module, tmp_path)]:
            del sys.modules[name]
        code = run_app(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def _below(module: object, place: Path) -> bool:
    return str(getattr(module, "__file__", None) or "").startswith(str(place))


def token_of(command: Command) -> str:
    code, out, _ = command("run", "settings.py:SaveSettings")
    assert code == 1
    return out.split("simfs replay ")[1].split()[0]


def test_the_disk_of_a_counterexample_is_saved_as_real_files(command: Command, tmp_path: Path) -> None:
    code, _, err = command("replay", token_of(command), "--save", "disk")
    assert code == 1
    assert (tmp_path / "disk/app/settings.json").read_bytes() == b""
    assert str(tmp_path / "disk") in err


def test_a_disk_is_not_saved_over_something(command: Command, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk/mine").write_text("mine")
    code, _, err = command("replay", token_of(command), "--save", "disk")
    assert (code, (tmp_path / "disk/mine").read_text()) == (2, "mine")
    assert "is not empty" in err


def test_a_scenario_starts_from_a_saved_directory(command: Command, tmp_path: Path) -> None:
    command("replay", token_of(command), "--save", "disk")

    class Opens(simfs.Scenario):
        """The settings that a crash left can be read."""

        image = str(tmp_path / "disk")

        @simfs.process
        def reader(self, m: simfs.Handle) -> None:
            m.effect("read")

        @simfs.law
        def readable(self, m: simfs.Handle) -> None:
            assert os.path.getsize("/app/settings.json") > 0, "the settings are empty"

    found = simfs.explore(Opens).counterexample
    assert found is not None
    assert found.finding.message == "the settings are empty"


def test_a_directory_that_is_not_there_is_no_image() -> None:
    with pytest.raises(simfs.SimfsError, match="no/such/directory"):
        simfs.explore(simfs.scenario(processes=lambda m: m.effect("x"), law=lambda: None), image="/no/such/directory")


def test_a_regression_test_fails_until_the_fault_is_mended(command: Command, tmp_path: Path) -> None:
    code, out, _ = command("repro", token_of(command), "-o", "test_regression.py")
    assert (code, out) == (0, "pytest test_regression.py\n")
    text = (tmp_path / "test_regression.py").read_text()
    assert "LAW BROKEN: old_or_new" in text
    assert "s1~" not in text.split('"""')[2], "the test searches, it does not replay"
    assert _pytest(tmp_path) == 1
    (tmp_path / "settings.py").write_text(MENDED)
    assert _pytest(tmp_path) == 0


def _pytest(place: Path) -> int:
    arguments = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_regression.py"]
    return subprocess.run(arguments, cwd=place, capture_output=True).returncode


def test_a_regression_test_is_written_over_nothing(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("mine")
    code, _, err = command("repro", token_of(command), "-o", "mine.py")
    assert code == 2
    assert "mine.py cannot be written: File exists" in err


def test_an_explanation_tells_what_each_op_changed_and_what_was_read(command: Command) -> None:
    code, out, _ = command("explain", token_of(command))
    assert code == 1
    assert "readers see settings.json: '{\"v\": 2}' (8 bytes)" in out
    assert "takes 2 write settings.json.tmp 8 B at 0" in out
    assert "old_or_new read settings.json" in out


def test_a_token_of_a_longer_story_is_shrunk(command: Command) -> None:
    token = token_of(command)
    assert token.endswith("@5.2.0")
    longer = token.replace("@5.2.0", "@7.4.0")  # the directory made later is there too
    code, out, _ = command("shrink", longer)
    assert code == 1
    assert out.rstrip().endswith(f"simfs replay {token}")


def test_a_failure_is_replayed_first_next_time_and_forgotten_when_mended(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMFS_DATABASE", ".simfs")
    token = token_of(command)
    kept = [path.read_text() for path in (tmp_path / ".simfs/failures").glob("*.token")]
    assert [text.split("\n")[0] for text in kept] == [token]
    code, out, _ = command("run", "settings.py:SaveSettings", "--disk", "prefix,scc")
    assert code == 1
    assert "law old_or_new is broken (a failure of an earlier" in out
    assert "1 of 2" in out, "the other model was searched"
    (tmp_path / "settings.py").write_text(MENDED)
    code, out, _ = command("run", "settings.py:SaveSettings")
    assert code == 0
    assert list((tmp_path / ".simfs/failures").glob("*.token")) == []


def test_a_database_that_cannot_be_written_is_done_without(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SIMFS_DATABASE", "file/below")
    assert token_of(command)


class NeverEmpty(simfs.Scenario):
    """Nobody ever sees an empty file."""

    def setup(self, m: simfs.Handle) -> None:
        with open("/f", "w") as file:
            file.write("old")

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        with open("/f", "w") as file:
            file.write("new")

    @simfs.law(anytime=True)
    def never_empty(self, m: simfs.Handle) -> None:
        """The file is never empty."""
        assert m.boot > 1 or os.path.getsize("/f") > 0


def test_a_law_that_holds_at_any_time_is_broken_at_an_instant_that_is_replayed() -> None:
    found = simfs.explore(NeverEmpty).counterexample
    assert found is not None
    assert found.token.endswith("@2.")
    again = simfs.replay(found.token, NeverEmpty)
    assert again.recovered == {"f": b""}
    assert "HERE A READER LOOKS after op 1" in again.text()
    assert "No power was lost: while the processes run, a reader sees what the law forbids." in " ".join(
        again.text().split()
    )
