"""Policies: who goes on, for replay, for the naive search and for sampling.

`Drawn` draws from `Choices`: replay, a uniform random walk, or (with `Exhaustive`) every schedule there is. `Pct`
gives each process a random priority and lowers the running one at a few random steps: a bug that needs d ordering
constraints is hit with a known probability (Burckhardt et al., ASPLOS 2010). `Pos` gives each step a random priority
anew, and again to whoever conflicts with the step just made, which spreads runs evenly over classes (Yuan et al., CAV
2018). `Budgeted` lets at most a number of preemptions happen: switches away from a process that could have gone on.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from simfs.explore.choices import Choices
from simfs.explore.happens import conflict
from simfs.explore.step import CLOCK, Footprint, Step


@dataclass(slots=True)
class Drawn:
    """Draws who goes on wherever there is more than one; answer 0 is the first offered."""

    choices: Choices

    def choose(self, enabled: Sequence[int]) -> int:
        return enabled[0] if len(enabled) == 1 else enabled[self.choices.draw(len(enabled), "who runs next")]

    def stepped(self, step: Step) -> None:
        """Nothing to learn."""


@dataclass(slots=True)
class Budgeted:
    """As `Drawn`, but with at most `preemptions` switches away from a process that could have gone on."""

    choices: Choices
    preemptions: int
    limited: bool = False
    """The bound forbade at least one switch."""
    _last: int = CLOCK

    def choose(self, enabled: Sequence[int]) -> int:
        free = enabled[0] != self._last or self._last < 0
        if len(enabled) == 1:
            who = enabled[0]
        elif free:
            who = enabled[self.choices.draw(len(enabled), "who runs next")]
        elif self.preemptions > 0:
            at = self.choices.draw(len(enabled), "who runs next")
            self.preemptions -= at != 0
            who = enabled[at]
        else:
            self.limited = True
            who = enabled[0]
        self._last = who
        return who

    def stepped(self, step: Step) -> None:
        """Nothing to learn."""


@dataclass(slots=True)
class Pct:
    """Priorities with `changes` random places where the running process falls behind all others."""

    random: random.Random
    length: int
    """How many steps a run has, roughly: the places are drawn below it."""
    changes: int
    _places: set[int] = field(default_factory=set)
    _rank: dict[int, float] = field(default_factory=dict)
    _steps: int = 0

    def __post_init__(self) -> None:
        self._places = {self.random.randrange(max(1, self.length)) for _ in range(self.changes)}

    def choose(self, enabled: Sequence[int]) -> int:
        for who in sorted(enabled):
            if who not in self._rank:
                self._rank[who] = self.random.random() + (0 if who == CLOCK else 1)
        return max(enabled, key=lambda who: (self._rank[who], -who))

    def stepped(self, step: Step) -> None:
        if self._steps in self._places:
            self._rank[step.who] = -self._steps
        self._steps += 1


@dataclass(slots=True)
class Pos:
    """A fresh random priority for each step, and for whoever the last step conflicts with."""

    random: random.Random
    _rank: dict[int, float] = field(default_factory=dict)
    _seen: dict[int, Footprint] = field(default_factory=dict)

    def choose(self, enabled: Sequence[int]) -> int:
        for who in sorted(enabled):
            if who not in self._rank:
                self._rank[who] = self.random.random()
        return max(enabled, key=lambda who: (self._rank[who], -who))

    def stepped(self, step: Step) -> None:
        self._rank.pop(step.who, None)
        for who, footprint in self._seen.items():
            if who != step.who and conflict(footprint, step.footprint):
                self._rank.pop(who, None)
        self._seen[step.who] = step.footprint
