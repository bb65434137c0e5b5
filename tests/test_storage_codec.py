"""Commit lines: what is written reads back exactly, and what is not exactly a commit says why."""

import math
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eukhe.storage.bodies import move_long_bodies
from eukhe.storage.codec import (
    BODY_INLINE_BYTES,
    Commit,
    LineError,
    body_length,
    decode_commit,
    decode_sidecar_line,
    encode_changes,
    encode_commit,
)
from eukhe.storage.records import copy, put, retire, session_meta

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
IDS = st.integers(1, 2**53)
SCOPES = st.just("session") | st.builds(lambda id: {"conversation": id}, IDS) | st.builds(lambda id: {"task": id}, IDS)
KEYS = st.fixed_dictionaries({"kind": TEXT, "key": TEXT, "scope": SCOPES})
DOCUMENTS = KEYS.map(lambda key: {"type": "document", **key, "body": {"x": 1}})
RECORDS = (
    st.builds(lambda id, body: {"type": "conversation", "id": id, "body": body}, IDS, JSON)
    | st.builds(lambda kind, id, c, body: {"type": kind, "id": id, "conversation": c, "body": body},
                st.sampled_from(["entry", "task", "submission"]), IDS, IDS, JSON)
    | DOCUMENTS
)  # fmt: skip
CHANGES = st.one_of(RECORDS.map(put), KEYS.map(lambda key: retire(**key)), st.builds(copy, KEYS, DOCUMENTS))


@settings(derandomize=True)
@given(st.integers(1, 2**40), st.lists(CHANGES, min_size=1, max_size=4))
def test_a_line_reads_back_as_exactly_the_changes_it_was_made_of(number, changes):
    line, commit = encode_changes(number, changes)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert (commit.number, commit.changes, commit.sidecars) == (number, changes, {})
    assert decode_commit(line[:-1]) == commit
    assert encode_commit(commit) == line


@settings(derandomize=True)
@given(st.lists(CHANGES, min_size=1, max_size=2), st.data())
def test_no_piece_of_a_line_is_a_commit(changes, data):
    line, _ = encode_changes(7, changes)
    cut = data.draw(st.integers(0, len(line) - 2))
    with pytest.raises(LineError):
        decode_commit(line[:cut])


@pytest.mark.parametrize(
    "body",
    [math.nan, math.inf, (1, 2), {1: 2}, b"bytes", date(2026, 1, 1), {1, 2}, object(), "\ud800", {"a": [math.nan]}],
)
def test_a_value_without_an_exact_form_in_json_is_refused(body):
    with pytest.raises(LineError):
        encode_changes(1, [put({"type": "entry", "id": 1, "conversation": 1, "body": body})])


def test_nesting_without_end_is_refused_both_ways():
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(LineError):
        encode_changes(1, [put({"type": "conversation", "id": 1, "body": deep})])
    with pytest.raises(LineError):
        decode_commit(b'{"commit":1,"changes":' + b"[" * 100_000)


