"""The journal of the session tree: what a person relies on, one sentence a test."""

from __future__ import annotations

import math
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eukhe.tree import BadRecord, Delete, Journal, Put, Rewind, model
from eukhe.tree.records import ID_MAX, canonical, decode_record, encode_record


def journal_of(*records):
    journal = Journal()
    for record in records:
        journal.push(record)
    journal.check()
    return journal


def nodes(journal, cursor=None):
    return [tuple(node) for node in journal.snapshot_at(journal.cursor if cursor is None else cursor)]


THREE = (Put(1, 0, "a"), Put(2, 1, "b"), Put(5, 2, {"k": [1, 1.5]}))


def test_a_put_below_the_root_or_a_node_sets_it():
    assert nodes(journal_of(*THREE)) == [(1, 0, "a"), (2, 1, "b"), (5, 2, {"k": [1, 1.5]})]


def test_a_rejected_record_changes_nothing_and_is_a_record():
    journal = journal_of(*THREE)
    for record in (Put(7, 6, "x"), Put(2, 2, "x"), Put(0, 0, "x"), Delete(0), Rewind(((1, None),))):
        assert journal.push(record) == (False, ())
    assert nodes(journal) == nodes(journal, 3)
    assert journal.cursor == 8
    assert journal.records_since(3)[0] == Put(7, 6, "x")


def test_a_delete_answers_what_it_removed_and_an_absent_id_removes_nothing():
    journal = journal_of(*THREE, Put(6, 1, "stays"), Put(6, 0, "moved"))
    assert journal.push(Delete(9)) == (True, ())
    assert journal.push(Delete(1)) == (True, (1, 2, 5))
    assert nodes(journal) == [(6, 0, "moved")]


def test_a_snapshot_stays_what_it_was_while_the_tree_goes_on():
    journal = journal_of(*THREE)
    before = journal.snapshot_at(3)
    shown = list(before)
    journal.push(Delete(1))
    assert list(before) == shown
    assert (len(before), 2 in before, 9 in before, before.get(9)) == (3, True, False, None)


def test_a_rewind_plan_is_ordered_so_that_it_can_be_carried_out_from_top_to_bottom():
    journal = journal_of(*THREE)
    for record in (Delete(2), Put(1, 0, "changed"), Put(8, 1, "new"), Put(9, 8, "newer")):
        journal.push(record)
    plan = journal.rewind_plan(3)
    assert plan.stops == (9, 8)
    assert plan.starts == ((2, 1, "b"), (5, 2, {"k": [1, 1.5]}))
    assert plan.restores == ((1, 0, "a"),)
    journal.push(plan.record())
    assert nodes(journal) == nodes(journal, 3)
    assert journal.rewind_plan(3) == (3, (), (), ())


def test_a_put_that_changes_nothing_has_no_part_in_a_plan():
    journal = journal_of(*THREE, Put(2, 1, "b"))
    assert journal.rewind_plan(3) == (3, (), (), ())
    assert journal.records_since(3) == [Put(2, 1, "b")]


def test_equal_values_are_kept_once_and_unequal_ones_are_told_apart():
    journal = journal_of(*(Put(i, 0, [1, {"b": 1, "a": 2}]) for i in range(1, 50)), Put(50, 0, [1, {"a": 2, "b": 1}]))
    assert len(journal._texts) == 1
    journal = journal_of(Put(1, 0, 1), Put(2, 0, 1.0), Put(3, 0, True), Put(4, 0, "1"))
    assert [repr(node[2]) for node in nodes(journal)] == ["1", "1.0", "True", "'1'"]


def test_a_caller_who_changes_its_value_later_does_not_change_the_tree():
    value = {"k": [1]}
    journal = journal_of(Put(1, 0, value))
    value["k"].append(2)
    assert nodes(journal) == [(1, 0, {"k": [1]})]


@pytest.mark.parametrize("value", [math.nan, math.inf, (1, 2), {1: 2}, date(2026, 1, 1), {1}, b"x", object(), "\ud800"])
def test_a_value_that_json_cannot_hold_is_refused_and_adds_no_record(value):
    journal = Journal()
    for record in (Put(1, 0, value), Rewind(((1, (0, "good")), (2, (0, value))))):
        with pytest.raises(BadRecord):
            journal.push(record)
    assert (journal.cursor, nodes(journal)) == (0, [])


@pytest.mark.parametrize("record", [Put(ID_MAX + 1, 0, 1), Put(True, 0, 1), Put("1", 0, 1), Delete(2**70), Delete(1.0)])
def test_an_id_that_is_no_integer_of_64_bits_is_refused(record):
    with pytest.raises(BadRecord):
        Journal().push(record)


@pytest.mark.parametrize("cursor", [-1, 4])
def test_a_cursor_that_has_not_been_is_an_error(cursor):
    journal = journal_of(*THREE)
    for ask in (journal.snapshot_at, journal.rewind_plan, journal.records_since):
        with pytest.raises(IndexError, match="has not been"):
            ask(cursor)


@pytest.mark.parametrize(
    "text", [b"{}", b"[]", b'{"put":[1,0]}', b'{"del":1,"put":[1,0,1]}', b'{"del":1.5}', b'{"x":1}', b'{"del":1}x']
)
def test_what_is_not_exactly_one_record_is_no_record(text):
    with pytest.raises(BadRecord):
        decode_record(text)


IDS = st.integers(-2, 40)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.one_of(
    st.builds(Put, IDS, IDS, JSON),
    st.builds(Delete, IDS),
    st.builds(Rewind, st.lists(st.tuples(IDS, st.none() | st.tuples(IDS, JSON)), max_size=4).map(tuple)),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(RECORDS, max_size=40))
def test_any_journal_is_the_models_tree_at_every_cursor(records):
    journal, tree = Journal(), {}
    for cursor, record in enumerate(records, 1):
        answer = journal.push(record)
        outcome = model.apply(tree, record)
        tree = outcome.tree
        assert answer == (outcome.taken, outcome.removed)
        assert {i: (parent, text) for i, parent, text in journal.snapshot_at(cursor).texts()} == tree
        assert model.is_sound(tree)
    journal.check()
    assert [encode_record(one) for one in journal.records_since(0)] == [encode_record(one) for one in records]


@settings(max_examples=150, deadline=None)
@given(JSON)
def test_a_value_is_read_back_from_its_text_as_itself(value):
    assert decode_record(encode_record(Put(1, 0, value))) == Put(1, 0, value)
    assert canonical(decode_record(encode_record(Put(1, 0, value))).value) == canonical(value)
