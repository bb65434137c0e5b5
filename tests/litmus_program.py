"""What a litmus program is, and the disk models that its outcomes are written down for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.litmus_calls import Step

MODELS = (
    "scc",
    "synced-only",
    "prefix",
    "ext4",
    "ext4:dioread=lock",
    "ext4:tear=sector",
    "posix-weakest",
)
SPLIT = ("prefix:rename_atomic=no", "ext4:rename_atomic=no", "scc:rename_atomic=no")


@dataclass(frozen=True)
class Litmus:
    name: str
    asks: str
    steps: Sequence[Step]
    setup: Sequence[Step] = ()
    models: tuple[str, ...] = MODELS

    def prepare(self, root: str) -> None:
        for step in self.setup:
            step(root)


def litmus(name: str, asks: str, *steps: Step, setup: Sequence[Step] = (), models: tuple[str, ...] = MODELS) -> Litmus:
    return Litmus(name, asks, steps, setup, models)
