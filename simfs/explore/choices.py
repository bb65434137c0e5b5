"""`Choices`: the one source of nondeterminism.

Model. Whoever has to decide something (who runs next, which fault, which survivor) draws a small integer from a
`Choices`: `draw(n)` answers one of 0 .. n-1, and 0 is always the plain case: the same process goes on, no fault. The
list of answers is the whole run: played back, it is the same run. Exhaustive search, random search, replay and
shrinking are four users of that list, and none of them knows a filesystem.

`Exhaustive` walks all lists depth first: it replays a prefix, answers 0 beyond it, and `next()` moves the last answer
that can still grow. Each list it visits is visited once; it stops when there is no further one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from simfs.errors import StaleToken


class Choices(Protocol):
    """Where decisions come from. `taken` is the list of answers so far, `widths` how many there were to choose from."""

    taken: list[int]
    widths: list[int]

    def draw(self, n: int, what: str = "") -> int:
        """An integer from 0 to n - 1. `what` says what is being decided, for people."""
        ...


@dataclass(slots=True)
class Exhaustive:
    """Every list of answers, one after the other: `while search.next(): run(search)`."""

    taken: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    _plan: list[int] = field(default_factory=list)
    _started: bool = False

    def next(self) -> bool:
        """Prepare the next list; False when all have been visited."""
        if self._started:
            plan = self.taken
            while plan and plan[-1] + 1 >= self.widths[len(plan) - 1]:
                plan.pop()
            if not plan:
                return False
            plan[-1] += 1
            self._plan = plan
        self._started = True
        self.taken, self.widths = [], []
        return True

    def draw(self, n: int, what: str = "") -> int:
        assert n > 0, f"nothing to choose from: {what}"
        at = len(self.taken)
        answer = self._plan[at] if at < len(self._plan) else 0
        assert answer < n, f"the run changed under replay at choice {at} ({what}): {answer} of {n}"
        self.taken.append(answer)
        self.widths.append(n)
        return answer


@dataclass(slots=True)
class Sampled:
    """Answers from a seeded generator: the same seed, the same answers, on any machine."""

    seed: int | str
    taken: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(f"simfs {self.seed}")

    def draw(self, n: int, what: str = "") -> int:
        assert n > 0, f"nothing to choose from: {what}"
        answer = self._random.randrange(n)
        self.taken.append(answer)
        self.widths.append(n)
        return answer


@dataclass(slots=True)
class Replayed:
    """A recorded list of answers, then 0. An answer that does not fit any more raises StaleToken."""

    plan: Sequence[int]
    taken: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)

    def draw(self, n: int, what: str = "") -> int:
        at = len(self.taken)
        answer = self.plan[at] if at < len(self.plan) else 0
        if answer >= n:
            raise StaleToken(f"stale token: choice {at + 1} ({what}) was {answer}, but this code offers only {n} ways")
        self.taken.append(answer)
        self.widths.append(n)
        return answer
