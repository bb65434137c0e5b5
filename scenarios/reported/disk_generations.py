"""F4, F5, the lost generations, and the flush that was tried again: recovery that counts on more than there is.

matter-js/python-matter-server#977 and anegostudios/VintageStory-Issues#9776 (F4, rotate); eclipse-mosquitto/mosquitto
#189 and zeek/zeek#1817 (F5); PostgreSQL's fsyncgate of 2018.

What happened. The current file was moved to a backup name and a new one written in its place: between the two there was
none, during the write half of one, and the loader began anew (F4). Another loader did fall back to the backup, but the
next save rotated the broken file over it: both generations were gone (rotate). A companion file of zero length stopped
the start of a server whose main file was well (F5). A flush failed, was tried again, returned, and was believed
(fsyncgate): the first failure had already dropped the pages.

What is right. The main name always holds a whole file; a backup is replaced only by what was whole; what can be made
anew from something better never stops a start; after a failed flush the data are written again, elsewhere.
"""

from __future__ import annotations

import os
from typing import Any

import simfs
from scenarios.reported.durable import flush_directory, replace_durably, write_all
from scenarios.reported.laws import DUR1, DUR6, DUR7, DUR8, DUR9
from scenarios.reported.registry import ATOMIC_RENAMES, EVERY_MODEL, Case
from simfs.machine.faults import Errno

MAIN, BACKUP = "/world", "/world.bak"


def whole(path: str) -> bytes | None:
    """The content of a file that is whole: a number and an end mark. None for anything else."""
    try:
        data = open(path, "rb").read()
    except FileNotFoundError:
        return None
    return data if data in (b"1;", b"2;", b"3;") else None


