"""Session epochs on a real disk: the nine behaviours that the source pins first, then what is built on them."""

import json
import os

import pytest

from eukhe.epochs import (
    Assistant,
    Baseline,
    Encode,
    EpochEnd,
    Io,
    NoCarry,
    NotFound,
    Session,
    SessionStart,
    ToolResult,
    Torn,
    User,
    directory_of,
    read_session,
)

START = {"type": "session_start", "slot": 3}
HELLO = {"type": "user", "text": "hello"}
END = {"type": "epoch_end", "next": 1, "summary": "so far"}


def write_epoch(home, epoch, records, baseline=True):
    path = home / "epochs" / "a"
    path.mkdir(parents=True, exist_ok=True)
    if records is not None:
        (path / f"{epoch}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    if baseline:
        (path / f"{epoch}.baseline.json").write_text('{"model": "m"}')
    return path


def result(call, untrusted=False):
    return {"type": "tool_result", "call": call, "untrusted": untrusted, "output": "x"}


def test_two_epochs_open_as_the_second_with_the_firsts_summary(tmp_path):
    write_epoch(tmp_path, 0, [START, HELLO, END])
    write_epoch(tmp_path, 1, [START])
    with Session.open(tmp_path, "a") as session:
        assert (session.epoch, session.carry, session.records) == (1, "so far", [SessionStart(3)])


@pytest.mark.parametrize("first", [[START, HELLO], [START, END | {"next": 2}], None])
def test_a_first_epoch_that_does_not_end_for_the_second_is_no_carry(tmp_path, first):
    write_epoch(tmp_path, 0, first)
    path = write_epoch(tmp_path, 1, [START])
    with pytest.raises(NoCarry) as caught:
        Session.open(tmp_path, "a")
    assert caught.value.path == str(path / "0.jsonl")
    assert "docs/runbook.md#session-log-damaged" in str(caught.value)


def test_the_first_epoch_has_no_carry_and_keeps_its_slot(tmp_path):
    Session.create(tmp_path, "a", {"model": "m"}, 7).close()
    with Session.open(tmp_path, "a") as session:
        assert (session.epoch, session.carry, session.slot) == (0, None, 7)


def test_turns_span_the_epochs_and_records_do_not(tmp_path):
    write_epoch(tmp_path, 0, [START, HELLO, HELLO, END])
    write_epoch(tmp_path, 1, [START, HELLO])
    with Session.open(tmp_path, "a") as session:
        assert session.turns == 3
        assert [record for record in session.records if isinstance(record, User)] == [User("hello")]


def test_an_untrusted_result_taints_every_later_epoch(tmp_path):
    write_epoch(tmp_path, 0, [START, result(1, untrusted=True), END])
    write_epoch(tmp_path, 1, [START])
    with Session.open(tmp_path, "a") as session:
        assert session.untrusted


def test_the_next_call_is_one_more_than_the_highest_of_any_epoch(tmp_path):
    write_epoch(tmp_path, 0, [START, result(4), END])
    write_epoch(tmp_path, 1, [START, result(2)])
    with Session.open(tmp_path, "a") as session:
        assert session.next_call == 5


def test_an_append_writes_the_current_epochs_log(tmp_path):
    path = write_epoch(tmp_path, 0, [START, END])
    write_epoch(tmp_path, 1, [START])
    first = (path / "0.jsonl").read_bytes()
    with Session.open(tmp_path, "a") as session:
        session.append(User("more"))
    assert (path / "0.jsonl").read_bytes() == first
    assert (path / "1.jsonl").read_text().endswith('{"type":"user","text":"more"}\n')


def test_a_baseline_without_its_log_is_ignored(tmp_path):
    write_epoch(tmp_path, 0, [START, HELLO])
    write_epoch(tmp_path, 1, None)
    with Session.open(tmp_path, "a") as session:
        assert (session.epoch, session.turns) == (0, 1)


def test_an_epoch_end_without_the_next_files_stays_on_its_epoch(tmp_path):
    write_epoch(tmp_path, 0, [START, HELLO, END])
    with Session.open(tmp_path, "a") as session:
        assert (session.epoch, session.carry, session.half_compacted) == (0, None, True)
        assert session.records[-1] == EpochEnd(1, "so far")


def test_what_is_appended_is_read_by_the_next_open(tmp_path):
    records = [User("ž 🐎"), Assistant("ok\n"), ToolResult(2**53, True, {"deep": [1, None]}), ToolResult(2, False, "")]
    with Session.create(tmp_path, "a", {"model": "m", "n": [1]}, 3) as session:
        for record in records:
            session.append(record)
        assert (session.turns, session.untrusted, session.next_call) == (1, True, 2**53 + 1)
    with Session.open(tmp_path, "a") as session:
        assert session.records == [SessionStart(3), *records]
        assert (session.turns, session.untrusted, session.next_call, session.slot) == (1, True, 2**53 + 1, 3)
        assert session.baseline == {"model": "m", "n": [1]}


def test_a_log_without_a_start_has_slot_0_and_an_empty_one_is_no_damage(tmp_path):
    write_epoch(tmp_path, 0, [])
    with Session.open(tmp_path, "a") as session:
        assert (session.slot, session.records, session.next_call) == (0, [], 1)


def test_fields_that_nobody_knows_are_left_alone(tmp_path):
    path = write_epoch(tmp_path, 0, [START | {"at": 5}, HELLO | {"id": "x"}])
    before = (path / "0.jsonl").read_bytes()
    with Session.open(tmp_path, "a") as session:
        assert session.records == [SessionStart(3), User("hello")]
    assert (path / "0.jsonl").read_bytes() == before


@pytest.mark.parametrize("tail", [b"x", b'{"type":"user","text":"half', b"\0" * 100, b"\xf0\x9f"])
def test_a_torn_last_line_is_named_with_its_number_and_left(tmp_path, tail):
    path = write_epoch(tmp_path, 0, [START, HELLO])
    with open(path / "0.jsonl", "ab") as log:
        log.write(tail)
    before = (path / "0.jsonl").read_bytes()
    with pytest.raises(
        Torn, match=r"0\.jsonl:3: last line does not end in a newline; see docs/runbook\.md#session-log-d"
    ):
        Session.open(tmp_path, "a")
    assert (path / "0.jsonl").read_bytes() == before


@pytest.mark.parametrize("line", [b"{}", b"", b"\0\0", b'{"type":"note"}', b'{"type":"user","text":"\xff"}', b"[1]"])
def test_a_complete_line_that_is_no_record_is_named_with_its_number(tmp_path, line):
    path = write_epoch(tmp_path, 0, [START])
    with open(path / "0.jsonl", "ab") as log:
        log.write(line + b"\n" + json.dumps(HELLO).encode())
    with pytest.raises(Torn) as caught:
        Session.open(tmp_path, "a")
    assert (caught.value.path, caught.value.line) == (str(path / "0.jsonl"), 2)


def test_damage_in_an_earlier_log_is_named_in_that_file(tmp_path):
    path = write_epoch(tmp_path, 0, [START, END])
    write_epoch(tmp_path, 1, [START])
    with open(path / "0.jsonl", "ab") as log:
        log.write(b"torn")
    with pytest.raises(Torn, match=r"0\.jsonl:3"):
        Session.open(tmp_path, "a")


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"a":1}{', b"\0"])
def test_a_baseline_that_is_no_object_is_named(tmp_path, data):
    path = write_epoch(tmp_path, 0, [START])
    (path / "0.baseline.json").write_bytes(data)
    with pytest.raises(Baseline) as caught:
        Session.open(tmp_path, "a")
    assert caught.value.path == str(path / "0.baseline.json")


def test_a_missing_middle_log_is_no_carry_naming_it(tmp_path):
    write_epoch(tmp_path, 0, [START, END])
    path = write_epoch(tmp_path, 2, [START])
    write_epoch(tmp_path, 1, [START, END | {"next": 2}])
    (path / "0.jsonl").unlink()
    with pytest.raises(NoCarry) as caught:
        Session.open(tmp_path, "a")
    assert caught.value.path == str(path / "0.jsonl")


def test_names_that_are_no_epochs_are_ignored(tmp_path):
    path = write_epoch(tmp_path, 0, [START])
    for name in ("01", "+1", "-1", "4294967296", "x", " 2"):
        (path / f"{name}.jsonl").write_text("junk")
        (path / f"{name}.baseline.json").write_text("{}")
    with Session.open(tmp_path, "a") as session:
        assert session.epoch == 0


def test_no_session_is_not_found(tmp_path):
    write_epoch(tmp_path, 0, None)
    for id in ("a", "b"):
        with pytest.raises(NotFound, match=f"no session {id} here"):
            Session.open(tmp_path, id)
        with pytest.raises(NotFound):
            read_session(directory_of(tmp_path, id))


@pytest.mark.parametrize("id", ["", ".", "..", "a/b", ".hidden", "a\0b"])
def test_an_id_that_is_no_visible_file_name_is_refused(tmp_path, id):
    with pytest.raises(Io):
        Session.create(tmp_path, id, {})
    assert os.listdir(tmp_path) == []


def test_a_second_creation_is_refused_and_one_after_a_half_one_is_not(tmp_path):
    write_epoch(tmp_path, 0, None)
    Session.create(tmp_path, "a", {"n": 1}).close()
    with pytest.raises(Io, match="a session is here already"):
        Session.create(tmp_path, "a", {"n": 2})
    assert read_session(directory_of(tmp_path, "a")).baseline == {"n": 1}


def test_a_log_that_lost_its_baseline_is_never_written_over_by_a_creation(tmp_path):
    path = write_epoch(tmp_path, 0, [START, HELLO], baseline=False)
    with pytest.raises(Io):
        Session.create(tmp_path, "a", {})
    assert b"hello" in (path / "0.jsonl").read_bytes()


@pytest.mark.parametrize(
    "record",
    [User("\ud800"), ToolResult(1, False, float("nan")), ToolResult(1, False, (1,)), ToolResult(-1, False, 1), User(5)],
)
def test_a_record_without_an_exact_form_is_refused_before_a_byte_is_written(tmp_path, record):
    with Session.create(tmp_path, "a", {}) as session:
        size = os.path.getsize(f"{session.path}/0.jsonl")
        with pytest.raises(Encode):
            session.append(record)
        assert os.path.getsize(f"{session.path}/0.jsonl") == size
        session.append(User("goes on"))
        assert session.turns == 1


def test_a_closed_session_takes_no_record(tmp_path):
    session = Session.create(tmp_path, "a", {})
    session.close()
    session.close()
    with pytest.raises(Io, match="the session is closed"):
        session.append(User("late"))
