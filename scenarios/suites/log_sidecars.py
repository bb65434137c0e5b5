"""The suite `log_sidecars`: commits whose long bodies stand in sidecars, under power losses, kills and failing calls.

The store is the real one; only `inline_bytes` is small, so that a body of one character is long enough for a sidecar
and *every* byte at which a write may tear can be tried. One scenario has the real size, and says that it is bounded.

What several processes do at once is in `log_sidecars_together`.

Three commits, two conversations: the first body goes to c1, the next commit adds to both sidecars, the third to c2
again. So there is a commit that makes one sidecar, one that makes one and grows one, and one that only grows.

| scenario | what happens |
|---|---|
| `sidecars_epoch` | the three commits, in directories that are not there yet; recovery opens, and is crashed as well |
| `sidecars_reopen` | an open for each commit; recovery makes the next commit, which has to survive as well |
| `sidecars_fault` | one call fails; the writer opens again and goes on; then the power goes, twice |
| `sidecars_killed` | the writer is killed at any call and starts again; then the power goes |
| `sidecars_fault_killed` | one call fails and one process is killed, in any order |
| `sidecars_build` | a build that does not flush, and flushes once at its end |
| `sidecars_after_build` | a build that never flushed is opened with flushing |
| `sidecars_long` | bodies of more than 16 KiB: writes over many blocks (bounded) |
"""

from __future__ import annotations

import errno

import simfs
from eukhe.errors import StorageError, StorageFailed
from eukhe.storage.codec import BODY_INLINE_BYTES
from eukhe.storage.rules import MAIN_NAME
from eukhe.system import System
from scenarios.laws import log
from scenarios.suites import log_model
from scenarios.suites.sidecar_commits import THREE as THREE
from scenarios.suites.sidecar_commits import entries as entries
from scenarios.suites.storage import CLAIMED, HOME, PATH, StorageScenario
from simfs.machine.faults import Errno, Short

SIDECARS_CLAIMED = CLAIMED
"""The disk models that a storage with sidecars claims to survive."""

FAULTS = (
    Errno(("fsync",), code=errno.EIO),
    Errno(("pwrite",), code=errno.ENOSPC),
    Errno(("ftruncate", "mkdir"), code=errno.EIO),
    Short(("pwrite",), keep=9),
)
"""What may go wrong once: a flush, a write, a cut or the making of a directory fails, or a write is short."""


def read_raw(system: System, path: str) -> bytes:
    """The bytes of a file, read in one go."""
    fd = system.open(path, 0)
    raw = system.read(fd, 1 << 20)
    system.close(fd)
    return raw


class SidecarScenario(StorageScenario):
    """What the scenarios share: three commits with two sidecars."""

    tried = THREE
    inline_bytes = 2
    disk = SIDECARS_CLAIMED

    @simfs.law(log.LOG_OPEN_CUTS_THE_TORN_TAIL)
    def sidecars_end_where_they_are_confirmed(self, m: simfs.Handle) -> None:
        """After an open nothing stands in a sidecar behind what the log confirms."""
        self.found(m)
        held = {name: read_raw(m.system, f"{PATH}/{name}") for name in m.system.listdir(PATH)}
        for name, length in log_model.confirmed(held[MAIN_NAME]).items():
            assert len(held[name]) == length, f"{name} has {len(held[name])} bytes, {length} are confirmed"

    def go_on(self, m: simfs.Handle) -> None:
        """Open, promise what the open returned, and commit what is still to come."""
        with self.open(m) as storage:
            if storage.last_commit:
                m.ack("open returned", storage.last_commit)
            for number in range(storage.last_commit + 1, len(self.tried) + 1):
                self.commit(m, storage, number)


class SidecarsEpoch(SidecarScenario):
    """Three commits with two sidecars in directories that are not there yet; the open after a crash may crash too."""

    name = "sidecars_epoch"
    power_depth = 2

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        self.write_three(m)

    @simfs.recover(log.LOG_OPENS_AFTER_CRASH)
    def recovery(self, m: simfs.Handle) -> None:
        self.reopen(m)


class SidecarsReopen(SidecarScenario):
    """An open for each of three commits with sidecars; after a crash the next commit is made, and survives."""

    name = "sidecars_reopen"
    power_depth = 2

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        for number in (1, 2, 3):
            with self.open(m) as storage:
                self.commit(m, storage, number)

    @simfs.recover(log.LOG_OPENS_AFTER_CRASH)
    def recovery(self, m: simfs.Handle) -> None:
        """Open, and go on with the next commit."""
        with self.open(m) as storage:
            if storage.last_commit:
                m.ack("open returned", storage.last_commit)
            if storage.last_commit < len(self.tried):
                self.commit(m, storage, storage.last_commit + 1)


