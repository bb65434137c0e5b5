"""The suite `cron`, updates: what a person or a store does to the file, together with others, in homes that are new.

| scenario | what happens |
|---|---|
| `cron_updates` | one adds, one pauses, one claims: no update is lost |
| `cron_first` | the first job of a home that is not there yet, added by two at once |
| `cron_new_home` | somebody makes directories, flushes nothing, and adds a job |
| `cron_child_copies` | children that are being started hold copies of the lock's descriptor |
| `cron_paused_again` | a pause that was killed before its last flush is asked for again |
"""

from __future__ import annotations

import simfs
from eukhe.cron import Listing
from eukhe.system import System
from scenarios.laws import cron
from scenarios.mutants.mutant import Wrapped
from scenarios.suites.cron import DUE_MS, CronScenario


class CronUpdates(CronScenario):
    """One adds a job, one pauses one, one claims what is due: all three effects are there in the end."""

    name = "cron_updates"
    disk = ("scc", "synced-only")
    kinds = ("once", "interval")

    @simfs.process
    def adder(self, m: simfs.Handle) -> None:
        self.store(m).create("every 1h", "run", job_id="added")
        m.ack("added")

    @simfs.process
    def pauser(self, m: simfs.Handle) -> None:
        self.store(m).pause("interval")
        m.ack("paused")

    @simfs.process
    def claimer(self, m: simfs.Handle) -> None:
        for claim in self.store(m).claim_due(DUE_MS, DUE_MS):
            m.ack("claimed", claim.job.id)
            self.run(m, claim)

    @simfs.law(cron.CRON_UPDATE_DURABLE)
    def what_was_promised_is_there(self, m: simfs.Handle) -> None:
        jobs = {job.id: job for job in self.store(m).list().jobs}
        assert not m.acked("added") or "added" in jobs, "the job that was added is gone"
        assert not m.acked("paused") or jobs["interval"].status == "paused", "the paused job is active again"
        once = jobs["once"].next_run_at
        claimed = any(ack == ("claimed", "once") for ack in m.acks)
        assert not claimed or once is None, "the one-shot was claimed, and the claim is gone"

    @simfs.law(cron.CRON_ACCOUNTED)
    def each_occurrence_is_on_record(self, m: simfs.Handle) -> None:
        """A paused job has no occurrences; what was claimed here is never finished."""
        for job in self.recovered(m).jobs:
            waits = job.next_run_at is not None and job.next_run_at <= DUE_MS
            on_record = job.last_error == "interrupted" or job.status == "paused" or job.id == "added"
            assert waits or on_record, f"the occurrence of {job.id} has passed without a record"


class CronAdding(CronScenario):
    """Jobs are added to a home; none is due yet. The laws of what was added."""

    kinds = ()

    def setup(self, m: simfs.Handle) -> None:
        """A home directory of the user, and nothing in it."""
        m.system.mkdir("/home")
        m.system.mkdir("/home/me")

    def recovered(self, m: simfs.Handle) -> Listing:
        """Nothing has ever run, and there may be no directory."""
        return self.store(m).list()

    @simfs.law(cron.CRON_UPDATE_DURABLE)
    def what_was_promised_is_there(self, m: simfs.Handle) -> None:
        jobs = {job.id for job in self.store(m).list().jobs}
        for label, _ in m.acks:
            assert label in jobs, f"job {label} was added and is gone"

    @simfs.law(cron.CRON_ACCOUNTED)
    def each_occurrence_is_on_record(self, m: simfs.Handle) -> None:
        assert all(job.next_run_at is not None for job in self.recovered(m).jobs)


class CronFirst(CronAdding):
    """The first job of a home that is not there yet; the store makes what it needs."""

    name = "cron_first"

    @simfs.process
    def adder(self, m: simfs.Handle) -> None:
        self.store(m).create("in 1h", "run", job_id="first")
        m.ack("first")

    @simfs.process
    def other(self, m: simfs.Handle) -> None:
        self.store(m).create("in 1h", "run", job_id="second")
        m.ack("second")


class CronNewHome(CronFirst):
    """Somebody makes the directory of the user, and perhaps the home, flushes nothing, and adds the first job."""

    name = "cron_new_home"

    def setup(self, m: simfs.Handle) -> None:
        """Nothing but the root of all homes."""
        m.system.mkdir("/home")

    @simfs.process
    def adder(self, m: simfs.Handle) -> None:
        m.system.mkdir("/home/me")
        self.store(m).create("in 1h", "run", job_id="first")
        m.ack("first")

    @simfs.process
    def other(self, m: simfs.Handle) -> None:
        """Somebody who has nothing to do with it."""
        m.effect("nothing")

    @simfs.law(cron.CRON_ONCE_FINISHED_AFTER_END)
    def a_one_shot_is_complete_when_its_run_has_ended(self, m: simfs.Handle) -> None:
        """No job has run."""


class CronPausedAgain(CronScenario):
    """A process pauses a job and dies, perhaps before its last flush; another pauses it again, and is promised that it
    is paused."""

    name = "cron_paused_again"
    kinds = ("interval",)
    kills = 1

    @simfs.process
    def first(self, m: simfs.Handle) -> None:
        self.store(m).pause("interval")
        m.ack("paused")

    @simfs.process
    def second(self, m: simfs.Handle) -> None:
        self.store(m).pause("interval")
        m.ack("paused")

    @simfs.law(cron.CRON_UPDATE_DURABLE)
    def what_was_promised_is_there(self, m: simfs.Handle) -> None:
        (job,) = self.store(m).list().jobs
        assert not m.acked("paused") or job.status == "paused", "the paused job is active again"

    @simfs.law(cron.CRON_ACCOUNTED)
    def each_occurrence_is_on_record(self, m: simfs.Handle) -> None:
        """A paused job has no occurrences, and this one has a next run otherwise."""
        (job,) = self.recovered(m).jobs
        assert (job.next_run_at is None) == (job.status == "paused"), f"{job.status}, next run {job.next_run_at}"


class Copying(Wrapped):
    """A system on which a child that is being started gets a copy of each lock's descriptor, and keeps it for long."""

    def open(self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """As the system's, and the copy."""
        fd: int = self.system.open(path, flags, mode, dir_fd=dir_fd)
        if path.endswith(".lock"):
            self.system.dup(fd)
        return fd


class CronChildCopies(CronScenario):
    """A process does all that a store does, while children that it has started hold copies of the lock's descriptor:
    none of its updates waits for a child."""

    name = "cron_child_copies"
    kinds = ("interval",)
    power = False

    def system(self, m: simfs.Handle) -> System:
        """The mutant's system, with children."""
        copying: System = Copying(super().system(m))
        return copying

    @simfs.process
    def parent(self, m: simfs.Handle) -> None:
        store = self.store(m)
        self.pass_through(m, store)
        store.pause("interval")
        store.create("in 1h", "run", job_id="added")
        self.store(m).pause("interval")
        m.ack("all done")

    @simfs.law(cron.CRON_ACCOUNTED)
    def each_occurrence_is_on_record(self, m: simfs.Handle) -> None:
        assert m.acked("all done"), "an update waits for the child of its own process"


SCENARIOS: tuple[type[CronScenario], ...] = (
    CronUpdates, CronFirst, CronNewHome, CronPausedAgain, CronChildCopies,
)  # fmt: skip
