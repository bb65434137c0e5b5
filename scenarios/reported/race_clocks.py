"""E6: waiting on a frozen clock. spulec/freezegun#437, #384, #521 and PR#470.

What happened. A tool for tests froze the monotonic clock, and every sleep of an event loop hung for ever. The cure gave
the loop real time again, and now tests really waited, or a timer could not be driven by the frozen clock at all.
Libraries with heartbeats broke when the monotonic clock jumped along with the wall clock.

Why that is wrong. A program has several sources of time (wall clock, monotonic clock, file stamps, timers) and counts
on them to agree on how much time has passed. A test that moves some of them makes a world that does not exist; one
that moves none makes a world in which nothing ever becomes due.

What is right. One clock behind all sources. It stands still while anybody can go on; when all wait, it moves to the
earliest deadline. So nothing hangs, nothing really waits, and if no deadline is left that is said at once, with who
waits for what.

Two twins. *Deadlock*: two processes that wait for each other without a time-out, and with one; the right one also
measures how long its waits took, by each source of time. *Heartbeat*: silence of a worker measured by the wall clock,
which somebody sets in between, and by the monotonic one.
"""

from __future__ import annotations

import datetime
import fcntl
import os
import time
from typing import Any

import simfs
from scenarios.reported.durable import replace_durably
from scenarios.reported.holding import make_empty
from scenarios.reported.laws import CLM7, HAR4
from scenarios.reported.registry import Case
from simfs.explore.law import COMPLETES

FIRST, SECOND = "/first", "/second"
BEAT, BEAT_S, BEATS, SILENT_S = "/beat", 1.0, 3, 2.5


class _TwoLocks(simfs.Scenario):
    """Two processes take two locks in opposite order and sleep in between; a third sleeps; all of them end."""

    power = False
    early_ticks = 0

    def setup(self, m: Any) -> None:
        make_empty(FIRST, SECOND)

    def take(self, m: Any, path: str) -> bool:
        raise NotImplementedError

    def work(self, m: Any, first: str, second: str) -> None:
        if self.take(m, first):
            time.sleep(1)
            self.take(m, second)

    @simfs.process
    def forwards(self, m: Any) -> None:
        self.work(m, FIRST, SECOND)

    @simfs.process
    def backwards(self, m: Any) -> None:
        self.work(m, SECOND, FIRST)

    @simfs.process
    def sleeper(self, m: Any) -> None:
        before = all_clocks()
        time.sleep(60)
        m.effect("passed", (60, *passed_since(before)))

    @simfs.law(HAR4)
    def clocks_agree(self, m: Any) -> None:
        for event in m.history:
            if event.label == "passed":
                assert len(set(event.value)) == 1, f"seconds asked for, and passed by each source: {event.value}"


class WaitsForEver(_TwoLocks):
    """A lock is waited for without a time-out."""

    def take(self, m: Any, path: str) -> bool:
        fcntl.flock(os.open(path, os.O_RDWR), fcntl.LOCK_EX)
        return True


class WaitsWithTimeout(_TwoLocks):
    """A lock is asked for, and once more after two seconds."""

    def take(self, m: Any, path: str) -> bool:
        fd = os.open(path, os.O_RDWR)
        for again in (False, True):
            if again:
                before = all_clocks()
                time.sleep(2)
                m.effect("passed", (2, *passed_since(before)))
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                pass
        os.close(fd)
        return False


class _Heartbeat(simfs.Scenario):
    """A worker beats once a second and a watcher looks for silence; somebody sets the wall clock at any moment."""

    power = False
    early_ticks = 0
    clock_jumps = (3600.0, -3600.0)

    def setup(self, m: Any) -> None:
        replace_durably(BEAT, b"")

    def now(self) -> float:
        raise NotImplementedError

    @simfs.process
    def worker(self, m: Any) -> None:
        for _ in range(BEATS):
            with open(BEAT, "r+") as file:
                file.write(f"{self.now():.1f}")
            time.sleep(BEAT_S)

    @simfs.process
    def watcher(self, m: Any) -> None:
        time.sleep(BEAT_S * BEATS - 0.5)
        with open(BEAT) as file:
            silent_s = self.now() - float(file.read())
        if not 0 <= silent_s <= SILENT_S:
            m.effect("declared dead", silent_s)

    @simfs.law(CLM7)
    def a_beating_worker_is_alive(self, m: Any) -> None:
        dead = [event.value for event in m.history if event.label == "declared dead"]
        assert not dead, f"the worker beats every second and was declared dead after {dead[0]:g} s"


class SilentByTheWallClock(_Heartbeat):
    """Beats bear the time of day."""

    def now(self) -> float:
        return time.time()


class SilentByTheMonotonicClock(_Heartbeat):
    """Beats bear the time since boot."""

    def now(self) -> float:
        return time.monotonic()


def all_clocks() -> tuple[float, float, float, float]:
    """Now, by each source: monotonic clock, wall clock, the calendar, the stamp of a file made now."""
    stamp = f"/stamp.{os.getpid()}"
    with open(stamp, "w") as file:
        made = os.fstat(file.fileno()).st_mtime
    os.unlink(stamp)
    return time.monotonic(), time.time(), datetime.datetime.now().timestamp(), made


def passed_since(before: tuple[float, ...]) -> tuple[float, ...]:
    """Seconds since `before`, by each source."""
    return tuple(round(now - then, 3) for now, then in zip(all_clocks(), before, strict=True))


CASES = (
    Case(
        "E6",
        "waits that no clock ends are a deadlock with a wait graph, not a hang",
        "spulec/freezegun#437",
        WaitsForEver,
        WaitsWithTimeout,
        (COMPLETES,),
    ),
    Case(
        "E6-heartbeat",
        "silence measured by a clock that somebody sets",
        "spulec/freezegun#384",
        SilentByTheWallClock,
        SilentByTheMonotonicClock,
        (CLM7,),
    ),
)
