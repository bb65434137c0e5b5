"""The rules of one job: when it runs next, and what a claim, an ending and a person change. Pure: facts in, job out.

A job is due when its `next_run_at` has come. A *claim* takes the occurrence: `next_run_at` moves on (a one-shot's is
gone) in the same update that records the claim, before anything runs. The claim ends with `finished` or, if its
process died or its run is gone, `interrupted`, which counts as a failure. In between, an occurrence that comes is
skipped, and that is on record (`last_skipped_at`). So each occurrence is run once at most, and is on record.

After a failure the job rests for 2, 4, 8, 16, 32 minutes, then for 60 each time, counted from the end of the run, and
never before schedule; at the eighth failure in a row it stops, paused, with its error. Only a person starts it again.

`next_run` alone decides when a job runs; whatever brings a job into another state asks it. It keeps the floor of the
rest, and it sees a clock that was set back: then the time of the job's last change lies ahead. A job that runs every
so often goes on from the new time. One for fixed times does so if the clock went back by three hours or more, as in
Debian's cron: by less, it waits, so that it does not run a second time for the hour that comes again.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from eukhe.cron.instants import LAST_MS
from eukhe.cron.records import Dispatch, Job, Owner
from eukhe.cron.schedules import delay_ms, is_at_fixed_times, last_occurrence, next_occurrence

FAILURE_STOP_AFTER = 8
"""After so many failures in a row a job is paused."""
REST_MINUTES = (2, 4, 8, 16, 32, 60)
"""How long a job rests after its first, second, ... failure in a row; the last one from there on."""
INTERRUPTED = "interrupted"
"""The `last_error` of a job whose run did not come to its end."""
MINUTE_MS = 60_000
SET_BACK_SLACK_MS = 1000
"""How far a job's last change may lie ahead of the clock without the clock having been set back."""
SET_BACK_ANEW_MS = 3 * 60 * MINUTE_MS
"""From here on, hours that come again are new also for jobs at fixed times. Source: cron(8) of Debian."""
RUN_FACTS = ("next_run_at", "last_run_at", "last_skipped_at", "last_error", "run_count", "failures", "last_output")
"""The fields of a job that its runs change."""
OUTPUT_CHARACTERS_MAX = 2000
ERROR_CHARACTERS_MAX = 1000


class Outcome(Struct, frozen=True):
    """How a run ended: well, or with an error. `output` is the end of what it printed."""

    error: str | None = None
    output: str | None = None


def rest_ms(failures: int) -> int:
    """How long a job rests after so many failures in a row. Source: seed D2, the cron store, 4."""
    return 0 if failures <= 0 else REST_MINUTES[min(failures, len(REST_MINUTES)) - 1] * MINUTE_MS


def floor_of(job: Job, now: int) -> int | None:
    """Before this a job does not run, because of its failures; None without any. Where the clock was set back since
    the last run, the rest is counted from now."""
    if job.failures == 0 or job.last_run_at is None:
        return None
    return min(job.last_run_at, now) + rest_ms(job.failures)


def next_run(job: Job, now: int) -> int | None:
    """When a job is to run next; None: not by itself. `job.next_run_at` is what was decided before, None to decide
    anew, except for a one-shot: there None says that its occurrence is taken."""
    at = job.next_run_at
    set_back_ms = job.updated_at - now
    if job.schedule.kind == "once":
        delay = delay_ms(job.schedule)
        return at if at is None or delay is None or set_back_ms <= SET_BACK_SLACK_MS else min(at, now + delay)
    if job.status != "active":
        return None
    if at is None:
        return _anew(job, now)
    if set_back_ms <= SET_BACK_SLACK_MS:
        floor = floor_of(job, now)
        return at if floor is None else min(max(at, floor), LAST_MS)
    # The floor was kept when `at` was decided; a floor that is counted from now would never come.
    if is_at_fixed_times(job.schedule) and set_back_ms < SET_BACK_ANEW_MS:
        return at
    anew = _anew(job, now)
    return at if anew is None else min(at, anew)


def aligned(job: Job, now: int) -> Job:
    """The job with its next run as `next_run` has it."""
    at = next_run(job, now)
    return job if at == job.next_run_at else replace(job, next_run_at=at)


def is_due(job: Job, due_at: int) -> bool:
    """Whether the job's time has come. The next run must have been decided."""
    return job.status == "active" and job.next_run_at is not None and job.next_run_at <= due_at


def claimed(job: Job, now: int) -> Job:
    """The job when its due occurrence was claimed: the next one is decided, and what was missed is on record."""
    scheduled = job.next_run_at
    assert scheduled is not None
    after = max(scheduled, now)
    last = last_occurrence(job.schedule, job.created_at, after)
    skipped = job.last_skipped_at if last is None or last == scheduled else last
    return replace(job, next_run_at=_next_after(job, after), last_skipped_at=skipped)


def skipped(job: Job, now: int) -> Job:
    """The job when an occurrence came while a run was still going on."""
    assert job.next_run_at is not None
    after = max(job.next_run_at, now)
    last = last_occurrence(job.schedule, job.created_at, after)
    return replace(job, next_run_at=_next_after(job, after), last_skipped_at=last or job.next_run_at)


