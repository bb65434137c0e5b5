"""The rules behind the byte protocol: the rule's answer, or the error form; a refused request changes nothing."""

import io
import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eukhe.entry import answer_line, serve
from eukhe.storage import rules
from eukhe.storage.entry import LogEntry
from eukhe.storage.rules import OpenFacts, SidecarFacts

C1 = "c1.entries.jsonl"
OPEN = {"fsync": True, "length": 0, "last_newline": None, "sidecars": [], "ancestors": []}


def ask(entry, op, args, id=1):
    return json.loads(answer_line(entry, json.dumps({"id": id, "op": op, "args": args}).encode() + b"\n"))


def opened(**facts):
    entry = LogEntry()
    assert "ok" in ask(entry, "open", OPEN | facts)
    return entry


def as_json(steps):
    return {"steps": [step._asdict() for step in steps]}


def test_the_wire_is_pinned_by_an_example():
    entry = LogEntry()
    source = io.BytesIO(
        b'{"id":1,"op":"open","args":{"fsync":true,"length":9,"last_newline":6,"sidecars":[],"ancestors":["/h"]}}\n'
        b'{"id":2,"op":"commit","args":{"sidecars":["c1.entries.jsonl"]}}\n'
        b'{"id":3,"op":"open","args":{}}\n'
        b'{"id":4,"op":"close","args":{}}\n'
        b'{"id":5,"op":"close","args":{}}'
    )
    sink = io.BytesIO()
    serve(entry, source, sink)
    assert sink.getvalue() == (
        b'{"id":1,"ok":{"steps":[{"kind":"cut_main","name":"main.jsonl","length":7},'
        b'{"kind":"rewrite_last_line","name":"","length":0},{"kind":"flush_main","name":"","length":0},'
        b'{"kind":"flush_directory","name":"","length":0},{"kind":"flush_ancestor","name":"/h","length":0},'
        b'{"kind":"acknowledge","name":"","length":0}]}}\n'
        b'{"id":2,"ok":{"steps":[{"kind":"write_sidecar","name":"c1.entries.jsonl","length":0},'
        b'{"kind":"flush_sidecar","name":"c1.entries.jsonl","length":0},'
        b'{"kind":"flush_directory","name":"","length":0},{"kind":"write_marker","name":"","length":0},'
        b'{"kind":"flush_main","name":"","length":0},{"kind":"acknowledge","name":"","length":0}]}}\n'
        b'{"id":3,"error":{"code":"bad_args","message":"Object missing required field `fsync`"}}\n'
        b'{"id":4,"ok":{}}\n'
        b'{"id":null,"error":{"code":"trailing","message":"the input ends inside a line"}}\n'
    )


SIDECARS = st.lists(st.sampled_from([C1, "c2.entries.jsonl", "main.jsonl", "x"]), max_size=3)


@settings(derandomize=True)
@given(st.integers(-1, 9), st.none() | st.integers(-1, 9), st.booleans(), st.lists(SIDECARS, max_size=4))
def test_each_answer_is_the_rules_decision(length, last_newline, fsync, commits):
    entry = LogEntry()
    answer = ask(entry, "open", OPEN | {"length": length, "last_newline": last_newline, "fsync": fsync})
    try:
        steps, state = rules.plan_open(fsync, OpenFacts(length, last_newline))
    except rules.RuleRefused as error:
        assert answer == {"id": 1, "error": {"code": "refused", "message": str(error)}}
        assert entry.state is None
        return
    assert answer == {"id": 1, "ok": as_json(steps)}
    for names in commits:
        answer = ask(entry, "commit", {"sidecars": names})
        try:
            steps, state = rules.plan_commit(state, tuple(names))
            assert answer == {"id": 1, "ok": as_json(steps)}
        except rules.RuleRefused as error:
            assert answer["error"] == {"code": "refused", "message": str(error)}
        assert entry.state == state


MALFORMED = [
    b"", b"x", b"[]", b"null", b"{}", b'{"id":1}', b'{"id":1,"op":"commit"}', b'{"id":"1","op":"commit","args":{}}',
    b'{"id":1,"op":"commit","args":{},"more":1}', b'{"id":1,"op":"commit","args":{}}x',
    b'{"id":1,"op":"commit","args":{}}{}',
    b'{"id":1.5,"op":"commit","args":{}}', b'{"id":true,"op":"commit","args":{}}', b"\xff", b"\0",
    b'{"id":1,"op":"commit","args":{"a":"\xff"}}',
]  # fmt: skip


