"""Compaction: cut at any call it leaves the old epoch usable or the new one whole, and nothing acknowledged is
lost.
"""

import errno
import os
import threading

import pytest

from eukhe.epochs import (
    Cut,
    EpochEnd,
    Io,
    NotFound,
    Session,
    SessionError,
    SessionStart,
    ToolResult,
    Torn,
    User,
    examine,
    read_session,
    repair,
)
from tests.test_eukhe_failing_system import FailingSystem


def make(home, *texts):
    session = Session.create(home, "a", {"of": 0}, 3)
    for text in texts:
        session.append(User(text))
    return session


def path_of(home):
    return f"{home}/epochs/a"


def test_a_compaction_begins_the_next_epoch_with_the_slot_and_carries_the_summary(tmp_path):
    with make(tmp_path, "one") as session:
        session.append(ToolResult(6, True, None))
        assert session.compact("so far", {"of": 1}) == 1
        seen = [session, read_session(path_of(tmp_path))]
        for view in seen:
            assert (view.epoch, view.carry, view.slot, view.baseline) == (1, "so far", 3, {"of": 1})
            assert (view.records, view.turns, view.untrusted, view.next_call) == ([SessionStart(3)], 1, True, 7)
        session.append(User("two"))
        assert session.compact("and more", {"of": 2}) == 2
    with Session.open(tmp_path, "a") as session:
        assert (session.epoch, session.carry, session.turns, session.next_call) == (2, "and more", 2, 7)
    assert sorted(name for name in os.listdir(path_of(tmp_path))) == [
        f"{epoch}.{kind}" for epoch in range(3) for kind in ("baseline.json", "jsonl")
    ]


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_compaction_that_fails_at_any_call_loses_nothing_and_can_be_ended(tmp_path, code):
    at = 0
    halves = 0
    while True:
        home = tmp_path / f"{at}"
        make(home, "one", "two").close()
        system = FailingSystem(None, code)
        session = Session.open(home, "a", system=system)
        system._at = len(system.calls) + at
        try:
            session.compact("so far", {"of": 1})
        except Io:
            with pytest.raises(Io, match="open it again"):
                session.append(User("no"))
        session.close()
        with Session.open(home, "a") as again:
            assert again.turns == 2
            halves += again.half_compacted
            assert (again.epoch, again.carry) in ((0, None), (1, "so far"))
            if again.epoch == 0 and not again.resume_compaction():
                again.compact("so far", {"of": 1})
            assert (again.epoch, again.carry, again.turns, again.records) == (1, "so far", 2, [SessionStart(3)])
            again.append(User("three"))
        assert read_session(path_of(home)).turns == 3
        if not system.reached:
            break
        at += 1
    assert halves >= 6, "the failures from the epoch_end to the new log leave half compactions"


def test_an_append_that_fails_at_any_call_is_not_acknowledged_and_leaves_no_piece(tmp_path):
    at = 0
    while True:
        home = tmp_path / f"{at}"
        make(home, "one").close()
        system = FailingSystem(None)
        session = Session.open(home, "a", system=system)
        first = len(system.calls)
        system._at = first + at
        try:
            session.append(User("two"))
        except Io:
            unlocking = system.calls[system._at] == "flock" and system._at > first
            assert read_session(path_of(home)).turns == (2 if unlocking else 1)
        session.close()
        if not system.reached:
            break
        at += 1
    assert read_session(path_of(home)).turns == 2


def test_a_creation_that_fails_at_any_call_can_be_done_again(tmp_path):
    at = 0
    while True:
        home = tmp_path / f"{at}"
        system = FailingSystem(at)
        try:
            Session.create(home, "a", {"of": 0}, 3, system=system).close()
        except Io:
            try:
                Session.open(home, "a").close()
            except NotFound:
                Session.create(home, "a", {"of": 0}, 3).close()
        view = read_session(path_of(home))
        assert (view.epoch, view.slot, view.baseline) == (0, 3, {"of": 0})
        if not system.reached:
            break
        at += 1


def test_opening_fails_with_a_typed_error_at_any_call(tmp_path):
    make(tmp_path, "one").close()
    at = 0
    while True:
        system = FailingSystem(at)
        try:
            Session.open(tmp_path, "a", system=system).close()
        except SessionError as error:
            assert isinstance(error, Io)
        assert read_session(path_of(tmp_path)).turns == 1
        if not system.reached:
            break
        at += 1


def test_a_record_after_the_epoch_end_abandons_the_compaction(tmp_path):
    with make(tmp_path, "one") as session:
        session.append(EpochEnd(1, "abandoned"))
        session.append(User("two"))
        assert not session.half_compacted
        assert not session.resume_compaction()
        assert session.compact("so far", {"of": 1}) == 1
        assert session.carry == "so far"


def test_the_baseline_of_an_abandoned_compaction_is_not_taken_for_a_later_ones(tmp_path):
    with make(tmp_path, "one") as session:
        session.append(EpochEnd(1, "abandoned"))
        with open(f"{session.path}/1.baseline.json", "w") as file:
            file.write('{"of": "abandoned"}')
        session.append(User("two"))
    system = FailingSystem(None, only=frozenset({"rename"}))
    session = Session.open(tmp_path, "a", system=system)
    system._at = len(system.calls)
    with pytest.raises(Io):
        session.compact("so far", {"of": 1})
    session.close()
    with Session.open(tmp_path, "a") as session:
        assert session.resume_compaction()
        assert (session.carry, session.baseline) == ("so far", {"of": 0})


