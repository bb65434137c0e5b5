"""Commits with sidecars where several processes are at work, at every interleaving.

| scenario | what happens |
|---|---|
| `sidecars_dies_of_failure` | a flush fails, its process is killed while it takes the commit back, another opens |
| `sidecars_reader` | a reader reads while the writer commits, at every interleaving |
| `sidecars_second_opener` | two processes want to write: one has it at a time, and the other's commits stay |
"""

from __future__ import annotations

import errno

import simfs
from eukhe.errors import StorageError, StorageFailed, StorageInUse
from eukhe.storage import read_storage
from scenarios.laws import log
from scenarios.suites import log_model
from scenarios.suites.log_sidecars import SidecarScenario
from scenarios.suites.storage import PATH
from simfs.machine.faults import Errno


class SidecarsDiesOfFailure(SidecarScenario):
    """A flush fails and its process is killed while it takes the commit back; the next one opens what it left."""

    name = "sidecars_dies_of_failure"
    kills = 1
    faults = (Errno(("fsync",), kind="file", process="writer", code=errno.EIO),)

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        with self.open(m) as storage:
            storage.commit(self.tried[0])
        m.ack("setup", 1)

    @simfs.process(raises=StorageError)
    def writer(self, m: simfs.Handle) -> None:
        with self.open(m) as storage:
            self.commit(m, storage, 2)

    @simfs.process(raises=(StorageInUse, StorageFailed))
    def opener(self, m: simfs.Handle) -> None:
        with self.open(m) as storage:
            m.ack("open returned", storage.last_commit)

    @simfs.recover(log.LOG_OPENS_AFTER_CRASH)
    def recovery(self, m: simfs.Handle) -> None:
        self.reopen(m)


class SidecarsReader(SidecarScenario):
    """A reader without a lock reads while the writer commits: it sees whole commits, long bodies in place."""

    name = "sidecars_reader"

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        with self.open(m) as storage:
            storage.commit(self.tried[0])
        m.ack("setup", 1)

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        self.go_on(m)

    @simfs.process
    def reader(self, m: simfs.Handle) -> None:
        found = [commit.changes for commit in read_storage(PATH, system=self.system(m)).commits]
        m.effect("read", found)

    @simfs.law(log.LOG_READS_LINES)
    def readers_see_whole_commits(self, m: simfs.Handle) -> None:
        for event in m.history:
            if event.label == "read":
                assert event.value, "the reader found nothing, and one commit was durable before"
                assert log_model.is_first_part(event.value, list(self.tried)), log_model.differs_at(
                    event.value, list(self.tried)
                )


class SidecarsSecondOpener(SidecarScenario):
    """Two processes want to write. One gets it, the other is told; nobody's acknowledged commit is lost."""

    name = "sidecars_second_opener"

    @simfs.process
    def first(self, m: simfs.Handle) -> None:
        self.one_more(m)

    @simfs.process
    def second(self, m: simfs.Handle) -> None:
        self.one_more(m)

    def one_more(self, m: simfs.Handle) -> None:
        """Open if nobody has it, and make the next commit."""
        try:
            storage = self.open(m)
        except StorageInUse:
            return
        with storage:
            m.effect("holds")
            self.commit(m, storage, storage.last_commit + 1)
            m.effect("held")

    @simfs.law(log.LOG_ONE_WRITER)
    def one_at_a_time(self, m: simfs.Handle) -> None:
        held = 0
        for event in m.history:
            held += {"holds": 1, "held": -1}.get(event.label, 0)
            assert held <= 1, "a second writer had the storage open while the first one had"

    @simfs.recover(log.LOG_OPENS_AFTER_CRASH)
    def recovery(self, m: simfs.Handle) -> None:
        self.reopen(m)


SCENARIOS: tuple[type[SidecarScenario], ...] = (SidecarsDiesOfFailure, SidecarsReader, SidecarsSecondOpener)
