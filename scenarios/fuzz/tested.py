"""Fuzzing as a test: so many histories of one target, in this process, or as many as there is time for.

First what the corpus has of the target is replayed, lists that broke a law before all others; then histories are drawn,
the disk models taking turns. The first that breaks a law is shrunk and ends it. What shows something new goes into the
corpus, and nothing is ever taken out of it here, so tests may share it with each other and with nights.

Without a budget the drawing does not depend on what the corpus holds: the same seed, the same histories.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from scenarios.fuzz.corpus import Corpus, Entry
from scenarios.fuzz.own import own_target
from scenarios.fuzz.unit import Failure, Result, Unit, run_unit
from scenarios.histories import Histories
from simfs.disk.models import models_named
from simfs.explore.token import Token
from simfs.explore.verdict import Searched, Verdict, together

TOGETHER = 10
"""Histories of one unit."""
REPLAYED_MAX = 100
"""Lists of the corpus that broke no law, the shortest, which a test without a budget replays."""
PARENTS_MAX = 24


def target_of(target: Any) -> Histories:
    """A name as `simfs fuzz` takes it, or a class or object. Raises UsageError."""
    if isinstance(target, str):
        from scenarios.fuzz.lookup import target_named  # it loads the catalogue, which a test of a class can do without

        return target_named(target)
    return own_target(target)


def name_of(target: Any) -> str:
    """How tokens call it. Raises UsageError."""
    return target_of(target).name


def replay(target: Any, token: Token) -> str:
    """Play a token of the target back: the text of what it breaks. Raises StaleToken."""
    return target_of(target).replay(token)


def fuzz(
    target: Any,
    *,
    histories: int,
    budget: float | None = None,
    seed: str = "0",
    corpus: str | None = None,
    disk: str | Sequence[str] | None = None,
) -> Verdict:
    """Draw histories until one breaks a law, or so many are drawn, or with `budget` until so many seconds are over.

    The verdict is "violated" with the text and the token among its tags, "sampled", or "inconclusive" where a history
    could not be judged. Raises UsageError for a target or a disk model that there is not.
    """
    found = target_of(target)
    disks = tuple(model.name for model in models_named(found.disk if disk is None else disk))
    kept = None if corpus is None else Corpus(corpus)
    return _Test(found, disks, histories, budget, seed, kept).run()


@dataclass(slots=True)
class _Test:
    target: Histories
    disks: tuple[str, ...]
    histories: int
    budget: float | None
    seed: str
    corpus: Corpus | None
    started: float = field(default_factory=time.monotonic)
    searched: dict[str, Searched] = field(default_factory=dict)
    failure: Failure | None = None
    trouble: str = ""
    notes: list[str] = field(default_factory=list)
    known: set[int] = field(default_factory=set)
    parents: list[tuple[int, ...]] = field(default_factory=list)

    def run(self) -> Verdict:
        self.searched = {disk: Searched() for disk in self.disks}
        stored = self._stored()
        for at, entry in enumerate(stored):
            self._take(Unit(self.target.name, entry.disk, "replay", at, 0, (entry.choices,), replay=True))
            if self._over:
                break
        first, turn = 0, 0
        at_once = TOGETHER if self.budget is not None else min(TOGETHER, -(-self.histories // len(self.disks)))
        while not self._over and (self.budget is not None or first < self.histories):
            count = at_once if self.budget is not None else min(at_once, self.histories - first)
            disk = self.disks[turn % len(self.disks)]
            step = max(1, len(self.parents) // PARENTS_MAX)
            parents = tuple(self.parents[::step][:PARENTS_MAX])
            self._take(Unit(self.target.name, disk, self.seed, first, count, parents, stop_at_first=True))
            first, turn = first + count, turn + 1
        return self._verdict(len(stored), first)

    @property
    def _left(self) -> float | None:
        return None if self.budget is None else self.budget - (time.monotonic() - self.started)

    @property
    def _over(self) -> bool:
        return self.failure is not None or bool(self.trouble) or (self._left is not None and self._left <= 0)

    def _stored(self) -> list[Entry]:
        """What is replayed of the corpus."""
        if self.corpus is None:
            return []
        try:
            entries, skipped = self.corpus.entries()
        except OSError as error:
            self.notes.append(f"the corpus {self.corpus.directory} cannot be read: {error.strerror}")
            return []
        if skipped:
            self.notes.append(f"{len(skipped)} entries of the corpus skipped, the first: {skipped[0]}")
        mine = [one for one in entries if one.target == self.target.name and one.disk in self.disks]
        broke = sorted(one for one in mine if one.law)
        rest = sorted((one for one in mine if not one.law), key=lambda one: (len(one.choices), one))
        return broke + (rest if self.budget is not None else rest[:REPLAYED_MAX])

    def _take(self, unit: Unit) -> None:
        result: Result = run_unit(unit, self._left, self.target)
        searched = self.searched[unit.disk]
        searched.executions += result.histories
        searched.crash_points += result.states
        searched.images += result.states
        self.trouble = self.trouble or result.trouble
        for failure in result.failures[:1]:
            self.failure = failure
            self._store(Entry(failure.target, failure.disk, failure.choices, failure.law))
        for kept in result.kept:
            fresh = kept.marks - self.known
            if unit.replay and self.budget is None:
                continue
            self.known |= fresh
            if fresh:
                self.parents.append(kept.choices)
                if not unit.replay:
                    self._store(Entry(unit.target, unit.disk, kept.choices))

    def _store(self, entry: Entry) -> None:
        if self.corpus is None:
            return
        try:
            self.corpus.add(entry)
        except OSError as error:
            self.notes.append(f"the corpus {self.corpus.directory} cannot be written: {error.strerror}")
            self.corpus = None

    def _verdict(self, replayed: int, drawn: int) -> Verdict:
        parts = []
        for disk, searched in self.searched.items():
            searched.seconds = round(time.monotonic() - self.started, 3) / len(self.disks)
            parts.append(Verdict(self.target.name, "sampled", searched, disk=disk))
        verdict = together(parts)
        verdict.reason = "; ".join([f"{replayed} replayed, {drawn} histories drawn, seed {self.seed}", *self.notes])
        if self.failure is not None:
            part = next(part for part in parts if part.disk == self.failure.disk)
            part.status = verdict.status = "violated"
            part.reason = verdict.reason = f"law {self.failure.law} is broken"
            verdict.disk = part.disk
            verdict.tags |= {"law": self.failure.law, "text": self.failure.text, "token": self.failure.token}
        elif self.trouble:
            verdict.status, verdict.reason = "inconclusive", f"could not be judged: {self.trouble}"
        return verdict
