"""Choices for fuzzing: a list that was recorded, changed somewhere, and drawn from there on; and how lists are changed.

`Guided` answers from its plan while that lasts, then from a seeded generator. What it draws is drawn *swarm* style:
for each kind of decision (its words, and how many ways there are) a history allows only a drawn subset of the answers.
So one history kills often and never crashes, another makes only large commits, a third never preempts: histories in
which everything happens with the same small chance hide the faults that need much of one thing and none of another.

`Clamped` is for shrinking: an answer that does not fit any more becomes the largest that does.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

FEW = 16
"""Up to so many ways a subset is drawn one by one; beyond, a range."""
LONGEST = 20_000
"""Choices in one history; a history that wants more gets 0, the plain case, from there on."""


class Guided:
    """A `Choices`: `plan` first, each answer taken modulo the number of ways, then drawn. The same seed, the same
    answers, on any machine."""

    def __init__(self, plan: Sequence[int], seed: str) -> None:
        self.taken: list[int] = []
        self.widths: list[int] = []
        self._plan = plan
        self._random = random.Random(f"simfs fuzz {seed}")
        self._allowed: dict[tuple[str, int], tuple[int, ...] | range] = {}

    def draw(self, n: int, what: str = "") -> int:
        """An integer from 0 to n - 1."""
        assert n > 0, f"nothing to choose from: {what}"
        at = len(self.taken)
        if at < len(self._plan):
            answer = self._plan[at] % n
        elif n == 1 or at >= LONGEST:
            answer = 0
        else:
            answer = self._drawn(n, what)
        self.taken.append(answer)
        self.widths.append(n)
        return answer

    def _drawn(self, n: int, what: str) -> int:
        allowed = self._allowed.get((what, n))
        if allowed is None:
            allowed = self._allowed[what, n] = self._subset(n)
        return self._random.choice(allowed)

    def _subset(self, n: int) -> tuple[int, ...] | range:
        if self._random.randrange(3) == 0:
            return range(n)
        if n > FEW:
            return range(min(n, self._random.choice((1, 4, 16, n))))
        kept = tuple(way for way in range(n) if self._random.randrange(2))
        return kept or (self._random.randrange(n),)


class Clamped:
    """A `Choices`: a list that may not fit any more. What is too large becomes the largest there is; then 0."""

    def __init__(self, plan: Sequence[int]) -> None:
        self.taken: list[int] = []
        self.widths: list[int] = []
        self._plan = plan

    def draw(self, n: int, what: str = "") -> int:
        """An integer from 0 to n - 1."""
        at = len(self.taken)
        answer = min(self._plan[at], n - 1) if at < len(self._plan) else 0
        self.taken.append(answer)
        self.widths.append(n)
        return answer


def changed(parent: Sequence[int], other: Sequence[int], seed: str) -> list[int]:
    """A list for `Guided`: `parent` with one to four changes, or the beginning of it followed by the end of `other`."""
    draw = random.Random(f"simfs change {seed}")
    out = list(parent)
    for _ in range(1 + draw.randrange(4)):
        at = draw.randrange(len(out) + 1)
        kind = draw.randrange(6)
        if kind == 0:
            return out[:at]
        if kind == 1 and other:
            return out[:at] + list(other[draw.randrange(len(other)) :])
        if kind == 2:
            del out[at : at + 1 + draw.randrange(8)]
        elif kind == 3:
            out[at:at] = [draw.randrange(8) for _ in range(1 + draw.randrange(4))]
        elif at < len(out):
            out[at] = draw.randrange(4) if kind == 4 else max(0, out[at] + draw.choice((-1, 1)))
    return out