class SidecarsFault(SidecarScenario):
    """One call fails once; whoever is told opens the storage again and goes on; the power goes twice."""

    name = "sidecars_fault"
    power_depth = 2
    faults = FAULTS

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        try:
            self.write_three(m)
        except StorageFailed:
            self.go_on(m)

    @simfs.recover(log.LOG_OPENS_AFTER_CRASH)
    def recovery(self, m: simfs.Handle) -> None:
        self.reopen(m)

    @simfs.law(log.LOG_FAILED_FLUSH_NEVER_ACKED)
    def a_failure_costs_nothing(self, m: simfs.Handle) -> None:
        self.acknowledged_commits_are_there(m)


class SidecarsKilled(SidecarScenario):
    """The writer is killed at any call, and started again; then the power goes."""

    name = "sidecars_killed"
    kills = 1

    @simfs.process(restart=1)
    def writer(self, m: simfs.Handle) -> None:
        self.go_on(m)

    @simfs.recover(log.LOG_OPENS_AFTER_CRASH)
    def recovery(self, m: simfs.Handle) -> None:
        self.reopen(m)


class SidecarsFaultKilled(SidecarScenario):
    """One flush of a file or one write fails and one process is killed, in any order; then the power goes.

    Left out is a failing flush of a directory. A process that is killed before it could remove what that flush did not
    cover leaves an entry like any other; the next open flushes the directory again and has to trust it.
    """

    name = "sidecars_fault_killed"
    kills = 1
    faults = (Errno(("fsync",), kind="file", code=errno.EIO), *FAULTS[1:])

    @simfs.process(restart=2, raises=StorageError)
    def writer(self, m: simfs.Handle) -> None:
        self.go_on(m)

    @simfs.recover(log.LOG_OPENS_AFTER_CRASH)
    def recovery(self, m: simfs.Handle) -> None:
        self.reopen(m)


class SidecarsBuild(SidecarScenario):
    """A build without flushes, with sidecars: its one flush makes all of it durable."""

    name = "sidecars_build"

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        for place in (HOME, f"{HOME}/sessions", PATH):
            m.system.mkdir(place)

    @simfs.process
    def builder(self, m: simfs.Handle) -> None:
        with self.open(m, fsync=False) as storage:
            for changes in self.tried:
                storage.commit(changes)
            storage.flush()
            m.ack("flushed", len(self.tried))

    @simfs.law(log.LOG_ONLY_COMMITS)
    def nothing_but_commits_is_there(self, m: simfs.Handle) -> None:
        """Before its flush a build promises nothing, not even that it can be opened."""
        if m.acked("flushed"):
            super().nothing_but_commits_is_there(m)

    @simfs.law(log.LOG_ACK_DURABLE)
    def acknowledged_commits_are_there(self, m: simfs.Handle) -> None:
        if m.acked("flushed"):
            super().acknowledged_commits_are_there(m)

    @simfs.law(log.LOG_OPEN_CUTS_THE_TORN_TAIL)
    def sidecars_end_where_they_are_confirmed(self, m: simfs.Handle) -> None:
        if m.acked("flushed"):
            super().sidecars_end_where_they_are_confirmed(m)


class SidecarsAfterBuild(SidecarsBuild):
    """A build that never flushed is opened with flushing: when that returns, all that it found is durable."""

    name = "sidecars_after_build"
    tried = (entries((1, 1, "a"), (2, 2, "b")),)

    @simfs.process
    def builder(self, m: simfs.Handle) -> None:
        with self.open(m, fsync=False) as storage:
            for changes in self.tried:
                storage.commit(changes)
        with self.open(m) as storage:
            m.ack("flushed", storage.last_commit)


class SidecarsLong(SidecarScenario):
    """Bodies of more than 16 KiB, so that records, markers and their flushes span many blocks of the disk."""

    name = "sidecars_long"
    inline_bytes = BODY_INLINE_BYTES
    tried = (
        entries((1, 1, "é" * 9_000), (2, 2, "b" * 17_000)),
        entries((3, 1, "雪" * 6_000)),
    )

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        self.go_on(m)

    @simfs.recover(log.LOG_OPENS_AFTER_CRASH)
    def recovery(self, m: simfs.Handle) -> None:
        self.reopen(m)


SCENARIOS: tuple[type[SidecarScenario], ...] = (
    SidecarsEpoch, SidecarsReopen, SidecarsFault, SidecarsKilled, SidecarsFaultKilled, SidecarsBuild,
    SidecarsAfterBuild, SidecarsLong,
)  # fmt: skip
