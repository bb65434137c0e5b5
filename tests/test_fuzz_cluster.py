"""Nights by the workers of a cluster: the verdict is that of one machine, a dead worker loses nothing, and a cluster
that is not there, or goes away, is said."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from scenarios.cli import run_app
from scenarios.cluster import Cluster, alone, cluster
from scenarios.fuzz import cluster as units
from scenarios.fuzz.cluster import ClusterWorkers, cluster_workers
from scenarios.fuzz.night import Night, Wish
from scenarios.fuzz.unit import Result, Unit, run_unit
from scenarios.fuzz.workers import DEATHS_MAX, LocalWorkers, Workers
from simfs.errors import UsageError

UNITS = [
    Unit("tree_histories", "scc", "one night", 200 * number, 200, planted=("tree-index",)) for number in range(3)
] + [Unit("cron_programs", "prefix", "one night", 20 * number, 20, planted=("cron-rule",)) for number in range(3)]


@pytest.fixture(scope="module")
def two() -> Iterator[Cluster]:
    with cluster("local", 2) as connected:
        yield connected


def verdict(results: list[Result]) -> dict[tuple[str, int], tuple[list[str], int, int]]:
    """What matters of results, whatever order they came in."""
    return {
        (one.unit.target, one.unit.first): (sorted(failure.id for failure in one.failures), one.histories, one.states)
        for one in results
    }


def done_by(workers: Workers, meanwhile: Callable[[], None]) -> list[Result]:
    """Every unit, and something that happens when some are out and none has come."""
    for unit in UNITS:
        workers.give(unit, 60.0)
    meanwhile()
    results: list[Result] = []
    deadline = time.monotonic() + 90
    while len(results) < len(UNITS) and time.monotonic() < deadline:
        results += workers.take(1.0)
    return results


def stuck_once(marker: str, unit: Unit, seconds: float, *wanted: str) -> Result:
    """In a worker: whoever is first says who it is, and hangs until it is killed."""
    try:
        with open(marker, "x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        return run_unit(unit, seconds) if not wanted else units.run_alone(unit, seconds, *wanted)
    time.sleep(600)
    raise AssertionError


def kill_who_is_stuck(marker: Path) -> None:
    deadline = time.monotonic() + 60
    while not (marker.exists() and marker.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(int(marker.read_text()), signal.SIGKILL)


def test_a_killed_worker_loses_nothing_and_the_verdict_is_that_of_one_machine(
    two: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with alone():
        here = verdict([run_unit(unit, 60.0) for unit in UNITS])
    assert any(failures for failures, _, _ in here.values())

    one, other = tmp_path / "one", tmp_path / "other"
    with monkeypatch.context() as patch:
        patch.setattr("scenarios.fuzz.workers.run_unit", partial(stuck_once, str(one)))
        forked = LocalWorkers(2)
        results = done_by(forked, lambda: kill_who_is_stuck(one))
        forked.close()
    assert verdict(results) == here
    assert forked.died == 1

    with monkeypatch.context() as patch:
        patch.setattr(units, "run_alone", partial(stuck_once, str(other)))
        workers = ClusterWorkers(two)
        results = done_by(workers, lambda: kill_who_is_stuck(other))
        workers.close()
    assert not [one.trouble for one in results if one.trouble]
    assert verdict(results) == here
    assert workers.died == 1


def test_a_unit_that_kills_its_workers_is_given_up_by_name(two: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "run_alone", _kills_its_worker)
    workers = ClusterWorkers(two)
    workers.give(UNITS[0], 60.0)
    results: list[Result] = []
    deadline = time.monotonic() + 60
    while not results and time.monotonic() < deadline:
        results += workers.take(0.5)
    workers.close()
    assert [one.unit for one in results] == [UNITS[0]]
    assert "tree_histories on scc: histories 0 to 199" in results[0].trouble
    assert f"killed its worker {DEATHS_MAX} times" in results[0].trouble
    assert workers.died == DEATHS_MAX


def _kills_its_worker(unit: Unit, seconds: float, wanted: str) -> Result:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_two_units_are_never_done_at_once_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    inside: list[int] = []
    most: list[int] = []

    def slow(unit: Unit, seconds: float) -> Result:
        inside.append(unit.first)
        most.append(len(inside))
        time.sleep(0.05)
        inside.remove(unit.first)
        return Result(unit)

    monkeypatch.setattr(units, "run_unit", slow)
    threads = [threading.Thread(target=units.run_alone, args=(unit, 1.0, units.identity())) for unit in UNITS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * len(UNITS)


def test_a_worker_with_another_program_does_nothing() -> None:
    result = units.run_alone(UNITS[0], 1.0, "eukhe 7")
    assert result.histories == 0
    assert "another program" in result.trouble
    assert "not eukhe 7" in result.trouble


def test_another_program_is_told_before_anything_runs(two: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    from scenarios import cluster as connection

    there = connection.identity
    monkeypatch.setattr(connection, "identity", lambda: "eukhe 7")
    monkeypatch.setattr(two.client, "run", lambda *_, **__: {"tcp://one": there()})
    with pytest.raises(UsageError, match=r"worker tcp://one has another program .* here it is eukhe 7: install the"):
        connection._check_workers(two)


SOMEBODY = """
import time, distributed
if __name__ == "__main__":
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, protocol="tcp://", dashboard_address="127.0.0.1:0"
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        time.sleep(600)
"""


def test_a_night_whose_scheduler_goes_away_ends_with_what_it_has() -> None:
    """A cluster of somebody else's, in one process, which is killed when something has been found."""
    with subprocess.Popen([sys.executable, "-c", SOMEBODY], stdout=subprocess.PIPE, text=True) as somebody:
        try:
            assert somebody.stdout is not None
            address = somebody.stdout.readline().strip()
            night = Night(Wish(("cron_programs",), 60.0, planted=("cron-rule",)), cluster_workers(address, 1))
            night.tell = lambda line: somebody.kill() if line.startswith("FAILED") else None
            night.run()
        finally:
            somebody.kill()
    assert night.alarm
    assert night.ended == f"the workers went away: the scheduler at {address} is gone"
    assert night.new_failures
    assert night.tally.by_target["cron_programs"].histories > 0


def nobody() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("nonsense", "write HOST:PORT of a scheduler, or local"),
        (nobody(), "no cluster answers there"),
    ],
    ids=["nonsense", "nobody"],
)
def test_a_cluster_that_is_not_there_is_told(
    address: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scenarios.cluster.CONNECT_S", 1)
    assert run_app(["fuzz", "tree", "--budget", "1s", "--cluster", address]) == 2
    assert said in capsys.readouterr().err


def test_without_the_extra_it_is_told_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert run_app(["fuzz", "tree", "--budget", "1s", "--cluster", "local"]) == 2
    assert "pip install 'eukhe[cluster]'" in capsys.readouterr().err


def test_the_command_says_nothing_of_dask_and_does_not_import_it_unasked() -> None:
    simfs = str(Path(sys.executable).with_name("simfs"))
    night = [simfs, "fuzz", "tree", "--budget", "1s", "--seed", "s", "--jobs", "2", "--cluster", "local"]
    done = subprocess.run(night, capture_output=True, text=True, timeout=90)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["seed", "the", "0"]
    unasked = "import sys, scenarios.cli; sys.exit('distributed' in sys.modules or 'dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", unasked], timeout=60).returncode == 0
