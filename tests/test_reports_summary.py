"""The table at the end of a run, the answer of `simfs outcomes`, paths in narrow columns, and verdicts as JSON."""

from __future__ import annotations

import json

import pytest

import simfs
from reports import artifact
from reports.describe import place, short
from reports.outcomes import outcome_lines
from reports.paths import below, common_root, fitted
from reports.summary import line, summary
from reports.treediff import content
from simfs.explore.outcomes import Outcome
from simfs.explore.verdict import Searched, Verdict
from simfs.machine.site import Site
from tests.report_programs import EntryNeverFlushed


def verdict(name: str, status: str, **models: str) -> Verdict:
    parts = {model: Verdict(name, found, Searched(), disk=model) for model, found in models.items()}
    return Verdict(name, status, Searched(1, 1234, 5678, 90, 80, seconds=1.5), by_model=parts)


def test_the_table_has_a_line_a_scenario_and_fits_80_columns() -> None:
    lines = summary([verdict("first", "proved", prefix="proved"), verdict("a" * 40, "violated", prefix="violated")])
    assert lines[2] == "first                     proved              1,234        90     1.50  all 1"
    assert lines[3].startswith("a" * 24 + "… violated")
    assert all(len(text) <= 80 for text in lines)


def test_a_model_that_is_undecided_is_not_shown_as_fallen() -> None:
    lines = summary([verdict("it", "violated", scc="proved", prefix="violated", ext4="inconclusive")])
    assert "1 of 3" in lines[2]
    assert lines[-1] == "it: survives scc; not prefix; undecided on ext4"


def test_no_verdict_is_no_success() -> None:
    assert summary([]) == ["nothing was run"]


def test_a_line_for_a_log_counts_crash_points_or_cases() -> None:
    assert line(verdict("it", "proved")) == "it: proved (1,234 crash points, 90 distinct images, 1.50 s)"
    assert line(Verdict("rules", "proved", Searched(12))) == "rules: proved (12 cases, 0.00 s)"


def test_outcomes_are_listed_once_with_every_moment_at_which_they_may_be() -> None:
    lines = outcome_lines([Outcome({}, 0), Outcome({}, 1), Outcome({"f": b"x"}, 1)], "prefix")
    assert lines[0] == "On prefix a power loss may leave 2 trees:"
    assert "1. while it runs or after it returned" in lines
    assert "2. after it returned" in lines
    assert "     f  'x' (1 byte)" in lines


@pytest.mark.parametrize(
    ("path", "room", "text"),
    [
        ("a/b", 10, "a/b"),
        ("home/me/sessions/main.jsonl", 24, ".../sessions/main.jsonl"),
        ("home/me/sessions/main.jsonl", 16, ".../main.jsonl"),
        ("home/averylongname.jsonl", 12, "...ame.jsonl"),
    ],
)
def test_a_path_without_room_keeps_its_end(path: str, room: int, text: str) -> None:
    assert fitted(path, room) == text


def test_paths_are_seen_from_what_they_have_in_common() -> None:
    assert common_root(["/a/b/c", "/a/b/d/e"]) == "/a/b"
    assert common_root([]) == "/"
    assert below("/a/b/c", "/a/b") == "c"
    assert below("/x", "/a/b") == "/x"


def test_contents_are_told_in_the_room_there_is() -> None:
    assert content(None, 20) == "(not there)"
    assert content(b"", 20) == "(empty file)"
    assert content(b"\0" * 3, 20) == "3 NUL bytes"
    assert content(b"\xff\xfe", 30) == r"'\xff\xfe' (2 bytes)"
    assert content("dir", 20) == "directory"
    assert len(content(b"x" * 500, 30)) <= 30


def test_a_call_site_names_the_directory_of_its_file() -> None:
    assert place(Site("/work/eukhe/storage/hands.py", 93, "do")) == "storage/hands.py:93"
    assert place(None) == ""
    assert short("one two three four", 11) == "one ...four"


def test_a_verdict_as_json_holds_everything_and_survives_a_round_trip() -> None:
    document = json.loads(artifact.dumps([simfs.explore(EntryNeverFlushed)]))
    (found,) = document["verdicts"]
    counterexample = found["counterexample"]
    assert document["status"] == found["status"] == "violated"
    assert found["models"]["prefix"]["status"] == "violated"
    assert counterexample["promised"][0]["label"] == "saved"
    assert counterexample["boots"][0]["seen"]["home/me/notes/today.txt"] == {"text": "buy milk\n"}
    assert counterexample["token"] in counterexample["text"]
    creation = next(op for op in counterexample["boots"][0]["ops"] if op["call"] == "create")
    assert creation["fate"] == "lost"
    assert creation["site"].endswith("report_programs.py:46")


def test_bytes_that_are_no_text_are_hexadecimal_in_json() -> None:
    assert artifact._bytes(b"\xff\x00") == {"hex": "ff00"}
