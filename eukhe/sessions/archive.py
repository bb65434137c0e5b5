"""The archive loop: a sweep at boot, and one every five minutes from then on.

Time is the monotonic clock, so a wall clock that is set makes no sweep come early, late or twice; a sweep that takes
longer than the interval is followed by one at the next multiple, and none is made up for. What goes wrong in one
sweep is in its report, and the loop goes on.

`tick` does what is due and says how long there is until the next; a shell that has an event loop of its own calls
that. `run` is the loop for one that has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eukhe.staging import SweepReport, sweep
from eukhe.system import OsSystem, System

INTERVAL_S = 300


class ArchiveLoop:
    """Sweeps some directories. `told` gets the report of each sweep."""

    def __init__(
        self,
        directories: Sequence[str],
        told: Callable[[SweepReport], None],
        *,
        system: System | None = None,
        interval_s: int = INTERVAL_S,
    ) -> None:
        self._directories = tuple(directories)
        self._told = told
        self._system: System = OsSystem() if system is None else system
        self._interval_ns = interval_s * 1_000_000_000
        self._due_ns: int | None = None

    def tick(self) -> float:
        """Sweep if that is due; answers the seconds until the next sweep."""
        now = self._system.monotonic_ns()
        if self._due_ns is None or now >= self._due_ns:
            began = now if self._due_ns is None else self._due_ns
            self._told(sweep(self._directories, system=self._system))
            now = self._system.monotonic_ns()
            missed = max(0, now - began) // self._interval_ns
            self._due_ns = began + (missed + 1) * self._interval_ns
        return (self._due_ns - now) / 1e9

    def run(self, stop: Callable[[], bool]) -> None:
        """Sweep until `stop` says so; it is asked before each sweep."""
        while not stop():
            self._system.sleep(max(0.0, self.tick()))