def claimed_by_hand(job: Job, now: int) -> Job:
    """The job when somebody runs it now, due or not: an occurrence that is due is taken by that, the others stay."""
    if job.schedule.kind == "once":
        return replace(job, next_run_at=None)
    if is_due(job, now):
        return claimed(job, now)
    return job


def finished(job: Job, outcome: Outcome, now: int) -> Job:
    """The job when its run has ended."""
    return _ended(job, outcome.error, now, run_count=job.run_count + 1, last_output=_shortened(outcome.output))


def interrupted(job: Job, now: int) -> Job:
    """The job when its run is known not to have come to its end. It counts as a failure, and as no run."""
    return _ended(job, INTERRUPTED, now)


def is_over(job: Job) -> bool:
    """Whether nothing will ever happen to the job any more."""
    return job.status in ("completed", "cancelled")


def paused(job: Job, now: int) -> Job:
    """The job when a person stops it for a while. A run that goes on is not disturbed."""
    return _with_next(replace(job, status="paused"), now)


def resumed(job: Job, now: int) -> Job:
    """The job when a person lets it go on: its failures are forgotten, and its next run is decided anew."""
    once = job.schedule.kind == "once"
    anew = replace(job, status="active", failures=0, next_run_at=job.next_run_at if once else None)
    return replace(anew, next_run_at=next_run(anew, now))


def cancelled(job: Job, now: int) -> Job:
    """The job when a person ends it for good."""
    return replace(job, status="cancelled", next_run_at=None)


def deferred(job: Job, until: int, now: int) -> Job:
    """The job with its next run put off until a time, at least."""
    at = next_run(job, now)
    return replace(job, next_run_at=None if at is None else max(at, until))


def fresher(ours: Job, theirs: Job, now: int) -> Job:
    """Of two versions of a job the one that was changed later, ours when none was: its settings, and whether it is
    active. What runs did to the job (`RUN_FACTS`) is known best by the file that the claims are in, so no version
    from elsewhere brings back an occurrence that was taken, or starts a job that has ended or was stopped by its
    failures."""
    if theirs.updated_at <= ours.updated_at or is_over(ours):
        return ours
    facts = {name: getattr(ours, name) for name in RUN_FACTS}
    if theirs.schedule != ours.schedule and (ours.schedule.kind != "once" or ours.next_run_at is not None):
        facts["next_run_at"] = theirs.next_run_at if theirs.schedule.kind == "once" else None
    if ours.status == "paused" and ours.failures >= FAILURE_STOP_AFTER:
        facts["status"] = "paused"
    merged = replace(theirs, **facts)
    return replace(merged, next_run_at=None if is_over(merged) else next_run(merged, now))


def stamped(before: Job, job: Job, now: int) -> Job:
    """A job with the time of its last change, if it is another than before the update. That time never goes back, so
    that a clock set back does not make old versions win."""
    if replace(job, updated_at=before.updated_at) == before:
        return before
    return replace(job, updated_at=max(now, before.updated_at + 1))


def claim(job: Job, dispatch_id: str, owner: Owner, now: int, by_hand: bool = False) -> Dispatch:
    """The claim of a job's occurrence, made at `now`; one by hand that is not due is for now."""
    due = not by_hand or is_due(job, now)
    scheduled = job.next_run_at if due else now
    assert scheduled is not None
    return Dispatch(id=dispatch_id, job_id=job.id, scheduled_for=scheduled, claimed_at=now, owner=owner)


def _natural(job: Job, after: int) -> int | None:
    return next_occurrence(job.schedule, job.created_at, after)


def _next_after(job: Job, after: int) -> int | None:
    """The next run when the occurrences up to `after` are dealt with; a one-shot has none."""
    return next_run(replace(job, next_run_at=None), after)


def _anew(job: Job, now: int) -> int | None:
    """The next run of a recurring job by its schedule and its failures."""
    at, floor = _natural(job, now), floor_of(job, now)
    return at if at is None or floor is None else min(max(at, floor), LAST_MS)


def _ended(job: Job, error: str | None, now: int, **fields: object) -> Job:
    failures = 0 if error is None else job.failures + 1
    status = job.status
    if job.schedule.kind == "once":
        status = "cancelled" if status == "cancelled" else "completed"
    elif status == "active" and failures >= FAILURE_STOP_AFTER:
        status = "paused"
    ended = replace(
        job,
        status=status,
        failures=failures,
        last_run_at=now,
        last_error=None if error is None else error[:ERROR_CHARACTERS_MAX],
        next_run_at=None if job.schedule.kind == "once" else job.next_run_at,
        **fields,
    )
    return _with_next(ended, now)


def _with_next(job: Job, now: int) -> Job:
    return replace(job, next_run_at=next_run(job, now))


def _shortened(output: str | None) -> str | None:
    return output[-OUTPUT_CHARACTERS_MAX:] if output else None
