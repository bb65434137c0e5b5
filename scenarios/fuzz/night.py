"""A night: units handed out until the time is up, and everything that they showed gathered.

First the canary: a fault planted on purpose, which must be found, or the alarm does not work. Then the corpus is
replayed, failures first; what shows nothing that a smaller list did not show is pruned. Then units are drawn: the
target on which least time was spent for what it last showed is next, and its disk models take turns.

A result is taken in whenever it comes: lists with new marks go into the corpus, failures are told at once and kept. The
end of the budget, Ctrl-C and a cluster that goes away end a night with all that it has. A corpus that cannot be written
to, because the disk is full, is said once; the night goes on, and what it finds is in its report.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from scenarios.fuzz.corpus import Corpus, Entry
from scenarios.fuzz.planted import CANARY, CANARY_TARGET
from scenarios.fuzz.tally import Tally
from scenarios.fuzz.targets import targets
from scenarios.fuzz.unit import Failure, Result, Unit
from scenarios.fuzz.workers import Workers, results_of

UNIT_S = 1.5
"""A unit is made to take about so long."""
COUNTS = (4, 2000)
"""Fewest and most histories of a unit."""
PARENTS_MAX = 24
"""Lists that a unit is given to start from."""
REPLAYED_TOGETHER = 40
CANARY_S = 60.0
GRACE_S = 20.0
"""How long units that are out may go on when the time is up."""
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted: targets by name (all when empty), seconds, the seed, and which of how many shards this is."""

    names: tuple[str, ...] = ()
    budget_s: float = 60.0
    seed: str = "0"
    shard: tuple[int, int] = (1, 1)
    planted: tuple[str, ...] = ()
    stop_at_first: bool = False
    """End when every planted fault has been found: for tests."""

    @property
    def stream(self) -> str:
        """The seed of this shard."""
        return self.seed if self.shard == (1, 1) else f"{self.seed} shard {self.shard[0]}"


@dataclass(slots=True)
class Lane:
    """One target: what was spent on it, and what it has lately shown."""

    name: str
    disks: tuple[str, ...]
    first: int = 0
    turn: int = 0
    spent_s: float = 0.0
    gain: float = 20.0
    per_s: float = 20.0

    @property
    def owed(self) -> float:
        """The smaller, the sooner it is its turn."""
        return self.spent_s / (1.0 + self.gain)


