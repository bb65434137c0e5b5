"""The check `cron_rules`: back-off and pausing, in every small case, by the real rules and without a machine.

The back-off is judged from outside: when may a job run, whatever happens to it between its failures? After each failure
every kind of maintenance is tried on the job: a pass that finds nothing due, a next run that got lost, a list from
elsewhere, a deferral, a stop and a start of the process. None may bring the job back before its rest is over, and each
must leave it a next run soon after.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from eukhe.cron import book as books
from eukhe.cron.document import Document, parse, render
from eukhe.cron.records import Job, Owner
from eukhe.cron.rules import Outcome
from eukhe.cron.schedules import parse_schedule
from scenarios.checks import Case, Check, Question
from scenarios.laws import cron
from scenarios.suites.cron import START_MS

MINUTE = 60_000
RESTS = (2, 4, 8, 16, 32, 60, 60)
"""Minutes of rest after the first to the seventh failure."""
ME, OTHER = Owner(7, "boot:1"), Owner(8, "boot:2")
SCHEDULES = {"every minute": ("* * * * *", MINUTE), "every 10 s": ("every 10s", 10_000), "daily": ("30 1 * * *", 0)}
RUNS_MS = (0, 1, 30_000, 3 * MINUTE)
"""How long the runs take that fail."""


class Desk:
    """One document, and calls of the real rules on it."""

    def __init__(self, text: str) -> None:
        schedule, first = parse_schedule(text, START_MS)
        self.document = Document.empty()
        self.number = 0
        job = Job(
            id="job", status="active", source="user", runtime_kind="shell", delivery_mode="none",
            active_session_id=None, session_id=None, session_file=None, cwd="/", label="", prompt="run",
            schedule=schedule, created_at=START_MS, updated_at=START_MS, next_run_at=first, last_run_at=None,
            last_skipped_at=None, last_error=None, run_count=0, failures=0,
        )  # fmt: skip
        self.book(START_MS).create(job)

    def book(self, now: int, owner: Owner = ME) -> books.Book:
        """The document at a time, in somebody's hands."""
        return books.Book(self.document, owner, now)

    @property
    def job(self) -> Job:
        """The job as it stands."""
        found = self.document.job("job")
        assert found is not None
        return found[1]

    def new_id(self) -> str:
        """An id for a claim."""
        self.number += 1
        return f"claim {self.number}"

    def claim(self, now: int) -> str | None:
        """The id of the claim of the job, if it is due."""
        made = self.book(now).claim_due(now, self.new_id)
        return made[0][1].id if made else None

    def fail(self, now: int, takes_ms: int) -> int:
        """Run the job, which must be due, and let it fail; answers when that was."""
        claim = self.claim(now)
        assert claim is not None, "the job is not due when it should be"
        self.book(now + takes_ms).finish(claim, Outcome("it failed"))
        return now + takes_ms

    def restart(self) -> None:
        """Everything is forgotten but the file."""
        self.document = parse(render(self.document))


Upkeep = Callable[[Desk, int], object]


def _lost(desk: Desk, now: int) -> None:
    desk.document.put_job(0, replace(desk.job, next_run_at=None))
    desk.claim(now)


def _early(desk: Desk, now: int) -> None:
    desk.document.put_job(0, replace(desk.job, next_run_at=now))


def _merged(desk: Desk, now: int) -> None:
    desk.book(now).merge([replace(desk.job, updated_at=now + 5, next_run_at=now, failures=0, last_run_at=None)])


UPKEEP: dict[str, Upkeep] = {
    "nothing": lambda desk, now: None,
    "a pass": lambda desk, now: desk.claim(now),
    "the next run is lost": _lost,
    "the next run is too early": _early,
    "a list from elsewhere": _merged,
    "a recovery": lambda desk, now: desk.book(now).recover((), (OTHER,)),
    "a restart": lambda desk, now: desk.restart(),
    "a deferral": lambda desk, now: desk.book(now).defer_next_run("job", now + 1),
}
"""What may happen to a job while it rests."""


