"""What the steps of a plan do to a log, on paper: the model that the storage's rules are judged against.

The paper disk has one log of numbered lines, sidecars with a length each, and directory entries. Each is seen (what
a reader sees now) and durable (what a power loss cannot take). A flush of a file makes its content durable, a flush of
the directory the entries that are there. Of the seen lines that are not durable a power loss keeps any first part; of
entries that are not durable it keeps any; a line that names sidecar bytes which did not survive is damage.

An *epoch* is what should happen: the found lines are made durable, then for each commit the line is written, made
durable, acknowledged. `after_each_step` carries a real plan out on paper; `epoch` says where it must stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

MAIN = "main.jsonl"


class PlanStep(Protocol):
    """A step of a plan: what it does and to which file."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Paper:
    """The log on paper. `seen` and `durable` count lines; `needs[i]` are the sidecar writes that line i+1 relies on."""

    seen: int
    durable: int
    acked: int = 0
    """Lines that somebody was promised."""
    entries_seen: frozenset[str] = frozenset({MAIN})
    entries_durable: frozenset[str] = frozenset()
    sidecar_seen: dict[str, int] = field(default_factory=dict)
    sidecar_durable: dict[str, int] = field(default_factory=dict)
    needs: tuple[dict[str, int], ...] = ()

    def may_be_left(self) -> Iterator[int | str]:
        """What a power loss now may leave: a number of lines, or the name of the sidecar that makes it damaged."""
        if MAIN not in self.entries_durable:
            yield 0
        for lines in range(self.durable, self.seen + 1):
            yield lines
            for needed in self.needs[:lines]:
                for name, writes in needed.items():
                    if self.sidecar_durable.get(name, 0) < writes or name not in self.entries_durable:
                        yield name

    def step(self, step: PlanStep, needed: dict[str, int]) -> Paper:
        """The paper after one step of a plan; `needed` is what the line that is being committed relies on."""
        kind, name = step.kind, step.name
        if kind == "write_marker":
            return replace(self, seen=self.seen + 1, needs=(*self.needs, needed))
        if kind == "write_sidecar":
            seen = {**self.sidecar_seen, name: self.sidecar_seen.get(name, 0) + 1}
            return replace(self, sidecar_seen=seen, entries_seen=self.entries_seen | {name})
        if kind == "flush_sidecar":
            return replace(self, sidecar_durable={**self.sidecar_durable, name: self.sidecar_seen[name]})
        if kind == "flush_main":
            return replace(self, durable=self.seen)
        if kind == "flush_directory":
            return replace(self, entries_durable=self.entries_seen)
        if kind == "acknowledge":
            return replace(self, acked=self.seen)
        return self


def after_each_step(start: Paper, plans: Sequence[tuple[Sequence[PlanStep], dict[str, int]]]) -> Iterator[Paper]:
    """The paper before the first step and after each step of the plans, one after the other."""
    yield start
    for steps, needed in plans:
        for step in steps:
            start = start.step(step, needed)
            yield start


def epoch(found: int, was_durable: bool, new_entry: bool, commits: int) -> Iterator[tuple[int, int, bool, int]]:
    """Where an epoch of flushing opens and commits stands, each stand once, in order: lines seen, lines durable,
    whether the entry of main.jsonl is durable, lines acknowledged."""
    durable, entry = (found if was_durable else 0), not new_entry
    yield found, durable, entry, 0
    if found:
        yield found, found, entry, 0
        entry = True
        yield found, found, entry, 0
        yield found, found, entry, found
    for line in range(found + 1, found + commits + 1):
        yield line, line - 1, entry, line - 1
        yield line, line, entry, line - 1
        if not entry:
            entry = True
            yield line, line, entry, line - 1
        yield line, line, entry, line


def without_repeats(stands: Iterator[tuple[int, int, bool, int]]) -> list[tuple[int, int, bool, int]]:
    """A list of stands in which none follows itself."""
    out: list[tuple[int, int, bool, int]] = []
    for stand in stands:
        if not out or out[-1] != stand:
            out.append(stand)
    return out
