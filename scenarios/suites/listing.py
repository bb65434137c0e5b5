"""The suite `listing`: the real listing, import, fork and delete, with crashes in the middle and others about.

| scenario | what happens |
|---|---|
| `listing_import` | a legacy file is imported, while another lists; the importer may be killed, the power may go |
| `listing_import_fails` | each call of an import that writes, flushes or renames fails once, as on a full disk |
| `listing_fork` | a storage is forked while its writer commits |
| `listing_delete` | a session with a legacy file beside it is deleted, while another lists and a third one sweeps |
| `listing_two_deletes` | two delete one session, while a third one uses it |
| `listing_reader` | one reads a published session, while others build, sweep and delete |
"""

from __future__ import annotations

import errno

import simfs
from eukhe.errors import EukheError, StorageInUse
from eukhe.sessions import Row, delete_session, fork_session, import_session, list_sessions
from eukhe.sessions.errors import SessionNotFound
from eukhe.storage import Storage, read_storage
from scenarios.laws import listing, staging
from scenarios.suites import log_model
from scenarios.suites.staging import MAIN, SESSIONS, StagingScenario, line_of
from simfs.machine.faults import Errno

LEGACY = b'{"type":"session","id":"x","cwd":"/legacy","timestamp":"2026-01-01T00:00:00Z"}\n{"n":1}\n{"n":2}\n{"n"'
"""A legacy session of two messages and a torn last line."""


class ListingScenario(StagingScenario):
    """A legacy session `old`, and a storage `kept` that nobody touches."""

    disk = ("scc", "synced-only", "ext4")
    """What staging claims as well; `prefix` tears each line at each byte, which `staging_durable` does already."""

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        self.put(m, f"{SESSIONS}/old.jsonl", LEGACY)
        m.system.mkdir(f"{SESSIONS}/kept")
        self.put(m, f"{SESSIONS}/kept/{MAIN}", line_of("kept"))

    def rows(self, m: simfs.Handle) -> list[Row]:
        """The listing, as a reader gets it now."""
        found = list_sessions(SESSIONS, system=m.system)
        assert not found.skipped, f"not listed: {found.skipped}"
        return found.rows

    def list_once(self, m: simfs.Handle) -> None:
        """List as the store does, and say where it is wrong."""
        found = list_sessions(SESSIONS, system=self.system(m))
        ids = [row.id for row in found.rows]
        if len(set(ids)) != len(ids) or found.skipped or "kept" not in ids:
            m.effect("listed", (ids, found.skipped))

    @simfs.law(listing.LIST_ONE_LOCATION)
    def each_session_is_listed_once(self, m: simfs.Handle) -> None:
        wrong = [event.value for event in m.history if event.label == "listed"]
        assert not wrong, f"the listing was {wrong[0]}"
        ids = [row.id for row in self.rows(m)]
        assert len(set(ids)) == len(ids), f"the listing is {ids}"

    @simfs.law(listing.LIST_IMPORT_KEEPS_OTHERS, anytime=True)
    def the_other_session_stays_as_it_is(self, m: simfs.Handle) -> None:
        others = [(row.place, row.cwd) for row in self.rows(m) if row.id == "kept"]
        assert others == [("kept", "/kept")], f"the other session is listed as {others}"


class ListingImport(ListingScenario):
    """A legacy file is imported while another lists; it is one session before and after, whatever happens."""

    name = "listing_import"
    kills = 1

    @simfs.process
    def importer(self, m: simfs.Handle) -> None:
        done = import_session(f"{SESSIONS}/old.jsonl", SESSIONS, system=self.system(m))
        m.ack("imported", (done.messages, done.torn_bytes))

    @simfs.process
    def lister(self, m: simfs.Handle) -> None:
        self.list_once(m)

    @simfs.law(listing.LIST_IMPORT_LISTS_STORAGE)
    def what_was_imported_is_a_storage(self, m: simfs.Handle) -> None:
        places = [row.place for row in self.rows(m) if row.id == "old"]
        if m.acks:
            assert m.acks == [("imported", (2, 4))], f"the import said {m.acks}"
            assert places == ["old"], f"the import returned, and it is listed at {places}"
        assert places in (["old"], ["old.jsonl"]), f"the session is listed at {places}"

    @simfs.law(staging.BUILD_ALL_OR_NOTHING)
    def the_storage_is_whole_or_not_there(self, m: simfs.Handle) -> None:
        if "old" in m.system.listdir(SESSIONS):
            view = read_storage(f"{SESSIONS}/old", system=m.system)
            bodies = [
                change["put"]["body"] for commit in view.commits for change in commit.changes
                if change["put"]["type"] == "entry"
            ]  # fmt: skip
            assert bodies == [{"n": 1}, {"n": 2}], f"the import holds {bodies}"


class ListingImportFails(ListingImport):
    """A call of an import fails, as on a full or a failing disk: the error is a typed one and nothing stands there."""

    name = "listing_import_fails"
    kills = 0
    faults = (
        Errno(("mkdir", "pwrite", "renameat2"), code=errno.ENOSPC),
        Errno(("fsync",), code=errno.EIO),
        Errno(("unlink", "rmdir", "open"), code=errno.EIO, process="importer"),
    )

    @simfs.process
    def importer(self, m: simfs.Handle) -> None:
        try:
            super().importer(m)
        except EukheError:
            m.fail("import")

    @simfs.process
    def lister(self, m: simfs.Handle) -> None:
        try:
            list_sessions(SESSIONS, system=self.system(m))
        except EukheError:
            pass

    @simfs.law(listing.LIST_IMPORT_LISTS_STORAGE)
    def what_was_imported_is_a_storage(self, m: simfs.Handle) -> None:
        failed = [event for event in m.history if event.kind == "fail"]
        places = [row.place for row in self.rows(m) if row.id == "old"]
        assert places == ["old"] if m.acks else places in (["old"], ["old.jsonl"]), f"it is listed at {places}"
        assert not failed or places == ["old.jsonl"], "the import said that it failed, and there it is"


