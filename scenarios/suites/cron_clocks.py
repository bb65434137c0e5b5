"""The check `cron_clocks`: clocks that jump, by any length, before and after a restart; nights when local time changes.

A real scheduler looks every half minute of simulated time, with a store on a simulated machine. The wall clock jumps
once; the other clock goes on. *No storm*: after a jump each job is run once at most by the first look, and each look
makes a bounded number of calls, however far the jump. *No stall*: within a bounded time after a jump forwards, and
after one backwards, a job that runs every so often runs again. A job for a fixed time does not run twice for an hour
that comes again.

The nights are those of London and New York in both directions, 48 hours each, for jobs at 01:30 and at 02:30 local time
and in UTC: one run a calendar day.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import simfs
from eukhe.cron import Claim, CronStore, Outcome, Scheduler
from eukhe.cron.scheduler import Inline
from scenarios.checks import Case, Check, Question
from scenarios.laws import cron
from scenarios.suites.cron import HOME, PATH
from scenarios.suites.storage import Wrap, as_it_is
from simfs.machine.machine import Machine

HOUR_S = 3600
YEAR_S = 31_536_000
JUMPS_S = {"-3 y": -3 * YEAR_S, "-6 h": -6 * HOUR_S, "-1 h": -HOUR_S, "+1 h": HOUR_S, "+10 y": 10 * YEAR_S}
LOOK_S = 30
REST_S = 120
"""How long a job rests that was interrupted by the restart."""
CALLS_MAX = 60
"""System calls that one look may make: one update, whatever the time says."""
FREQUENT = {"every 5m": 300, "*/5 * * * *": 300, "30 * * * *": 3600}
"""Jobs that run every so often, with the length in seconds. The last has a fixed minute and a free hour."""
ZONES = {"Europe/London": ZoneInfo("Europe/London"), "America/New_York": ZoneInfo("America/New_York")}
NIGHTS = {
    "Europe/London": (datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 10, 24, 12, tzinfo=UTC)),
    "America/New_York": (datetime(2026, 3, 7, 17, tzinfo=UTC), datetime(2026, 10, 31, 17, tzinfo=UTC)),
}
"""Noon, or so, before the nights when the clocks change."""


class Desk:
    """A machine, one job, and a scheduler that looks."""

    def __init__(self, start: datetime, schedule: str, zone: str | None, wrap: Wrap) -> None:
        self.machine = Machine(record_sites=False, wall_ns=int(start.timestamp()) * 1_000_000_000)
        self.wrap = wrap
        self.runs: list[tuple[int, int]] = []
        """(scheduled for in ms, seconds of the clock that does not jump) of each run."""
        self.mono_s = 0
        self.restart()
        for path in ("/home", "/home/me", HOME):
            self.system.mkdir(path)
        self.store.create(schedule, "run", zone=zone, job_id="job")

    def restart(self) -> None:
        """The process is killed, and a new one takes its place."""
        if self.machine.current is not None:
            self.machine.kill(self.machine.current)
        process = self.machine.spawn("scheduler")
        self.machine.current = process
        self.system = simfs.Handle(self.machine, process, ()).system
        self.store = CronStore(PATH, system=self.wrap(self.system, "scheduler"), lock_wait_s=0)
        self.scheduler = Scheduler(self.store, Inline(self._run, lambda seconds: None))

    def _run(self, claim: Claim) -> Outcome:
        self.runs.append((claim.dispatch.scheduled_for, self.mono_s))
        return Outcome()

    def look(self) -> int:
        """One look; answers how many calls that changed the disk it made."""
        before = len(self.machine.journal)
        self.scheduler.tick()
        return len(self.machine.journal) - before

    def pass_time(self, seconds: int) -> str | None:
        """Look every half minute for so long; what is wrong with a look, or None."""
        for _ in range(seconds // LOOK_S):
            self.machine.wall_ns += LOOK_S * 1_000_000_000
            self.mono_s += LOOK_S
            count = len(self.runs)
            calls = self.look()
            if len(self.runs) - count > 1:
                return f"one look ran the job {len(self.runs) - count} times"
            if calls > CALLS_MAX:
                return f"one look made {calls} calls"
        return None


def jumps(wrap: Wrap = as_it_is) -> Iterator[Case]:
    """Each schedule, jump, and place of a restart."""
    for schedule, length in FREQUENT.items():
        for jump, seconds in JUMPS_S.items():
            for restart in ("none", "before", "after"):
                yield f"{schedule}, {jump}, restart: {restart}", _wrong_jump(schedule, length, seconds, restart, wrap)
    for at in ("at 2026-05-02T00:00:00Z", "in 30m"):
        for jump, seconds in JUMPS_S.items():
            yield f"{at}, {jump}", _wrong_once(at, seconds, wrap)
    yield "30 1 * * *, -1 h right after the run", _wrong_again(wrap)


def _wrong_jump(schedule: str, length: int, seconds: int, restart: str, wrap: Wrap) -> str | None:
    desk = Desk(datetime(2026, 5, 1, 12, 1, tzinfo=UTC), schedule, None, wrap)
    wrong = desk.pass_time(2 * HOUR_S)
    if restart == "before":
        desk.restart()
    desk.machine.wall_ns += seconds * 1_000_000_000
    if restart == "after":
        desk.restart()
    jumped, before = desk.mono_s, len(desk.runs)
    wrong = wrong or desk.pass_time(2 * HOUR_S)
    if wrong:
        return wrong
    runs = len(desk.runs) - before
    if not runs or desk.runs[before][1] - jumped > length + REST_S + 2 * LOOK_S:
        return f"it did not run within {length} s of the jump, and a rest after an interruption"
    if not 2 * HOUR_S // length - 1 <= runs <= 2 * HOUR_S // length + 2:
        return f"it ran {runs} times in the two hours after the jump"
    return None


def _wrong_once(at: str, seconds: int, wrap: Wrap) -> str | None:
    desk = Desk(datetime(2026, 5, 1, 12, 1, tzinfo=UTC), at, None, wrap)
    wrong = desk.pass_time(600)
    desk.machine.wall_ns += seconds * 1_000_000_000
    wrong = wrong or desk.pass_time(HOUR_S)
    if wrong:
        return wrong
    expected = 1 if at.startswith("in") or seconds > 12 * HOUR_S else 0
    return None if len(desk.runs) == expected else f"it ran {len(desk.runs)} times, and should run {expected} times"


def _wrong_again(wrap: Wrap) -> str | None:
    desk = Desk(datetime(2026, 5, 1, 0, 1, tzinfo=UTC), "30 1 * * *", None, wrap)
    wrong = desk.pass_time(2 * HOUR_S - 20 * 60)
    desk.machine.wall_ns -= HOUR_S * 1_000_000_000
    wrong = wrong or desk.pass_time(24 * HOUR_S)
    return wrong or (None if len(desk.runs) == 1 else f"it ran {len(desk.runs)} times for one day")


def nights(wrap: Wrap = as_it_is) -> Iterator[Case]:
    """48 hours around each change of each zone, jobs at two times, in local time and in UTC."""
    for name, zone in ZONES.items():
        for start in NIGHTS[name]:
            for time in ("30 1", "30 2"):
                for job_zone in (name, None):
                    desk = Desk(start, f"{time} * * *", job_zone, wrap)
                    wrong = desk.pass_time(48 * HOUR_S) or _wrong_days(desk, zone if job_zone else UTC, start)
                    yield f"{time} * * * {job_zone or 'UTC'}, {name} from {start:%Y-%m-%d}", wrong


def _wrong_days(desk: Desk, zone: object, start: datetime) -> str | None:
    days = [datetime.fromtimestamp(at / 1000, zone).date() for at, _ in desk.runs]  # type: ignore[arg-type]
    first = start.date() + timedelta(days=1)
    wanted = [first, first + timedelta(days=1)]
    return None if days == wanted else f"it ran on {', '.join(map(str, days)) or 'no day'}"


def clocks(wrap: Wrap = as_it_is) -> Check:
    """The check; `wrap` is what a mutant puts between the machine and the store."""
    return Check(
        "cron_clocks",
        "Clocks that jump neither storm nor stall, and a night that changes the clocks has one run a day.",
        (
            Question(cron.CRON_ACCOUNTED, lambda: jumps(wrap)),
            Question(cron.CRON_FIRES_ONCE, lambda: nights(wrap)),
        ),
    )