def write(path: str, data: bytes) -> None:
    """Create or truncate, write, flush, close."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    write_all(fd, data)
    os.fsync(fd)
    os.close(fd)


class _World(simfs.Scenario):
    """A world is saved, the power goes, it is loaded and saved again: some whole generation is always there."""

    disk: Any = "prefix"

    def setup(self, m: Any) -> None:
        write(MAIN, b"1;")
        flush_directory("/")

    def save(self, data: bytes) -> None:
        raise NotImplementedError

    def load(self) -> bytes | None:
        return whole(MAIN) or whole(BACKUP)

    @simfs.process
    def game(self, m: Any) -> None:
        self.save(b"2;")
        m.ack("saved")

    @simfs.recover(DUR6)
    def next_session(self, m: Any) -> None:
        assert self.load() is not None, f"no whole generation is left: {sorted(os.listdir('/'))}"
        self.save(b"3;")

    @simfs.law(DUR1)
    def a_saved_world_is_not_older(self, m: Any) -> None:
        assert not m.acked("saved") or self.load() != b"1;", "a save was promised, and the old world is loaded"


class MovesAwayAndWrites(_World):
    """The file is moved to the backup name and written anew; the loader looks at the main name only."""

    def save(self, data: bytes) -> None:
        if os.path.exists(MAIN):
            os.rename(MAIN, BACKUP)
        write(MAIN, data)

    def load(self) -> bytes | None:
        return whole(MAIN)


class ReplacesWhole(_World):
    """The backup is a copy of what was whole; both are replaced by rename."""

    disk = ATOMIC_RENAMES

    def save(self, data: bytes) -> None:
        last = whole(MAIN)
        if last is not None:
            replace_durably(BACKUP, last)
        replace_durably(MAIN, data)


class _Generations(_World):
    """The same over two crashes: what the loader fell back to is not destroyed by the save that follows."""

    power_depth = 2

    @simfs.recover(DUR8)
    def next_session(self, m: Any) -> None:
        assert self.load() is not None, "a broken file was rotated over the last whole one"
        self.save(b"3;")


class RotatesWhateverIsThere(_Generations):
    """The loader falls back to the backup, but each save rotates the main file over it, broken or not."""

    def save(self, data: bytes) -> None:
        if os.path.exists(MAIN):
            os.rename(MAIN, BACKUP)
        write(MAIN, data)
        flush_directory("/")


class KeepsTheLastWhole(_Generations):
    """A backup is replaced only by what was whole."""

    disk = ATOMIC_RENAMES

    def save(self, data: bytes) -> None:
        last = whole(MAIN)
        if last is not None:
            replace_durably(BACKUP, last)
        replace_durably(MAIN, data)


class _Server(simfs.Scenario):
    """A server saves a main file and a companion that sums it up; after a crash it starts, and the two agree."""

    disk: Any = "prefix"

    def start(self) -> None:
        raise NotImplementedError

    @simfs.process
    def save(self, m: Any) -> None:
        write("/db", b"abc")
        flush_directory("/")
        with open("/db.sum", "w") as file:
            file.write("3")
        m.ack("saved")

    @simfs.law(DUR7)
    def the_server_starts(self, m: Any) -> None:
        if os.path.exists("/db") and m.acked("saved"):
            self.start()
            assert open("/db.sum").read() == "3", "the companion does not fit the main file"


class InsistsOnTheCompanion(_Server):
    """A companion that is not there, or of no length, is the end of the start."""

    def start(self) -> None:
        try:
            summed = int(open("/db.sum").read())
        except (FileNotFoundError, ValueError):
            raise AssertionError("the server does not start: its companion file is empty or gone") from None
        assert summed == os.stat("/db").st_size


class MakesItAnew(_Server):
    """A companion that does not fit is made anew from the main file."""

    disk = EVERY_MODEL

    def start(self) -> None:
        size = str(os.stat("/db").st_size)
        if not os.path.exists("/db.sum") or open("/db.sum", "rb").read() != size.encode():
            with open("/db.sum", "w") as file:
                file.write(size)


class _Checkpoint(simfs.Scenario):
    """A page is written and flushed, and the flush may fail; what was promised is there."""

    disk: Any = "ext4"
    faults = (Errno(("fsync",), kind="file"),)

    def setup(self, m: Any) -> None:
        write("/page", b"old")
        flush_directory("/")

    @simfs.law(DUR1)
    def promised_pages_are_there(self, m: Any) -> None:
        found = open("/page", "rb").read()
        assert not m.acked("checkpoint") or found == b"new", f"it was promised, and the page holds {found!r}"

    @simfs.law(DUR9)
    def a_failure_is_no_success(self, m: Any) -> None:
        found = open("/page", "rb").read()
        assert found in (b"old", b"new"), f"the page holds {found!r}"
        assert not m.acked("checkpoint") or found == b"new", "a flush failed, and it was promised all the same"


class TriesAgain(_Checkpoint):
    """A flush that failed is tried again, and the second answer is believed."""

    @simfs.process
    def checkpoint(self, m: Any) -> None:
        fd = os.open("/page", os.O_WRONLY)
        os.pwrite(fd, b"new", 0)
        for _ in range(2):
            try:
                os.fsync(fd)
                m.ack("checkpoint")
                break
            except OSError:
                continue
        os.close(fd)


class WritesElsewhere(_Checkpoint):
    """After a failed flush nothing is promised until the data, written again to another file, are durable."""

    disk = ATOMIC_RENAMES

    @simfs.process
    def checkpoint(self, m: Any) -> None:
        for _ in range(2):
            try:
                replace_durably("/page", b"new")
                m.ack("checkpoint")
                return
            except OSError:
                os.unlink(f"/page.{os.getpid()}.tmp")


CASES = (
    Case("F4", "moved away, then written", "matter-js/python-matter-server#977", MovesAwayAndWrites, ReplacesWhole,
         (DUR6,)),
    Case("rotate", "a broken file rotated over the good backup", "anegostudios/VintageStory-Issues#9776",
         RotatesWhateverIsThere, KeepsTheLastWhole, (DUR8,)),
    Case("F5", "a companion of no length", "zeek/zeek#1817", InsistsOnTheCompanion, MakesItAnew, (DUR7,)),
    Case("fsyncgate", "a flush tried again", "PostgreSQL, fsync errors, 2018", TriesAgain, WritesElsewhere,
         (DUR1, DUR9)),
)  # fmt: skip
