"""Drawn programs of staging and of the sessions: processes build and publish one name, sweep, list and wait; and
processes import, fork, delete, list and sweep.

Time passes, by half a day or a whole one, so what the dead left grows old and what the living build may look so.
"""

from __future__ import annotations

import errno

import simfs
from eukhe.errors import EukheError, StorageInUse
from eukhe.sessions import delete_session, fork_session, import_session, list_sessions
from scenarios.laws import listing, staging
from scenarios.suites.listing import ListingScenario
from scenarios.suites.staging import DAY_S, NAME, PLACE, SESSIONS
from scenarios.suites.staging_publish import SettleScenario
from simfs.machine.faults import Errno


class StagingProgram(SettleScenario, simfs.Program):
    """Builds of one name, by drawn processes."""

    name = "staging_program"
    operations = ("build", "sweep", "list", "wait", "build_long")
    watched = False
    idle_s = 0.0

    def op_build(self, m: simfs.Handle, n: int) -> None:
        """Build and publish."""
        self.build(m, NAME)

    def op_build_long(self, m: simfs.Handle, n: int) -> None:
        """Build, idle for more than a day, and publish."""
        self.idle_s = DAY_S + n
        self.build(m, NAME)
        self.idle_s = 0.0

    def fill(self, m: simfs.Handle, path: str) -> None:
        """As in the suite, and then the idling."""
        super().fill(m, path)
        if self.idle_s:
            m.sleep(self.idle_s)

    def op_sweep(self, m: simfs.Handle, n: int) -> None:
        """Sweep."""
        self.sweep(m)

    def op_wait(self, m: simfs.Handle, n: int) -> None:
        """Let half a day pass, or a whole one."""
        m.sleep(DAY_S if n % 2 else DAY_S / 2)

    def op_list(self, m: simfs.Handle, n: int) -> None:
        """List, and say where that is wrong."""
        found = list_sessions(SESSIONS, system=self.system(m))
        shown = [*(row.place for row in found.rows), *(skipped.path for skipped in found.skipped)]
        if shown not in ([], [PLACE]):
            m.effect("listed", shown)

    @simfs.law(listing.LIST_ONE_LOCATION)
    def a_listing_shows_each_once(self, m: simfs.Handle) -> None:
        wrong = [event.value for event in m.history if event.label == "listed"]
        assert not wrong, f"the listing was {wrong[0]}"

    @simfs.law(staging.SWEEP_NEVER_YOUNG_REAL)
    def what_is_swept_is_a_day_old(self, m: simfs.Handle) -> None:
        asked = [event.time_ns for event in m.history if event.label == "publish"]
        for event in m.history:
            if event.label == "swept":
                age = (event.time_ns - min(asked)) / 1e9
                assert age >= DAY_S, f"{event.value} was swept {age:g} s after the first build began"

    @simfs.law(staging.PUBLISH_SETTLES)
    def exists_is_answered_when_the_rename_met_an_entry(self, m: simfs.Handle) -> None:
        """Who says that it exists is right: somebody has published, or the power took it again."""
        said = [event.boot for event in m.history if event.label == "exists"]
        asked = {event.process for event in m.history if event.label == "publish"}
        assert not said or len(asked) > 1 or len([e for e in m.history if e.label == "publish"]) > 1

    @simfs.law(staging.PUBLISH_SETTLE_REFINES)
    def publishing_is_the_models(self, m: simfs.Handle) -> None:
        """Judged by the other laws: what a rename met is not noted here."""


class ListingProgram(ListingScenario, simfs.Program):
    """Imports, forks and deletes, by drawn processes."""

    name = "listing_program"
    operations = ("import", "list", "delete", "fork", "sweep", "wait")
    raises = (EukheError,)
    faults = (
        Errno(("mkdir", "pwrite", "renameat2"), code=errno.ENOSPC),
        Errno(("fsync",), code=errno.EIO),
    )

    def op_import(self, m: simfs.Handle, n: int) -> None:
        """Import the legacy session, if it is there."""
        m.ask("import")
        try:
            import_session(f"{SESSIONS}/old.jsonl", SESSIONS, system=self.system(m))
        except EukheError:
            m.fail("import")
            raise
        m.ack("imported")

    def op_delete(self, m: simfs.Handle, n: int) -> None:
        """Delete it, if nobody uses it and it is there."""
        m.ask("delete")
        try:
            delete_session(SESSIONS, "old", system=self.system(m))
            m.ack("deleted")
        except StorageInUse:
            m.fail("in use")

    def op_fork(self, m: simfs.Handle, n: int) -> None:
        """Fork the session that nobody touches."""
        fork_session(SESSIONS, "kept", f"fork-{m.process}-{n}", system=self.system(m))
        m.ack("forked", f"fork-{m.process}-{n}")

    def op_list(self, m: simfs.Handle, n: int) -> None:
        """List, and say where that is wrong."""
        self.list_once(m)

    def op_sweep(self, m: simfs.Handle, n: int) -> None:
        """Sweep."""
        self.sweep(m)

    def op_wait(self, m: simfs.Handle, n: int) -> None:
        """Let half a day pass, or a whole one."""
        m.sleep(DAY_S if n % 2 else DAY_S / 2)

    @simfs.law(listing.LIST_IMPORT_LISTS_STORAGE)
    def what_was_imported_is_a_storage(self, m: simfs.Handle) -> None:
        """What nobody tried to delete is listed; as a storage when an import has returned."""
        places = [row.place for row in self.rows(m) if row.id == "old"]
        if not any(event.label == "delete" for event in m.history):
            wanted = (["old"],) if m.acked("imported") else (["old"], ["old.jsonl"])
            assert places in wanted, f"it is listed at {places}"

    @simfs.law(staging.DELETE_WHOLE_OR_GONE)
    def it_is_gone_when_a_delete_has_returned(self, m: simfs.Handle) -> None:
        places = [row.place for row in self.rows(m) if row.id == "old"]
        assert not (places and self.deleted_for_good(m)), f"it was deleted, and is listed at {places}"

    def deleted_for_good(self, m: simfs.Handle) -> bool:
        """Whether a delete has returned, no import was made at the same time, and none has begun since."""
        imports, last, overlap = 0, "", False
        gone = False
        for event in m.history:
            if event.label == "import" and event.kind == "ask":
                imports, gone, overlap = imports + 1, False, True
            elif event.label in ("import", "imported"):
                imports -= 1
            elif event.label == "delete":
                last, overlap = event.process, imports > 0
            elif event.label == "deleted":
                gone = event.process == last and not overlap
        return gone

    @simfs.law(staging.PUBLISH_DURABLE)
    def a_fork_that_returned_is_there(self, m: simfs.Handle) -> None:
        names = m.system.listdir(SESSIONS)
        lost = [value for label, value in m.acks if label == "forked" and value not in names]
        assert not lost, f"the fork {lost[0]} returned and is gone" if lost else ""
