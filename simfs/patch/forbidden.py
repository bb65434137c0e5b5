"""What a simulated process may not do at all, and Python does not report: start a thread, handle signals, wait for
sockets.

Threads: a process has one. A second one would run outside of the explorer's order, so it is another process of the
scenario or nothing. Signals: they come between any two instructions; the explorer's kills and pauses are choices
instead. `select` and its relatives wait for what does not exist here. All are refused by name where they begin.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _thread
import select
import signal
import threading
from typing import Any

from simfs.patch.standin import StandIn, refused

_THREAD = "a simulated process has one thread; make the other activity a process of the scenario"
_SIGNAL = "signals are not simulated; a kill or a pause is a choice of the explorer"
_WAIT = "there is nothing to wait for; let processes meet in files"
_DATABASE = "it opens files outside Python; use dbm.dumb, for a shelf: shelve.Shelf(dbm.dumb.open(path))"

_THREAD_STARTS = ("start_new_thread", "start_new", "start_joinable_thread")
_SIGNAL_CALLS = (
    "alarm", "pause", "pidfd_send_signal", "pthread_kill", "pthread_sigmask", "raise_signal", "set_wakeup_fd",
    "setitimer", "siginterrupt", "signal", "sigpending", "sigtimedwait", "sigwait", "sigwaitinfo",
)  # fmt: skip
_WAIT_CALLS = ("select", "poll", "epoll", "kqueue")
_DATABASES = ("_gdbm", "_dbm")


def forbidden_stand_ins() -> list[tuple[Any, str, StandIn]]:
    """Module, name in it, stand-in. `threading` and `signal` hold the same functions under names of their own."""
    made: list[tuple[Any, str, StandIn]] = []
    for name in _THREAD_STARTS:
        if hasattr(_thread, name):
            record = refused("thread (_thread." + name + ")", getattr(_thread, name), _THREAD)
            made.append((_thread, name, record))
            if hasattr(threading, "_" + name):
                made.append((threading, "_" + name, record))
    for name in _SIGNAL_CALLS:
        if hasattr(_signal, name):
            record = refused(f"signal.{name}", getattr(_signal, name), _SIGNAL)
            made.append((_signal, name, record))
            if vars(signal).get(name) is record.real:
                made.append((signal, name, record))
    for name in _WAIT_CALLS:
        if hasattr(select, name) and not isinstance(getattr(select, name), type):
            made.append((select, name, refused(f"select.{name}", getattr(select, name), _WAIT)))
    for name in _DATABASES:
        made.extend(_database(name))
    return made


def _database(name: str) -> list[tuple[Any, str, StandIn]]:
    """The C databases behind `dbm`, where this Python has them."""
    try:
        module = __import__(name)
    except ImportError:
        return []
    return [(module, "open", refused(f"{name}.open", module.open, _DATABASE))]
