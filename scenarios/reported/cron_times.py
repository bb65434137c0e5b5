"""C8, C10, C11 and a relative: jobs and their times. openclaw/openclaw PR#66113; systemd/systemd#16347 (relatives:
dbader/schedule#323, agronholm/apscheduler#351 and #526, node-schedule/node-schedule#431); cronie-crond/cronie#124;
systemd/systemd#21166.

What happened. C8: after a failure a job waits; a pass that fills in a missing next run computes it from the schedule
alone, and the job runs before its wait is over. C10: the next run was computed under a clock that was wrong; the clock
is set back, and nothing runs for years; or it leaps ahead, and every missed run comes at once. C11: in the night when
local time goes back, a scheduler waits until local time has caught up, so as to run nothing twice, and jobs in UTC are
missed. The relative: a random delay is drawn anew at each boot, and a host that is never up so long never runs the job.

What is right. One function decides when a job runs next; it knows the wait after failures. A next run that lies further
ahead than the schedule allows is decided anew; what was missed is caught up once. Only jobs in local time care for
local time. A delay that was drawn is written down.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import simfs
from scenarios.reported.durable import replace_durably
from scenarios.reported.laws import CLM3, CLM4, CLM7, CLM8
from scenarios.reported.registry import ATOMIC_RENAMES, Case

STATE = "/state"
MINUTE_S = 60.0
WAIT_S = 15 * MINUTE_S
LONDON = ZoneInfo("Europe/London")
NIGHT = datetime(2026, 10, 24, 0, 0, tzinfo=UTC).timestamp()
"""The midnight before the day before British clocks go back."""


class _Waits(simfs.Scenario):
    """A job that runs every minute has failed three times and waits for a quarter of an hour. Its next run gets lost,
    and the scheduler starts again, once more after a power loss."""

    disk: str | tuple[str, ...] = ATOMIC_RENAMES
    power_depth = 1

    def setup(self, m: Any) -> None:
        self.failed = time.time()
        replace_durably(STATE, f"{self.failed + WAIT_S}".encode())

    def next_run(self, floor: float) -> float:
        raise NotImplementedError

    @simfs.process(restart=1)
    def scheduler(self, m: Any) -> None:
        with open(STATE) as file:
            floor = float(file.read())
        at = self.next_run(floor)
        time.sleep(max(0.0, at - time.time()))
        m.effect("run", time.time())

    @simfs.law(CLM8)
    def not_before_its_wait_is_over(self, m: Any) -> None:
        early = [event.value for event in m.history if event.label == "run" and event.value < self.failed + WAIT_S]
        assert not early, f"the job ran {early[0] - self.failed:g} s after its failure" if early else ""


class FillsInBySchedule(_Waits):
    """What is missing is computed from the schedule."""

    disk = "prefix"

    def next_run(self, floor: float) -> float:
        return time.time() + MINUTE_S


class OneFunction(_Waits):
    """Whatever computes a next run knows the wait."""

    def next_run(self, floor: float) -> float:
        return max(time.time() + MINUTE_S, floor)


class _Every(simfs.Scenario):
    """A scheduler looks once a minute, six times, for a job that runs every minute; meanwhile the clock jumps."""

    power = False
    early_ticks = 0
    looks = 6

    def runs_due(self, due: float, now: float) -> tuple[int, float]:
        """(how many runs to begin now, the next due time)."""
        raise NotImplementedError

    @simfs.process
    def scheduler(self, m: Any) -> None:
        due = time.time() + MINUTE_S
        for _ in range(self.looks):
            time.sleep(MINUTE_S)
            count, due = self.runs_due(due, time.time())
            m.effect("look", count)

    @simfs.law(CLM7)
    def each_look_runs_it_once_or_so(self, m: Any) -> None:
        counts = [event.value for event in m.history if event.label == "look"]
        assert max(counts) <= 1, f"one look began {max(counts)} runs"
        assert sum(counts) >= self.looks - 2, f"{sum(counts)} runs in {self.looks} minutes"


class _SetBack(_Every):
    clock_jumps: tuple[float, ...] = (-94_608_000.0, -3600.0)


class _LeapsAhead(_Every):
    clock_jumps = (3600.0, 315_576_000.0)


class KeepsItsNextRun(_SetBack):
    """The next run stays as it was computed."""

    def runs_due(self, due: float, now: float) -> tuple[int, float]:
        return (1, now + MINUTE_S) if now >= due else (0, due)


class DecidesAnew(_SetBack):
    """A next run further ahead than the schedule allows is no next run; and all that was missed is one run."""

    clock_jumps = (-94_608_000.0, -3600.0, 3600.0, 315_576_000.0)

    def runs_due(self, due: float, now: float) -> tuple[int, float]:
        return (1, now + MINUTE_S) if now >= due else (0, min(due, now + MINUTE_S))


class RunsAllThatWasMissed(_LeapsAhead):
    """One run for each minute that has passed, up to a hundred."""

    def runs_due(self, due: float, now: float) -> tuple[int, float]:
        count = 0
        while now >= due and count < 100:
            count, due = count + 1, due + MINUTE_S
        return count, due


class CatchesUpOnce(DecidesAnew):
    """The same: however many were missed, they are one."""


class _Nights(simfs.Scenario):
    """48 hours around the night in which British clocks go back, for a job at 01:30 UTC and one at 01:30 in London."""

    power = False

    def due(self, now: float, before: float) -> list[str]:
        """Which jobs are due now, when it was looked last `before`."""
        raise NotImplementedError

    @simfs.process
    def scheduler(self, m: Any) -> None:
        time.sleep(NIGHT - time.time())
        before = time.time()
        while before < NIGHT + 48 * 3600:
            time.sleep(10 * MINUTE_S)
            for job in self.due(time.time(), before):
                m.effect(job)
            before = time.time()

    @simfs.law(CLM4)
    def one_run_a_day_at_least(self, m: Any) -> None:
        for job in ("utc", "london"):
            assert m.effects(job) >= 2, f"the job in {job} ran {m.effects(job)} times in two nights"

    @simfs.law(CLM3)
    def one_run_a_day_at_most(self, m: Any) -> None:
        for job in ("utc", "london"):
            assert m.effects(job) <= 2, f"the job in {job} ran {m.effects(job)} times in two nights"


class WaitsForLocalTime(_Nights):
    """Nothing runs until local time is later than it has ever been, whatever the job's zone."""

    def __init__(self) -> None:
        self.latest = 0.0

    def due(self, now: float, before: float) -> list[str]:
        shown = now + offset(now)
        late, self.latest = self.latest, max(self.latest, shown)
        if shown <= late:
            return []
        jobs = ["london"] if is_half_past_one(shown) else []
        return [*jobs, "utc"] if is_half_past_one(now) else jobs


