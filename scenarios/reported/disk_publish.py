"""B4, F3, F6 and published directories: one thing vouches for another that is not there yet.

google/leveldb#189 (B4) and the order of CURRENT and MANIFEST; containerd/containerd#10457 (F3); peter-wangxu/
persist-queue#56 and #180 (F6); a directory published by rename, its files never flushed.

What happened. A pointer was flushed and what it points to was not (B4), or it was made before there was anything to
point to (leveldb-order). A database said "complete" of a blob that was still under its old name, or empty (F3). A
directory got its final name and its files were empty under it (publish). Items were flushed to a queue's chunk, and the
small file that says how much of it counts was replaced without a flush: NULs, and nothing opens any more (F6).

What is right. What is vouched for is durable, content and name, before what vouches for it is written. No flush can
mend the other order.
"""

from __future__ import annotations

import json
import os
from typing import Any

import simfs
from scenarios.reported.durable import flush_directory, replace_durably
from scenarios.reported.laws import DUR1, DUR7, STG5
from scenarios.reported.registry import ATOMIC_RENAMES, EVERY_MODEL, Case


def write(path: str, data: bytes, flush: bool) -> None:
    """A new file; flushed before it is closed, or not."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(fd, data)
    if flush:
        os.fsync(fd)
    os.close(fd)


class _Database(simfs.Scenario):
    """A database is created: there is none yet, or its pointer leads to a whole manifest."""

    disk: Any = "ext4"

    @simfs.law(DUR7)
    def the_pointer_leads_to_a_manifest(self, m: Any) -> None:
        if os.path.exists("/CURRENT"):
            name = open("/CURRENT").read()
            assert name == "MANIFEST", f"CURRENT holds {name!r}"
            assert os.path.exists("/MANIFEST"), "CURRENT names a manifest that is not there"
            found = open("/MANIFEST").read()
            assert found == "tables", f"the manifest that CURRENT names holds {found!r}"


class PointsBeforeItFlushes(_Database):
    """The manifest is written and not flushed; the pointer is flushed and renamed into place."""

    @simfs.process
    def create(self, m: Any) -> None:
        write("/MANIFEST", b"tables", flush=False)
        write("/tmp", b"MANIFEST", flush=True)
        os.rename("/tmp", "/CURRENT")
        flush_directory("/")


class PointsBeforeThereIsAny(_Database):
    """The pointer is durable before the manifest is begun."""

    @simfs.process
    def create(self, m: Any) -> None:
        replace_durably("/CURRENT", b"MANIFEST")
        write("/MANIFEST", b"tables", flush=True)
        flush_directory("/")


class ManifestFirst(_Database):
    """The manifest and its name are durable, then the pointer is made."""

    disk = ATOMIC_RENAMES

    @simfs.process
    def create(self, m: Any) -> None:
        write("/MANIFEST", b"tables", flush=True)
        flush_directory("/")
        replace_durably("/CURRENT", b"MANIFEST")


class _Blob(simfs.Scenario):
    """A blob is taken in and committed: what the database calls complete is there with all its bytes."""

    disk: Any = "ext4"

    def setup(self, m: Any) -> None:
        os.mkdir("/ingest")
        os.mkdir("/blobs")
        write("/db", b"", flush=True)
        flush_directory("/")

    def commit(self) -> None:
        """One flushed record."""
        fd = os.open("/db", os.O_WRONLY | os.O_APPEND)
        os.write(fd, b"complete\n")
        os.fsync(fd)
        os.close(fd)

    @simfs.law(STG5)
    def complete_means_complete(self, m: Any) -> None:
        if open("/db", "rb").read() == b"complete\n":
            assert os.path.exists("/blobs/x"), "the database says complete, and the blob is not under its name"
            found = open("/blobs/x", "rb").read()
            assert found == b"layer", f"the database says complete, and the blob holds {found!r}"


class CommitsFirst(_Blob):
    """The blob is written and renamed; only the database is flushed."""

    @simfs.process
    def pull(self, m: Any) -> None:
        write("/ingest/x", b"layer", flush=False)
        os.rename("/ingest/x", "/blobs/x")
        self.commit()


class CommitsLast(_Blob):
    """The blob and its new name are durable before the commit."""

    disk = EVERY_MODEL

    @simfs.process
    def pull(self, m: Any) -> None:
        write("/ingest/x", b"layer", flush=True)
        os.rename("/ingest/x", "/blobs/x")
        flush_directory("/blobs")
        flush_directory("/ingest")
        self.commit()


class _Package(simfs.Scenario):
    """A directory of two files is staged and published by rename: it is not there, or whole; whole once promised."""

    disk: Any = "ext4"
    files = ("/stage/a", "/stage/b")

    @simfs.law(STG5)
    def published_means_whole(self, m: Any) -> None:
        if os.path.exists("/final"):
            for path in ("/final/a", "/final/b"):
                assert os.path.exists(path), f"{path} is published and not there"
                found = open(path, "rb").read()
                assert found == b"x", f"{path} is published and holds {found!r}"
        assert not m.acked("published") or os.path.exists("/final"), "publishing was promised, and it is not there"


class PublishesUnflushed(_Package):
    """The files are written and closed, the directory is renamed and its parent flushed."""

    @simfs.process
    def publish(self, m: Any) -> None:
        os.mkdir("/stage")
        for path in self.files:
            write(path, b"x", flush=False)
        os.rename("/stage", "/final")
        flush_directory("/")
        m.ack("published")


class PublishesDurable(_Package):
    """Each file, the directory with its names, and after the rename its parent are flushed."""

    disk = ATOMIC_RENAMES

    @simfs.process
    def publish(self, m: Any) -> None:
        os.mkdir("/stage")
        for path in self.files:
            write(path, b"x", flush=True)
        flush_directory("/stage")
        os.rename("/stage", "/final")
        flush_directory("/")
        m.ack("published")


class _Queue(simfs.Scenario):
    """Items are put: each is there after a crash once it was promised, and the queue opens."""

    disk: Any = "ext4"

    def setup(self, m: Any) -> None:
        write("/chunk", b"", flush=True)
        replace_durably("/info", json.dumps({"items": 0}).encode())

    def save_info(self, items: int) -> None:
        replace_durably("/info", json.dumps({"items": items}).encode())

    @simfs.process
    def producer(self, m: Any) -> None:
        for number in (1, 2):
            fd = os.open("/chunk", os.O_WRONLY | os.O_APPEND)
            os.write(fd, b"%d\n" % number)
            os.fsync(fd)
            os.close(fd)
            self.save_info(number)
            m.ack("put", number)

    def drain(self) -> list[int]:
        count = json.loads(open("/info", "rb").read())["items"]
        return [int(line) for line in open("/chunk", "rb").read().split(b"\n")[:count]]

    @simfs.law(DUR1)
    def promised_items_come_back(self, m: Any) -> None:
        try:
            found = self.drain()
        except ValueError as error:
            raise AssertionError(f"the queue does not open: {error}") from None
        missing = [number for _, number in m.acks if number not in found]
        assert not missing, f"item {missing[0]} was promised and does not come back"


class InfoUnflushed(_Queue):
    """The info file is replaced by rename and never flushed."""

    def save_info(self, items: int) -> None:
        write("/info.tmp", json.dumps({"items": items}).encode(), flush=False)
        os.rename("/info.tmp", "/info")


class InfoDurable(_Queue):
    """The info file is flushed before and after its rename."""

    disk = ATOMIC_RENAMES


CASES = (
    Case("B4", "a pointer to what was not flushed", "google/leveldb#189", PointsBeforeItFlushes, ManifestFirst,
         (DUR7,)),
    Case("leveldb-order", "a pointer to what is not there", "google/leveldb#189", PointsBeforeThereIsAny, ManifestFirst,
         (DUR7,)),
    Case("F3", "complete, says the database", "containerd/containerd#10457", CommitsFirst, CommitsLast, (STG5,)),
    Case("publish", "empty files under the final name", "staged directory renamed without a flush", PublishesUnflushed,
         PublishesDurable, (STG5,)),
    Case("F6", "a queue whose info file is NULs", "peter-wangxu/persist-queue#180", InfoUnflushed, InfoDurable,
         (DUR1,)),
)  # fmt: skip
