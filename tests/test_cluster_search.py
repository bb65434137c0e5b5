"""`simfs run --cluster`: a search shared out to a dask cluster answers what one process answers, also when a worker is
killed, and says it when the cluster goes away."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from scenarios.cli import run_app
from scenarios.cluster import Cluster, alone, cluster
from scenarios.cluster_pool import ClusterPool
from scenarios.resolve import scenario_named
from simfs.explore.explorer import explore
from simfs.explore.ledger import counts_of
from simfs.explore.verdict import Verdict

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def workers() -> Iterator[Cluster]:
    with cluster("local", 2) as connected, alone():
        yield connected


def same(shared: Verdict, alone: Verdict) -> None:
    assert (shared.status, shared.reason) == (alone.status, alone.reason)
    for name, part in alone.by_model.items():
        other = shared.by_model[name]
        assert (other.status, counts_of(other.searched)) == (part.status, counts_of(part.searched)), name
        assert other.searched.distinct_images == part.searched.distinct_images


@pytest.mark.parametrize("name", ["storage_epoch", "cron_first", "staging_dead"])
def test_a_search_by_a_cluster_has_the_counts_of_one_process(name: str, workers: Cluster) -> None:
    scenario = scenario_named(name)
    same(explore(scenario, jobs=ClusterPool(workers)), explore(scenario))


def test_a_broken_law_is_found_with_the_same_token(workers: Cluster) -> None:
    reference = f"{Path(__file__).parent}/cluster_programs.py:Torn"
    scenario = scenario_named(reference)
    alone, shared = explore(scenario), explore(scenario, jobs=ClusterPool(workers))
    assert alone.counterexample is not None and shared.counterexample is not None
    assert shared.counterexample.token == alone.counterexample.token


def test_a_killed_worker_changes_nothing(workers: Cluster) -> None:
    scenario = scenario_named("staging_two_sweeps")
    alone = explore(scenario)
    killed: list[int] = []

    def kill() -> None:
        time.sleep(0.5)
        (first, *_) = workers.client.run(os.getpid).values()
        os.kill(first, signal.SIGKILL)
        killed.append(first)

    thread = threading.Thread(target=kill)
    thread.start()
    shared = explore(scenario, jobs=ClusterPool(workers))
    thread.join()
    assert killed
    same(shared, alone)


def test_a_cluster_that_goes_away_leaves_what_was_searched() -> None:
    scenario: Any = scenario_named("staging_two_sweeps")
    with cluster("local", 1) as own:
        told: list[int] = []

        def shut_down() -> None:
            with suppress(Exception):  # whoever asked is gone as well
                own.client.shutdown()

        def progress(searched: Any) -> None:
            told.append(searched.executions)
            if len(told) == 1:
                threading.Thread(target=shut_down, daemon=True).start()

        verdict = explore(scenario, jobs=ClusterPool(own), progress=progress)
    assert verdict.status == "inconclusive"
    assert verdict.reason.startswith("the workers went away: ")
    assert verdict.searched.executions >= told[0] > 0


def test_the_command_says_what_it_cannot_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["run", "--exhaustive", "--states", "10", "--cluster", "local"]) == 2
    assert "--cluster: the record run is one of this host" in capsys.readouterr().err
    assert run_app(["run", "storage_epoch", "--cluster", "nowhere"]) == 2
    assert "write HOST:PORT of a scheduler" in capsys.readouterr().err