@pytest.mark.parametrize(
    "change",
    [
        {}, {"put": {}}, {"put": None}, {"keep": {}}, [], "put",
        {"put": {"type": "conversation", "id": 1}, "retire": {"kind": "a", "key": "b", "scope": "session"}},
        {"put": {"type": "conversation", "id": 0}}, {"put": {"type": "conversation", "id": True}},
        {"put": {"type": "conversation", "id": "1"}}, {"put": {"type": "conversation", "id": 1.5}},
        {"put": {"type": "entry", "id": 1}}, {"put": {"type": "note", "id": 1}},
        {"put": {"type": "task", "id": 1, "conversation": 1, "state": "lost"}},
        {"put": {"type": "document", "kind": "a", "key": "b"}},
        {"put": {"type": "document", "kind": "a", "key": "b", "scope": "all"}},
        {"put": {"type": "document", "kind": "a", "key": "b", "scope": {}}},
        {"put": {"type": "document", "kind": "a", "key": "b", "scope": {"conversation": 1, "task": 1}}},
        {"retire": {"kind": "a", "key": "b", "scope": "session", "type": "document"}},
        {"copy": {"from": {"kind": "a", "key": "b", "scope": "session"}}},
        {"copy": {"from": {"kind": "a", "key": "b", "scope": {}}, "record": session_meta("/", "now")["put"]}},
        {"put": {"type": "conversation", "id": 1, "fork_source": {"entry": 1}}},
    ],
)  # fmt: skip
def test_a_change_that_is_not_one_of_the_three_is_refused(change):
    with pytest.raises(LineError):
        encode_changes(1, [change])


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "the line is empty"),
        (b"\0\0\0", "3 NUL bytes stand in the line, from its byte 0 on"),
        (b'{"commit":1,"chan\0\0', "2 NUL bytes stand in the line, from its byte 17 on"),
        (
            b'{"commit":1,"changes":[{"put":{"type":"conversation","id":1,"body":"\xff"}}]}',
            "not UTF-8 at the line's byte 68",
        ),
        (b'{"commit":1,"changes":[]}x', "trailing"),
        (b'{"commit":1,"changes":[]}{"commit":2,"changes":[]}', "trailing"),
        (b'{"commit":1}', "changes"),
        (b'{"commit":1,"changes":[],"more":1}', "more"),
        (b'{"commit":0,"changes":[]}', "commit"),
        (b'{"commit":1,"changes":[],"sidecars":{"../../etc/passwd":1}}', "no name of a sidecar"),
        (b'{"commit":1,"changes":[],"sidecars":{"c1.entries.jsonl":-1}}', "sidecars"),
        (b"[1]", "object"),
    ],
)
def test_a_line_that_is_no_commit_says_why(line, why):
    with pytest.raises(LineError, match=why.replace("[", r"\[")):
        decode_commit(line)


def test_fields_that_nobody_knows_are_kept_in_records():
    record = {"type": "task", "id": 1, "conversation": 2, "state": "running", "made_by": {"v": [1, None]}, "scope": 7}
    line, commit = encode_changes(1, [put(record)])
    assert decode_commit(line[:-1]).changes == commit.changes == [{"put": record}]


def entry(id, conversation, length):
    return put({"type": "entry", "id": id, "conversation": conversation, "body": "x" * (length - 2), "head": 9})


def test_a_body_of_exactly_the_limit_stays_and_one_byte_more_moves():
    changes = [entry(1, 1, BODY_INLINE_BYTES), entry(2, 1, BODY_INLINE_BYTES + 1)]
    assert [body_length(change["put"]["body"]) for change in changes] == [BODY_INLINE_BYTES, BODY_INLINE_BYTES + 1]
    line, commit = encode_changes(3, changes)
    marker, moved, sidecars = move_long_bodies(line, commit, {"c1.entries.jsonl": 100}, BODY_INLINE_BYTES)
    data = sidecars["c1.entries.jsonl"]
    assert moved.changes[0] == changes[0]
    place = {"offset": 100, "length": len(data)}
    assert moved.changes[1] == put({"type": "entry", "id": 2, "conversation": 1, "sidecar_body": place, "head": 9})
    assert decode_commit(marker[:-1]) == moved == Commit(3, moved.changes, {"c1.entries.jsonl": 100 + len(data)})
    read = decode_sidecar_line(data[:-1])
    assert (read.commit, read.entry, read.body) == (3, 2, changes[1]["put"]["body"])


def test_long_bodies_of_several_conversations_go_each_to_its_own_sidecar():
    long = BODY_INLINE_BYTES + 1
    line, commit = encode_changes(1, [entry(1, 2, long), entry(2, 1, long), entry(3, 2, long)])
    _, moved, sidecars = move_long_bodies(line, commit, {}, BODY_INLINE_BYTES)
    assert list(sidecars) == ["c2.entries.jsonl", "c1.entries.jsonl"]
    assert moved.sidecars == {name: len(data) for name, data in sidecars.items()}
    second = moved.changes[2]["put"]["sidecar_body"]
    assert sidecars["c2.entries.jsonl"][second["offset"] :].startswith(b'{"commit":1,"entry":3,')


def test_a_long_body_of_another_record_stays_in_the_log():
    line, commit = encode_changes(1, [put({"type": "task", "id": 1, "conversation": 1, "body": "x" * 20_000})])
    assert move_long_bodies(line, commit, {}, BODY_INLINE_BYTES) == (line, commit, {})