def test_a_resumed_compaction_keeps_the_baseline_that_it_had_put_down_or_takes_the_given(tmp_path):
    for given, expected in ((None, {"of": 1}), ({"of": "given"}, {"of": "given"})):
        home = tmp_path / str(expected["of"])
        with make(home, "one") as session:
            session.append(EpochEnd(1, "so far"))
            with open(f"{session.path}/1.baseline.json", "w") as file:
                file.write('{"of": 1}')
            assert session.resume_compaction(given)
            assert (session.epoch, session.baseline, session.carry) == (1, expected, "so far")


def test_a_log_that_lost_its_baseline_is_kept(tmp_path):
    with make(tmp_path, "one") as session:
        session.compact("so far", {"of": 1})
        session.append(User("two"))
        os.unlink(f"{session.path}/1.baseline.json")
    with Session.open(tmp_path, "a") as session:
        assert (session.epoch, session.half_compacted) == (0, True)
        assert "it is missing" in str(examine(session.path)[0])
        with pytest.raises(Io, match=r"1\.jsonl is there without its baseline"):
            session.compact("again", {"of": 2})
        assert session.turns == 1, "a refused compaction writes nothing"
        assert session.resume_compaction()
        assert (session.epoch, session.turns, session.records[-1]) == (1, 2, User("two"))


def test_a_process_that_holds_the_old_epoch_goes_on_in_the_new_one(tmp_path):
    with make(tmp_path, "one") as first, Session.open(tmp_path, "a") as second:
        second.compact("so far", {"of": 1})
        assert first.epoch == 0
        first.append(User("two"))
        assert (first.epoch, first.carry, first.turns) == (1, "so far", 2)
        second.append(User("three"))
        assert second.records == [SessionStart(3), User("two"), User("three")]
        first.compact("and more", {"of": 2})
        assert second.compact("and still more", {"of": 3}) == 3
    assert read_session(path_of(tmp_path)).turns == 3


def test_appends_of_two_holders_are_neither_lost_nor_mixed(tmp_path):
    make(tmp_path).close()
    texts = [[f"{who} {index} {'é' * 3000}" for index in range(15)] for who in "ab"]

    def append_all(mine):
        with Session.open(tmp_path, "a") as session:
            for text in mine:
                session.append(User(text))

    threads = [threading.Thread(target=append_all, args=(mine,)) for mine in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [record.text for record in read_session(path_of(tmp_path)).records if isinstance(record, User)]
    assert sorted(found) == sorted(texts[0] + texts[1])
    assert [text for text in found if text[0] == "a"] == texts[0]


def test_a_torn_line_of_another_process_stops_the_append(tmp_path):
    with make(tmp_path, "one") as session:
        with open(f"{session.path}/0.jsonl", "ab") as log:
            log.write(b'{"type":"user","te')
        with pytest.raises(Torn):
            session.append(User("two"))
        repair(session.path)
        session.append(User("two"))
    assert read_session(path_of(tmp_path)).turns == 2


class StoppedClock(FailingSystem):
    def time_ns(self):
        return 1_700_000_000_123_456_789


def test_a_repair_cuts_the_torn_line_and_keeps_its_bytes(tmp_path):
    make(tmp_path, "one").close()
    path = path_of(tmp_path)
    with open(f"{path}/0.jsonl", "ab") as log:
        log.write(b'{"type":"user","te')
    kept_in = f"{path}/0.jsonl.cut-1700000000123"
    assert repair(path, system=StoppedClock()) == [Cut(f"{path}/0.jsonl", 18, kept_in)]
    with open(kept_in, "rb") as file:
        assert file.read() == b'{"type":"user","te'
    assert read_session(path).turns == 1
    assert repair(path) == []


def test_a_repair_that_fails_at_any_call_keeps_every_byte_and_can_be_done_again(tmp_path):
    at = 0
    while True:
        home = tmp_path / f"{at}"
        make(home, "one").close()
        path = path_of(home)
        with open(f"{path}/0.jsonl", "ab") as log:
            log.write(b"torn")
        system = FailingSystem(at)
        try:
            repair(path, system=system)
        except Io:
            with open(f"{path}/0.jsonl", "rb") as log:
                left = log.read()
            kept = [name for name in os.listdir(path) if ".cut-" in name]
            assert left.endswith(b"torn") or any(os.path.getsize(f"{path}/{name}") == 4 for name in kept)
            os.utime(path)
            for name in kept:
                os.rename(f"{path}/{name}", f"{path}/{name}.before")
            repair(path)
        assert read_session(path).turns == 1
        if not system.reached:
            break
        at += 1


def test_a_repair_leaves_a_complete_bad_line_which_is_named(tmp_path):
    make(tmp_path, "one").close()
    path = path_of(tmp_path)
    with open(f"{path}/0.jsonl", "ab") as log:
        log.write(b"bad\n")
    assert repair(path) == []
    assert [str(error).split(": ")[0] for error in examine(path)] == [f"{path}/0.jsonl:3"]


def test_nothing_to_repair_or_examine_is_not_found(tmp_path):
    for call in (repair, examine):
        with pytest.raises(NotFound):
            call(tmp_path / "none")
        with pytest.raises(NotFound):
            call(tmp_path)


def test_looking_at_a_session_makes_no_changing_call(tmp_path):
    make(tmp_path, "one").close()
    changing = frozenset({"pwrite", "write", "ftruncate", "fsync", "mkdir", "rename", "unlink"})
    system = FailingSystem(0, only=changing)
    assert read_session(path_of(tmp_path), system=system).turns == 1
    assert examine(path_of(tmp_path), system=system) == []
    assert system.calls == []
