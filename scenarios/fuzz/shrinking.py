"""Making a failing list of choices smaller, by running it again: fewer choices, more zeros, smaller numbers.

Zero is the plain case at every choice, and a list ends in endless zeros. So of two lists the smaller one has fewer
choices up to its last that is not 0, then the smaller sum. Passes are repeated until none helps or the tries are used
up: pieces are cut out or set to zero, from the end, large ones first; then single numbers are lowered. A try counts
when the same law is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

TRIES = 400
Fails = Callable[[Sequence[int]], list[int] | None]
"""What was taken when a list was run, where that broke the law in question; None where it did not."""


def shrunk(taken: Sequence[int], fails: Fails, tries: int = TRIES) -> list[int]:
    """The smallest list found that still fails: `taken`, without zeros at its end, where nothing smaller does."""
    search = _Search(stripped(taken), fails, tries)
    before: list[int] | None = None
    while before != search.best and search.left:
        before = search.best
        search.pieces()
        search.numbers()
    return search.best


def stripped(taken: Sequence[int]) -> list[int]:
    """Without the zeros at the end."""
    end = len(taken)
    while end and taken[end - 1] == 0:
        end -= 1
    return list(taken[:end])


def size(taken: Sequence[int]) -> tuple[int, int]:
    """What is compared."""
    return len(taken), sum(taken)


@dataclass(slots=True)
class _Search:
    best: list[int]
    fails: Fails
    left: int

    def take(self, proposal: list[int]) -> bool:
        """Whether a proposal fails and is smaller; it is the best then."""
        if not self.left or size(stripped(proposal)) >= size(self.best):
            return False
        self.left -= 1
        again = self.fails(proposal)
        if again is None or size(stripped(again)) >= size(self.best):
            return False
        self.best = stripped(again)
        return True

    def pieces(self) -> None:
        """Cut pieces out, or set them to zero."""
        piece = max(1, len(self.best) // 2)
        while piece:
            at = len(self.best) - piece
            while at >= 0:
                best = self.best
                rest, zeros = best[at + piece :], [0] * piece
                if not self.take(best[:at] + rest) and any(best[at : at + piece]):
                    self.take(best[:at] + zeros + rest)
                at = min(at - piece, len(self.best) - piece)
            piece //= 2

    def numbers(self) -> None:
        """Lower single numbers."""
        for at in range(len(self.best)):
            lower = 0
            while at < len(self.best) and lower < self.best[at]:
                if self.take([*self.best[:at], lower, *self.best[at + 1 :]]):
                    continue
                lower = max(lower + 1, (lower + self.best[at]) // 2)
