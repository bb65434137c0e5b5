"""Building and publishing on a real disk: never replaces, is whole, and leaves nothing when it ends otherwise."""

from __future__ import annotations

import errno
import os

import pytest

from eukhe.errors import StorageExists, StorageFailed, StorageInUse, StorageUnusable
from eukhe.staging import Build
from eukhe.storage import Storage, read_storage, session_meta
from eukhe.system import OsSystem

META = session_meta("/work", "2026-01-01T00:00:00Z")


class Failing(OsSystem):
    """The real system, but for calls that fail with an errno; `only` is a word that the path holds."""

    def __init__(self, call, code, only=""):
        self._call, self._code, self._only = call, code, only

    def __getattribute__(self, name):
        real = object.__getattribute__(self, name)
        if name.startswith("_") or name != self._call:
            return real

        def fail(*arguments, **keywords):
            first = arguments[0]
            path = os.readlink(f"/proc/self/fd/{first}") if isinstance(first, int) else first
            if path.endswith(self._only):
                raise OSError(self._code, os.strerror(self._code), path)
            return real(*arguments, **keywords)

        return fail


def build(directory, name="one", system=None, purpose="import"):
    system = system or OsSystem()
    with Build.begin(system, str(directory), name, purpose, str(directory)) as one:
        with Storage.open(one.path, system=system, fsync=False) as storage:
            storage.commit([META])
        one.publish()
    return one


def test_a_publish_moves_the_whole_storage_and_leaves_nothing_beside_it(tmp_path):
    build(tmp_path)
    assert os.listdir(tmp_path) == ["one"]
    assert [commit.changes for commit in read_storage(tmp_path / "one").commits] == [[META]]


@pytest.mark.parametrize("taken", ["file", "empty", "full", "link", "dangling"])
def test_a_name_that_is_taken_stays_as_it_is(tmp_path, taken):
    target = tmp_path / "one"
    if taken == "file":
        target.write_bytes(b"mine")
    elif taken in ("empty", "full"):
        target.mkdir()
        if taken == "full":
            (target / "mine").touch()
    else:
        target.symlink_to(tmp_path if taken == "link" else "/nowhere")
    before = (os.lstat(target).st_ino, os.lstat(target).st_mtime_ns)
    with pytest.raises(StorageExists):
        build(tmp_path)
    assert (os.lstat(target).st_ino, os.lstat(target).st_mtime_ns) == before
    assert os.listdir(tmp_path) == ["one"]


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_filesystem_without_the_flag_is_said_to_be_one_and_nothing_is_replaced(tmp_path, code):
    (tmp_path / "one").mkdir()
    with pytest.raises(StorageUnusable, match="without replacing"):
        build(tmp_path, system=Failing("renameat2", code))
    assert os.listdir(tmp_path) == ["one"] and not os.listdir(tmp_path / "one")


def test_a_flush_of_the_parent_that_fails_takes_the_storage_back(tmp_path):
    with pytest.raises(StorageFailed, match="flushing the directory that holds it"):
        build(tmp_path, system=Failing("fsync", errno.EIO, tmp_path.name))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("only", ["main.jsonl", ""])
def test_a_flush_before_the_rename_that_fails_publishes_nothing(tmp_path, only):
    with pytest.raises(StorageFailed, match="flushing what was built"):
        build(tmp_path, system=Failing("fsync", errno.EIO, only))
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_a_clear_error_and_leaves_nothing(tmp_path):
    with pytest.raises(StorageFailed, match="No space left"):
        build(tmp_path, system=Failing("pwrite", errno.ENOSPC))
    assert os.listdir(tmp_path) == []


def test_what_cannot_be_removed_is_left_for_a_sweep_without_a_holder(tmp_path):
    with pytest.raises(StorageExists):
        (tmp_path / "one").mkdir()
        build(tmp_path, system=Failing("rmdir", errno.EACCES))
    assert len(os.listdir(tmp_path)) == 3


@pytest.mark.parametrize("name", [".hidden", "a/b", "", "..", "x" * 256, ".a.import-" + "0" * 32])
def test_names_that_no_session_can_have_are_refused(tmp_path, name):
    with pytest.raises(StorageUnusable):
        build(tmp_path, name)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["x" * 255, "雪" * 85, "\udcff\udcfe", "a.import-" + "0" * 32, "new\nline"])
@pytest.mark.parametrize("purpose", ["import", "fork"])
def test_names_of_every_kind_can_be_built(tmp_path, name, purpose):
    build(tmp_path, name, purpose=purpose)
    assert os.listdir(tmp_path) == [name]


def test_a_storage_that_is_still_open_is_not_published(tmp_path):
    with (
        Build.begin(OsSystem(), str(tmp_path), "one", "import", str(tmp_path)) as one,
        Storage.open(one.path, fsync=False) as storage,
    ):
        storage.commit([META])
        with pytest.raises(StorageInUse):
            one.publish()
    assert os.listdir(tmp_path) == []


def test_missing_directories_are_made_and_a_link_that_the_user_set_is_followed(tmp_path):
    home, sessions = str(tmp_path / "home"), str(tmp_path / "home" / "sessions")
    for name, place in (("one", sessions), ("two", str(tmp_path / "link"))):
        if name == "two":
            os.symlink(sessions, place)
        with Build.begin(OsSystem(), place, name, "import", home if name == "one" else str(tmp_path)) as build_:
            with Storage.open(build_.path, fsync=False) as storage:
                storage.commit([META])
            build_.publish()
    assert sorted(os.listdir(sessions)) == ["one", "two"]
