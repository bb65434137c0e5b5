"""The suite `cron`, in adversity: holders that stop or die, calls that fail, damage, clocks that jump.

| scenario | what happens |
|---|---|
| `cron_bridge_calls` | three processes: at every instant the file is the model's, before or after a step |
| `cron_holder_stops` | the lock's holder stops for longer than anybody waits, or dies |
| `cron_fault` | a call fails, once: no space, a broken disk, a short write |
| `cron_full` | the disk is full from some byte on |
| `cron_kept_aside` | the file is damaged, somebody adds a job, and the power goes |
| `cron_jumps` | the clock jumps while two schedulers look |
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Any

import simfs
from eukhe.cron import CronBusy, CronError, CronFileDamaged, CronStore, Listing, Outcome
from scenarios.laws import cron
from scenarios.mutants.mutant import Wrapped
from scenarios.suites.cron import DUE_MS, HOME, PATH, SCHEDULES, CronScenario, CronSchedulers
from scenarios.suites.cron_bridge import differs
from scenarios.suites.cron_model import Model
from simfs.machine.faults import Errno, Full, Short


class Telling(Wrapped):
    """Says which step the process is about to put in place, right before it does: others are kept out by the lock."""

    def __init__(self, system: Any, m: simfs.Handle) -> None:
        super().__init__(system)
        self.m = m
        self.step: tuple[Any, ...] = ()
        self.drawn: list[str] = []

    def urandom(self, n: int) -> bytes:
        """Random bytes; those that become ids of claims are noted."""
        drawn: bytes = self.system.urandom(n)
        if n == 16:
            self.drawn.append(drawn.hex())
        return drawn

    def rename(self, src: str, dst: str, **directories: Any) -> None:
        """The moment at which the step happens for all others."""
        self.m.effect("step", (*self.step, tuple(self.drawn)))
        self.system.rename(src, dst, **directories)


class CronBridgeCalls(CronScenario):
    """Three processes recover, claim and finish; the file is the model's at every instant, to the byte."""

    name = "cron_bridge_calls"
    kinds = ("interval",)
    power = False
    preemptions = 2
    disk = ("scc",)

    def work(self, m: simfs.Handle) -> None:
        """Recover, claim what is due, finish it; each step is told before it takes place."""
        telling = Telling(self.system(m), m)
        store = CronStore(PATH, system=telling, lock_wait_s=None)
        owner = (store.owner().pid, store.owner().start)
        telling.step = ("recover", owner)
        store.recover_interrupted((), DUE_MS)
        telling.step = ("claim", owner)
        for claim in store.claim_due(DUE_MS, DUE_MS):
            outcome = self.run(m, claim)
            telling.step = ("finish", claim.dispatch.id)
            store.record_dispatch_result(claim.dispatch.id, outcome, DUE_MS + 1)

    @simfs.process
    def first(self, m: simfs.Handle) -> None:
        self.work(m)

    @simfs.process
    def second(self, m: simfs.Handle) -> None:
        self.work(m)

    @simfs.process
    def third(self, m: simfs.Handle) -> None:
        self.work(m)

    @simfs.law(cron.CRON_MODEL_BRIDGE, anytime=True)
    def the_file_is_the_models(self, m: simfs.Handle) -> None:
        model = Model()
        for kind in self.kinds:
            delay = {"once": 10_000, "interval": 10_000, "cron": 60_000}[kind]
            model.create(DUE_MS - 61_000, kind, kind, SCHEDULES[kind], delay)
        before = after = model.bytes()
        for event in m.history:
            if event.label == "step":
                before = after
                _take(model, event.value)
                after = model.bytes()
        fd = m.system.open(PATH, 0)
        found = m.system.read(fd, 1 << 20)
        m.system.close(fd)
        assert found in (before, after), differs(found, after)


def _take(model: Model, step: tuple[Any, ...]) -> None:
    what, argument, drawn = step
    if what == "finish":
        model.finish(argument, None, DUE_MS + 1)
        return
    owner = {"pid": argument[0], "start": argument[1]}
    if what == "claim":
        model.claim(owner, DUE_MS, DUE_MS, drawn, None)
    else:
        model.recover(owner, set(), [], DUE_MS)


class CronHolderStops(CronScenario):
    """A process that holds the lock stops for ten minutes, or dies. Another waits a moment: it is told that
    it did not get the lock, or gets it when the holder is gone; nobody writes without it."""

    name = "cron_holder_stops"
    kinds = ("interval",)
    kills = 1

    @simfs.process
    def holder(self, m: simfs.Handle) -> None:
        with self.store(m).changing() as book:
            m.system.sleep(600)
            book.pause("interval")
        m.ack("paused")

    @simfs.process
    def other(self, m: simfs.Handle) -> None:
        try:
            self.store(m, lock_wait_s=0.01).create("in 1h", "run", job_id="added")
            m.ack("added")
        except CronBusy:
            m.effect("told")

    @simfs.law(cron.CRON_UPDATE_DURABLE)
    def what_was_promised_is_there(self, m: simfs.Handle) -> None:
        jobs = {job.id: job for job in self.store(m).list().jobs}
        assert not m.acked("added") or "added" in jobs, "the job that was added is gone"
        assert not m.acked("paused") or jobs["interval"].status == "paused", "the paused job is active again"

    @simfs.law(cron.CRON_ACCOUNTED)
    def each_occurrence_is_on_record(self, m: simfs.Handle) -> None:
        """Nothing is claimed here: what is active and not there to run some time is lost."""
        for job in self.recovered(m).jobs:
            assert job.status == "paused" or job.next_run_at is not None, f"{job.id} will never run"


