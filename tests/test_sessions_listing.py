"""Listing sessions on a real disk, and the archive loop on a clock of its own."""

from __future__ import annotations

import os

import pytest

from eukhe.sessions import ArchiveLoop, list_sessions
from eukhe.sessions.errors import SessionsFailed
from eukhe.storage import Storage, session_meta
from eukhe.system import OsSystem

HEADER = '{"type":"session","id":"x","cwd":"/old","timestamp":"2026-01-01T00:00:00Z"}\n'


def make(place, name, cwd="/work", at=1):
    with Storage.open(place / name) as storage:
        storage.commit([session_meta(cwd, "2026-01-01T00:00:00Z")])
    os.utime(place / name / "main.jsonl", ns=(at, at))


def listed(place):
    return [(row.id, row.place, row.cwd, row.modified_ns) for row in list_sessions(str(place)).rows]


def test_sessions_are_listed_newest_first_then_by_id(tmp_path):
    make(tmp_path, "b", at=5)
    make(tmp_path, "a", at=5)
    make(tmp_path, "c", at=9)
    (tmp_path / "old.jsonl").write_text(HEADER)
    os.utime(tmp_path / "old.jsonl", ns=(7, 7))
    assert listed(tmp_path) == [
        ("c", "c", "/work", 9), ("old", "old.jsonl", "/old", 7), ("a", "a", "/work", 5), ("b", "b", "/work", 5),
    ]  # fmt: skip


@pytest.mark.parametrize("storage", [True, False])
def test_any_directory_of_that_name_hides_the_legacy_file(tmp_path, storage):
    (tmp_path / "x.jsonl").write_text(HEADER)
    if storage:
        make(tmp_path, "x")
    else:
        (tmp_path / "x").mkdir()
    assert [row[1] for row in listed(tmp_path)] == (["x"] if storage else [])


def test_what_is_hidden_linked_or_no_session_is_not_listed(tmp_path):
    make(tmp_path, "real")
    make(tmp_path, ".hidden")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "linked.jsonl").symlink_to("real/main.jsonl")
    (tmp_path / ".jsonl").write_text(HEADER)
    (tmp_path / "notes.txt").write_text(HEADER)
    (tmp_path / "empty").mkdir()
    found = list_sessions(str(tmp_path))
    assert [row.id for row in found.rows] == ["real"]
    assert not found.skipped


def test_what_cannot_be_read_is_told_and_hides_nothing_else(tmp_path):
    make(tmp_path, "good")
    for name in ("no-line", "no-cwd", "no-commit"):
        (tmp_path / name).mkdir()
    (tmp_path / "no-line" / "main.jsonl").write_text('{"commit":1')
    (tmp_path / "no-cwd" / "main.jsonl").write_text('{"commit":1,"changes":[{"put":{"type":"conversation","id":1}}]}\n')
    (tmp_path / "no-commit" / "main.jsonl").write_text("what\n")
    (tmp_path / "no-header.jsonl").write_text("{}\n")
    found = list_sessions(str(tmp_path))
    assert [row.id for row in found.rows] == ["good"]
    assert len(found.skipped) == 4


def test_names_that_are_not_utf8_or_very_long_are_listed(tmp_path):
    for name in ("\udcff\udcfe", "x" * 255, "a.import-" + "0" * 32):
        make(tmp_path, name)
    assert {row[0] for row in listed(tmp_path)} == {"\udcff\udcfe", "x" * 255, "a.import-" + "0" * 32}


def test_a_long_first_line_is_read_and_an_endless_one_is_not(tmp_path):
    make(tmp_path, "long", cwd="/" + "x" * 200_000)
    (tmp_path / "endless").mkdir()
    (tmp_path / "endless" / "main.jsonl").write_bytes(b" " * (3 << 20))
    assert [row[0] for row in listed(tmp_path)] == ["long"]


def test_a_missing_directory_has_no_sessions_and_an_unreadable_one_is_an_error(tmp_path):
    assert listed(tmp_path / "missing") == []
    (tmp_path / "file").touch()
    with pytest.raises(SessionsFailed, match="listing"):
        list_sessions(str(tmp_path / "file"))


def test_an_entry_that_vanishes_between_listing_and_looking_is_left_out(tmp_path):
    make(tmp_path, "goes")
    make(tmp_path, "stays")

    class Vanishing(OsSystem):
        def open(self, path, flags, mode=0o777, *, dir_fd=None):
            if path.startswith("goes"):
                raise FileNotFoundError(2, "No such file or directory", path)
            return super().open(path, flags, mode, dir_fd=dir_fd)

    found = list_sessions(str(tmp_path), system=Vanishing())
    assert [row.id for row in found.rows] == ["stays"] and not found.skipped


class Clock(OsSystem):
    """The real system with a monotonic clock of its own; the wall clock may be anything."""

    def __init__(self):
        self.now = 0
        self.slept = []

    def monotonic_ns(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += round(seconds * 1e9)


def test_the_archive_loop_sweeps_at_boot_and_every_five_minutes(tmp_path):
    clock, seen = Clock(), []
    loop = ArchiveLoop([str(tmp_path)], lambda report: seen.append(clock.now), system=clock)
    loop.run(lambda: len(seen) == 3)
    assert [now // 10**9 for now in seen] == [0, 300, 600]
    assert clock.slept == [300.0] * 3


def test_a_sweep_that_takes_long_is_followed_by_one_at_the_next_multiple(tmp_path):
    clock, seen = Clock(), []

    def slow(report):
        seen.append(clock.now)
        clock.now += 700 * 10**9 if len(seen) == 1 else 0

    loop = ArchiveLoop([str(tmp_path)], slow, system=clock)
    loop.run(lambda: len(seen) == 3)
    assert [now // 10**9 for now in seen] == [0, 900, 1200]


def test_a_tick_before_its_time_sweeps_nothing_and_says_how_long(tmp_path):
    clock, seen = Clock(), []
    loop = ArchiveLoop([str(tmp_path)], seen.append, system=clock)
    assert loop.tick() == 300
    clock.now += 100 * 10**9
    assert (loop.tick(), len(seen)) == (200, 1)
