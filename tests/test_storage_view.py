"""Reading without opening: never a write, no lock, and right while another process commits."""

import os
import subprocess
import sys

import pytest

from eukhe.errors import StorageDamaged, StorageFailed, StorageNotFound
from eukhe.storage import Storage, put, read_storage
from eukhe.system import OsSystem
from tests.test_eukhe_failing_system import FailingSystem


def entry(id, body="text"):
    return put({"type": "entry", "id": id, "conversation": 1, "body": body})


def test_a_view_writes_nothing_and_takes_no_lock(tmp_path):
    path = tmp_path / "s"
    with Storage.open(path) as storage:
        storage.commit([entry(1), entry(2, "x" * 20_000)])
        system = FailingSystem(0, only=frozenset({"pwrite", "write", "ftruncate", "fsync", "mkdir", "flock", "rename"}))
        view = read_storage(path, system=system)
        assert system.calls == []
    assert (view.path, view.torn_bytes) == (str(path), 0)
    assert [commit.changes for commit in view.commits] == [[entry(1), entry(2, "x" * 20_000)]]


def test_a_torn_tail_is_counted_and_left(tmp_path):
    path = tmp_path / "s"
    with Storage.open(path) as storage:
        storage.commit([entry(1)])
    with open(path / "main.jsonl", "ab") as main:
        main.write(b"torn")
    assert (len(read_storage(path).commits), read_storage(path).torn_bytes) == (1, 4)
    assert (path / "main.jsonl").read_bytes().endswith(b"torn")


def test_no_storage_is_said_by_name(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    for path in ("none", "file", "empty"):
        with pytest.raises(StorageNotFound) as caught:
            read_storage(tmp_path / path)
        assert caught.value.path == str(tmp_path / path)


class Changing(FailingSystem):
    """The storage's content is another one at each reading."""

    def __init__(self, contents):
        super().__init__()
        self.contents = contents
        self.read = 0

    def open(self, path, flags, mode=0o777, *, dir_fd=None):
        with open(path, "wb") as main:
            main.write(self.contents[min(self.read, len(self.contents) - 1)])
        self.read += 1
        return OsSystem().open(path, flags, mode, dir_fd=dir_fd)


def lines(count):
    return b"".join(b'{"commit":%d,"changes":[]}\n' % number for number in range(1, count + 1))


def test_damage_is_read_again_before_it_is_believed(tmp_path):
    (tmp_path / "main.jsonl").write_bytes(b"")
    system = Changing([b'{"commit":1,"chan{"commit":1}\n', lines(1)])
    assert [commit.number for commit in read_storage(tmp_path, system=system).commits] == [1]
    assert system.read == 2


def test_damage_that_is_found_twice_alike_is_damage(tmp_path):
    (tmp_path / "main.jsonl").write_bytes(b"")
    system = Changing([b"x\n"])
    with pytest.raises(StorageDamaged):
        read_storage(tmp_path, system=system)
    assert system.read == 2


def test_a_storage_that_changes_under_every_reading_ends_in_an_error(tmp_path):
    (tmp_path / "main.jsonl").write_bytes(b"")
    with pytest.raises(StorageFailed, match="changed under each of 8 readings"):
        read_storage(tmp_path, system=Changing([lines(index) + b"x\n" for index in range(9)]))


def test_a_reader_beside_a_committing_process_always_sees_a_prefix(tmp_path):
    path = tmp_path / "s"
    commits = 150
    script = (
        "import sys; from eukhe.storage import Storage, put\n"
        "with Storage.open(sys.argv[1], fsync=False) as storage:\n"
        "    for id in range(1, int(sys.argv[2]) + 1):\n"
        "        body = 'x' * (20_000 if id % 3 == 0 else 10)\n"
        "        storage.commit([put({'type': 'entry', 'id': id, 'conversation': 1 + id % 2, 'body': body})])\n"
    )
    Storage.open(path).close()
    with subprocess.Popen([sys.executable, "-c", script, str(path), str(commits)]) as child:
        seen = 0
        while child.poll() is None or seen < commits:
            view = read_storage(path)
            assert [commit.number for commit in view.commits] == list(range(1, len(view.commits) + 1))
            assert [commit.changes[0]["put"]["id"] for commit in view.commits] == list(range(1, len(view.commits) + 1))
            assert all("body" in commit.changes[0]["put"] for commit in view.commits)
            assert len(view.commits) >= seen
            seen = len(view.commits)
            assert child.poll() in (None, 0)
    assert seen == commits


def test_a_main_file_in_many_blocks_reads_as_one(tmp_path, monkeypatch):
    from eukhe.storage import reading

    with Storage.open(tmp_path / "s", fsync=False) as storage:
        for id in range(1, 30):
            storage.commit([entry(id, "é" * id)])
        whole = [commit.changes for commit in storage.commits]
    for size in (1, 2, 3, 7, 64, 100, 4096):
        monkeypatch.setattr(reading, "READ_BYTES", size)
        assert [commit.changes for commit in read_storage(tmp_path / "s").commits] == whole
        with Storage.open(tmp_path / "s", fsync=False) as storage:
            assert storage.last_commit == 29
    assert os.listdir(tmp_path) == ["s"]
