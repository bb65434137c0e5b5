"""`Scheduler`: runs the jobs of a store when they are due, beside any number of other schedulers of the same file.

A tick is one update of the store: the results of runs that have ended are recorded, interrupted runs are put on record,
and what is due is claimed, as many as the pool has room for. Only when that update is durable do the claimed runs
begin. A tick that would change nothing is found out without the lock, and writes nothing. So a scheduler may die at any
point: what it had claimed is put on record as interrupted by whoever ticks next, itself after a new start included.

A tick's work depends on the number of jobs and not on how much time has passed since the last: a job that missed a
hundred occurrences is run once. If an update fails, nothing is forgotten: results wait for the next tick, and claims
that were not confirmed are not run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from eukhe.cron.book import Book
from eukhe.cron.errors import CronError
from eukhe.cron.rules import Outcome
from eukhe.cron.store import Claim, CronStore

TICK_S = 1.0
"""How often a scheduler looks, in seconds."""


class Pool(Protocol):
    """Where runs happen. Called by one scheduler, from one thread."""

    @property
    def free(self) -> int:
        """How many more runs it can take."""
        ...

    def start(self, claim: Claim) -> None:
        """Begin a run; returns at once, or when the run has ended."""
        ...

    def ended(self) -> list[tuple[str, Outcome]]:
        """The runs that have ended since the last call, by the id of their dispatch."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait so long, or until a run ends."""
        ...


class Inline:
    """A pool that runs each job at once, in the caller's own thread."""

    free = 1 << 30

    def __init__(self, run: Callable[[Claim], Outcome], sleep: Callable[[float], None]) -> None:
        self._run = run
        self._ended: list[tuple[str, Outcome]] = []
        self.wait = sleep

    def start(self, claim: Claim) -> None:
        """Run it."""
        self._ended.append((claim.dispatch.id, self._run(claim)))

    def ended(self) -> list[tuple[str, Outcome]]:
        """What was run since the last call."""
        ended, self._ended = self._ended, []
        return ended


class Scheduler:
    """Runs the jobs of one store in a pool. One for a file in a process: it takes claims of its process that it does
    not know for interrupted."""

    def __init__(self, store: CronStore, pool: Pool, notice: Callable[[str], None] = lambda text: None) -> None:
        """`notice` is told of what was found interrupted and of runs whose claim was gone when they ended."""
        self.store = store
        self.pool = pool
        self._notice = notice
        self._live: set[str] = set()
        self._results: dict[str, Outcome] = {}
        self._last_trouble = ""

    @property
    def running(self) -> int:
        """How many runs are going on, or have ended and are not on record yet."""
        return len(self._live)

    def tick(self, claiming: bool = True) -> list[Claim]:
        """Look once; returns what was begun. `claiming=False` begins nothing. Raises every `CronError`; the next tick
        makes up for it."""
        self._results.update(self.pool.ended())
        free = self.pool.free if claiming else 0
        if not self._results and not self._would_change(free):
            return []
        with self.store.changing() as book:
            gone = [one for one, outcome in self._results.items() if not book.finish(one, outcome)]
            interrupted = book.recover(self._live, self.store.dead(book))
            claims = [Claim(*made) for made in book.claim_due(book.now, self.store.new_dispatch_id, free)]
        for dispatch_id in gone:
            self._notice(f"the end of run {dispatch_id} came too late: it is on record as interrupted")
        for dispatch in interrupted:
            self._notice(f"run {dispatch.id} of job {dispatch.job_id} was interrupted")
        self._live.difference_update(self._results)
        self._results.clear()
        self._live.update(claim.dispatch.id for claim in claims)
        for claim in claims:
            self.pool.start(claim)
        return claims

    def serve(self, stop: Callable[[], bool], tick_s: float = TICK_S) -> None:
        """Tick until `stop` says so, then wait for the runs that are going on and record them. Trouble is told once
        and tried again."""
        while not stop() or self._live:
            try:
                self.tick(claiming=not stop())
                self._last_trouble = ""
            except CronError as error:
                if str(error) != self._last_trouble:
                    self._last_trouble = str(error)
                    self._notice(self._last_trouble)
            if not stop() or self._live:
                self.pool.wait(tick_s)

    def _would_change(self, free: int) -> bool:
        book = Book(self.store.read().copy(), self.store.owner(), self.store.now_ms())
        book.recover(self._live, self.store.dead(book))
        book.claim_due(book.now, str, free)
        return book.document.changed
