"""What a daemon does unasked: it sweeps at boot and every five minutes, and runs the scheduled jobs of its home.

The sweeps are those of `ArchiveLoop`, each in a thread. The scheduler is the one of `eukhe cron serve`, in a thread of
its own with a pool of others; it may run beside other schedulers of the same file. When the daemon ends, what the jobs
have started is ended, and put on record as interrupted.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import suppress

from eukhe.cron.commands import run_command
from eukhe.cron.pool import ThreadPool
from eukhe.cron.rules import Outcome
from eukhe.cron.scheduler import Scheduler
from eukhe.cron.store import Claim, CronStore
from eukhe.daemon.places import jobs_of
from eukhe.sessions.archive import ArchiveLoop
from eukhe.sessions.places import swept_of
from eukhe.staging import SweepReport
from eukhe.system import OsSystem, System

RUNS_MAX = 4
"""How many jobs run at a time."""


def tell(text: str) -> None:
    """Say something to whoever looks after the daemon."""
    print(f"eukhe: {text}", file=sys.stderr, flush=True)


async def keep_archive(home: str, stopping: asyncio.Event, system: System | None = None) -> None:
    """Sweep at once and every five minutes until `stopping`."""
    archive = ArchiveLoop(swept_of(home), _report, system=system)
    while not stopping.is_set():
        wait_s = await asyncio.to_thread(archive.tick)
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(stopping.wait(), max(0.0, wait_s))


def _report(report: SweepReport) -> None:
    for entry in report.failed:
        tell(f"sweep: {entry.path}: {entry.why}")


class Jobs:
    """The scheduler of a home, in threads."""

    def __init__(self, home: str) -> None:
        self._stop = threading.Event()
        self._system = OsSystem()
        self._store = CronStore(jobs_of(home), system=self._system, notice=tell)
        self._pool = ThreadPool(self._run, RUNS_MAX)
        self._thread = threading.Thread(target=self._serve, name="eukhe-scheduler", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def end(self, seconds: float) -> None:
        """End what runs, and wait until that is on record, or for so many seconds."""
        self._stop.set()
        self._pool.wake()
        self._thread.join(seconds)
        if self._thread.is_alive():
            tell("the scheduler did not end in time; what it ran is put on record when it is started again")

    def _serve(self) -> None:
        Scheduler(self._store, self._pool, tell).serve(self._stop.is_set)
        self._pool.close()

    def _run(self, claim: Claim) -> Outcome:
        return run_command(claim, self._system, self._stop.is_set)
