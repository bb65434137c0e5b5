"""A pool of real threads for the runs of a scheduler: so many at a time, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from eukhe.cron.rules import Outcome
from eukhe.cron.store import Claim


class ThreadPool:
    """`size` runs at a time. `run` runs a job and answers how it ended; what it raises is a failure with its text."""

    def __init__(self, run: Callable[[Claim], Outcome], size: int) -> None:
        self._run = run
        self._size = size
        self._threads = ThreadPoolExecutor(size, "eukhe-cron")
        self._changed = threading.Condition()
        self._running = 0
        self._ended: list[tuple[str, Outcome]] = []

    @property
    def free(self) -> int:
        """How many more runs can begin at once."""
        with self._changed:
            return self._size - self._running

    def start(self, claim: Claim) -> None:
        """Begin a run in a thread; returns at once."""
        with self._changed:
            self._running += 1
        self._threads.submit(self._one, claim)

    def ended(self) -> list[tuple[str, Outcome]]:
        """The runs that have ended since the last call."""
        with self._changed:
            ended, self._ended = self._ended, []
            return ended

    def wait(self, seconds: float) -> None:
        """Wait so long, or until a run ends."""
        with self._changed:
            if not self._ended:
                self._changed.wait(seconds)

    def wake(self) -> None:
        """End a wait, from another thread."""
        with self._changed:
            self._changed.notify()

    def close(self) -> None:
        """Wait for the threads to end."""
        self._threads.shutdown()

    def _one(self, claim: Claim) -> None:
        try:
            outcome = self._run(claim)
        except Exception as error:
            outcome = Outcome(f"{type(error).__name__}: {error}")
        with self._changed:
            self._running -= 1
            self._ended.append((claim.dispatch.id, outcome))
            self._changed.notify()
