"""The rules of the whole file: which jobs are claimed, which claims are ended, what a person may do. Pure.

A `Book` is a document, somebody's identity and a time; each call changes the document in place, or refuses and changes
nothing. Whether another process is alive is a fact that the caller brings.

- A claim belongs to the process that is named in it. Its own process clears it when the run is no longer live; any
  process clears it when the owner is dead. The claim of another living process stays.
- A job with a claim is not claimed again. An occurrence that comes meanwhile is skipped, on record.
- The end of a run whose claim is no longer there changes nothing: somebody has put it on record as interrupted.
- An active one-shot with neither a next run nor a claim has lost its claim to damage or to a hand: as long as no
  unreadable claim may be its own, it is put on record as interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from eukhe.cron import rules
from eukhe.cron.document import Document
from eukhe.cron.records import Dispatch, Job, Owner
from eukhe.cron.rules import Outcome


class Refused(Exception):
    """What was asked is not possible now. The message says why; nothing was changed."""


class NoSuchJob(Refused):
    """There is no readable job with the id."""


class Book:
    """A document under the rules. `owner` is who acts, `now` the time in ms since 1970 at which it acts."""

    def __init__(self, document: Document, owner: Owner, now: int) -> None:
        self.document = document
        self.owner = owner
        self.now = now
        self._before: dict[str, Job] = {}

    def create(self, job: Job) -> None:
        """Add a job. Raises `Refused` where the id is taken."""
        if self.document.job(job.id) is not None:
            raise Refused(f"there is a job {job.id} already")
        self.document.add_job(job)

    def pause(self, job_id: str) -> Job:
        """Stop a job for a while. Raises `Refused` for one that has ended."""
        return self._by_hand(job_id, "paused", lambda job: rules.paused(job, self.now))

    def resume(self, job_id: str) -> Job:
        """Let a job go on, its failures forgotten. Raises `Refused` for one that has ended."""

        def resumed(job: Job) -> Job:
            return job if job.status == "active" and job.failures == 0 else rules.resumed(job, self.now)

        return self._by_hand(job_id, "resumed", resumed)

    def cancel(self, job_id: str) -> Job:
        """End a job for good; a run that goes on is not disturbed. Raises `Refused` for one that has ended."""
        return self._by_hand(job_id, "cancelled", lambda job: rules.cancelled(job, self.now))

    def defer_next_run(self, job_id: str, until: int) -> Job:
        """Put the next run off. Raises `Refused` for a job that has ended or is paused."""

        def deferred(job: Job) -> Job:
            if job.status != "active":
                raise Refused(f"job {job_id} is {job.status}; resume it first")
            return rules.deferred(job, until, self.now)

        return self._by_hand(job_id, "put off", deferred)

    def claim_due(self, due_at: int, new_id: Callable[[], str], limit: int | None = None) -> list[tuple[Job, Dispatch]]:
        """Claim what is due at `due_at` and not being run, the longest due first, `limit` at most. Skip what is due
        and being run. `new_id` gives each claim an id that no other has."""
        running = self._running()
        due: list[tuple[int, int]] = []
        for at, job in list(self.document.all_jobs()):
            if rules.is_over(job):
                continue
            job = rules.aligned(job, self.now)
            if not rules.is_due(job, due_at) or job.next_run_at is None:
                self._put(at, job)
            elif job.id in running:
                self._put(at, rules.skipped(job, self.now))
            else:
                due.append((job.next_run_at, at))
        claims = []
        for _, at in sorted(due)[:limit]:
            before = self.document.jobs[at].value
            assert before is not None
            claims.append(self._claim(at, rules.aligned(before, self.now), new_id(), False))
        return claims

    def claim_now(self, job_id: str, new_id: Callable[[], str]) -> tuple[Job, Dispatch]:
        """Claim a job for a person, due or not, active or paused. Raises `Refused` for one that has ended, that is
        being run, or whose only occurrence is taken."""
        at, job = self._job(job_id)
        if rules.is_over(job):
            raise Refused(f"job {job_id} is {job.status}")
        if job_id in self._running():
            raise Refused(f"job {job_id} is being run")
        if job.schedule.kind == "once" and job.next_run_at is None:
            raise Refused(f"job {job_id} has been run, and recovery has not ended it yet")
        return self._claim(at, job, new_id(), True)

    def finish(self, dispatch_id: str, outcome: Outcome) -> bool:
        """End a claim with the outcome of its run. False, and nothing changes, where the claim is no longer there."""
        dispatch = self.document.remove_dispatch(dispatch_id)
        if dispatch is None:
            return False
        self._end(dispatch, lambda job: rules.finished(job, outcome, self.now))
        return True

    def owners(self) -> set[Owner]:
        """The other processes that have claims: whether each is alive has to be known for `recover`."""
        return {dispatch.owner for dispatch in self.document.all_dispatches() if dispatch.owner != self.owner}

    def recover(self, live: Iterable[str], dead: Iterable[Owner]) -> list[Dispatch]:
        """End the claims of runs that are over and of processes that are dead, as interrupted. `live` are the ids of
        the claims that the acting process is running, `dead` the other processes known to be dead."""
        kept, gone = set(live), set(dead)
        ended = [
            dispatch
            for dispatch in self.document.all_dispatches()
            if (dispatch.id not in kept if dispatch.owner == self.owner else dispatch.owner in gone)
        ]
        for dispatch in ended:
            self.document.remove_dispatch(dispatch.id)
            self._end(dispatch, lambda job: rules.interrupted(job, self.now))
        self._end_lost_one_shots()
        return ended

    def merge(self, jobs: Iterable[Job]) -> None:
        """Take over a whole list of jobs: of each the version that was changed later; new ones are added, none goes."""
        for theirs in jobs:
            found = self.document.job(theirs.id)
            if found is None:
                self.document.add_job(theirs if rules.is_over(theirs) else rules.aligned(theirs, self.now))
            else:
                self.document.put_job(found[0], rules.fresher(found[1], theirs, self.now))

    def _claim(self, at: int, job: Job, dispatch_id: str, by_hand: bool) -> tuple[Job, Dispatch]:
        dispatch = rules.claim(job, dispatch_id, self.owner, self.now, by_hand)
        claimed = rules.claimed_by_hand(job, self.now) if by_hand else rules.claimed(job, self.now)
        self._put(at, claimed)
        self.document.add_dispatch(dispatch)
        return self._job(job.id)[1], dispatch

    def _put(self, at: int, job: Job) -> None:
        """Write a job anew. However often that is in one update, it is stamped once, against what was there before."""
        was = self.document.jobs[at].value
        assert was is not None
        if job is not was:
            self.document.put_job(at, rules.stamped(self._before.setdefault(job.id, was), job, self.now))

    def _by_hand(self, job_id: str, done: str, change: Callable[[Job], Job]) -> Job:
        at, job = self._job(job_id)
        if rules.is_over(job):
            raise Refused(f"job {job_id} is {job.status} and cannot be {done}")
        changed = change(job)
        self._put(at, changed)
        return self._job(job_id)[1]

    def _job(self, job_id: str) -> tuple[int, Job]:
        found = self.document.job(job_id)
        if found is None:
            raise NoSuchJob(job_id)
        return found

    def _running(self) -> set[str]:
        return {dispatch.job_id for dispatch in self.document.all_dispatches()}

    def _end(self, dispatch: Dispatch, ending: Callable[[Job], Job]) -> None:
        found = self.document.job(dispatch.job_id)
        if found is not None:
            self._put(found[0], ending(found[1]))

    def _end_lost_one_shots(self) -> None:
        if any(item.value is None for item in self.document.dispatches):
            return
        running = self._running()
        for at, job in list(self.document.all_jobs()):
            lost = job.schedule.kind == "once" and job.status in ("active", "paused") and job.next_run_at is None
            if lost and job.id not in running:
                self._put(at, rules.interrupted(job, self.now))
