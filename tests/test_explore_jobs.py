"""A search shared by several processes of the host answers what one process alone answers."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

import simfs
from simfs.explore.jobs import Forked
from simfs.explore.ledger import COUNTED, counts_of
from simfs.explore.worker import Unit, Worker
from tests.interleaving_programs import scenario_of
from tests.test_explore_runs import Claim, Failing, Instants, UnlockedClaim, Unsteady


class PoweredClaim(Claim):
    """A claim under power loss, with a kill."""

    power = True


class UnflushedClaim(Claim):
    """A claim that is promised before it is durable, with two kills."""

    power = True
    kills = 2
    disk = ("scc", "prefix")

    @simfs.law
    def promised(self, m: Any) -> None:
        assert not m.effects("run") or m.system.stat("/jobs").st_size == len("claimed")


@pytest.mark.parametrize("scenario", [Claim, UnlockedClaim, UnflushedClaim, Instants, Failing, Unsteady])
@pytest.mark.parametrize("strategy", ["exhaustive", "portfolio"])
def test_status_and_counterexample_are_the_same_for_any_number_of_jobs(scenario: Any, strategy: str) -> None:
    alone = simfs.explore(scenario, strategy=strategy)
    for jobs in (2, 3):
        shared = simfs.explore(scenario, strategy=strategy, jobs=jobs)
        assert shared.status == alone.status
        assert shared.searched.executions == alone.searched.executions
        for disk, verdict in alone.by_model.items():
            other = shared.by_model[disk]
            assert other.status == verdict.status
            assert (other.counterexample and other.counterexample.token) == (
                verdict.counterexample and verdict.counterexample.token
            )


class Restarts(Claim):
    """As Claim, the claimers start again after the power loss, and the power may go twice."""

    power = True
    power_depth = 2

    @simfs.process(restart=1)
    def again(self, m: Any) -> None:
        fd = m.system.open("/seen", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        m.system.write(fd, b"x")
        m.system.fsync(fd)

    @simfs.recover
    def recovery(self, m: Any) -> None:
        fd = m.system.open("/recovered", os.O_WRONLY | os.O_CREAT)
        m.system.write(fd, b"y")
        m.system.fsync(fd)


@pytest.mark.parametrize(
    ("scenario", "disk"),
    [(PoweredClaim, "scc"), (PoweredClaim, "prefix"), (PoweredClaim, "ext4"), (Restarts, "scc")],
)
def test_a_shared_search_has_the_counts_of_one(scenario: Any, disk: str) -> None:
    alone = simfs.explore(scenario, disk=disk).searched
    assert alone.crash_points > 50
    for jobs in (2, 3):
        shared = simfs.explore(scenario, disk=disk, jobs=jobs).searched
        for count in (*COUNTED, "distinct_images"):
            assert getattr(shared, count) == getattr(alone, count), count


def test_one_tree_of_schedules_is_shared_too() -> None:
    adding, _ = scenario_of([[("open", "a"), *[("add", "a")] * 3]] * 2)
    alone = simfs.explore(adding, disk="scc")
    pool = Counting(2)
    shared = simfs.explore(adding, disk="scc", jobs=pool)
    assert alone.status == shared.status == "proved"
    assert alone.searched.executions == 328
    assert pool.given > 2, "one plan, and several units"
    assert counts_of(shared.searched) == counts_of(alone.searched)
    assert shared.searched.distinct_images == alone.searched.distinct_images


@dataclass
class Counting:
    """Processes of this host, and how many units they were given."""

    jobs: int
    given: int = 0
    kill: bool = False

    @contextmanager
    def hands(self, worker: Worker, deadline: float | None) -> Iterator[Any]:
        with Forked.of(worker, deadline, self.jobs) as hands:
            give = hands.give

            def counted(unit: Unit) -> int:
                self.given += 1
                number = give(unit)
                if self.kill and self.given % 5 == 0 and self.given < 12:
                    os.kill(next(iter(hands._pool._processes)), signal.SIGKILL)  # type: ignore[union-attr]
                return number

            yield SimpleNamespace(width=hands.width, give=counted, take=hands.take)


def test_a_worker_that_dies_loses_nothing() -> None:
    alone = simfs.explore(PoweredClaim, disk="scc")
    pool = Counting(2, kill=True)
    shared = simfs.explore(PoweredClaim, disk="scc", jobs=pool)
    assert pool.given > 12
    assert shared.status == alone.status
    assert counts_of(shared.searched) == counts_of(alone.searched)