class ListingFork(ListingScenario):
    """A storage, long bodies beside it, is forked twice while its writer commits; the fork is a first part of it."""

    name = "listing_fork"
    tried = (log_model.SESSION, log_model.entry(1, "long " * 8), log_model.entry(2, "more " * 8))

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        with self.source(m) as storage:
            storage.commit(self.tried[0])
            storage.commit(self.tried[1])

    def source(self, m: simfs.Handle) -> Storage:
        """Open the storage that is forked; a body of more than 16 bytes goes to a sidecar."""
        return Storage.open(f"{SESSIONS}/src", system=m.system, home=SESSIONS, inline_bytes=16)

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        with self.source(m) as storage:
            storage.commit(self.tried[2])

    @simfs.process
    def forker(self, m: simfs.Handle) -> None:
        fork_session(SESSIONS, "src", "fork", system=self.system(m))
        m.ack("forked")

    @simfs.law(staging.PUBLISH_DURABLE)
    def a_fork_that_returned_is_there(self, m: simfs.Handle) -> None:
        assert not m.acks or "fork" in m.system.listdir(SESSIONS), "the fork returned and is gone"

    @simfs.law(staging.BUILD_ALL_OR_NOTHING)
    def the_fork_is_a_first_part_or_not_there(self, m: simfs.Handle) -> None:
        if "fork" in m.system.listdir(SESSIONS):
            found = [commit.changes for commit in read_storage(f"{SESSIONS}/fork", system=m.system).commits]
            assert len(found) >= 2, f"{len(found)} commits, and two were there before"
            assert log_model.is_first_part(found, list(self.tried)), log_model.differs_at(found, list(self.tried))


class ListingDelete(ListingScenario):
    """A session with its legacy file beside it is deleted, while another lists and a third one sweeps."""

    name = "listing_delete"
    kills = 1
    disk = ("scc", "synced-only", "prefix")

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        m.system.mkdir(f"{SESSIONS}/old")
        for name in (MAIN, "c1.entries.jsonl"):
            self.put(m, f"{SESSIONS}/old/{name}", line_of("old"))

    @simfs.process
    def deleter(self, m: simfs.Handle) -> None:
        assert delete_session(SESSIONS, "old", system=self.system(m)) == []
        m.ack("deleted")

    @simfs.process
    def lister(self, m: simfs.Handle) -> None:
        self.list_once(m)

    @simfs.process
    def sweeper(self, m: simfs.Handle) -> None:
        self.sweep(m)

    @simfs.law(staging.DELETE_WHOLE_OR_GONE)
    def it_is_whole_or_gone(self, m: simfs.Handle) -> None:
        places = [row.place for row in self.rows(m) if row.id == "old"]
        assert not (places and m.acks), f"it was deleted, and is listed at {places}"
        if places:
            assert places == ["old"], "it is back in the state before its import"
            names = sorted(m.system.listdir(f"{SESSIONS}/old"))
            assert names == ["c1.entries.jsonl", MAIN], f"of the session only {names} is left"


class ListingTwoDeletes(ListingScenario):
    """Two delete one session while a third one writes to it: nobody deletes what is in use, and one deletes it."""

    name = "listing_two_deletes"
    power = False

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        with Storage.open(f"{SESSIONS}/src", system=m.system, home=SESSIONS) as storage:
            storage.commit(log_model.SESSION)

    @simfs.process
    def first(self, m: simfs.Handle) -> None:
        self.delete(m)

    @simfs.process
    def second(self, m: simfs.Handle) -> None:
        self.delete(m)

    def delete(self, m: simfs.Handle) -> None:
        """Delete it, if nobody uses it and it is there."""
        try:
            delete_session(SESSIONS, "src", system=self.system(m))
            m.ack("deleted")
        except StorageInUse:
            m.fail("in use")
        except SessionNotFound:
            m.fail("not found")

    @simfs.law(staging.DELETE_WHOLE_OR_GONE)
    def one_deletes_it(self, m: simfs.Handle) -> None:
        assert len(m.acks) == 1, f"{len(m.acks)} of two have deleted it"
        assert "src" not in m.system.listdir(SESSIONS), "it was deleted and is there"


class ListingReader(ListingScenario):
    """One lists and reads a published session again and again, while others build, sweep and delete."""

    name = "listing_reader"
    power = False

    @simfs.process
    def reader(self, m: simfs.Handle) -> None:
        for _ in range(2):
            self.list_once(m)
            view = read_storage(f"{SESSIONS}/kept", system=self.system(m))
            if len(view.commits) != 1:
                m.effect("listed", view)

    @simfs.process
    def builder(self, m: simfs.Handle) -> None:
        self.build(m, "kept")

    @simfs.process
    def others(self, m: simfs.Handle) -> None:
        self.sweep(m)
        delete_session(SESSIONS, "old", system=self.system(m))


SCENARIOS: tuple[type[ListingScenario], ...] = (
    ListingImport, ListingImportFails, ListingFork, ListingDelete, ListingTwoDeletes, ListingReader,
)  # fmt: skip
