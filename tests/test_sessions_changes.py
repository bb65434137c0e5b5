"""Importing, forking and deleting sessions on a real disk."""

from __future__ import annotations

import errno
import os

import pytest

from eukhe.errors import StorageDamaged, StorageExists, StorageFailed, StorageInUse, StorageUnusable
from eukhe.sessions import delete_session, fork_session, import_session, list_sessions
from eukhe.sessions.errors import (
    ForkPointUnknown,
    LegacyDamaged,
    SessionNotFound,
    SessionNotImported,
    SessionsFailed,
)
from eukhe.storage import Storage, put, read_storage, session_meta
from eukhe.system import OsSystem
from tests.test_staging_build import Failing

HEADER = b'{"type":"session","id":"x","cwd":"/work","timestamp":"2026-01-01T00:00:00Z","more":[1]}\n'
META = session_meta("/work", "2026-01-01T00:00:00Z")


def entry(number, body="text", conversation=1):
    return put({"type": "entry", "id": number, "conversation": conversation, "body": body})


def entries(path):
    found = [change["put"] for commit in read_storage(path).commits for change in commit.changes]
    return [(record["id"], record.get("body")) for record in found if record["type"] == "entry"]


@pytest.fixture
def source(tmp_path):
    with Storage.open(tmp_path / "src", inline_bytes=64) as storage:
        storage.commit([META, put({"type": "conversation", "id": 1}), put({"type": "conversation", "id": 2})])
        storage.commit([entry(1, "long " * 20), entry(3, "long " * 30), entry(2, "long " * 25), entry(9, "other", 2)])
        storage.commit([entry(4, "short")])
    return tmp_path


def test_an_import_keeps_every_message_and_the_header_and_only_reads_the_file(tmp_path):
    file = tmp_path / "old.jsonl"
    file.write_bytes(
        HEADER + b'{"n":123456789012345678901234567890}\n{"n":"\xc3\xa9"}\n{"big":"' + b"x" * 20_000 + b'"}\n{"torn'
    )
    before = file.read_bytes()
    done = import_session(str(file), str(tmp_path))
    assert (done.messages, done.torn_bytes) == (3, 6)
    assert entries(done.path) == [
        (1, {"n": 123456789012345678901234567890}),
        (2, {"n": "é"}),
        (3, {"big": "x" * 20_000}),
    ]
    first = read_storage(done.path).commits[0].changes
    assert first[0] == META
    assert first[1]["put"]["body"]["header"]["more"] == [1]
    assert file.read_bytes() == before
    assert [(row.id, row.place) for row in list_sessions(str(tmp_path)).rows] == [("old", "old")]


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (b"", 1), (b'{"type":"session"', 1), (b"{}\n", 1), (HEADER.replace(b"session", b"other"), 1),
        (HEADER + b"{}\nnot json\n{}\n", 3), (HEADER + b"\n", 2), (HEADER + b"[1]\n", 2),
        (HEADER + b'{"a":"\xff"}\n', 2), (HEADER + b"\0\0\0\n", 2), (HEADER + b"[" * 10_000 + b"\n", 2),
    ],
)  # fmt: skip
def test_a_bad_complete_line_is_named_and_nothing_is_imported(tmp_path, lines, line):
    (tmp_path / "old.jsonl").write_bytes(lines)
    with pytest.raises(LegacyDamaged) as error:
        import_session(str(tmp_path / "old.jsonl"), str(tmp_path))
    assert error.value.line == line
    assert os.listdir(tmp_path) == ["old.jsonl"]


def test_an_import_never_replaces_and_takes_another_name(tmp_path):
    (tmp_path / "old.jsonl").write_bytes(HEADER)
    (tmp_path / "old").mkdir()
    with pytest.raises(StorageExists):
        import_session(str(tmp_path / "old.jsonl"), str(tmp_path))
    assert import_session(str(tmp_path / "old.jsonl"), str(tmp_path), "new").messages == 0
    with pytest.raises(SessionNotFound):
        import_session(str(tmp_path / "none.jsonl"), str(tmp_path))
    with pytest.raises(StorageUnusable):
        import_session(str(tmp_path / "old.jsonl"), str(tmp_path), ".x")


@pytest.mark.parametrize(("call", "code"), [("pwrite", errno.ENOSPC), ("mkdir", errno.ENOSPC), ("fsync", errno.EIO)])
def test_an_import_that_fails_says_so_and_leaves_nothing(tmp_path, call, code):
    (tmp_path / "old.jsonl").write_bytes(HEADER + b"{}\n" * 10)
    with pytest.raises((SessionsFailed, StorageFailed), match=os.strerror(code)):
        import_session(str(tmp_path / "old.jsonl"), str(tmp_path), system=Failing(call, code))
    assert os.listdir(tmp_path) == ["old.jsonl"]


