"""The undecided disk after a power loss, decided piece by piece: what a reader does not look at stays undecided.

Model. What a power loss may leave is a product of *factors* that have nothing to do with one another (`separate.py`
finds them where a model can be taken apart; else there is one). A factor is a list of worlds, sets of names that may
survive, and in each world a list of ways for each inode that is still open. A `Block` is a set of images that is a
product again: for each factor some of its worlds, in each of these some ways of each open inode.

`Undecided.split(block, look)` answers the images of the block that agree with its first image, its *representative*,
on what the look shows, and the rest as further blocks. So a program that looked at some things on the representative
does the same on every image of the block that is left when all its looks have been split off: two disks that agree on
every look of a program that draws no lots give the same run, look by look.

What a look shows, given that the program got there by looks that agree:

| look | shows |
|---|---|
| ("dent", directory, name) | the inode that the name stands for, or none; for "..": the parent |
| ("list", directory) | all its entries |
| ("data", inode) | a file's bytes and holes |
| ("meta", inode) | attributes, times, xattrs and number of links |
| ("links", inode) | the number of links of a file |
| ("everything",) | which image it is |

Times of a directory are those of the last change that survives in any factor. Unless all of them are equal, a look at
the attributes of a directory therefore tells the worlds of each factor that changes it apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from simfs.disk.model import Disk, Pick
from simfs.disk.worlds import World, WorldDisk
from simfs.machine.inode import DIGEST_MASK, Image, Inode

Look = tuple[Any, ...]
Row = tuple[int, tuple[Sequence[int], ...]]
"""A world of a factor, and the ways that are left for each of its open inodes; never none."""
Rows = tuple[Row, ...]
EVERYTHING: Look = ("everything",)
GONE = "not reachable"


@dataclass(frozen=True, slots=True)
class Block:
    """A set of images: for each factor the rows that are left, the first row and its first ways representing it."""

    rows: tuple[Rows, ...]

    @property
    def count(self) -> int:
        """How many leaves it has."""
        return prod(sum(prod(map(len, ways)) for _, ways in rows) for rows in self.rows)


@dataclass(slots=True, eq=False)
class Factor:
    """One independent part of what is undecided. `tells_times`: directories whose times say which world it is."""

    worlds: Sequence[World]
    tells_times: frozenset[int] = frozenset()

    def everything(self) -> Rows:
        """All of its rows."""
        return tuple((at, tuple(range(len(ways.ways)) for ways in world.ways)) for at, world in enumerate(self.worlds))

    def split(self, rows: Rows, look: Look) -> list[Rows]:
        """The rows by what the look shows in them, those like the first row's first ways first."""
        if len(rows) == 1 and all(len(places) == 1 for places in rows[0][1]):
            return [rows]
        if look == EVERYTHING:
            return _first_alone(rows)
        found: dict[object, list[Row]] = {}
        for row in rows:
            for shown, part in self._shown(row, look):
                found.setdefault(shown, []).append(part)
        return [tuple(part) for part in found.values()]

    def _shown(self, row: Row, look: Look) -> Iterator[tuple[object, Row]]:
        world = self.worlds[row[0]]
        kind = look[0]
        if kind in ("data", "meta"):
            named = self._links_and_times(row[0], look[1]) if kind == "meta" else None
            yield from _by_way(row, world, look[1], named, _content if kind == "data" else _attributes)
        elif kind == "links":
            node = world.namespace.inodes.get(look[1])
            yield (GONE if node is None else node.nlink), row
        else:
            yield _entry(world, look), row

    def _links_and_times(self, at: int, ino: int) -> object:
        node = self.worlds[at].namespace.inodes.get(ino)
        if node is None:
            return GONE
        return node.nlink, node.mtime_ns, node.ctime_ns, at if ino in self.tells_times else -1


def _first_alone(rows: Rows) -> list[Rows]:
    """The first image of the rows by itself, and all others in as few products as there are choices that differ."""
    (at, ways), *others = rows
    found = []
    first = tuple((places[0],) for places in ways)
    for which, places in enumerate(ways):
        found += [((at, (*first[:which], (place,), *ways[which + 1 :])),) for place in places[1:]]
    return [((at, first),), *found, *((row,) for row in others)]


