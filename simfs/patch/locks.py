"""Locks of `threading`, of which each simulated process has its own.

Processes of one interpreter run in one thread, so a real lock that one of them holds across a system call would stop
the whole exploration when the next one asks for it; between real processes it would not exclude at all. A
`ProcessLock` keeps a state for each process: separate processes never meet in it. One thread is all that a process
has, so a lock that it waits for and holds itself is never released: with a timeout it sleeps that long on the
machine's clock (so do `Event.wait`, `Condition.wait` and `Queue.get`), without one it is `Deadlock`.

Locks made inside a process are of this kind, whatever class asks for them. Locks made before are exchanged where
modules outside the standard library hold them: in the module, in its classes, and in the objects that it keeps.
Outside of a process a `ProcessLock` is the real lock that it was or would have been.
"""

from __future__ import annotations

import _thread
import sys
import sysconfig
import threading
from collections.abc import Iterator
from functools import partial
from types import ModuleType
from typing import Any

from simfs.machine.errors import Deadlock
from simfs.machine.process import Process
from simfs.patch.inside import current_process, simulated
from simfs.patch.modulescan import is_left_alone
from simfs.patch.places import Place, Swap, swap_in_class, swap_item
from simfs.patch.standin import StandIn, stand_in

RealLock: Any = _thread.allocate_lock
RealRLock: Any = _thread.RLock
_LOCK_TYPE = type(RealLock())
_KINDS = (_LOCK_TYPE, RealRLock)
_STANDARD = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))


class ProcessLock:
    """A lock, or with `reentrant` an `RLock`, with one state for each process and a real one for everybody else."""

    def __init__(self, real: Any, reentrant: bool) -> None:
        self._real = real
        self._reentrant = reentrant
        self._held: dict[Process, int] = {}

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """As `threading.Lock.acquire`; never waits for another process."""
        system = simulated()
        if system is None:
            return bool(self._real.acquire(blocking, timeout))
        process = current_process()
        count = self._held.get(process, 0)
        if count and not self._reentrant:
            if not blocking:
                return False
            if timeout < 0:
                raise Deadlock(f"process {process.name} waits for a lock that it holds itself, and has no other thread")
            system.sleep(timeout)
            return False
        self._held[process] = count + 1
        return True

    def release(self) -> None:
        """As `threading.Lock.release`."""
        if simulated() is None:
            self._real.release()
            return
        process = current_process()
        count = self._held.get(process, 0)
        if not count:
            raise RuntimeError("cannot release un-acquired lock" if self._reentrant else "release unlocked lock")
        if count == 1:
            del self._held[process]
        else:
            self._held[process] = count - 1

    def locked(self) -> bool:
        """Whether this process holds it."""
        if simulated() is None:
            return bool(self._real.locked())
        return current_process() in self._held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _is_owned(self) -> bool:
        """For `threading.Condition`."""
        if simulated() is None:
            owned = getattr(self._real, "_is_owned", None)
            return bool(owned() if owned is not None else self._real.locked())
        return self.locked()

    def _release_save(self) -> Any:
        if simulated() is None:
            save = getattr(self._real, "_release_save", None)
            return save() if save is not None else self._real.release()
        return self._held.pop(current_process(), 0)

    def _acquire_restore(self, state: Any) -> None:
        if simulated() is None:
            restore = getattr(self._real, "_acquire_restore", None)
            restore(state) if restore is not None else self._real.acquire()
        else:
            self._held[current_process()] = state

    def _at_fork_reinit(self) -> None:
        self._real._at_fork_reinit()
        self._held.clear()


def _made(record: StandIn, /, *args: Any, **kwargs: Any) -> Any:
    real = record.real(*args, **kwargs)
    return real if simulated() is None else ProcessLock(real, record.real is RealRLock)


class _LockMeta(type):
    """For Pythons in which `threading.Lock` is a class, and may be asked about as one."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        record: StandIn = cls.record  # type: ignore[attr-defined]
        return _made(record, *args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, (cls.record.real, ProcessLock))  # type: ignore[attr-defined]


def _lock_stand_in(name: str, real: Any) -> StandIn:
    if not isinstance(real, type):

        def body(record: StandIn, /, *args: Any, **kwargs: Any) -> Any:
            return _made(record, *args, **kwargs)

        return stand_in(name, real, body)
    record = StandIn(name, real)
    record.fake = _LockMeta(real.__name__, (), {"record": record, "__module__": real.__module__, "__slots__": ()})
    return record


def lock_stand_ins() -> list[tuple[Any, str, StandIn]]:
    """Module, name in it, stand-in, for whatever makes locks."""
    records: dict[int, StandIn] = {}
    made: list[tuple[Any, str, StandIn]] = []
    homes = [(_thread, n) for n in ("allocate_lock", "allocate", "RLock", "lock", "LockType")]
    homes += [(threading, n) for n in ("Lock", "_allocate_lock", "_CRLock", "_LockType")]
    for module, name in homes:
        real: Any = getattr(module, name, None)
        callable_lock = real is not None and (real is RealRLock or not isinstance(real, type) or name == "Lock")
        if callable_lock:
            record = records.setdefault(id(real), _lock_stand_in(f"{module.__name__}.{name}", real))
            made.append((module, name, record))
    return made


def lock_places(seen: set[int]) -> Iterator[Place]:
    """Where modules outside the standard library hold locks that were made before; modules in `seen` are skipped."""
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType) and id(module) not in seen:
            seen.add(id(module))
            if not _is_standard(module) and not is_left_alone(module.__name__ + "."):
                yield from _places_of(module)


def _is_standard(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return file is None or (file.startswith(_STANDARD) and "site-packages" not in file)


def _places_of(module: ModuleType) -> Iterator[Place]:
    for name, value in list(vars(module).items()):
        kind = type(value)
        if kind in _KINDS:
            yield _place(partial(swap_item, vars(module), name), value)
        elif issubclass(kind, type) and value.__module__ == module.__name__:
            for attribute, held in list(vars(value).items()):
                if type(held) in _KINDS:
                    yield _place(partial(swap_in_class, value, attribute), held)
        elif kind.__module__ == module.__name__ and type(space := getattr(value, "__dict__", None)) is dict:
            for attribute, held in list(space.items()):
                if type(held) in _KINDS:
                    yield _place(partial(swap_item, space, attribute), held)


def _place(swap: Swap, real: Any) -> Place:
    return Place(swap, real, ProcessLock(real, type(real) is RealRLock))