def test_a_fork_at_the_latest_entry_is_the_whole_storage_without_unconfirmed_bytes(source):
    with Storage.open(source / "src", inline_bytes=64) as storage:
        with open(source / "src" / "main.jsonl", "ab") as main, open(source / "src" / "c1.entries.jsonl", "ab") as side:
            main.write(b'{"commit":4')
            side.write(b"unconfirmed")
        done = fork_session(str(source), "src", "fork")
        assert storage.last_commit == 3
    assert done.commits == 3
    view = read_storage(done.path)
    assert view.torn_bytes == 0
    assert view.commits == read_storage(source / "src").commits
    confirmed = os.path.getsize(source / "src" / "c1.entries.jsonl") - len(b"unconfirmed")
    assert os.path.getsize(source / "fork" / "c1.entries.jsonl") == confirmed


def test_a_fork_at_an_entry_ends_with_it_and_can_be_gone_on_with(source):
    done = fork_session(str(source), "src", "fork", 2)
    assert entries(done.path) == [(1, "long " * 20), (2, "long " * 25), (9, "other")]
    with Storage.open(done.path, inline_bytes=64) as storage:
        storage.commit([entry(3, "again " * 20)])
    assert entries(done.path)[-1] == (3, "again " * 20)
    assert len(entries(fork_session(str(source), "src", "first", 1).path)) == 2
    assert len(entries(fork_session(str(source), "src", "last", 4).path)) == 5


def test_an_empty_fork_works_in_the_same_directory(source):
    done = fork_session(str(source), "src", "fork", "empty")
    (commit,) = read_storage(done.path).commits
    assert commit.changes[0]["put"]["body"]["cwd"] == "/work"
    assert done.commits == 1


def test_a_fork_from_what_is_not_there_says_what_is_wrong(source):
    (source / "old.jsonl").write_bytes(HEADER)
    (source / "file").touch()
    for name, error in (("none", SessionNotFound), ("old", SessionNotImported), ("file", SessionNotFound)):
        with pytest.raises(error):
            fork_session(str(source), name, "fork")
    with pytest.raises(ForkPointUnknown):
        fork_session(str(source), "src", "fork", 77)
    with pytest.raises(StorageExists):
        fork_session(str(source), "src", "src")
    assert sorted(os.listdir(source)) == ["file", "old.jsonl", "src"]


@pytest.mark.parametrize("damage", ["line", "sidecar", "no sidecar"])
def test_a_damaged_source_is_not_forked(source, damage):
    if damage == "line":
        with open(source / "src" / "main.jsonl", "ab") as main:
            main.write(b"what\n")
    elif damage == "sidecar":
        os.truncate(source / "src" / "c1.entries.jsonl", 10)
    else:
        os.unlink(source / "src" / "c1.entries.jsonl")
    with pytest.raises(StorageDamaged):
        fork_session(str(source), "src", "fork")
    assert os.listdir(source) == ["src"]


def test_a_deleted_session_is_gone_with_its_legacy_file(source):
    (source / "src.jsonl").write_bytes(HEADER)
    assert delete_session(str(source), "src") == []
    assert os.listdir(source) == []
    with pytest.raises(SessionNotFound):
        delete_session(str(source), "src")


def test_a_session_in_use_is_not_deleted_and_a_legacy_file_can_be(source):
    with Storage.open(source / "src"), pytest.raises(StorageInUse):
        delete_session(str(source), "src")
    (source / "old.jsonl").write_bytes(HEADER)
    delete_session(str(source), "old")
    assert os.listdir(source) == ["src"]


class ImportedMeanwhile(OsSystem):
    """The real system; a legacy file is imported by somebody else when it is about to be removed."""

    def unlink(self, path, *, dir_fd=None):
        if path.endswith("old.jsonl") and not os.path.exists(path.removesuffix(".jsonl")):
            import_session(path, os.path.dirname(path))
        super().unlink(path, dir_fd=dir_fd)


def test_what_is_imported_between_the_look_and_the_removal_is_deleted_too(tmp_path):
    (tmp_path / "old.jsonl").write_bytes(HEADER)
    assert delete_session(str(tmp_path), "old", system=ImportedMeanwhile()) == []
    assert os.listdir(tmp_path) == []


def test_what_is_no_session_is_not_deleted(source):
    (source / "dir").mkdir()
    with pytest.raises(StorageUnusable):
        delete_session(str(source), "dir")
    for name in ("..", "", ".hidden", "a/b"):
        with pytest.raises(SessionNotFound):
            delete_session(str(source), name)
    assert sorted(os.listdir(source)) == ["dir", "src"]


def test_what_cannot_be_removed_of_a_deleted_session_is_told_and_left_to_a_sweep(source):
    problems = delete_session(str(source), "src", system=Failing("unlink", errno.EACCES, "c1.entries.jsonl"))
    assert problems[0][0].rpartition("/")[2] == "c1.entries.jsonl"
    assert list_sessions(str(source)).rows == []
    assert len(os.listdir(source)) == 2
