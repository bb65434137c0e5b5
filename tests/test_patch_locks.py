"""Locks of `threading` exclude within a process, never between processes, and never stop the exploration."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator

import pytest

from simfs.machine.errors import Deadlock
from simfs.machine.machine import Machine
from simfs.patch import interposed, process_of

MODULE_LOCK = threading.Lock()
MODULE_RLOCK = threading.RLock()


class Store:
    """Holds locks as stores do."""

    shared = threading.Lock()

    def __init__(self) -> None:
        self.lock = threading.Lock()


STORE = Store()
LOCKS = {
    "module": lambda: MODULE_LOCK,
    "module, reentrant": lambda: MODULE_RLOCK,
    "class": lambda: Store.shared,
    "object made at import": lambda: STORE.lock,
    "made in the process": threading.Lock,
}


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine whose processes make plain calls."""
    machine = Machine()
    with interposed():
        yield machine


@pytest.mark.parametrize("where", LOCKS)
def test_a_lock_that_one_process_holds_does_not_stop_another(where: str, machine: Machine) -> None:
    with process_of(machine, "first"):
        lock = LOCKS[where]()
        with lock:
            with process_of(machine, "second"):
                assert lock.acquire(timeout=1)
                lock.release()
            assert where == "module, reentrant" or not lock.acquire(blocking=False)
    assert lock.acquire(blocking=False)
    lock.release()


def test_waiting_for_a_lock_that_one_holds_oneself_is_a_deadlock(machine: Machine) -> None:
    with process_of(machine), MODULE_LOCK, pytest.raises(Deadlock, match="main waits for a lock"):
        MODULE_LOCK.acquire()
    with process_of(machine), MODULE_RLOCK, MODULE_RLOCK:
        pass


def test_a_wait_with_a_timeout_takes_simulated_time_only(machine: Machine) -> None:
    with process_of(machine):
        start = time.monotonic()
        assert not threading.Event().wait(3600)
        with pytest.raises(queue.Empty):
            queue.Queue[int]().get(timeout=3600)
        condition = threading.Condition()
        with condition:
            assert not condition.wait(3600)
        assert time.monotonic() - start == 3 * 3600


def test_things_made_of_locks_work_within_a_process(machine: Machine) -> None:
    with process_of(machine):
        event, items = threading.Event(), queue.Queue[int](1)
        event.set()
        items.put(1)
        assert event.wait() and items.get() == 1
        with threading.Semaphore(1), pytest.raises(RuntimeError):
            threading.Lock().release()


def test_locks_are_given_back() -> None:
    with interposed():
        assert type(MODULE_LOCK).__name__ == "ProcessLock"
    assert type(MODULE_LOCK).__name__ == type(STORE.lock).__name__ == type(Store.shared).__name__ == "lock"