class ComparesInstants(_Nights):
    """Each job's time becomes an instant, by the rules of its own zone, the first where there are two."""

    def due(self, now: float, before: float) -> list[str]:
        day = datetime.fromtimestamp(now, LONDON).date()
        local = datetime(day.year, day.month, day.day, 1, 30, tzinfo=LONDON, fold=0).timestamp()
        jobs = ["london"] if before < local <= now else []
        return [*jobs, "utc"] if is_half_past_one(now) else jobs


def offset(at: float) -> float:
    """How far London is ahead of UTC, in seconds."""
    ahead = datetime.fromtimestamp(at, LONDON).utcoffset()
    assert ahead is not None
    return ahead.total_seconds()


def is_half_past_one(at: float) -> bool:
    """Whether a clock that shows this time shows 01:30."""
    return int(at) % 86_400 == 5400


class _Boots(simfs.Scenario):
    """A host is up for five minutes at a time. A job that is due has a random delay of up to ten minutes."""

    power = False

    def fires_at(self) -> float:
        raise NotImplementedError

    @simfs.process
    def host(self, m: Any) -> None:
        for _ in range(4):
            at = self.fires_at()
            if at <= time.time() + 300:
                time.sleep(max(0.0, at - time.time()))
                m.effect("run")
                return
            time.sleep(300)

    @simfs.law(CLM4)
    def it_runs_some_time(self, m: Any) -> None:
        assert m.effects("run"), "the host was up four times, and the job has not run"


class DrawsAtEachBoot(_Boots):
    """The delay begins anew."""

    def fires_at(self) -> float:
        return time.time() + 600


class WritesTheDelayDown(_Boots):
    """The time that was drawn is kept."""

    def fires_at(self) -> float:
        if not os.path.exists(STATE):
            replace_durably(STATE, f"{time.time() + 600}".encode())
        with open(STATE) as file:
            return float(file.read())


CASES = (
    Case("C8", "a pass that fills in a missing next run forgets that the job has to wait",
         "openclaw/openclaw#66113", FillsInBySchedule, OneFunction, (CLM8,)),
    Case("C10", "a next run that was computed under a wrong clock is waited for, for years",
         "systemd/systemd#16347", KeepsItsNextRun, DecidesAnew, (CLM7,)),
    Case("C10-burst", "the clock leaps ahead, and all that was missed is run at once",
         "node-schedule/node-schedule#431", RunsAllThatWasMissed, CatchesUpOnce, (CLM7,)),
    Case("C11", "in the night when local time goes back, jobs in UTC wait for local time too",
         "cronie-crond/cronie#124", WaitsForLocalTime, ComparesInstants, (CLM4,)),
    Case("systemd21166", "a random delay is drawn anew at each boot, and the job never runs",
         "systemd/systemd#21166", DrawsAtEachBoot, WritesTheDelayDown, (CLM4,)),
)  # fmt: skip
