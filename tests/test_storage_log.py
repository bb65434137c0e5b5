"""A storage on a real disk: what is committed is read, torn tails go, damage stays untouched, one writer at a time."""

import os
import subprocess
import sys

import pytest

from eukhe.errors import (
    ChangeRefused,
    StorageClosed,
    StorageDamaged,
    StorageInUse,
    StorageUnusable,
)
from eukhe.storage import Storage, put, read_storage, session_meta


def entry(id, body="text", conversation=1):
    return put({"type": "entry", "id": id, "conversation": conversation, "body": body})


def files(path):
    return {name: (path / name).read_bytes() for name in sorted(os.listdir(path))}


@pytest.fixture
def store(tmp_path):
    """A closed storage with two commits."""
    path = tmp_path / "s"
    with Storage.open(path) as storage:
        storage.commit([session_meta("/work", "2026-01-01T00:00:00.000Z")])
        storage.commit([entry(1), entry(2, "é" * 20_000)])
    return path


def test_commits_count_from_one_and_read_back_as_they_were_made(tmp_path):
    commits = [[session_meta("/w", "now")], [entry(1, "žluť 🐎"), entry(2, None)], [entry(3, "x" * 40_000, 2)]]
    with Storage.open(tmp_path / "s") as storage:
        assert [storage.commit(changes) for changes in commits] == [1, 2, 3]
        assert [commit.changes for commit in storage.commits] == commits
    with Storage.open(tmp_path / "s") as storage:
        assert storage.last_commit == 3
        assert [(commit.number, commit.changes) for commit in storage.commits] == list(enumerate(commits, 1))
        assert storage.commit([entry(4)]) == 4


def test_the_files_are_as_the_format_says(store):
    first, second = files(store)["main.jsonl"].splitlines()
    assert first == (
        b'{"commit":1,"changes":[{"put":{"type":"document","kind":"session","key":"meta","scope":"session",'
        b'"body":{"cwd":"/work","created":"2026-01-01T00:00:00.000Z"}}}]}'
    )
    assert second == (
        b'{"commit":2,"changes":[{"put":{"type":"entry","id":1,"conversation":1,"body":"text"}},'
        b'{"put":{"type":"entry","id":2,"conversation":1,"sidecar_body":{"offset":0,"length":40033}}}],'
        b'"sidecars":{"c1.entries.jsonl":40033}}'
    )
    assert files(store)["c1.entries.jsonl"] == '{{"commit":2,"entry":2,"body":"{}"}}\n'.format("é" * 20_000).encode()


def test_the_caller_may_change_its_objects_after_a_commit(tmp_path):
    record = {"type": "entry", "id": 1, "conversation": 1, "body": ["first"]}
    with Storage.open(tmp_path / "s") as storage:
        storage.commit([put(record)])
        record["body"].append("second")
        assert [commit.changes for commit in storage.take_history()] == [[entry(1, ["first"])]]


@pytest.mark.parametrize(
    "tail", [b"x", b'{"commit":3,"changes":[', b"\0" * 5000, b"\xf0\x9f", b'{"commit":9,"changes":[]}']
)
def test_a_torn_tail_is_cut_and_never_read(store, tail):
    whole = files(store)
    with open(store / "main.jsonl", "ab") as main:
        main.write(tail)
    assert [commit.number for commit in read_storage(store).commits] == [1, 2]
    with Storage.open(store) as storage:
        assert storage.last_commit == 2
        assert files(store) == whole
        assert storage.commit([entry(3)]) == 3
    assert [commit.number for commit in read_storage(store).commits] == [1, 2, 3]


def test_a_file_without_a_torn_tail_is_left_as_it_is_byte_for_byte(store):
    whole = files(store)
    Storage.open(store).close()
    assert files(store) == whole


def test_every_cut_of_the_last_line_opens_as_the_commits_before_it(store):
    data = (store / "main.jsonl").read_bytes()
    start = data.index(b"\n") + 1
    for cut in range(start, len(data)):
        (store / "main.jsonl").write_bytes(data[:cut])
        with Storage.open(store, fsync=False) as storage:
            assert storage.last_commit == 1
        assert (store / "main.jsonl").read_bytes() == data[:start]
        assert (store / "c1.entries.jsonl").read_bytes() == b"", "what no commit confirms is cut"
        (store / "c1.entries.jsonl").write_bytes(b"y" * 50_000)


def test_sidecar_bytes_that_no_commit_confirms_are_cut(store):
    whole = files(store)
    with open(store / "c1.entries.jsonl", "ab") as sidecar:
        sidecar.write(b"half a body")
    (store / "c7.entries.jsonl").write_bytes(b"never confirmed")
    (store / "notes.txt").write_bytes(b"not ours")
    Storage.open(store).close()
    assert files(store) == whole | {"c7.entries.jsonl": b"", "notes.txt": b"not ours"}


def replace(path, old, new):
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


