"""The doctor names every damage, never writes, and a repair keeps every commit that can be read, in a new storage."""

import os

import pytest

from eukhe.errors import StorageError, StorageExists, StorageNotFound
from eukhe.storage import Storage, examine, put, read_storage, repair
from tests.test_eukhe_failing_system import FailingSystem


def entry(id, body="text"):
    return put({"type": "entry", "id": id, "conversation": 1, "body": body})


LONG = "é" * 10_000


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "s"
    with Storage.open(path) as storage:
        for id in range(1, 5):
            storage.commit([entry(id, LONG if id in (2, 4) else "text")])
    return path


def files(path):
    return {name: (path / name).read_bytes() for name in sorted(os.listdir(path))}


def findings(diagnosis):
    return [(os.path.basename(f.file), f.line, f.damage) for f in diagnosis.findings]


def test_a_sound_storage_has_no_findings(store):
    diagnosis = examine(store)
    assert (findings(diagnosis), diagnosis.damaged, diagnosis.lines, len(diagnosis.kept)) == ([], False, 4, 4)


def test_what_a_crash_leaves_is_a_note_and_no_damage(store):
    for name in ("main.jsonl", "c1.entries.jsonl", "c9.entries.jsonl"):
        with open(store / name, "ab") as file:
            file.write(b"torn")
    diagnosis = examine(store)
    assert findings(diagnosis) == [
        ("main.jsonl", 5, False),
        ("c1.entries.jsonl", 0, False),
        ("c9.entries.jsonl", 0, False),
    ]
    assert not diagnosis.damaged
    Storage.open(store).close()
    assert findings(examine(store)) == []


def test_damage_costs_only_what_is_damaged(store, tmp_path):
    lines = (store / "main.jsonl").read_bytes().splitlines(keepends=True)
    lines[0] = b"\0" * 100 + b"\n"
    lines[2:3] = [lines[2], lines[2]]
    (store / "main.jsonl").write_bytes(b"".join(lines))
    before = files(store)
    diagnosis = repair(store, tmp_path / "t")
    assert findings(diagnosis) == [("main.jsonl", 1, True), ("main.jsonl", 2, True), ("main.jsonl", 4, True)]
    assert [f.why.split(":")[0] for f in diagnosis.findings] == [
        "100 NUL bytes stand in the line, from its byte 0 on", "commit 2 follows commit 0",
        "commit 3 comes again; not kept",
    ]  # fmt: skip
    assert files(store) == before
    assert [commit.changes for commit in read_storage(tmp_path / "t").commits] == [
        [entry(2, LONG)],
        [entry(3)],
        [entry(4, LONG)],
    ]
    assert not examine(tmp_path / "t").damaged


def test_a_lost_body_costs_the_body_only(store, tmp_path):
    os.truncate(store / "c1.entries.jsonl", 20_100)
    diagnosis = repair(store, tmp_path / "t")
    assert findings(diagnosis) == [("c1.entries.jsonl", 0, True), ("c1.entries.jsonl", 0, True)]
    assert "entry 4 is kept without its body" in diagnosis.findings[1].why
    without = put({"type": "entry", "id": 4, "conversation": 1})
    assert [commit.changes for commit in read_storage(tmp_path / "t").commits] == [
        [entry(1)], [entry(2, LONG)], [entry(3)], [without],
    ]  # fmt: skip


def test_a_missing_sidecar_costs_the_bodies_in_it(store):
    (store / "c1.entries.jsonl").unlink()
    diagnosis = examine(store)
    assert len(diagnosis.findings) == 3
    assert ["body" in commit.changes[0]["put"] for commit in diagnosis.kept] == [True, False, True, False]


def test_examining_makes_no_changing_call(store):
    with open(store / "main.jsonl", "ab") as main:
        main.write(b"bad\ntorn")
    system = FailingSystem(
        0, only=frozenset({"pwrite", "write", "ftruncate", "fsync", "mkdir", "flock", "rename", "unlink"})
    )
    assert examine(store, system=system).damaged
    assert system.calls == []


def test_a_repair_never_writes_over_anything(store, tmp_path):
    (tmp_path / "empty").mkdir()
    for taken in ("empty", "s"):
        with pytest.raises(StorageExists):
            repair(store, tmp_path / taken)
    assert os.listdir(tmp_path / "empty") == []


def test_a_repair_that_fails_anywhere_leaves_no_target_or_a_whole_one(store, tmp_path):
    whole = files(store)
    at = 0
    while True:
        system = FailingSystem(at)
        target = tmp_path / f"t{at}"
        try:
            repair(store, target, system=system)
        except StorageError:
            pass
        if target.exists():
            assert files(target) == whole
        assert files(store) == whole
        if not system.reached:
            break
        at += 1
    assert target.exists()


def test_no_storage_is_said(tmp_path):
    with pytest.raises(StorageNotFound):
        examine(tmp_path)