@dataclass(slots=True)
class Night:
    """One night. After `run`, `tally` holds all that was found, `ended` why it ended, `alarm` whether the canary was
    found."""

    wish: Wish
    workers: Workers
    corpus: Corpus | None = None
    known: dict[str, str] = field(default_factory=dict)
    tell: Tell = print
    tally: Tally = field(default_factory=Tally)
    started: str = ""
    ended: str = "the budget ended"
    judged: bool = True
    """Whether every unit could be."""
    alarm: bool = False
    seconds: float = 0.0
    skipped: list[str] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    """What went wrong with the corpus or the workers, each said once."""
    pruned: int = 0
    before: int = 0
    _lanes: dict[str, Lane] = field(default_factory=dict)
    _parents: dict[str, list[tuple[int, ...]]] = field(default_factory=dict)
    _met: dict[str, set[str]] = field(default_factory=dict)

    def run(self) -> None:
        """The whole night. Raises nothing that a night can meet."""
        started = time.monotonic()
        known = targets()
        self._lanes = {name: Lane(name, known[name].disk) for name in self.wish.names or known}
        try:
            self.alarm = self._canary()
            if self.alarm:
                self._replay(self._stored())
                self._draw(started)
            else:
                self.ended = "the canary was not found"
        except KeyboardInterrupt:
            self.ended = "interrupted"
            for result in results_of(self.workers, 0.0) if self.alarm else ():
                self._take(result)
        except ConnectionError as error:
            self.ended = f"the workers went away: {error}"
        finally:
            self.workers.close()
            self.seconds = time.monotonic() - started

    def _canary(self) -> bool:
        """Whether a planted fault is found, by the workers of this night."""
        unit = Unit(CANARY_TARGET, "scc", "canary", 0, 400, planted=(CANARY,))
        self.workers.give(unit, CANARY_S)
        deadline = time.monotonic() + CANARY_S
        while time.monotonic() < deadline:
            for result in results_of(self.workers, 1.0):
                return bool(result.failures)
        return False

    def _stored(self) -> list[Entry]:
        """The entries of the corpus that are this shard's, failures first."""
        if self.corpus is None:
            return []
        try:
            entries, self.skipped = self.corpus.entries()
        except OSError as error:
            self._complain(f"the corpus {self.corpus.directory} cannot be read: {error.strerror}")
            return []
        for line in self.skipped:
            self.tell(f"skipped: {line}")
        k, m = self.wish.shard
        mine = [e for at, e in enumerate(entries) if at % m == k - 1 and e.target in self._lanes]
        self.before = len(mine)
        return sorted(mine, key=lambda entry: (not entry.law, len(entry.choices), entry))

    def _replay(self, stored: Sequence[Entry]) -> None:
        """Run what was stored, and drop what shows nothing more."""
        groups: dict[tuple[str, str, bool], list[Entry]] = {}
        for entry in stored:
            groups.setdefault((entry.target, entry.disk, bool(entry.law)), []).append(entry)
        units = [
            Unit(target, disk, "replay", at, 0, tuple(e.choices for e in entries[at : at + REPLAYED_TOGETHER]),
                 replay=True, planted=self.wish.planted)
            for (target, disk, _), entries in sorted(groups.items(), key=lambda item: (not item[0][2], item[0]))
            for at in range(0, len(entries), REPLAYED_TOGETHER)
        ]  # fmt: skip
        waiting, out = units, 0
        shown: list[tuple[int, Entry, frozenset[int]]] = []
        while waiting or out:
            while waiting and self.workers.room > 0:
                self.workers.give(waiting.pop(0), self.wish.budget_s)
                out += 1
            for result in results_of(self.workers, 1.0):
                out -= 1
                self._take(result)
                for kept in result.kept:
                    entry = Entry(result.unit.target, result.unit.disk, kept.choices)
                    shown.append((len(kept.choices), entry, kept.marks))
        self._prune(shown, stored)

    def _prune(self, shown: list[tuple[int, Entry, frozenset[int]]], stored: Sequence[Entry]) -> None:
        """Keep the smallest lists that show everything."""
        useful: set[Entry] = set()
        for _, entry, marks in sorted(shown):
            if self.tally.note(entry.target, marks):
                useful.add(entry)
                self._parents.setdefault(entry.target, []).append(entry.choices)
        replayed = {entry for _, entry, _ in shown}
        for entry in stored:
            if entry in replayed and entry not in useful and self.corpus is not None:
                try:
                    self.corpus.remove(entry)
                    self.pruned += 1
                except OSError as error:
                    self._complain(f"the corpus cannot be pruned: {error.strerror}")

    def _draw(self, started: float) -> None:
        """Units until the time is up; those that are out then may still end, for a failure may be being shrunk."""
        out = 0
        while True:
            left = self.wish.budget_s - (time.monotonic() - started)
            if left <= 0 or (self.wish.stop_at_first and self._all_found()):
                break
            while self.workers.room > 0:
                self.workers.give(self._next(), min(left, 20 * UNIT_S))
                out += 1
            for result in results_of(self.workers, min(left, 1.0)):
                out -= 1
                self._take(result)
        grace = time.monotonic() + GRACE_S
        while out and time.monotonic() < grace:
            for result in results_of(self.workers, 1.0):
                out -= 1
                self._take(result)

    def _all_found(self) -> bool:
        return len({failure.target for failure in self.tally.failures.values()}) == len(self._lanes)

    def _next(self) -> Unit:
        """The unit of the target whose turn it is."""
        lane = min(self._lanes.values(), key=lambda lane: (lane.owed, lane.first, lane.name))
        low, high = COUNTS
        count = max(low, min(high, round(lane.per_s * UNIT_S)))
        parents = self._parents.get(lane.name, [])
        step = max(1, len(parents) // PARENTS_MAX)
        some = parents[-PARENTS_MAX // 2 :] + parents[lane.turn % step :: step][: PARENTS_MAX // 2]
        unit = Unit(
            lane.name, lane.disks[lane.turn % len(lane.disks)], self.wish.stream, lane.first, count, tuple(some),
            frozenset(self._met.get(lane.name, ())), planted=self.wish.planted,
        )  # fmt: skip
        lane.first += count
        lane.turn += 1
        lane.spent_s += count / lane.per_s
        return unit

    def _take(self, result: Result) -> None:
        """What a unit showed."""
        unit = result.unit
        if result.trouble:
            self.judged = False
            self._complain(f"could not be judged: {result.trouble}")
        self._met.setdefault(unit.target, set()).update(result.times)
        for failure in result.failures:
            self._found(failure)
        self.tally.add(result)
        if unit.replay:
            return
        new = 0
        for kept in result.kept:
            fresh = self.tally.note(unit.target, kept.marks)
            if fresh:
                new += fresh
                self._parents.setdefault(unit.target, []).append(kept.choices)
                self._store(Entry(unit.target, unit.disk, kept.choices))
        self.tally.fresh_of[unit.target] = self.tally.fresh_of.get(unit.target, 0) + new
        lane = self._lanes[unit.target]
        lane.gain = 0.5 * lane.gain + 0.5 * min(new, 20)
        if result.seconds > 0.05 and result.histories:
            lane.per_s = 0.5 * lane.per_s + 0.5 * result.histories / result.seconds

    def _found(self, failure: Failure) -> None:
        """Tell of a failure at once, and keep it: whatever happens to the night, it is not lost."""
        first = self.tally.fail(failure)
        self._store(Entry(failure.target, failure.disk, failure.choices, failure.law))
        if first:
            note = self.known.get(failure.id)
            what = "FAILED" if note is None else f"known ({note or failure.id})"
            self.tell(f"{what} {failure.id} {failure.target}: {failure.law}: {failure.cause}")
            self.tell(f"  simfs replay {failure.token}")

    def _store(self, entry: Entry) -> None:
        if self.corpus is None:
            return
        try:
            self.tally.added += self.corpus.add(entry)
        except OSError as error:
            self._complain(f"the corpus {self.corpus.directory} cannot be written: {error.strerror}; the night goes on")

    def _complain(self, text: str) -> None:
        if text not in self.trouble:
            self.trouble.append(text)
            self.tell(text)

    @property
    def new_failures(self) -> list[Failure]:
        """Those that are not known."""
        return [failure for failure in self.tally.failures.values() if failure.id not in self.known]
