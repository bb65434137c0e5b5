"""What a night does with the lists of its corpus: run each as it is, then keep the smallest that show everything.

A list that broke a law and does not any more is fixed: it is a failure no longer, and stays as a plain list where it
shows something. What was not run, because the time was up or its worker died each time, is not touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from scenarios.fuzz.corpus import Entry
from scenarios.fuzz.tally import Tally
from scenarios.fuzz.unit import Result, Unit

TOGETHER = 40
"""Lists of a unit."""


def replay_units(stored: Sequence[Entry], planted: tuple[str, ...]) -> list[Unit]:
    """The units that run every entry as it is, failures first."""
    groups: dict[tuple[str, str, bool], list[Entry]] = {}
    for entry in stored:
        groups.setdefault((entry.target, entry.disk, bool(entry.law)), []).append(entry)
    return [
        Unit(
            target, disk, "replay", at, 0, tuple(e.choices for e in entries[at : at + TOGETHER]), replay=True,
            planted=planted,
        )
        for (target, disk, _), entries in sorted(groups.items(), key=lambda item: (not item[0][2], item[0]))
        for at in range(0, len(entries), TOGETHER)
    ]  # fmt: skip


@dataclass(slots=True)
class Sorted:
    """Entries by what becomes of them."""

    useful: list[Entry] = field(default_factory=list)
    """Plain ones that show something; a fixed one among them may not be in the corpus yet."""
    useless: list[Entry] = field(default_factory=list)
    fixed: list[Entry] = field(default_factory=list)
    """Those that broke a law once, and were kept for that."""


@dataclass(slots=True)
class Replayed:
    """What the replay has shown."""

    histories: int = 0
    shown: list[tuple[int, Entry, frozenset[int]]] = field(default_factory=list)

    def add(self, result: Result) -> None:
        """The result of one of the units."""
        self.histories += result.histories
        for kept in result.kept:
            entry = Entry(result.unit.target, result.unit.disk, kept.choices)
            self.shown.append((len(kept.choices), entry, kept.marks))

    def sort_out(self, stored: Sequence[Entry], tally: Tally) -> Sorted:
        """What becomes of every entry that was run and broke nothing; the smallest come first, and are noted."""
        out = Sorted()
        for _, entry, marks in sorted(self.shown, key=lambda one: one[:2]):
            if tally.note(entry.target, marks):
                out.useful.append(entry)
        ran, useful = {entry for _, entry, _ in self.shown}, set(out.useful)
        for entry in stored:
            plain = Entry(entry.target, entry.disk, entry.choices)
            if plain in ran and entry.law:
                out.fixed.append(entry)
            elif plain in ran and plain not in useful:
                out.useless.append(entry)
        return out
