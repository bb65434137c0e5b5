"""Units done by the workers of a dask cluster.

Units that wait are kept here, and so many are out as there are worker processes: dask gives each to a worker that has
none. A unit whose worker dies is done again by dask itself, on another one; the scheduler's events say which units a
dead worker was doing, so one that kills its workers is known, and given up. Units are values, done by `run_alone`: one
at a time in each process, whatever number of threads a worker has, and whoever else uses the cluster for this. The key
of a task is new each time, so no result is taken for that of another night.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from scenarios.cluster import Cluster, alone, identity, open_cluster, same_here
from scenarios.fuzz.unit import Result, Unit, run_unit
from scenarios.fuzz.workers import Task

GATHER_S = 60
"""How long the result of a unit that is done may be on its way."""


def run_alone(unit: Unit, seconds: float, wanted: str) -> Result:
    """In a worker: do a unit, if this is the program that is wanted."""
    other = same_here(wanted)
    if other:
        return Result(unit, trouble=f"{unit.target}: {other}")
    with alone():
        return run_unit(unit, seconds)


@dataclass(slots=True)
class Out:
    """A task that dask has, and its future."""

    task: Task
    future: Any


@dataclass(slots=True)
class ClusterWorkers:
    """The worker processes of a cluster. `stack` is closed with them, and ends the connection."""

    cluster: Cluster
    stack: ExitStack = field(default_factory=ExitStack)
    died: int = 0
    _waiting: deque[Task] = field(default_factory=deque)
    _out: dict[str, Out] = field(default_factory=dict)
    _events: SimpleQueue[Any] = field(default_factory=SimpleQueue)
    """Futures that are done, and sets of keys that a worker was doing when it died."""
    _come: list[Result] = field(default_factory=list)
    _processes: int = 1

    def __post_init__(self) -> None:
        self._processes = self.cluster.processes()
        self.cluster.client.subscribe_topic("all", self._hear)

    @property
    def room(self) -> int:
        """One unit waits for each that is being done."""
        return 2 * self._processes - len(self._waiting) - len(self._out)

    def give(self, unit: Unit, seconds: float) -> None:
        """Hand out a unit. Raises ConnectionError."""
        self._waiting.append(Task(unit, seconds))
        self._hand_out()

    def take(self, seconds: float) -> list[Result]:
        """Results that have come. Raises ConnectionError; but results that came before that are taken first."""
        try:
            self._listen(seconds)
            self._hand_out()
        except ConnectionError:
            if not self._come:
                raise
        come, self._come = self._come, []
        return come

    def _listen(self, seconds: float) -> None:
        try:
            self._heard(self._events.get(timeout=seconds or 0.001))
            while True:
                self._heard(self._events.get_nowait())
        except Empty:
            if not self._come:
                self.cluster.check(seconds)
                self._processes = max(1, self.cluster.processes())

    def close(self) -> None:
        """Take back what is out, and leave."""
        try:
            with self.cluster.reached():
                self.cluster.client.unsubscribe_topic("all")
                self.cluster.client.cancel([out.future for out in self._out.values()])
        except ConnectionError:
            pass
        self._out.clear()
        self._waiting.clear()
        self.stack.close()

    def _hear(self, event: tuple[float, Any]) -> None:
        """An event of the scheduler, on a thread of dask."""
        told = event[1]
        if isinstance(told, dict) and told.get("action") == "remove-worker" and not told.get("expected"):
            self._events.put(frozenset(told["processing-tasks"]))

    def _heard(self, event: Any) -> None:
        if isinstance(event, frozenset):
            self._worker_died(event)
            return
        out = self._out.get(event.key)
        if out is None or out.future is not event:
            return
        if event.cancelled():
            self.cluster.check(0.0)
            self._waiting.appendleft(out.task)
        else:
            try:
                with self.cluster.reached():
                    self._come.append(event.result(timeout=GATHER_S))
            except ConnectionError:
                raise
            except Exception as error:
                self._come.append(_failed(out.task, error))
        del self._out[event.key]

    def _worker_died(self, keys: frozenset[str]) -> None:
        """Dask does its units again, unless one has killed too many."""
        mine = keys & set(self._out)
        self.died += bool(mine)
        for key in mine:
            given_up = self._out[key].task.died()
            if given_up is not None:
                out = self._out.pop(key)
                self._come.append(given_up)
                with self.cluster.reached():
                    self.cluster.client.cancel([out.future], force=True)

    def _hand_out(self) -> None:
        while self._waiting and len(self._out) < self._processes:
            task = self._waiting.popleft()
            key = f"simfs-{task.unit.target}-{task.unit.first}-{os.urandom(8).hex()}"
            with self.cluster.reached():
                future = self.cluster.client.submit(run_alone, task.unit, task.seconds, identity(), key=key, pure=False)
            self._out[key] = Out(task, future)
            future.add_done_callback(self._events.put)


def _failed(task: Task, error: BaseException) -> Result:
    """A unit that came to nothing: its workers died, or it raised."""
    unit = task.unit
    return Result(unit, trouble=f"{unit.target} on {unit.disk}: on the cluster: {type(error).__name__}: {error}")


def cluster_workers(address: str, jobs: int) -> ClusterWorkers:
    """The workers of `--cluster ADDRESS`. Raises UsageError."""
    with ExitStack() as stack:
        connected = open_cluster(address, jobs, stack)
        return ClusterWorkers(connected, stack.pop_all())
