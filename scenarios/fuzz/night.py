"""A night: units handed out until the time is up, and everything that they showed gathered.

First the canary: a fault planted on purpose, which must be found, or the alarm does not work; the budget begins then,
so a short one on a slow host is not used up before anything was drawn. Then the corpus is replayed, failures first;
what shows nothing that a smaller list did not show is pruned. Then units are drawn: the target on which least time was
spent for what it last showed is next, and its disk models take turns.

A result is taken in whenever it comes: lists with new marks go into the corpus, failures are told at once and kept. The
end of the budget, Ctrl-C and a cluster that goes away end a night with all that it has. A corpus that cannot be written
to, because the disk is full, is said once; the night goes on, and what it finds is in its report.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from scenarios.fuzz.corpus import Corpus, Entry
from scenarios.fuzz.lookup import target_named, why_unknown
from scenarios.fuzz.planted import CANARY, CANARY_TARGET
from scenarios.fuzz.replaying import Replayed, Sorted, replay_units
from scenarios.fuzz.tally import Tally
from scenarios.fuzz.targets import targets
from scenarios.fuzz.unit import Failure, Result, Unit
from scenarios.fuzz.workers import Workers

UNIT_S = 1.5
"""A unit is made to take about so long."""
COUNTS = (4, 2000)
"""Fewest and most histories of a unit."""
PARENTS_MAX = 24
"""Lists that a unit is given to start from."""
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
    alarm: bool = False
    seconds: float = 0.0
    skipped: list[str] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    """What went wrong with the corpus or the workers, each said once."""
    pruned: int = 0
    before: int = 0
    unreplayed: int = 0
    _lanes: dict[str, Lane] = field(default_factory=dict)
    _parents: dict[str, list[tuple[int, ...]]] = field(default_factory=dict)
    _met: dict[str, set[str]] = field(default_factory=dict)
    _come: list[Result] = field(default_factory=list)

    def run(self) -> None:
        """The whole night. Raises UsageError for a target that there is not, and nothing that a night can meet."""
        started = time.monotonic()
        self._lanes = {name: Lane(name, target_named(name).disk) for name in self.wish.names or targets()}
        try:
            self.alarm = self._canary()
            if self.alarm:
                began = time.monotonic()
                self._replay(self._stored(), began)
                self._draw(began)
            else:
                self.ended = "the canary was not found"
        except KeyboardInterrupt:
            self.ended = "interrupted"
        except ConnectionError as error:
            self.ended = f"the workers went away: {error}"
        finally:
            self._take_the_rest()
            self.workers.close()
            self.seconds = time.monotonic() - started

    def _results(self, seconds: float) -> Iterator[Result]:
        """Results, in a fixed order of those that came together. One is let go when it has been taken in, not before,
        so whatever interrupts that loses none."""
        self._come += sorted(self.workers.take(seconds), key=lambda result: (result.unit.target, result.unit.first))
        while self._come:
            yield self._come[0]
            self._come.pop(0)

    def _take_the_rest(self) -> None:
        """What had come when the night ended."""
        try:
            for result in self._results(0.0) if self.alarm else ():
                self._take(result)
        except (KeyboardInterrupt, ConnectionError):
            for result in self._come:
                self._take(result)

    def _canary(self) -> bool:
        """Whether a planted fault is found, by the workers of this night."""
        unit = Unit(CANARY_TARGET, "scc", "canary", 0, 400, planted=(CANARY,))
        self.workers.give(unit, CANARY_S)
        deadline = time.monotonic() + CANARY_S
        while time.monotonic() < deadline:
            for result in self.workers.take(1.0):
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
        why = {name: why_unknown(name) for name in {entry.target for entry in entries} - set(self._lanes)}
        self.skipped += [f"{self.corpus.directory}/{e.name}: {why[e.target]}" for e in entries if why.get(e.target)]
        for line in self.skipped:
            self.tell(f"skipped: {line}")
        k, m = self.wish.shard
        mine = [e for at, e in enumerate(entries) if at % m == k - 1 and e.target in self._lanes]
        self.before = len(mine)
        return sorted(mine, key=lambda entry: (not entry.law, len(entry.choices), entry))

    def _replay(self, stored: Sequence[Entry], started: float) -> None:
        """Run what was stored while there is time, and drop what shows nothing more."""
        waiting, out, replayed = replay_units(stored, self.wish.planted), 0, Replayed()
        left = self.wish.budget_s - (time.monotonic() - started)
        while (waiting and left > 0) or (out and left > -GRACE_S):
            while waiting and left > 0 and self.workers.room > 0:
                self.workers.give(waiting.pop(0), left)
                out += 1
            for result in self._results(1.0):
                out -= 1
                self._take(result)
                replayed.add(result)
            left = self.wish.budget_s - (time.monotonic() - started)
        self.unreplayed = len(stored) - replayed.histories
        if self.unreplayed:
            self.tell(f"{self.unreplayed} entries of the corpus were not replayed; they are kept")
        self._prune(replayed.sort_out(stored, self.tally))

    def _prune(self, found: Sorted) -> None:
        """Keep what shows something, drop the rest, and say which laws hold again."""
        for entry in found.useful:
            self._parents.setdefault(entry.target, []).append(entry.choices)
        for (target, law), count in sorted(Counter((entry.target, entry.law) for entry in found.fixed).items()):
            self.tell(f"fixed: {target}: {law} is not broken any more by {count} of the corpus")
        if self.corpus is None:
            return
        for entry in (*found.fixed, *found.useless):
            plain = replace(entry, law="")
            if entry.law and plain in found.useful and not self._store(plain):
                continue
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
            for result in self._results(min(left, 1.0)):
                out -= 1
                self._take(result)
        grace = time.monotonic() + GRACE_S
        while out and time.monotonic() < grace:
            for result in self._results(1.0):
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

    def _store(self, entry: Entry) -> bool:
        """Put an entry into the corpus; whether it is there."""
        if self.corpus is None:
            return False
        try:
            self.tally.added += self.corpus.add(entry)
        except OSError as error:
            self._complain(f"the corpus {self.corpus.directory} cannot be written: {error.strerror}; the night goes on")
            return False
        return True

    def _complain(self, text: str) -> None:
        if text not in self.trouble:
            self.trouble.append(text)
            self.tell(text)

    @property
    def new_failures(self) -> list[Failure]:
        """Those that are not known."""
        return [failure for failure in self.tally.failures.values() if failure.id not in self.known]
