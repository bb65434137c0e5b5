"""The suite `cron`: the real cron store and its scheduler, by several processes on a machine that may stop anywhere.

Every scenario runs `eukhe.cron` as it ships, over the machine's calls. What a job does is `m.effect("run", ...)`: done
to the outside world and never undone, so that runs can be counted across kills and power losses. Laws come in pairs
that no lazy store can keep both of: no run twice and no run lost; no living claim cleared and every dead one cleared.

| scenario | what happens |
|---|---|
| `cron_two_jobs[once, interval, cron]` | two processes claim, run, finish and recover a due job; one is killed |
| `cron_schedulers` | two real schedulers with one job of each kind |
| `cron_three` | three processes, up to three preemptions |
| `cron_restart` | a scheduler that comes back after a kill or a power loss, twice |
| `cron_run_now` | a job run by hand, whose last owner died |

More scenarios are in `cron_updates` and `cron_adversity`; checks in `cron_damage`, `cron_clocks`, `cron_rules` and
`cron_bridge`.
"""

from __future__ import annotations

import json
from typing import Any

import simfs
from eukhe.cron import Claim, CronRefused, CronStore, Listing, Outcome, Scheduler
from eukhe.cron.scheduler import Inline
from eukhe.system import System
from scenarios.laws import cron
from scenarios.reported.registry import ATOMIC_RENAMES
from scenarios.suites.storage import Wrap, as_it_is
from simfs.machine.inode import EPOCH_NS

HOME = "/home/me/.eukhe"
PATH = f"{HOME}/cron-jobs.json"
CLAIMED = ATOMIC_RENAMES
"""The disk models that the cron store claims to survive."""
SCHEDULES = {"once": "in 10s", "interval": "every 10s", "cron": "* * * * *"}
START_MS = EPOCH_NS // 1_000_000
DUE_MS = START_MS + 61_000
"""One occurrence of each kind of job, or some, have come by then."""


class CronScenario(simfs.Scenario):
    """What the scenarios share: the store over the machine, jobs made in setup, runs that can be counted, the laws."""

    interpose = False
    disk = CLAIMED
    kinds: tuple[str, ...] = ("once", "interval", "cron")
    """The jobs that there are, by kind; each has its kind as its id."""
    wrap: Wrap

    def __init__(self, wrap: Wrap = as_it_is) -> None:
        self.wrap = wrap

    def setup(self, m: simfs.Handle) -> None:
        """A home with one job of each kind, made at the beginning of time."""
        m.system.mkdir("/home")
        m.system.mkdir("/home/me")
        m.system.mkdir(HOME)
        store = CronStore(PATH, system=m.system, lock_wait_s=None)
        for kind in self.kinds:
            store.create(SCHEDULES[kind], "run", job_id=kind)

    def system(self, m: simfs.Handle) -> System:
        """The system calls that the store is given in this process."""
        wrapped: System = self.wrap(m.system, m.process)
        return wrapped

    def store(self, m: simfs.Handle, **options: Any) -> CronStore:
        """A store of this process. It waits for the lock for ever if nothing else is said."""
        return CronStore(PATH, system=self.system(m), **{"lock_wait_s": None, **options})

    def run(self, m: simfs.Handle, claim: Claim) -> Outcome:
        """What a job does: it is counted."""
        m.effect("run", (claim.job.id, claim.dispatch.scheduled_for))
        m.effect("ended", claim.job.id)
        return Outcome()

    def pass_through(self, m: simfs.Handle, store: CronStore) -> None:
        """What a process does with what is due: recover, claim, run, record."""
        for dispatch in store.recover_interrupted((), DUE_MS):
            m.ack("recovered", dispatch.job_id)
        for claim in store.claim_due(DUE_MS, DUE_MS):
            m.ack("claimed", claim.job.id)
            outcome = self.run(m, claim)
            self.record(m, store, claim, outcome)

    def record(self, m: simfs.Handle, store: CronStore, claim: Claim, outcome: Outcome) -> None:
        """Record a result, and promise it where the store took it."""
        if store.record_dispatch_result(claim.dispatch.id, outcome, DUE_MS + 1):
            m.ack("recorded", claim.job.id)
        else:
            m.effect("cleared while alive", claim.job.id)

    def recovered(self, m: simfs.Handle) -> Listing:
        """What is in the file when somebody has recovered it, all earlier processes being dead."""
        store = self.store(m)
        store.recover_interrupted((), DUE_MS + 2)
        return store.list()

    @simfs.law(cron.CRON_FIRES_ONCE)
    def no_occurrence_is_run_twice(self, m: simfs.Handle) -> None:
        runs = [event.value for event in m.history if event.label == "run"]
        twice = sorted({run for run in runs if runs.count(run) > 1})
        assert not twice, f"{twice[0]} was run {runs.count(twice[0])} times" if twice else ""

    @simfs.law(cron.CRON_ACCOUNTED)
    def each_occurrence_is_on_record(self, m: simfs.Handle) -> None:
        ran = {event.value for event in m.history if event.label == "run"}
        for job in self.recovered(m).jobs:
            waits = job.next_run_at is not None and job.next_run_at <= DUE_MS
            on_record = job.run_count > 0 or job.last_error == "interrupted"
            assert waits or on_record, f"the occurrence of {job.id} has passed without a record"
            assert (job.id, job.next_run_at) not in ran, f"{job.id} was run and its occurrence is still to come"

    @simfs.law(cron.CRON_UPDATE_DURABLE)
    def what_was_promised_is_there(self, m: simfs.Handle) -> None:
        jobs = {job.id: job for job in self.store(m).list().jobs}
        assert set(jobs) >= set(self.kinds), f"{sorted(set(self.kinds) - set(jobs))} are gone"
        for label, value in m.acks:
            if label == "claimed":
                at = jobs[value].next_run_at
                assert at is None or at > DUE_MS, f"{value} was claimed, and the claim is gone"
            elif label == "recovered":
                told = jobs[value].failures > 0 or jobs[value].run_count > 0
                assert told, f"an interruption of {value} was put on record, and the record is gone"
            elif label == "recorded":
                assert jobs[value].run_count > 0, f"the result of {value} was recorded, and the record is gone"

    @simfs.law(cron.CRON_CLAIM_OWNED)
    def claims_of_the_living_stay_and_of_the_dead_go(self, m: simfs.Handle) -> None:
        cleared = [event.value for event in m.history if event.label == "cleared while alive"]
        assert not cleared, f"the claim of {cleared[0]} was cleared while its owner was running it" if cleared else ""
        left = self.recovered(m).dispatches
        assert not left, f"the claim of {left[0].job_id} stays, and its owner is dead" if left else ""

    @simfs.law(cron.CRON_ONCE_FINISHED_AFTER_END, anytime=True)
    def a_one_shot_is_complete_when_its_run_has_ended(self, m: simfs.Handle) -> None:
        for job in self.store(m).list().jobs:
            if job.id == "once" and job.status == "completed" and job.last_error is None:
                ended = any(event.label == "ended" and event.value == job.id for event in m.history)
                assert ended, "the one-shot is complete, and its run has not ended"


