"""Hypothesis as a source of choices: generated histories, and a failing one shrunk together with its crash.

Whatever draws from a `Choices` (a history of operations, where the power goes, what survives) can draw from Hypothesis
instead. Hypothesis then varies and shrinks all of it together, towards 0 at every choice, the plain case:

    @given(st.data())
    def test_histories(data):
        run_history(simfs.strategies.Drawn(data))

`taken` is the list of answers: the same list given to `Replayed` is the same run without Hypothesis.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hypothesis import strategies as st


@lru_cache(maxsize=4096)
def below(n: int) -> st.SearchStrategy[int]:
    """Integers from 0 to n - 1."""
    return st.integers(0, n - 1)


class Drawn:
    """A `Choices` that asks Hypothesis. `data` is what `st.data()` gives a test."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self.taken: list[int] = []
        self.widths: list[int] = []

    def draw(self, n: int, what: str = "") -> int:
        """An integer from 0 to n - 1; with n = 1 nothing is asked."""
        assert n > 0, f"nothing to choose from: {what}"
        answer: int = self._data.draw(below(n)) if n > 1 else 0
        self.taken.append(answer)
        self.widths.append(n)
        return answer
