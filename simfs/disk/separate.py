"""Taking what is undecided on a disk apart into factors that have nothing to do with one another.

Model. A *unit* is a pending change of names that is kept or lost whole. Two things belong together when one may decide
whether the other matters, or may be at all:

- units on the same (directory, name), and units of which one waits for the other;
- a unit and every inode that it names or takes a name from, for it decides whether and under how many names that inode
  is reachable; where the inode is a directory, everything that is durably below it likewise;
- a unit in a directory that is itself made, moved or removed by a pending unit, or whose attributes are undecided.

What belongs together, directly or through others, is one factor; its worlds are made with all other units lost. A
directory that is there in any case ties nothing together: its entries are those of all its factors.

So whether an inode is reachable, its names, its number of links and the entries of a directory that is undecided itself
are the matter of one factor; an inode that no unit touches is reachable in every image or in none.

The number of a world, in a pick, is its place in the disk's list of worlds, or from WORLDS_MAX on it says which units
are kept, so that a world may be named without listing those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import prod
from typing import Protocol

from simfs.disk.namespace import Namespace
from simfs.disk.worlds import WORLDS_BOUND, WORLDS_MAX, Ways, World


@dataclass(frozen=True, slots=True)
class Unit:
    """A pending change of names. `inodes`: those it names or takes a name from; `states`: in how many ways it may come
    out; `waits`: places of the units that it waits for."""

    names: tuple[tuple[int, str], ...]
    inodes: tuple[int, ...]
    states: int = 2
    waits: tuple[int, ...] = ()


class Separable(Protocol):
    """A disk whose pending changes of names are units."""

    bounds: set[str]

    def units(self) -> Sequence[Unit]:
        """The pending changes of names."""
        ...

    def durable_table(self, directory: int) -> Mapping[str, int]:
        """The entries of a directory when every unit is lost; empty for what is no directory."""
        ...

    def open_ways(self) -> Mapping[int, Ways]:
        """The ways of each inode that is undecided, reachable or not."""
        ...

    def worlds_among(self, units: Collection[int], open_ways: Mapping[int, Ways]) -> Iterator[World]:
        """Every world in which all units but these are lost and only these inodes are open; all lost first."""
        ...

    def number_of(self, worlds: Sequence[World]) -> int:
        """The number, from 0 up, of the world that keeps what any of these worlds keeps."""
        ...

    def world_of(self, number: int) -> World:
        """The world with this number. Raises ValueError where there is none."""
        ...


@dataclass(slots=True)
class Separation:
    """The factors of one disk, at one moment."""

    disk: Separable
    tells_times: frozenset[int] = frozenset()
    _units: Sequence[Unit] = field(init=False)
    _open: Mapping[int, Ways] = field(init=False)
    _factors: list[list[World]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._units = self.disk.units()
        self._open = self.disk.open_ways()

    @property
    def most(self) -> int:
        """No more leaves than this."""
        return prod(unit.states for unit in self._units) * prod(len(ways.ways) for ways in self._open.values())

    def factors(self) -> list[list[World]]:
        """The worlds of each factor."""
        groups = _groups(self.disk, self._units, self._open)
        nothing = next(self.disk.worlds_among((), {}))
        found = []
        for units, inodes in groups:
            if units:
                ways = {ino: self._open[ino] for ino in inodes}
                worlds = list(islice(self.disk.worlds_among(units, ways), WORLDS_MAX + 1))
                if len(worlds) > WORLDS_MAX:
                    self.disk.bounds.add(WORLDS_BOUND)
                found.append(worlds[:WORLDS_MAX])
            elif inodes[0] in nothing.namespace.inodes:
                alone: Namespace = replace(nothing.namespace, open_inodes=(inodes[0],))
                found.append([World.of(alone, {inodes[0]: self._open[inodes[0]]}, nothing.key)])
        self._factors = found
        self.tells_times = self._telling()
        return found

    def _telling(self) -> frozenset[int]:
        """The directories in which not every change bears the same time."""
        changed = {directory: set[int]() for unit in self._units for directory, _ in unit.names}
        for worlds in self._factors:
            for world in worlds:
                for directory, times in changed.items():
                    node = world.namespace.inodes.get(directory)
                    if node is not None:
                        times.add(node.mtime_ns)
        return frozenset(directory for directory, times in changed.items() if len(times) > 1)

    def together(self, places: Sequence[int]) -> tuple[int, World]:
        """The world that one world of each factor make, and its number for a pick."""
        number = self.disk.number_of([worlds[at] for worlds, at in zip(self._factors, places, strict=True)])
        return WORLDS_MAX + number, self.disk.world_of(number)


def _groups(disk: Separable, units: Sequence[Unit], open_ways: Mapping[int, Ways]) -> list[tuple[list[int], list[int]]]:
    """What belongs together: (units, open inodes), in the order of the units; then open inodes that no unit touches."""
    tied: dict[tuple[str, object], tuple[str, object]] = {}

    def top(thing: tuple[str, object]) -> tuple[str, object]:
        while (above := tied.setdefault(thing, thing)) != thing:
            thing = above
        return thing

    def tie(one: tuple[str, object], other: tuple[str, object]) -> None:
        tied[top(other)] = top(one)

    unsure = set(open_ways)
    for at, unit in enumerate(units):
        for name in unit.names:
            tie(("unit", at), ("name", name))
        for earlier in unit.waits:
            tie(("unit", at), ("unit", earlier))
        for ino in _below(unit.inodes, disk.durable_table):
            tie(("unit", at), ("inode", ino))
            unsure.add(ino)
    for at, unit in enumerate(units):
        for directory, _ in unit.names:
            if directory in unsure:
                tie(("unit", at), ("inode", directory))
    found: dict[tuple[str, object], tuple[list[int], list[int]]] = {}
    for at in range(len(units)):
        found.setdefault(top(("unit", at)), ([], []))[0].append(at)
    for ino in open_ways:
        found.setdefault(top(("inode", ino)), ([], []))[1].append(ino)
    return list(found.values())


def _below(inodes: Sequence[int], table: Callable[[int], Mapping[str, int]]) -> list[int]:
    """These inodes and all that is durably below them."""
    found: dict[int, None] = {}
    stack = list(inodes)
    while stack:
        ino = stack.pop()
        if ino not in found:
            found[ino] = None
            stack.extend(table(ino).values())
    return list(found)