class CronTwo(CronScenario):
    """Two processes claim, run, finish and recover one due job; one of them may be killed; the power may go."""

    kills = 1

    def __init__(self, kind: str = "once", wrap: Wrap = as_it_is) -> None:
        super().__init__(wrap)
        self.kinds = (kind,)
        self.name = f"cron_two_jobs[{kind}]"

    @simfs.process
    def first(self, m: simfs.Handle) -> None:
        self.pass_through(m, self.store(m))

    @simfs.process
    def second(self, m: simfs.Handle) -> None:
        self.pass_through(m, self.store(m))


class CronSchedulers(CronScenario):
    """Two real schedulers look twice each at one due job of each kind."""

    name = "cron_schedulers"

    def tick(self, m: simfs.Handle) -> None:
        """Wait until all is due, and look twice."""
        store = self.store(m)
        scheduler = Scheduler(store, Inline(lambda claim: self.run(m, claim), m.system.sleep))
        m.system.sleep(60.5)
        for _ in range(2):
            scheduler.tick()

    @simfs.process
    def first(self, m: simfs.Handle) -> None:
        self.tick(m)

    @simfs.process
    def second(self, m: simfs.Handle) -> None:
        self.tick(m)


class CronThree(CronScenario):
    """Three processes claim, run, finish and recover one due job, with up to three preemptions."""

    name = "cron_three"
    disk = ("synced-only",)
    kinds = ("interval",)
    preemptions = 3

    @simfs.process
    def first(self, m: simfs.Handle) -> None:
        self.pass_through(m, self.store(m))

    @simfs.process
    def second(self, m: simfs.Handle) -> None:
        self.pass_through(m, self.store(m))

    @simfs.process
    def third(self, m: simfs.Handle) -> None:
        self.pass_through(m, self.store(m))


class CronRestart(CronScenario):
    """A process loses its power, comes back and goes through it again, twice. A kill would leave what a power loss
    leaves that loses nothing."""

    name = "cron_restart"
    disk = ("scc", "synced-only")
    kinds = ("once",)
    power_depth = 2

    @simfs.process(restart=2)
    def worker(self, m: simfs.Handle) -> None:
        self.pass_through(m, self.store(m))


class CronRunNow(CronScenario):
    """A job's owner died in the middle of a run, in this boot or the one before, and its pid may be another's now. One
    process runs the job by hand, another looks for what is due."""

    name = "cron_run_now"
    kinds = ("interval",)

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        (claim,) = CronStore(PATH, system=m.system, lock_wait_s=None).claim_due(START_MS + 10_000, START_MS + 10_000)
        m.effect("run", (claim.job.id, claim.dispatch.scheduled_for))

    @simfs.process
    def by_hand(self, m: simfs.Handle) -> None:
        store = self.store(m)
        try:
            claim = store.claim_now("interval")
        except CronRefused:
            return
        self.record(m, store, claim, self.run(m, claim))

    @simfs.process
    def scheduler(self, m: simfs.Handle) -> None:
        self.pass_through(m, self.store(m))


def as_file(data: Any) -> bytes:
    """A document written as the design says, by the standard library."""
    return json.dumps(data, indent=2, ensure_ascii=False).encode() + b"\n"


SCENARIOS: tuple[type[CronScenario], ...] = (CronSchedulers, CronThree, CronRestart, CronRunNow)