def _by_way(
    row: Row, world: World, ino: int, named: object, show: Callable[[Inode], object]
) -> Iterator[tuple[object, Row]]:
    """The row, cut by what `show` shows of the open inode `ino` in its ways; whole when the inode is not open."""
    at, ways = row
    if ino not in world.namespace.open_inodes:
        node = world.namespace.inodes.get(ino)
        yield (named, GONE if node is None else show(node)), row
        return
    which = world.namespace.open_inodes.index(ino)
    found: dict[object, list[int]] = {}
    for place in ways[which]:
        found.setdefault(show(world.ways[which].ways[place].node), []).append(place)
    for shown, places in found.items():
        yield (named, shown), (at, (*ways[:which], tuple(places), *ways[which + 1 :]))


def _content(node: Inode) -> object:
    return (node.data, node.holes) if node.kind == "file" else None


def _attributes(node: Inode) -> object:
    xattrs = tuple(sorted(node.xattrs.items()))
    return node.mode, node.uid, node.gid, node.atime_ns, node.mtime_ns, node.ctime_ns, xattrs


def _entry(world: World, look: Look) -> object:
    """What a look at a name or a listing shows."""
    node = world.namespace.inodes.get(look[1])
    if node is None:
        return GONE
    if look[0] == "list":
        return frozenset(node.entries.items())
    return node.parent if look[2] == ".." else node.entries.get(look[2])


@dataclass(slots=True, eq=False)
class Undecided:
    """What a power loss may leave at one crash point. `together` takes one world of each factor, by place, and answers
    the world that they make and its number in a pick."""

    factors: Sequence[Factor]
    together: Callable[[Sequence[int]], tuple[int, World]]
    _made: dict[tuple[int, ...], tuple[int, World]] = field(default_factory=dict)
    _concerned: dict[Look, list[int]] = field(default_factory=dict)

    def everything(self) -> Block:
        """All images."""
        return Block(tuple(factor.everything() for factor in self.factors))

    def split(self, block: Block, look: Look) -> tuple[Block, list[Block]]:
        """The images that agree with the representative on a look, and blocks of the others."""
        others = []
        for at in self.concerned(look):
            same, *rest = self.factors[at].split(block.rows[at], look)
            if rest:
                others += [_with(block, at, rows) for rows in rest]
                block = _with(block, at, same)
        return block, others

    def concerned(self, look: Look) -> list[int]:
        """The factors in which the look can show more than one thing."""
        known = self._concerned.get(look)
        if known is None:
            known = self._concerned[look] = [
                at for at, factor in enumerate(self.factors) if len(factor.split(factor.everything(), look)) > 1
            ]
        return known

    def representative(self, block: Block, place: int = 0) -> Leaf:
        """The first image of a block, which loses the most; with -1 the last, which loses the least."""
        chosen: dict[int, int] = {}
        for factor, rows in zip(self.factors, block.rows, strict=True):
            at, ways = rows[place]
            for ino, left in zip(factor.worlds[at].namespace.open_inodes, ways, strict=True):
                chosen[ino] = left[place]
        places = tuple(rows[place][0] for rows in block.rows)
        made = self._made.get(places)
        if made is None:
            made = self._made[places] = self.together(places)
        number, world = made
        return Leaf(world, (number, *(chosen[ino] for ino in world.namespace.open_inodes)))


def _with(block: Block, at: int, rows: Rows) -> Block:
    return Block((*block.rows[:at], rows, *block.rows[at + 1 :]))


@dataclass(slots=True, eq=False)
class Leaf:
    """One image, not built yet. `pick` is as `Disk.image` takes it."""

    world: World
    pick: Pick

    @property
    def digest(self) -> int:
        """The digest of its image."""
        places = zip(self.world.ways, self.pick[1:], strict=True)
        return (self.world.namespace.digest + sum(ways.digests[place] for ways, place in places)) & DIGEST_MASK

    def image(self) -> Image:
        """The image itself."""
        inos, places = self.world.namespace.open_inodes, self.pick[1:]
        ways = zip(inos, self.world.ways, places, strict=True)
        return self.world.namespace.image({ino: ways.ways[place].node for ino, ways, place in ways})


def undecided(disk: Disk, least: int = 0) -> Undecided | None:
    """What is undecided on a disk now; None where the model does not say it in worlds, or where there are not more than
    `least` leaves."""
    if not isinstance(disk, WorldDisk):
        return None
    separable = disk.separable()
    if separable is None:
        worlds = disk.worlds()
        found = Undecided([Factor(worlds)], lambda places: (places[0], worlds[places[0]]))
    else:
        if separable.most <= least:
            return None
        factors = [Factor(worlds, separable.tells_times) for worlds in separable.factors()]
        found = Undecided(factors, separable.together)
    return found if found.everything().count > least else None
