"""Each call of the system fails in turn: nothing is acknowledged, nothing acknowledged is lost, nothing is glued or
doubled.
"""

import errno
import os

import pytest

from eukhe.errors import StorageDamaged, StorageError, StorageFailed, StorageUnusable
from eukhe.storage import Storage, put, read_storage
from tests.test_eukhe_failing_system import FailingSystem

WRITES = frozenset({"pwrite", "fsync", "ftruncate", "open"})


def entry(id, length):
    return put({"type": "entry", "id": id, "conversation": 1 + id % 2, "body": "é" * length})


COMMITS = [[entry(1, 5)], [entry(2, 9000), entry(3, 9000)], [entry(4, 20), entry(5, 10_000)]]


def commit_until_it_fails(system, path):
    """How many commits were acknowledged; every call after a failure has failed too."""
    acknowledged = 0
    storage = None
    try:
        storage = Storage.open(path, system=system, home=os.path.dirname(path))
        for changes in COMMITS[storage.last_commit :]:
            storage.commit(changes)
            acknowledged = storage.last_commit
    except StorageFailed:
        if storage is not None:
            for call in (lambda: storage.commit(COMMITS[0]), storage.flush, storage.take_history):
                with pytest.raises(StorageFailed, match="an earlier call"):
                    call()
    finally:
        if storage is not None:
            storage.close()
    return acknowledged


def check_recovery(path, acknowledged):
    with Storage.open(path) as storage:
        found = [commit.changes for commit in storage.commits]
        assert found == COMMITS[: len(found)]
        assert len(found) >= acknowledged
        for changes in COMMITS[len(found) :]:
            storage.commit(changes)
    assert [commit.changes for commit in read_storage(path).commits] == COMMITS


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EINTR])
def test_a_failure_of_any_call_is_not_acknowledged_and_the_storage_opens_again(tmp_path, code):
    at = 0
    while True:
        path = str(tmp_path / f"home{at}" / "s")
        system = FailingSystem(at, code)
        acknowledged = commit_until_it_fails(system, path)
        if not system.reached:
            break
        check_recovery(path, acknowledged)
        at += 1
    assert acknowledged == len(COMMITS)
    assert at == len(system.calls)


def test_a_failure_of_any_call_of_an_open_with_commits_and_a_torn_tail_loses_nothing(tmp_path):
    path = str(tmp_path / "s")
    at = 0
    with Storage.open(path) as storage:
        for changes in COMMITS[:2]:
            storage.commit(changes)
    while True:
        with open(f"{path}/main.jsonl", "ab") as main:
            main.write(b'{"commit":3,"cha')
        system = FailingSystem(at)
        try:
            with Storage.open(path, system=system) as storage:
                assert storage.last_commit == 2
        except StorageFailed:
            assert system.reached
        assert [commit.changes for commit in read_storage(path).commits] == COMMITS[:2]
        if not system.reached:
            break
        at += 1
    assert at > 10


def test_what_a_failed_commit_wrote_is_taken_back(tmp_path):
    path = str(tmp_path / "s")
    with Storage.open(path) as storage:
        storage.commit(COMMITS[0])
    before = {name: os.path.getsize(f"{path}/{name}") for name in os.listdir(path)}
    at = 0
    while True:
        system = FailingSystem(None, only=WRITES)
        storage = Storage.open(path, system=system)
        system._at = len(system.calls) + at
        try:
            storage.commit(COMMITS[1])
            break
        except StorageFailed:
            sizes = {name: os.path.getsize(f"{path}/{name}") for name in os.listdir(path)}
            assert {name: size for name, size in sizes.items() if size} == before
        finally:
            storage.close()
        at += 1
    assert at > 6


def test_a_flush_is_never_tried_again_on_the_same_bytes(tmp_path):
    """The commit's flush fails once and would then succeed: the commit is not acknowledged, and its bytes are gone."""
    path = str(tmp_path / "s")
    system = FailingSystem(None, only=frozenset({"fsync"}))
    storage = Storage.open(path, system=system)
    storage.commit(COMMITS[0])
    system._at = len(system.calls)
    with pytest.raises(StorageFailed, match=r"commit 2 \(flush sidecar\) failed"):
        storage.commit(COMMITS[1])
    with pytest.raises(StorageFailed, match="commit 2 failed"):
        storage.commit(COMMITS[1])
    assert storage.last_commit == 1
    storage.close()
    check_recovery(path, 1)


def test_short_writes_are_continued(tmp_path):
    path = str(tmp_path / "s")
    commits = [[entry(1, 5)], [entry(2, 200)]]
    with Storage.open(path, system=FailingSystem(short=True)) as storage:
        for changes in commits:
            storage.commit(changes)
    assert [commit.changes for commit in read_storage(path).commits] == commits


def test_an_interrupt_in_the_middle_of_a_commit_leaves_no_usable_storage(tmp_path):
    class Interrupted(FailingSystem):
        def fsync(self, fd):
            if armed:
                raise KeyboardInterrupt
            os.fsync(fd)

    armed = False
    path = str(tmp_path / "s")
    storage = Storage.open(path, system=Interrupted())
    storage.commit(COMMITS[0])
    armed = True
    with pytest.raises(KeyboardInterrupt):
        storage.commit([entry(2, 3)])
    with pytest.raises(StorageFailed, match="commit 2 was interrupted"):
        storage.commit([entry(2, 3)])
    storage.close()


def test_a_filesystem_that_cannot_flush_directories_is_named_before_anything_is_promised(tmp_path):
    class NoDirectoryFlush(FailingSystem):
        def fsync(self, fd):
            if os.path.isdir(f"/proc/self/fd/{fd}"):
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            os.fsync(fd)

    with pytest.raises(StorageFailed, match="Invalid argument"):
        Storage.open(tmp_path / "s", system=NoDirectoryFlush())


def test_a_reading_that_fails_is_typed_too(tmp_path):
    Storage.open(tmp_path / "s").close()
    with pytest.raises(StorageFailed, match="reading"):
        read_storage(tmp_path / "s", system=FailingSystem(0, errno.EACCES))


def test_a_storage_that_is_removed_while_it_is_opened_is_not_opened(tmp_path):
    path = tmp_path / "s"
    Storage.open(path).close()

    class Removing(FailingSystem):
        def flock(self, fd, operation):
            os.rename(path, tmp_path / "moved")

    with pytest.raises(StorageUnusable, match="moved or removed"):
        Storage.open(path, system=Removing())


def test_no_error_of_the_system_comes_out_bare(tmp_path):
    for code in (errno.EACCES, errno.EMFILE, errno.EROFS, errno.ENOTDIR, errno.ELOOP):
        at = 0
        while True:
            system = FailingSystem(at, code)
            try:
                with Storage.open(tmp_path / f"{code}" / f"{at}" / "s", system=system, home=tmp_path) as storage:
                    storage.commit(COMMITS[1])
            except StorageError as error:
                assert not isinstance(error, StorageDamaged)
            if not system.reached:
                break
            at += 1
