"""Host work: the doors through which Python's own machinery reads the real disk while a simulated process runs.

| door | why |
|---|---|
| the import system, from finding a module to running its body | a program may import where it likes; code is no data |
| `linecache` | tracebacks and warnings show source lines |
| `inspect.findsource` and `getsourcefile` | so does whoever asks for a function's source |
| `zoneinfo`'s data | time zones belong to Python, as modules do |

A module's body counts as import: what it reads is its own package data. What it computes at import, it computes once
for all processes, outside of simulated time, as it would if the test had imported it first.
"""

from __future__ import annotations

import importlib._bootstrap as bootstrap
import inspect
import linecache
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from simfs.patch.inside import host_work, simulated
from simfs.patch.standin import StandIn, stand_in


def _at_host(record: StandIn, /, *args: Any, **kwargs: Any) -> Any:
    if simulated() is None:
        return record.real(*args, **kwargs)
    with host_work():
        return record.real(*args, **kwargs)


def _door(name: str, real: Any) -> StandIn:
    def body(record: StandIn, /, *args: Any, **kwargs: Any) -> Any:
        return _at_host(record, *args, **kwargs)

    return stand_in(name, real, body)


@cache
def host_doors() -> list[tuple[Any, str, StandIn]]:
    """Module, name in it, stand-in. Always the same ones."""
    doors: list[tuple[Any, str]] = [
        (bootstrap, "_find_and_load"),
        (linecache, "updatecache"),
        (linecache, "checkcache"),
        (inspect, "findsource"),
        (inspect, "getsourcefile"),
    ]
    try:
        from zoneinfo import _common, _tzpath
    except ImportError:
        pass
    else:
        doors.extend(((_common, "load_tzdata"), (_tzpath, "find_tzfile"), (_tzpath, "available_timezones")))
    return [(module, name, _door(f"{module.__name__}.{name}", getattr(module, name))) for module, name in doors]


@contextmanager
def doors() -> Iterator[None]:
    """Inside the block the doors are there; for programs whose other calls are not exchanged."""
    closed = [door for door in host_doors() if getattr(door[0], door[1]) is door[2].real]
    for module, name, record in closed:
        setattr(module, name, record.fake)
    try:
        yield
    finally:
        for module, name, record in closed:
            setattr(module, name, record.real)