@pytest.mark.parametrize("line", MALFORMED)
def test_a_malformed_request_gets_the_error_form_and_keeps_the_state(line):
    entry = opened()
    state = entry.state
    answer = json.loads(answer_line(entry, line + b"\n"))
    assert answer["id"] is None and answer["error"]["code"] == "malformed"
    assert entry.state == state


REFUSED = [
    ("none", {}, "unknown_op"), ("open", OPEN, "out_of_place"), ("commit", {}, "bad_args"),
    ("commit", {"sidecars": [], "more": 1}, "bad_args"), ("commit", {"sidecars": "c1.entries.jsonl"}, "bad_args"),
    ("commit", {"sidecars": [C1, C1]}, "refused"), ("flush", {"sidecars": ["main.jsonl"]}, "refused"),
    ("complete_length", {"length": True, "last_newline": None}, "bad_args"),
    ("complete_length", {"length": 3, "last_newline": 3}, "refused"), ("close", {"now": True}, "bad_args"),
    ("directories", {"fsync": True, "storage": "/a", "home": "/b", "missing": []}, "refused"),
    ("fail", {"begun": [{"kind": "jump", "name": "", "length": 0}], "main_length": 0, "sidecar_lengths": {}},
     "bad_args"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "args", "code"), REFUSED)
def test_a_refused_request_keeps_the_state(op, args, code):
    entry = opened()
    state = entry.state
    answer = ask(entry, op, args, id=7)
    assert (answer["id"], answer["error"]["code"]) == (7, code)
    assert (entry.state, entry.failed) == (state, False)


def test_nothing_but_open_is_in_place_before_open():
    for op, args in (("commit", {"sidecars": []}), ("flush", {"sidecars": []}), ("close", {})):
        assert ask(LogEntry(), op, args)["error"]["code"] == "out_of_place"


def test_a_failed_stepper_says_how_to_put_back_and_can_only_be_closed():
    entry = opened()
    begun = [{"kind": "write_sidecar", "name": C1, "length": 0}, {"kind": "write_marker", "name": "", "length": 0}]
    answer = ask(entry, "fail", {"begun": begun, "main_length": 70, "sidecar_lengths": {C1: 5}})
    assert [(step["kind"], step["length"]) for step in answer["ok"]["steps"]] == [
        ("cut_main", 70), ("flush_main", 0), ("cut_sidecar", 5),
    ]  # fmt: skip
    assert ask(entry, "commit", {"sidecars": []})["error"]["code"] == "out_of_place"
    assert ask(entry, "close", {}) == {"id": 1, "ok": {}}
    assert "ok" in ask(entry, "open", OPEN)


def test_a_sidecar_shorter_than_confirmed_is_refused():
    facts = OPEN | {"length": 9, "last_newline": 8, "sidecars": [SidecarFacts(C1, 4, 5)._asdict()]}
    answer = ask(LogEntry(), "open", facts)
    assert answer["error"] == {"code": "refused", "message": f"{C1}: 4 bytes, but the log confirms 5"}


def test_directories_are_planned_as_the_rule_plans_them():
    args = {"fsync": True, "storage": "/h/s", "home": "/h", "missing": ["/h/s"]}
    assert ask(LogEntry(), "directories", args)["ok"] == {
        "steps": [
            {"kind": "flush_if_readable", "path": "/"},
            {"kind": "make", "path": "/h/s"},
            {"kind": "flush", "path": "/h"},
        ],
        "owed": [],
    }


@settings(derandomize=True)
@given(st.lists(st.binary(max_size=60), max_size=4))
def test_any_bytes_get_one_answer_a_line_and_never_an_exception(pieces):
    entry = opened()
    state = entry.state
    data = b"\n".join(pieces)
    sink = io.BytesIO()
    serve(entry, io.BytesIO(data), sink)
    answers = sink.getvalue().splitlines()
    assert len(answers) == data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    assert all("error" in json.loads(answer) for answer in answers)
    assert entry.state == state


def test_another_program_can_ask_over_standard_input_and_output():
    code = "from eukhe.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "rules", "log"],
        input=b'{"id":1,"op":"complete_length","args":{"length":5,"last_newline":2}}\n',
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"id":1,"ok":{"length":3}}\n', b"")
