"""The cron store measured: claims by real processes, a simulated year, a list of ten thousand jobs.

    python -m benchmarks.cron [--claims 200] [--days 365]

Claims: 1, 4 and 8 processes claim jobs that are due, each in an update of its own, and record the result, until all
are done. Beside it APScheduler with a job store in SQLite on the same disk does its part of the same work: for each
job that is due, `update_job` with its next run, as its scheduler does. It has no claims: with several processes it
runs a job several times, which is counted. APScheduler is no dependency; `pip install 'apscheduler<4' sqlalchemy` if
it is to be measured. Both flush: SQLite as it does by default.

The year: 100 jobs, each once a day, by the real store and scheduler on a simulated machine.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eukhe.cron import Claim, CronStore, Outcome, Scheduler
from eukhe.cron.scheduler import Inline
from simfs.explore.handle import Handle
from simfs.machine.machine import Machine

FAR_MS = 4_000_000_000_000


def _claim_all(path: str, go: Any, counts: Any, at: int) -> None:
    store = CronStore(path)
    go.wait()
    while claims := store.claim_due(FAR_MS, FAR_MS, limit=1):
        counts[at] += 1
        store.record_dispatch_result(claims[0].dispatch.id, Outcome(), FAR_MS)


def _update_all(url: str, go: Any, counts: Any, at: int) -> None:
    from datetime import UTC, datetime, timedelta

    from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore  # type: ignore[import-not-found]
    from apscheduler.schedulers.base import BaseScheduler  # type: ignore[import-not-found]

    class Still(BaseScheduler):  # type: ignore[misc]
        def wakeup(self) -> None: ...
        def shutdown(self, wait: bool = True) -> None: ...

    jobs = SQLAlchemyJobStore(url=url)
    jobs.start(Still(), "default")
    go.wait()
    now = datetime.fromtimestamp(FAR_MS / 1000, UTC)
    while due := jobs.get_due_jobs(now):
        counts[at] += 1
        due[0]._modify(next_run_time=now + timedelta(days=1))
        try:
            jobs.update_job(due[0])
        except Exception as error:
            if "locked" not in str(error):
                raise


def _race(processes: int, target: Callable[..., None], where: str) -> tuple[float, int]:
    """(seconds, how many claims or runs there were)."""
    context = multiprocessing.get_context("fork")
    go, counts = context.Event(), context.Array("i", processes)
    workers = [context.Process(target=target, args=(where, go, counts, at)) for at in range(processes)]
    for worker in workers:
        worker.start()
    time.sleep(0.5)
    started = time.perf_counter()
    go.set()
    for worker in workers:
        worker.join()
    return time.perf_counter() - started, sum(counts)


def claims(jobs: int, directory: str) -> None:
    """Print claims a second by 1, 4 and 8 processes."""
    for processes in (1, 4, 8):
        path = f"{directory}/{processes}/cron-jobs.json"
        store = CronStore(path)
        with store.changing() as book:
            for number in range(jobs):
                _add(book, number)
        seconds, made = _race(processes, _claim_all, path)
        print(f"eukhe        {processes} processes: {made / seconds:8.0f} claims and results/s, {made} for {jobs} jobs")
    try:
        import apscheduler  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        print("APScheduler is not installed, and is not measured")
        return
    for processes in (1, 4, 8):
        url = f"sqlite:///{directory}/{processes}.sqlite"
        _fill(url, jobs)
        seconds, made = _race(processes, _update_all, url)
        print(
            f"APScheduler  {processes} processes: {made / seconds:8.0f} updates of due jobs/s, {made} for {jobs} jobs"
        )


def _add(book: Any, number: int) -> None:
    from eukhe.cron import Job, parse_schedule

    schedule, first = parse_schedule("in 1s", book.now)
    book.create(
        Job(
            id=f"job{number}", status="active", source="user", runtime_kind="shell", delivery_mode="none",
            active_session_id=None, session_id=None, session_file=None, cwd="/", label="", prompt="true",
            schedule=schedule, created_at=book.now, updated_at=book.now, next_run_at=first, last_run_at=None,
            last_skipped_at=None, last_error=None, run_count=0, failures=0,
        )
    )  # fmt: skip


def _fill(url: str, jobs: int) -> None:
    from datetime import UTC, datetime

    from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
    from apscheduler.schedulers.background import BackgroundScheduler  # type: ignore[import-not-found]

    scheduler = BackgroundScheduler(jobstores={"default": SQLAlchemyJobStore(url=url)})
    scheduler.start(paused=True)
    for number in range(jobs):
        scheduler.add_job(os.getpid, "date", run_date=datetime(2090, 1, 1, tzinfo=UTC), id=f"job{number}")
    scheduler.shutdown()


def year(days: int) -> None:
    """Print how long simulated days of a hundred daily jobs take."""
    machine = Machine(record_sites=False)
    process = machine.spawn("scheduler")
    machine.current = process
    system = Handle(machine, process, ()).system
    store = CronStore("/cron-jobs.json", system=system, lock_wait_s=0)
    for number in range(100):
        store.create(f"{number % 60} {number // 5} * * *", "run", job_id=f"job{number}")
    runs = 0

    def run(claim: Claim) -> Outcome:
        nonlocal runs
        runs += 1
        return Outcome()

    scheduler = Scheduler(store, Inline(run, lambda seconds: None))
    started, begin_ns = time.perf_counter(), machine.wall_ns
    end_ns = begin_ns + days * 86_400 * 10**9
    while machine.wall_ns < end_ns:
        due = min(job.next_run_at or 0 for _, job in store.read().all_jobs())
        machine.wall_ns = max(machine.wall_ns, due * 1_000_000)
        scheduler.tick()
        machine.journal.ops.clear()
    seconds = time.perf_counter() - started
    print(f"{days} simulated days of 100 daily jobs: {runs} runs in {seconds:.1f} s, {days * 86_400 / seconds:,.0f}x")


def ten_thousand(directory: str) -> None:
    """Print how long it takes to list and to claim from a file of ten thousand jobs."""
    store = CronStore(f"{directory}/many/cron-jobs.json")
    with store.changing() as book:
        for number in range(10_000):
            _add(book, number)
    fresh = CronStore(store.path)
    started = time.perf_counter()
    count = len(fresh.list().jobs)
    listed = time.perf_counter()
    fresh.claim_due(FAR_MS, FAR_MS, limit=1)
    claimed = time.perf_counter()
    size = Path(store.path).stat().st_size / 1e6
    took = f"list {(listed - started) * 1e3:.0f} ms, one claim {(claimed - listed) * 1e3:.0f} ms"
    print(f"{count} jobs, {size:.1f} MB: {took}")


def main() -> None:
    """Run all three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=200)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--directory", help="where the files go; a temporary directory if none")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        claims(given.claims, directory)
        ten_thousand(directory)
    year(given.days)


if __name__ == "__main__":
    main()
