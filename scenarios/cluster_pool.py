"""Exhaustive searches shared out to the workers of a cluster: `simfs run NAME --cluster ADDRESS`.

A worker is told the scenario by name, and the options; it runs setup itself, once, and keeps its search for the units
that follow. So units and answers are small values, and what comes back is what `simfs.explore.jobs` puts together: the
verdict and the counts are those of one process. A worker that dies loses nothing: dask does its unit again on another
one, which prepares itself anew. With the scheduler gone the search is inconclusive, with what was searched until then.
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from scenarios.cluster import Cluster, alone, identity, same_here
from scenarios.resolve import scenario_named
from simfs.disk.models import models_named
from simfs.errors import UsageError
from simfs.explore.explorer import stage_set
from simfs.explore.group import groups
from simfs.explore.judge import Inconclusive
from simfs.explore.ready import prepare
from simfs.explore.spec import spec_of
from simfs.explore.worker import Answer, Unit, Worker

WAIT_S = 1.0


@dataclass(frozen=True, slots=True)
class Named:
    """A scenario on some disk models, by name. `options` are those of the scenario, pickled."""

    reference: str
    options: bytes
    models: tuple[str, ...]
    program: str
    """What must run on both sides."""


_prepared: dict[Named, Worker] = {}
"""In a worker: the scenario it is at."""


def do_named(named: Named, unit: Unit, seconds: float | None) -> Answer:
    """In a worker: search a unit, which ends early after so many seconds. Raises UsageError for another program."""
    other = same_here(named.program)
    if other:
        raise UsageError(other)
    with alone():
        deadline = None if seconds is None else time.monotonic() + seconds
        known = _prepared.get(named)
        if known is not None:
            with stage_set(known.ready.spec):
                return known.do(unit, deadline)
        _prepared.clear()
        spec = spec_of(scenario_named(named.reference), **pickle.loads(named.options))
        ((wanted, members),) = groups(spec, models_named(named.models))
        with stage_set(wanted):
            worker = Worker(prepare(wanted), members)
            if not spec.options["isolate"]:  # copies of modules are made anew each time
                _prepared[named] = worker
            return worker.do(unit, deadline)


@dataclass(slots=True)
class ClusterHands:
    """The workers of a cluster, for one scenario."""

    cluster: Cluster
    named: Named
    deadline: float | None
    width: int
    _out: dict[int, Any] = field(default_factory=dict)
    _count: int = 0

    def give(self, unit: Unit) -> int:
        """Hand out a unit."""
        self._count += 1
        left = None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
        key = f"simfs-search-{self._count}-{os.urandom(8).hex()}"
        try:
            with self.cluster.reached():
                self._out[self._count] = self.cluster.client.submit(
                    do_named, self.named, unit, left, key=key, pure=False
                )
        except ConnectionError as error:
            raise Inconclusive(f"the workers went away: {error}") from error
        return self._count

    def take(self, number: int) -> Answer:
        """The answer of a unit. Raises Inconclusive when the scheduler, or too many workers, went away."""
        future = self._out.pop(number)
        try:
            while True:
                with self.cluster.reached():
                    try:
                        answer: Answer = future.result(timeout=WAIT_S)
                        return answer
                    except TimeoutError:
                        pass  # of the waiting, or of the connection: a look at the cluster says which
                self.cluster.check(WAIT_S)
        except ConnectionError as error:
            raise Inconclusive(f"the workers went away: {error}") from error
        except Exception as error:
            if type(error).__name__ == "KilledWorker":
                raise Inconclusive(f"workers of the cluster died of one unit: {error}") from error
            raise

    def end(self) -> None:
        """Take back what is out."""
        try:
            with self.cluster.reached():
                self.cluster.client.cancel(list(self._out.values()), force=True)
        except ConnectionError:
            pass


@dataclass(frozen=True, slots=True)
class ClusterPool:
    """The workers of a cluster as a `simfs.explore.jobs.Pool`."""

    cluster: Cluster

    @contextmanager
    def hands(self, worker: Worker, deadline: float | None) -> Iterator[ClusterHands]:
        """Workers for one prepared scenario. Raises UsageError for one that cannot be named or sent."""
        spec = worker.ready.spec
        scenario_named(spec.reference)
        try:
            options = pickle.dumps(spec.options)
        except Exception as error:
            raise UsageError(f"{spec.name}: its options cannot be sent to a cluster: {error}") from error
        named = Named(spec.reference, options, tuple(model.name for model in worker.models), identity())
        try:
            width = max(1, self.cluster.processes())
        except ConnectionError as error:
            raise Inconclusive(f"the workers went away: {error}") from error
        hands = ClusterHands(self.cluster, named, deadline, width)
        try:
            yield hands
        finally:
            hands.end()
