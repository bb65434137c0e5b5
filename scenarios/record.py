"""The record run: worlds that grow are searched to their ends until so many distinct disks were recovered and judged.

Rounds: round n takes world n of every series (`suites/growing.py`), each on all disk models that its store claims. A
world is a unit of work for one of several processes of this host. Every disk that a crash may leave there is recovered
and judged itself; none is judged for others that it resembles (`lazy=False`).

What counts: the digests of the disks of all worlds, of all series and models, thrown together, so a disk that two
worlds or two models leave is one. Answers are taken in the order of the units, and the run ends with the one that
reaches the number: the counts are the same with any number of processes. A budget or Ctrl-C ends it earlier, and a
broken law at once.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

from scenarios.suites.growing import Growing
from simfs.explore.explorer import explore
from simfs.explore.jobs import forked
from simfs.explore.verdict import Searched, Verdict

WAIT_S = 0.5
WORD = 2**64 - 1
"""Of 128 bits so many are kept: two of a million disks are taken for one with a chance of 1 in 10^7."""
_CLEAN = ("proved", "bounded")


@dataclass(frozen=True, slots=True)
class Done:
    """One world, searched. `digests` are the first 8 bytes of its disks' digests; `seconds` of processor time."""

    verdict: Verdict
    digests: bytes
    seconds: float


@dataclass(slots=True)
class Series:
    """What one series of worlds has shown so far. `states` are disks that nobody had met before."""

    states: int = 0
    worlds: int = 0
    searched: Searched = field(default_factory=Searched)
    seconds: float = 0.0
    """Of processor time."""

    def add(self, done: Done, fresh: int) -> None:
        """One world more."""
        self.states += fresh
        self.worlds += 1
        self.searched = self.searched + done.verdict.searched
        self.seconds += done.seconds


@dataclass(slots=True)
class Record:
    """A run as far as it got. `ended` is empty when it reached its number, else what ended it."""

    asked: int
    jobs: int
    series: dict[str, Series]
    states: int = 0
    seconds: float = 0.0
    """Of real time."""
    broken: Verdict | None = None
    ended: str = ""

    @property
    def exit_code(self) -> int:
        """0 when the number was reached and no law is broken."""
        return 1 if self.broken is not None else 3 if self.ended else 0

    @property
    def rounds(self) -> int:
        """Those in which every series had its turn."""
        return min(one.worlds for one in self.series.values())

    @property
    def searched(self) -> Searched:
        """The counts of all series."""
        return sum((one.searched for one in self.series.values()), Searched())

    @property
    def rate(self) -> float:
        """Distinct disks by second and process."""
        return self.states / self.seconds / self.jobs if self.seconds else 0.0


def record(
    growing: Sequence[Growing],
    states: int,
    jobs: int,
    *,
    options: Mapping[str, Any] | None = None,
    budget: float | None = None,
    tell: Callable[[Record], None] | None = None,
) -> Record:
    """Search world after world until `states` distinct disks were judged. `budget` is in seconds of real time, and
    `tell` hears of each round that is whole; `options` are those of `explore`."""
    assert growing and states > 0 and jobs > 0
    started = time.monotonic()
    found = Record(states, jobs, {one.name: Series() for one in growing})
    met: set[int] = set()
    deadline = None if budget is None else started + budget
    try:
        for at, (name, done) in enumerate(_in_order(growing, jobs, dict(options or {}), deadline), 1):
            fresh = set(array("Q", done.digests)) - met
            met |= fresh
            found.series[name].add(done, len(fresh))
            found.states, found.seconds = len(met), time.monotonic() - started
            if done.verdict.status not in _CLEAN:
                if done.verdict.status == "violated":
                    found.broken = done.verdict
                found.ended = f"{done.verdict.scenario}: {done.verdict.reason}"
                break
            if at % len(growing) == 0 and tell is not None:
                tell(found)
            if found.states >= states:
                break
    except KeyboardInterrupt:
        found.ended = "interrupted by Ctrl-C"
    except TimeoutError:
        found.ended = f"the budget of {budget:g} s ended"
    except BrokenProcessPool:
        found.ended = "a worker process was killed from outside"
    found.seconds = time.monotonic() - started
    return found


def search(one: Growing, n: int, options: Mapping[str, Any]) -> Done:
    """World number n of a series, to its end: the work of a worker."""
    started = time.process_time()
    met: set[int] = set()
    verdict = explore(one.world(n), lazy=False, met=met.update, **options)
    if verdict.counterexample is not None:
        verdict.counterexample.advisor = None
    return Done(verdict, array("Q", sorted({digest & WORD for digest in met})).tobytes(), time.process_time() - started)


def _in_order(
    growing: Sequence[Growing], jobs: int, options: dict[str, Any], deadline: float | None
) -> Iterator[tuple[str, Done]]:
    """Worlds without end, in order, from `jobs` processes. Raises TimeoutError after the deadline, and
    BrokenProcessPool."""
    with forked(jobs) as pool:
        waiting: list[tuple[str, Future[Done]]] = []
        given, ahead = 0, jobs * len(growing)  # so many that the largest world of a round keeps nobody waiting
        while True:
            while len(waiting) < ahead:
                n, at = divmod(given, len(growing))
                waiting.append((growing[at].name, pool.submit(search, growing[at], n, options)))
                given += 1
            while not waiting[0][1].done():
                if deadline is not None and time.monotonic() > deadline:
                    raise TimeoutError
                wait([waiting[0][1]], WAIT_S, FIRST_COMPLETED)
            name, future = waiting.pop(0)
            yield name, future.result()
