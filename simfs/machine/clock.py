"""Reading clocks and sleeping: the functions of `time`.

Two clocks. The wall clock can be set and jump; the monotonic one starts at 0 with each boot and only moves on. Both
move when somebody sleeps or waits, and not in between. A sleep of any length takes no real time: the process waits
for its deadline, and when all processes wait, the machine moves the clocks to the earliest one.
"""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING

from simfs.machine.calls import Calls
from simfs.machine.errors import os_error
from simfs.machine.ops import Note

if TYPE_CHECKING:
    from simfs.machine.process import Process

WALL = frozenset({time.CLOCK_REALTIME, 5})
"""CLOCK_REALTIME and CLOCK_REALTIME_COARSE."""
MONOTONIC = frozenset({time.CLOCK_MONOTONIC, time.CLOCK_MONOTONIC_RAW, time.CLOCK_BOOTTIME, 6})
"""The clocks since boot; 6 is CLOCK_MONOTONIC_COARSE. The machine is never suspended."""
CPU = frozenset({time.CLOCK_PROCESS_CPUTIME_ID, time.CLOCK_THREAD_CPUTIME_ID})
"""Computing takes no simulated time: always 0."""


def never() -> bool:
    """A sleep ends by its deadline only."""
    return False


class ClockCalls(Calls):
    """The functions of `time` that look at a clock or wait for one."""

    __slots__ = ()

    def look(self, call: str) -> Process:
        """Begin a call that reads a clock."""
        p = self.enter(call)
        if self.machine.footprint is not None:
            self.machine.footprint.append((("clock",), "R"))
        return p

    def time_ns(self) -> int:
        """time.time_ns: the wall clock."""
        self.look("time")
        return self.machine.wall_ns

    def time(self) -> float:
        """time.time: the wall clock in seconds."""
        self.look("time")
        return self.machine.wall_ns / 1e9

    def monotonic_ns(self) -> int:
        """time.monotonic_ns: since boot."""
        self.look("monotonic")
        return self.machine.mono_ns

    def monotonic(self) -> float:
        """time.monotonic: seconds since boot."""
        self.look("monotonic")
        return self.machine.mono_ns / 1e9

    def perf_counter_ns(self) -> int:
        """time.perf_counter_ns: the same clock as monotonic_ns."""
        return self.monotonic_ns()

    def perf_counter(self) -> float:
        """time.perf_counter: the same clock as monotonic."""
        return self.monotonic()

    def process_time_ns(self) -> int:
        """time.process_time_ns: 0, computing takes no simulated time."""
        self.enter_private()
        return 0

    def process_time(self) -> float:
        """time.process_time: 0.0."""
        return float(self.process_time_ns())

    def thread_time_ns(self) -> int:
        """time.thread_time_ns: 0, as process_time_ns."""
        return self.process_time_ns()

    def thread_time(self) -> float:
        """time.thread_time: 0.0."""
        return float(self.process_time_ns())

    def clock_gettime_ns(self, clk_id: int, /) -> int:
        """time.clock_gettime_ns: EINVAL for an unknown clock."""
        if clk_id in WALL:
            return self.time_ns()
        if clk_id in MONOTONIC:
            return self.monotonic_ns()
        if clk_id in CPU:
            return self.process_time_ns()
        self.enter_private()
        raise os_error(errno.EINVAL)

    def clock_gettime(self, clk_id: int, /) -> float:
        """time.clock_gettime: as clock_gettime_ns, in seconds."""
        return self.clock_gettime_ns(clk_id) / 1e9

    def clock_settime_ns(self, clk_id: int, time_ns: int, /) -> None:
        """time.clock_settime_ns: root sets the wall clock, which jumps. EPERM, EINVAL."""
        p = self.enter("clock_settime")
        if clk_id != time.CLOCK_REALTIME:
            raise os_error(errno.EINVAL)
        if p.uid:
            raise os_error(errno.EPERM)
        self.machine.jump(time_ns - self.machine.wall_ns)

    def clock_settime(self, clk_id: int, seconds: float, /) -> None:
        """time.clock_settime: as clock_settime_ns, in seconds."""
        self.clock_settime_ns(clk_id, int(seconds * 1e9))

    def sleep(self, seconds: float, /) -> None:
        """time.sleep: wait until the monotonic clock has moved on so far. ValueError when negative."""
        m = self.machine
        p = self.enter_private()
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        deadline = m.mono_ns + round(seconds * 1e9)
        m.journal.append(Note("", f"sleep {seconds:g} s"), p.index, m.wall_ns)
        m.wait(p, never, deadline, f"sleep {seconds:g} s")
