"""`eukhe sessions`, `eukhe sweep` and `eukhe rules staging` as a person or a program runs them."""

from __future__ import annotations

import json
import os

import pytest

from tests.test_eukhe_cli import eukhe

HEADER = '{"type":"session","id":"x","cwd":"/work","timestamp":"2026-01-01T00:00:00Z"}\n'
HEX = "0123456789abcdef" * 2


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "old.jsonl").write_text(HEADER + '{"n":1}\n{"n":2}\n{')
    monkeypatch.setenv("EUKHE_HOME", str(tmp_path))
    return tmp_path


def test_sessions_are_imported_listed_forked_and_deleted(home):
    place = home / "sessions"
    code, out, err = eukhe("sessions", "import", place / "old.jsonl")
    assert (code, out) == (0, f"{place}/old: 2 messages\n")
    assert "torn last line of 1 bytes" in err
    assert eukhe("sessions", "fork", "old", "new", "--at", "1")[:2] == (0, f"{place}/new: 2 commits\n")
    assert eukhe("sessions", "fork", "old", "none", "--empty")[0] == 0
    code, out, _ = eukhe("sessions", "list", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert {(row["id"], row["place"], row["cwd"]) for row in rows} == {
        (name, f"{place}/{name}", "/work") for name in ("old", "new", "none")
    }
    assert eukhe("sessions", "delete", "old") == (0, "", "")
    code, out, _ = eukhe("sessions", "list")
    assert sorted(line.split("  ")[1] for line in out.splitlines()) == ["new", "none"]


def test_the_store_says_no_with_exit_code_1_and_wrong_usage_is_2(home):
    for arguments in (
        ("import", home / "none.jsonl"), ("fork", "none", "new"), ("fork", "old", "new"), ("delete", "none"),
        ("import", home / "sessions" / "old.jsonl", "--name", ".x"),
    ):  # fmt: skip
        code, out, err = eukhe("sessions", *arguments)
        assert (code, out) == (1, "") and err.startswith("eukhe: ")
    for arguments in (("fork", "a", "b", "--at", "1", "--empty"), ("fork", "a", "b", "--at", "0"), ("what",)):
        assert eukhe("sessions", *arguments)[0] == 2
    assert eukhe("rules", "what")[0] == 2


def test_a_sweep_says_what_it_would_remove_and_why_the_rest_stays(home):
    place = home / "sessions"
    (place / f".a.import-{HEX}").mkdir()
    (place / f".a.import-{HEX}.lock").touch()
    (home / "session-artifacts").mkdir()
    (home / "session-artifacts" / "link").symlink_to("/")
    code, out, _ = eukhe("sweep", "--dry-run", "--json")
    assert code == 0
    told = {os.path.basename(line["path"]): (line["what"], line["why"]) for line in map(json.loads, out.splitlines())}
    assert told == {
        "old.jsonl": ("stays", "it is a file of no build"),
        f".a.import-{HEX}": ("stays", "it was touched within the last day"),
        f".a.import-{HEX}.lock": ("stays", "it goes with what it belongs to"),
        "link": ("stays", "it is a symbolic link, which a sweep never follows"),
    }
    assert eukhe("sweep") == (0, "", "")
    assert len(os.listdir(place)) == 3


def test_a_sweep_that_cannot_look_at_something_ends_with_1(home):
    (home / "session-artifacts").touch()
    code, _, err = eukhe("sweep")
    assert code == 1 and err.startswith("failed: ")


def test_a_name_that_is_not_utf8_is_shown_and_can_be_given(home):
    eukhe("sessions", "import", home / "sessions" / "old.jsonl", "--name", "\udcff")
    assert json.loads(eukhe("sessions", "list", "--json")[1].splitlines()[0])["id"] == "\\xff"
    assert eukhe("sessions", "delete", "\udcff")[0] == 0
    assert os.listdir(home / "sessions") == ["old.jsonl"]


def test_the_rules_of_staging_answer_line_by_line(home):
    asked = '{"id":1,"op":"settle","args":{"errno":17}}\n{"id":2,"op":"what","args":{}}\n'
    code, out, _ = eukhe("rules", "staging", stdin=asked)
    first, second = map(json.loads, out.splitlines())
    assert code == 0
    assert first == {"id": 1, "ok": {"settled": "exists"}}
    assert (second["id"], second["error"]["code"]) == (2, "unknown_op")


def test_home_is_taken_from_the_option_first(home, tmp_path):
    assert eukhe("sessions", "list", "--home", tmp_path / "other") == (0, "", "")
