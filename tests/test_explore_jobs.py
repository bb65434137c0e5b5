"""A search shared by several processes of the host answers what one process alone answers."""

from __future__ import annotations

from typing import Any

import pytest

import simfs
from tests.test_explore_runs import Claim, Failing, Instants, UnlockedClaim, Unsteady


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


def test_shared_out_plans_count_each_distinct_image_once() -> None:
    alone = simfs.explore(UnflushedClaim, disk="scc")
    shared = simfs.explore(UnflushedClaim, disk="scc", jobs=2)
    assert shared.searched.distinct_images == alone.searched.distinct_images
