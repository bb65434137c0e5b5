"""Is the code that runs right now inside a simulated process? Every stand-in asks this first.

Model. While `running.active` is a machine whose `current` process is set, calls of the one thread that explores
belong to that process. Everybody else gets the real function: the explorer between two steps, pytest and Hypothesis
around it, other threads (a test runner's receiver) at any time. So nothing has to be put back before control returns
to the hub; the stand-ins thaw by themselves.

A process that was killed still unwinds: its `finally` blocks run, when `current` may be nobody. They run in a
greenlet of their own, though, while the explorer runs in the main one; so code there that finds no current process is
a corpse, and whatever it calls raises `ProcessKilled`.

One exception: *host work*. Python's own machinery, called by simulated code, reads the real disk: an import, the
source lines of a traceback, time-zone data. It runs inside `host_work()`, where the stand-ins pass through as well.
Host work makes no simulated call, so no other process can run before it ends. It may read; the tripwire stops it from
changing anything, except that the import system keeps its caches.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from greenlet import getcurrent  # type: ignore[import-untyped, unused-ignore]

from simfs.machine import running
from simfs.machine.process import ProcessKilled

if TYPE_CHECKING:
    from simfs.machine.machine import Machine
    from simfs.machine.process import Process
    from simfs.machine.system import SimSystem

_home = get_ident()
_stage: Any = None
"""The greenlet in which the explorer runs, while there is a stage."""
_host_depth = 0


def set_stage() -> None:
    """From now on calls of this thread may be those of a process; in this greenlet, only while one is current."""
    global _home, _stage
    _home, _stage = get_ident(), getcurrent()


def strike_stage() -> None:
    """From now on no call is a process's, unless `running.active` says so."""
    global _stage
    _stage = None


def simulated() -> SimSystem | None:
    """The calls of the machine whose process is running now, or None outside of one."""
    machine = running.active
    if machine is None or machine.current is None:
        return _corpse if _unwinds() else None
    if _host_depth or get_ident() != _home:
        return None
    return machine.system


def _unwinds() -> bool:
    return _stage is not None and get_ident() == _home and getcurrent() is not _stage and not _host_depth


class _Corpse:
    """The calls of a process that is dead and unwinds."""

    def __getattr__(self, name: str) -> Any:
        raise ProcessKilled(f"{name} by a process that is dead")


_corpse = cast("SimSystem", _Corpse())


def simulated_machine() -> Machine | None:
    """The machine whose process is running now, or None. Unlike `simulated` it also answers during host work."""
    machine = running.active
    if machine is None or machine.current is None or get_ident() != _home:
        return None
    return machine


def unwinds() -> bool:
    """Whether the code that runs now is that of a process that is no more."""
    return simulated() is _corpse


def current_process() -> Process:
    """The process that is running now; only asked where `simulated` answered."""
    machine = running.active
    if machine is None or machine.current is None:
        raise ProcessKilled("a process that is dead")
    return machine.current


def in_host_work() -> bool:
    """Whether Python's own machinery is at work for a simulated process."""
    return _host_depth > 0


@contextmanager
def host_work() -> Iterator[None]:
    """Inside, stand-ins pass through although a simulated process is running."""
    global _host_depth
    _host_depth += 1
    try:
        yield
    finally:
        _host_depth -= 1


@contextmanager
def process_work() -> Iterator[None]:
    """Inside host work: what follows is the process's own again."""
    global _host_depth
    depth, _host_depth = _host_depth, 0
    try:
        yield
    finally:
        _host_depth = depth