def backoff() -> Iterator[Case]:
    """Each schedule, length of runs, and kind of upkeep after each failure."""
    for (name, (text, length)), takes, upkeep in itertools.product(SCHEDULES.items(), RUNS_MS, UPKEEP):
        if takes > max(length, MINUTE) and length:
            continue
        yield f"{name}, runs of {takes} ms, {upkeep}", _wrong_backoff(text, length, takes, UPKEEP[upkeep])


def _wrong_backoff(text: str, length: int, takes: int, upkeep: Upkeep) -> str | None:
    desk = Desk(text)
    now = desk.job.next_run_at or 0
    first = failed = desk.fail(now, takes)
    for number, minutes in enumerate(RESTS, 1):
        upkeep(desk, failed + 1)
        rested = failed + minutes * MINUTE
        if desk.claim(rested - 1) is not None:
            return f"after failure {number} the job ran before its {minutes} minutes were over"
        desk.restart()
        due = rested if length else desk.job.next_run_at or 0
        if due < rested:
            return f"after failure {number} the next run is before its {minutes} minutes are over"
        late = due + (length or 0)
        claim_at = next((at for at in (due, due + 1, late) if _is_due(desk, at)), None)
        if claim_at is None:
            return f"after failure {number} the job does not run when its {minutes} minutes are over"
        failed = desk.fail(claim_at, takes)
    if desk.job.failures != 8 or desk.job.status != "paused" or desk.job.next_run_at is not None:
        return f"after eight failures the job is {desk.job.status} with {desk.job.failures} failures"
    if length == MINUTE and failed - first > 182 * MINUTE + 7 * (takes + 2):
        return f"failure 8 came {(failed - first) / MINUTE:g} minutes after failure 1"
    return None


def _is_due(desk: Desk, at: int) -> bool:
    trial = books.Book(desk.document.copy(), ME, at)
    return bool(trial.claim_due(at, lambda: "trial"))


def _activated(desk: Desk, now: int) -> None:
    desk.book(now).merge([replace(desk.job, status="active", updated_at=now)])


NO_PERSON: dict[str, Upkeep] = {
    **{name: UPKEEP[name] for name in ("a pass", "the next run is lost", "a recovery", "a restart")},
    "the next run is now": _early,
    "a list from elsewhere": lambda desk, now: desk.book(now).merge(
        [replace(desk.job, status="active", updated_at=now)]
    ),
    "an old list": lambda desk, now: desk.book(now).merge([replace(desk.job, failures=0, updated_at=now + 9)]),
    "the end of a run that nobody knows": lambda desk, now: desk.book(now).finish("claim 3", Outcome()),
    "another process looks": lambda desk, now: desk.book(now, OTHER).claim_due(now, desk.new_id),
}
"""What may happen to a paused job without a person."""


def pause_sticks() -> Iterator[Case]:
    """Three things in a row, of those that no person does, at three later times; then a person resumes."""
    stopped = Desk("* * * * *")
    now = stopped.job.next_run_at or 0
    for minutes in (*RESTS, 0):
        now = stopped.fail(now, 0) + minutes * MINUTE
    raw = render(stopped.document)
    for names in itertools.product(NO_PERSON, repeat=3):
        desk = Desk("* * * * *")
        desk.document, desk.number = parse(raw), stopped.number
        at = now
        for name, later in zip(names, (1, 90 * MINUTE, 400 * 24 * 60 * MINUTE), strict=True):
            at += later
            NO_PERSON[name](desk, at)
        yield ", ".join(names), _wrong_pause(desk, at)


def _wrong_pause(desk: Desk, now: int) -> str | None:
    job = desk.job
    if desk.claim(now) is not None or job.status != "paused":
        return "the job has started again without a person"
    if (job.failures, job.last_error) != (8, "it failed"):
        return f"it is listed with {job.failures} failures and the error {job.last_error!r}"
    job = desk.book(now).resume("job")
    if (job.status, job.failures) != ("active", 0) or job.next_run_at is None:
        return f"resumed, it is {job.status} with {job.failures} failures, next run {job.next_run_at}"
    if desk.claim(job.next_run_at) is None:
        return "resumed, it does not run"
    return None


RULES = Check(
    "cron_rules",
    "Back-off and pausing hold in every small case, whatever upkeep happens in between.",
    (Question(cron.CRON_BACKOFF_BOUNDED, backoff), Question(cron.CRON_PAUSE_STICKS, pause_sticks)),
)