DAMAGES = {
    "bad JSON": (lambda s: replace(s / "main.jsonl", b'"commit":1', b'"commit":'), "main.jsonl", 1),
    "NUL block": (lambda s: replace(s / "main.jsonl", b"/work", b"\0\0\0\0\0"), "main.jsonl", 1),
    "not UTF-8": (lambda s: replace(s / "main.jsonl", b"/work", b"/w\xffrk"), "main.jsonl", 1),
    "a gap": (lambda s: replace(s / "main.jsonl", b'"commit":2', b'"commit":3'), "main.jsonl", 2),
    "a repeat": (lambda s: replace(s / "main.jsonl", b'"commit":2', b'"commit":1'), "main.jsonl", 2),
    "an empty line": (lambda s: replace(s / "main.jsonl", b"\n", b"\n\n"), "main.jsonl", 2),
    "a first line lost": (lambda s: (s / "main.jsonl").write_bytes((s / "main.jsonl").read_bytes().split(b"\n", 1)[1]),
                          "main.jsonl", 1),
    "a wrong sidecar name": (lambda s: replace(s / "main.jsonl", b"c1.entries.jsonl", b"../x"), "main.jsonl", 2),
    "a sidecar shorter than confirmed": (lambda s: os.truncate(s / "c1.entries.jsonl", 40_032), "c1.entries.jsonl", 0),
    "a sidecar missing": (lambda s: (s / "c1.entries.jsonl").unlink(), "c1.entries.jsonl", 0),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_and_opening_changes_no_byte(store, damage):
    break_it, file, line = DAMAGES[damage]
    break_it(store)
    with open(store / "main.jsonl", "ab") as main:
        main.write(b"torn")
    before = files(store)
    for attempt in (lambda: Storage.open(store), lambda: read_storage(store)):
        with pytest.raises(StorageDamaged) as caught:
            attempt()
        assert (caught.value.path, caught.value.line) == (str(store / file), line)
        assert files(store) == before


def test_confirmed_lengths_never_shrink(store):
    with open(store / "main.jsonl", "ab") as main:
        main.write(b'{"commit":3,"changes":[],"sidecars":{"c1.entries.jsonl":5}}\n')
    with pytest.raises(StorageDamaged, match=r":3: the confirmed length of c1\.entries\.jsonl does not grow"):
        Storage.open(store)


def test_a_body_that_belongs_to_another_entry_is_damage_when_it_is_read(store):
    replace(store / "c1.entries.jsonl", b'"entry":2', b'"entry":3')
    with pytest.raises(StorageDamaged, match="the body of entry 2 at byte 0 belongs to entry 3 of commit 2"):
        read_storage(store)


@pytest.mark.parametrize("changes", [[], [{}], [entry(1), entry(0)], {"put": {}}, [entry(1, float("nan"))]])
def test_malformed_changes_fail_before_anything_is_written_and_the_storage_goes_on(store, changes):
    with Storage.open(store) as storage:
        before = files(store)
        with pytest.raises(ChangeRefused) as caught:
            storage.commit(changes)
        assert caught.value.index == (-1 if changes == [] else 1 if len(changes) == 2 else 0)
        assert files(store) == before
        assert storage.commit([entry(3)]) == 3


def test_the_field_that_points_into_a_sidecar_is_the_storages_own(store):
    with Storage.open(store) as storage, pytest.raises(ChangeRefused, match="only the storage sets"):
        storage.commit([put({"type": "entry", "id": 3, "conversation": 1, "sidecar_body": {"offset": 0, "length": 9}})])


def test_a_second_writer_is_refused_and_harms_nothing(store):
    with Storage.open(store) as storage:
        with pytest.raises(StorageInUse) as caught:
            Storage.open(store)
        assert caught.value.path == str(store)
        storage.commit([entry(3)])
    Storage.open(store).close()


def test_the_lock_dies_with_its_process(store):
    script = (
        "import sys, os; from eukhe.storage import Storage\n"
        "storage = Storage.open(sys.argv[1]); print('open', flush=True); sys.stdin.read(); os._exit(9)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(store)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout.readline() == b"open\n"
        with pytest.raises(StorageInUse):
            Storage.open(store)
        assert len(read_storage(store).commits) == 2, "a reader needs no lock"
        child.stdin.close()
        child.wait()
    Storage.open(store).close()


def test_directories_up_to_the_home_are_made_for_the_owner_only(tmp_path):
    with Storage.open(tmp_path / "home" / "a" / "s", home=tmp_path / "home") as storage:
        storage.commit([entry(1)])
    assert [os.stat(tmp_path / place).st_mode & 0o777 for place in ("home", "home/a", "home/a/s")] == [0o700] * 3
    assert os.stat(tmp_path / "home/a/s/main.jsonl").st_mode & 0o777 == 0o600


def test_a_path_that_cannot_be_a_storage_is_refused_by_name(tmp_path, store):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("s")
    for path, home in (("file", None), ("file/s", None), ("link", None), ("s", tmp_path / "other"), ("s", store)):
        with pytest.raises(StorageUnusable):
            Storage.open(tmp_path / path, home=home)
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "main.jsonl").symlink_to(store / "main.jsonl")
    with pytest.raises(StorageUnusable):
        Storage.open(tmp_path / "t")


def test_a_closed_storage_takes_no_call_and_closes_again(store):
    storage = Storage.open(store)
    storage.close()
    storage.close()
    for call in (lambda: storage.commit([entry(3)]), storage.flush, storage.take_history, lambda: storage.commits):
        with pytest.raises(StorageClosed):
            call()


def test_a_relative_path_works(store, monkeypatch):
    monkeypatch.chdir(store.parent)
    with Storage.open("s") as storage:
        assert storage.commit([entry(3)]) == 3
    with Storage.open("new/s", home=".") as storage:
        assert storage.commit([entry(1)]) == 1


def test_a_build_without_flushing_gives_the_same_bytes(tmp_path, store):
    with Storage.open(tmp_path / "built", fsync=False) as storage:
        storage.commit([session_meta("/work", "2026-01-01T00:00:00.000Z")])
        storage.commit([entry(1), entry(2, "é" * 20_000)])
        storage.flush()
    assert files(tmp_path / "built") == files(store)
