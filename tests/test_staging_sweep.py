"""The sweep on a real disk: what goes, what stays and why, and that one entry's trouble is no other's."""

from __future__ import annotations

import fcntl
import os
import stat

import pytest

from eukhe.staging import rules, sweep
from eukhe.system import OsSystem

HEX = "0123456789abcdef" * 2
LEFTOVER = f".a.import-{HEX}"


class Later(OsSystem):
    """The real system some time later; `refused` are names that nobody may enter or remove."""

    def __init__(self, later_ns=rules.DAY_NS, refused=()):
        self._later_ns, self._refused = later_ns, refused

    def time_ns(self):
        return super().time_ns() + self._later_ns

    def open(self, path, flags, mode=0o777, *, dir_fd=None):
        if os.path.basename(path) in self._refused:
            raise PermissionError(13, "Permission denied", path)
        return super().open(path, flags, mode, dir_fd=dir_fd)


def leave(place, name=LEFTOVER, lock=True):
    (place / name / "deep").mkdir(parents=True)
    (place / name / "main.jsonl").write_bytes(b"x")
    (place / name / "deep" / "file").write_bytes(b"x")
    if lock:
        (place / f"{name}.lock").touch()


def swept(place, **options):
    return sweep([str(place)], system=Later(**options))


def test_a_leftover_goes_after_a_day_and_not_before(tmp_path):
    leave(tmp_path)
    assert not sweep([str(tmp_path)]).removed
    report = swept(tmp_path)
    assert [entry.path for entry in report.removed] == [f"{tmp_path}/{LEFTOVER}"]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("purpose", rules.PURPOSES)
def test_every_kind_of_leftover_goes_with_and_without_its_lock_at_every_depth(tmp_path, purpose):
    for place in (tmp_path, tmp_path / "a", tmp_path / "a" / ".b" / "c"):
        place.mkdir(parents=True, exist_ok=True)
        leave(place, f".x.{purpose}-{HEX}", lock=place != tmp_path)
        (place / f".y.{purpose}-{HEX}.lock").touch()
    assert len(swept(tmp_path).removed) == 6
    assert sum(len(files) for _, _, files in os.walk(tmp_path)) == 0


def test_what_somebody_holds_stays(tmp_path):
    leave(tmp_path)
    with open(tmp_path / f"{LEFTOVER}.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        report = swept(tmp_path)
    assert not report.removed
    assert report.kept[-1].why == "a living process holds its lock"


def test_copied_times_and_times_in_the_future_make_nothing_old(tmp_path):
    leave(tmp_path)
    for path in (tmp_path / LEFTOVER / "main.jsonl", tmp_path / LEFTOVER, tmp_path / f"{LEFTOVER}.lock"):
        os.utime(path, ns=(0, 0))
    assert not sweep([str(tmp_path)]).removed
    os.utime(tmp_path / LEFTOVER / "main.jsonl", ns=(2**62, 2**62))
    assert swept(tmp_path).kept[-1].why.startswith("it was touched in the future")


def test_links_are_removed_and_never_followed(tmp_path):
    outside = tmp_path / "outside"
    leave(outside, "kept", lock=False)
    sessions = tmp_path / "sessions"
    leave(sessions)
    for name, target in (("dir", outside), ("file", outside / "kept" / "main.jsonl"), ("none", "/nowhere")):
        (sessions / LEFTOVER / name).symlink_to(target)
    (sessions / "link").symlink_to(outside)
    (sessions / f".l.import-{HEX}").symlink_to(outside)
    assert len(swept(sessions).removed) == 1
    assert sorted(os.listdir(sessions)) == [f".l.import-{HEX}", "link"]
    assert sorted(os.listdir(outside / "kept")) == ["deep", "main.jsonl"]


def test_storages_are_not_entered_and_strange_things_stay(tmp_path):
    storage = tmp_path / "storage"
    leave(storage)
    (storage / "main.jsonl").touch()
    (tmp_path / f".f.import-{HEX}").write_bytes(b"a file")
    os.mkfifo(tmp_path / f".p.import-{HEX}.lock")
    (tmp_path / f".d.import-{HEX}.lock").mkdir()
    report = swept(tmp_path)
    assert not report.removed and not report.failed
    assert (storage / LEFTOVER).exists()
    assert len(os.listdir(tmp_path)) == 4


def test_a_lock_that_is_no_file_keeps_its_leftover(tmp_path):
    leave(tmp_path, lock=False)
    (tmp_path / f"{LEFTOVER}.lock").mkdir()
    assert "could not be found out" in swept(tmp_path).kept[-1].why


def test_trouble_with_one_entry_stops_no_other(tmp_path):
    leave(tmp_path)
    leave(tmp_path, f".z.import-{HEX}")
    (tmp_path / "closed").mkdir()
    leave(tmp_path / "open")
    report = swept(tmp_path, refused=(LEFTOVER, "closed"))
    assert {os.path.basename(entry.path) for entry in report.failed} == {LEFTOVER, "closed"}
    assert [os.path.basename(entry.path) for entry in report.removed] == [f".z.import-{HEX}"]
    assert (tmp_path / LEFTOVER / "deep" / "file").exists()


def test_a_dry_run_removes_nothing_and_says_why_each_entry_stays(tmp_path):
    leave(tmp_path)
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "main.jsonl").touch()
    (tmp_path / "l").symlink_to("s")
    report = sweep([str(tmp_path)], system=Later(), dry_run=True)
    assert [os.path.basename(entry.path) for entry in report.removed] == [LEFTOVER]
    assert {os.path.basename(entry.path): entry.why for entry in report.kept} == {
        f"{LEFTOVER}.lock": "it goes with what it belongs to",
        "s": "it is a storage",
        "l": "it is a symbolic link, which a sweep never follows",
    }
    assert len(os.listdir(tmp_path)) == 4


def test_a_sweep_that_died_half_way_is_finished_by_a_later_one(tmp_path):
    leave(tmp_path)
    os.unlink(tmp_path / LEFTOVER / "main.jsonl")
    assert swept(tmp_path).removed
    (tmp_path / f"{LEFTOVER}.lock").touch()
    assert swept(tmp_path).removed
    assert os.listdir(tmp_path) == []


def test_a_missing_directory_has_nothing_in_it_and_a_file_is_told(tmp_path):
    assert not sweep([str(tmp_path / "missing")]).failed
    (tmp_path / "file").touch()
    assert len(sweep([str(tmp_path / "file")]).failed) == 1


def test_the_directory_itself_may_be_a_symbolic_link(tmp_path):
    leave(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    assert swept(tmp_path / "link").removed
    assert stat.S_ISLNK(os.lstat(tmp_path / "link").st_mode)
