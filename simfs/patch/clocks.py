"""The clock of a simulated process: every function of `time`, answered from the machine's two clocks.

One source: the wall clock for everything that tells a date, the monotonic clock for everything that measures.
Computing takes no time: `process_time` and `thread_time` stand still. Nothing really waits.

Local time is UTC while processes are being explored (the C library is told so), because a run is a function of its
scenario and its choices, and the time zone of the machine it happens to run on is neither.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

from simfs.machine.system import SimSystem
from simfs.patch.standin import StandIn, answered_by, modelled, refused

_real_gmtime = time.gmtime
_real_strftime = time.strftime
_real_asctime = time.asctime


def _broken_down(system: SimSystem, seconds: float | None = None, /) -> time.struct_time:
    return _real_gmtime(system.time() if seconds is None else seconds)


def _ctime(system: SimSystem, seconds: float | None = None, /) -> str:
    return _real_asctime(_broken_down(system, seconds))


def _asctime(system: SimSystem, when: Any = None, /) -> str:
    return _real_asctime(_broken_down(system) if when is None else when)


def _strftime(system: SimSystem, form: str, when: Any = None, /) -> str:
    return _real_strftime(form, _broken_down(system) if when is None else when)


_ANSWERS: dict[str, Callable[..., Any]] = {
    "thread_time": lambda system: system.process_time(),
    "thread_time_ns": lambda system: system.process_time_ns(),
    "localtime": _broken_down,
    "gmtime": _broken_down,
    "ctime": _ctime,
    "asctime": _asctime,
    "strftime": _strftime,
}
_REFUSED = {
    "pthread_getcpuclockid": "there are no threads; use time.monotonic",
    "tzset": "local time is UTC inside a simulated process; use zoneinfo for another zone",
}
UNCHANGED = ("clock_getres", "get_clock_info", "mktime", "strptime")


def time_names() -> list[str]:
    """Every function of this Python's `time`."""
    return [name for name, value in vars(time).items() if isinstance(value, BuiltinFunctionType)]


def fate(name: str) -> str:
    """What happens to `time.<name>`: "modelled", "answered", "unchanged" or "refused"."""
    if hasattr(SimSystem, name):
        return "modelled"
    if name in _ANSWERS:
        return "answered"
    return "unchanged" if name in UNCHANGED else "refused"


def clock_stand_ins() -> list[tuple[Any, str, StandIn]]:
    """Module, name in it, stand-in, for all of `time`."""
    made: list[tuple[Any, str, StandIn]] = []
    for name in time_names():
        real, decided, said = getattr(time, name), fate(name), f"time.{name}"
        if decided == "modelled":
            made.append((time, name, modelled(said, real, name)))
        elif decided == "answered":
            made.append((time, name, answered_by(said, real, _ANSWERS[name])))
        elif decided == "refused":
            made.append((time, name, refused(said, real, _REFUSED.get(name, "the clocks have nothing like it"))))
    return made


class UtcForNow:
    """Lets the C library take UTC for local time until `end`."""

    def __init__(self) -> None:
        self._before = os.environ.get("TZ")
        self._set("UTC")

    def end(self) -> None:
        """The time zone from before."""
        self._set(self._before)

    def _set(self, zone: str | None) -> None:
        # Not by os.environ: the test runner's environment shows what it showed before.
        if zone is None:
            os.unsetenv("TZ")
        else:
            os.putenv("TZ", zone)
        time.tzset()
