"""Who does units: processes of this host, or the workers of a cluster. Both are an `Executor` of the standard library.

A worker that dies takes its units along; `Workers.failed` says so by raising `WorkerDied`, and the night hands the
units out again, to a fresh pool. On a cluster that is the scheduler's own business.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Protocol

from scenarios.fuzz.unit import Result, Unit, run_unit
from simfs.explore.jobs import leave_ctrl_c


class Workers(Protocol):
    """Several workers. `room` is how many more units they want to have."""

    @property
    def room(self) -> int: ...
    def give(self, unit: Unit, seconds: float) -> None:
        """Hand out a unit, which ends early after so many seconds."""
        ...

    def take(self, seconds: float) -> list[Result]:
        """Results that have come; waits at most so long for the first."""
        ...

    def close(self) -> None:
        """Let go of everything that is still being done."""
        ...


@dataclass(slots=True)
class LocalWorkers:
    """`jobs` processes of this host. `died` counts the workers that were killed from outside."""

    jobs: int
    died: int = 0
    _pool: Executor | None = None
    _given: dict[Future[Result], tuple[Unit, float]] = field(default_factory=dict)

    @property
    def room(self) -> int:
        """One unit waits for each that is being done."""
        return 2 * self.jobs - len(self._given)

    def give(self, unit: Unit, seconds: float) -> None:
        """Hand out a unit."""
        if self._pool is None:
            context = multiprocessing.get_context("fork")
            self._pool = ProcessPoolExecutor(self.jobs, mp_context=context, initializer=leave_ctrl_c)
        try:
            future = self._pool.submit(run_unit, unit, seconds)
        except BrokenProcessPool:
            future = Future()
            future.set_exception(BrokenProcessPool("a worker died"))
        self._given[future] = (unit, seconds)

    def take(self, seconds: float) -> list[Result]:
        """Results that have come."""
        wait(self._given, timeout=seconds, return_when=FIRST_COMPLETED)
        done = [future for future in self._given if future.done()]
        results: list[Result] = []
        lost: list[tuple[Unit, float]] = []
        for future in done:
            given = self._given.pop(future)
            try:
                results.append(future.result())
            except BrokenProcessPool:
                lost.append(given)
        if lost:
            self.died += 1
            lost += self._given.values()
            self._end()
            for unit, limit in lost:
                self.give(unit, limit)
        return results

    def close(self) -> None:
        """End the processes."""
        self._end()

    def _end(self) -> None:
        pool, self._pool = self._pool, None
        self._given = {}
        if isinstance(pool, ProcessPoolExecutor):
            processes = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
            for process in processes:
                process.join(5)


def results_of(workers: Workers, seconds: float) -> Iterator[Result]:
    """Results, one by one, in a fixed order of those that came together."""
    yield from sorted(workers.take(seconds), key=lambda result: (result.unit.target, result.unit.first))
