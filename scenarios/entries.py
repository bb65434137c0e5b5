"""What a catalogue holds: anything with a name that can be asked for a verdict.

| entry | what it is |
|---|---|
| `One` | one `Scenario` |
| `Family` | scenarios that differ in one thing only, asked one after the other as if they were one |
| `checks.Check` | a rule book tried in every small case, without a machine |
| `Histories` | generated histories, drawn by Hypothesis |

`Ask` is what the command line may want to change; None means: as the entry has it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from simfs.disk.models import models_named
from simfs.errors import StaleToken, UsageError
from simfs.explore.explorer import explore, replay
from simfs.explore.jobs import Pool
from simfs.explore.law import Law
from simfs.explore.scenario import Scenario
from simfs.explore.spec import drawn_spec_of, spec_of
from simfs.explore.token import Token
from simfs.explore.verdict import STATUSES, Counterexample, Searched, Verdict, together

Progress = Callable[[Searched], None]

LEAST_S = 0.01
"""What is left for a part when the budget is used up: it ends at once, and as inconclusive."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What may be changed from outside. `budget` is in seconds of real time, for the whole of an entry."""

    disk: str | Sequence[str] | None = None
    budget: float | None = None
    seed: int | None = None
    only: Sequence[str] = ()
    power_depth: int | None = None
    shrink: bool | None = None
    jobs: int | Pool = 1
    """How many processes of this host share each search, or workers elsewhere; the answer is that of one."""

    def options(self) -> dict[str, Any]:
        """As keyword arguments of `explore`."""
        given: dict[str, Any] = {
            "disk": self.disk,
            "budget": self.budget,
            "seed": self.seed,
            "only": self.only or None,
            "power_depth": self.power_depth,
            "shrink": self.shrink,
        }
        return {name: value for name, value in given.items() if value is not None}


class Entry(Protocol):
    """One line of the catalogue."""

    @property
    def name(self) -> str: ...
    @property
    def statement(self) -> str: ...
    @property
    def laws(self) -> list[Law]: ...
    def run(self, ask: Ask, progress: Progress | None = None) -> Verdict:
        """Search it."""
        ...

    def scenario(self, member: str) -> Any:
        """The scenario that a token names; `member` is what stands in brackets behind the name, "" if nothing does."""
        ...

    def replay(self, token: Token) -> Counterexample | str:
        """Run what a token says: the counterexample, or the text of one where there is no machine to show."""
        ...


@dataclass(frozen=True, slots=True)
class One:
    """A `Scenario` class or object under its name in the catalogue."""

    kind: Any

    @property
    def name(self) -> str:
        """The scenario's own name, or that of its class."""
        name: str = spec_of(self.kind).name
        return name

    @property
    def statement(self) -> str:
        return spec_of(self.kind).statement

    @property
    def laws(self) -> list[Law]:
        return laws_of(self.kind)

    def run(self, ask: Ask, progress: Progress | None = None) -> Verdict:
        if ask.budget is None:
            return explore(self.kind, progress=progress, jobs=ask.jobs, **ask.options())
        deadline = time.monotonic() + ask.budget
        models = models_named(spec_of(self.kind, **ask.options()).options["disk"])
        verdicts: list[Verdict] = []
        for model in models:
            left = max(LEAST_S, round(deadline - time.monotonic(), 2))
            options = {**ask.options(), "disk": model.name, "budget": left}
            verdicts.append(explore(self.kind, progress=progress, jobs=ask.jobs, **options))
        return together(verdicts)

    def scenario(self, member: str) -> Any:
        if member:
            raise UsageError(f"{self.name} is one scenario and has no member [{member}]")
        return self.kind

    def replay(self, token: Token) -> Counterexample | str:
        return replay(token, self.kind)


@dataclass(frozen=True, slots=True)
class Family:
    """Scenarios that differ in one thing. `members` makes them anew; each is named `name[member]`."""

    name: str
    statement: str
    members: Callable[[], Iterator[Scenario]]

    @property
    def laws(self) -> list[Law]:
        return laws_of(next(self.members()))

    def run(self, ask: Ask, progress: Progress | None = None) -> Verdict:
        """One verdict for all members: the worst status; the first counterexample ends it."""
        started = time.monotonic()
        budget, total, count = ask.budget, Searched(), 0
        by_model: dict[str, list[Verdict]] = {}
        worst: Verdict | None = None
        for member in self.members():
            left = None if budget is None else max(LEAST_S, budget - (time.monotonic() - started))
            verdict = One(member).run(replace(ask, budget=left), _added(progress, total))
            count += 1
            total = total + verdict.searched
            for name, part in verdict.by_model.items():
                by_model.setdefault(name, []).append(part)
            if worst is None or STATUSES.index(verdict.status) < STATUSES.index(worst.status):
                worst = verdict
            if verdict.status == "violated" or left == LEAST_S:
                break
        assert worst is not None, f"family {self.name} has no member"
        total.seconds = time.monotonic() - started
        parts = {name: _in_one(verdicts) for name, verdicts in by_model.items()}
        out = Verdict(self.name, worst.status, total, worst.counterexample, worst.reason, ", ".join(parts), parts)
        out.tags["members"] = count
        return out

    def scenario(self, member: str) -> Any:
        for found in self.members():
            if found.name == f"{self.name}[{member}]":
                return found
        raise StaleToken(f"stale token: {self.name} has no member [{member}] any more; run {self.name} again")

    def replay(self, token: Token) -> Counterexample | str:
        return replay(token, self.scenario(token.scenario[len(self.name) + 1 : -1]))


@dataclass(frozen=True, slots=True)
class Listed:
    """A catalogue in order, by name."""

    entries: dict[str, Entry] = field(default_factory=dict)

    def add(self, entry: Entry, source: str) -> None:
        """Raises UsageError where a name is taken."""
        if entry.name in self.entries:
            raise UsageError(f"two scenarios are called {entry.name}; one of them comes from {source}")
        self.entries[entry.name] = entry


def laws_of(scenario: Any) -> list[Law]:
    """The laws that a scenario judges, the one of its recovery included."""
    spec = drawn_spec_of(scenario)
    found = {bound.law.id: bound.law for bound in spec.laws}
    if spec.recover is not None:
        found.setdefault(spec.recovers.id, spec.recovers)
    return list(found.values())


def _added(progress: Progress | None, before: Searched) -> Progress | None:
    """`progress` told of everything so far, and not of one member only."""
    return None if progress is None else lambda now: progress(before + now)


def _in_one(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdicts of several members on one model."""
    merged = together(verdicts) if len(verdicts) > 1 else verdicts[0]
    return Verdict(
        merged.scenario, merged.status, merged.searched, merged.counterexample, merged.reason, verdicts[0].disk
    )