class CronFault(CronScenario):
    """A scheduler's call fails once; what it claimed or recorded without success is made up for by the next."""

    name = "cron_fault"
    kinds = ("once", "interval")
    faults: Sequence[Any] = (
        Errno(("write",), code=errno.ENOSPC),
        Errno(("open",), path="*.tmp-*", code=errno.ENOSPC),
        Errno(("read",), code=errno.EIO),
        Errno(("fsync", "rename", "close", "flock"), code=errno.EIO),
        Errno(("fsync",), kind="dir", code=errno.EIO),
        Short(("write",), keep=9),
    )

    @simfs.process
    def worker(self, m: simfs.Handle) -> None:
        store = self.store(m)
        claims: dict[str, Any] = {}
        for _ in range(3):
            try:
                store.recover_interrupted(claims, DUE_MS)
                for claim in store.claim_due(DUE_MS, DUE_MS):
                    m.ack("claimed", claim.job.id)
                    claims[claim.dispatch.id] = (claim, self.run(m, claim))
                for name, (claim, outcome) in list(claims.items()):
                    self.record(m, store, claim, outcome)
                    del claims[name]
            except CronError:
                continue

    def record(self, m: simfs.Handle, store: CronStore, claim: Any, outcome: Outcome) -> None:
        """A result whose update failed at its last flush may be in the file already: that is no cleared claim."""
        if store.record_dispatch_result(claim.dispatch.id, outcome, DUE_MS + 1):
            m.ack("recorded", claim.job.id)


class CronFull(CronFault):
    """The disk is full from some byte on: what does not fit is refused, and the old file stays."""

    name = "cron_full"
    max_faults = 1
    faults = (Full(("write",), after=0),)


class CronFullLater(CronFault):
    """The disk is full in the middle of the second update."""

    name = "cron_full_later"
    faults = (Full(("write",), after=2500),)


class CronKeptAside(CronScenario):
    """The file is damaged. Somebody adds a job: the damaged bytes are kept, whatever happens meanwhile."""

    name = "cron_kept_aside"
    kinds = ()

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        fd = m.system.open(PATH, os.O_WRONLY | os.O_CREAT)
        m.system.write(fd, DAMAGED)
        m.system.close(fd)

    @simfs.process
    def adder(self, m: simfs.Handle) -> None:
        self.store(m, notice=lambda text: None).create("in 1h", "run", job_id="added")
        m.ack("added")

    def listed(self, m: simfs.Handle) -> list[str]:
        """The ids of the jobs, none where the file is still the damaged one."""
        try:
            return [job.id for job in self.store(m).list().jobs]
        except CronFileDamaged:
            return []

    def recovered(self, m: simfs.Handle) -> Listing:
        """Nothing has ever run."""
        return Listing([], [], [])

    @simfs.law(cron.CRON_NEVER_DROPS)
    def the_damaged_bytes_are_kept(self, m: simfs.Handle) -> None:
        names = [name for name in m.system.listdir(HOME) if name == "cron-jobs.json" or ".corrupt-" in name]
        held = []
        for name in names:
            fd = m.system.open(f"{HOME}/{name}", 0)
            held.append(m.system.read(fd, 1 << 20))
            m.system.close(fd)
        assert DAMAGED in held, "the bytes of the damaged file are gone"

    @simfs.law(cron.CRON_UPDATE_DURABLE)
    def what_was_promised_is_there(self, m: simfs.Handle) -> None:
        assert not m.acked("added") or self.listed(m) == ["added"], "the job that was added is gone"

    @simfs.law(cron.CRON_ONCE_FINISHED_AFTER_END)
    def a_one_shot_is_complete_when_its_run_has_ended(self, m: simfs.Handle) -> None:
        """No job has run."""


DAMAGED = b'{"jobs": [{"id": "precious"'


class CronJumps(CronSchedulers):
    """The clock jumps, by years or by an hour, at any moment while two schedulers look."""

    name = "cron_jumps"
    kinds = ("interval",)
    clock_jumps = (-94_608_000, -21_600, -3600, 3600, 315_576_000)
    power = False
    preemptions = 1

    @simfs.law(cron.CRON_ACCOUNTED)
    def each_occurrence_is_on_record(self, m: simfs.Handle) -> None:
        """Whatever the clock says, the job has a next run, one run at most is missing in the count, and none is."""
        ran = sum(event.label == "run" for event in m.history)
        for job in self.recovered(m).jobs:
            assert job.next_run_at is not None, "the job will never run again"
            assert ran - 2 <= job.run_count <= ran, f"{ran} runs, and {job.run_count} are on record"


SCENARIOS: tuple[type[CronScenario], ...] = (
    CronBridgeCalls, CronHolderStops, CronFault, CronFull, CronFullLater, CronKeptAside, CronJumps,
)  # fmt: skip
