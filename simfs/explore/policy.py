"""Policies that draw from `Choices`: replay, random walks, and the naive search that tries every schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simfs.explore.choices import Choices
from simfs.explore.schedule import Step


@dataclass(slots=True)
class Drawn:
    """Draws who goes on wherever there is more than one; answer 0 is the first offered."""

    choices: Choices

    def choose(self, enabled: Sequence[int]) -> int:
        return enabled[0] if len(enabled) == 1 else enabled[self.choices.draw(len(enabled), "who runs next")]

    def stepped(self, step: Step) -> None:
        """Nothing to learn."""
