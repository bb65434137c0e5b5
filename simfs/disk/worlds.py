"""Disks whose possible images are worlds: a set of names, and in each the ways that undecided inodes may come out.

Model. A model that keeps pending ops decides two things at a power loss: which directory entries exist, and how each
inode that still has something pending comes out. A `World` is one answer to the first together with, for each inode
left open, the list of answers to the second. The images of a world are the product of its lists, so they are counted,
listed, drawn and rebuilt here, once for all such models. A pick is (number of the world, one place in each list). From
WORLDS_MAX on the number is the model's own, for a world that nobody listed (`separate.py`).

Digests are sums over inodes: a leaf costs one addition for each open inode, and no image is built until asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from simfs.disk.model import Draw, Pick
from simfs.disk.namespace import Namespace
from simfs.machine.inode import DIGEST_MASK, Image, Inode
from simfs.machine.ops import Op

if TYPE_CHECKING:
    from simfs.disk.separate import Separation

WORLDS_MAX = 4096
WORLDS_BOUND = f"at most {WORLDS_MAX} sets of directory entries a crash point"
LEAVES_MAX = 200_000
LEAVES_BOUND = f"at most {LEAVES_MAX} images a crash point"


class Way:
    """One way an inode may come out. `label` is what the model needs to say which ops it keeps."""

    __slots__ = ("label", "node")

    def __init__(self, node: Inode, label: object) -> None:
        self.node = node
        self.label = label


class Ways:
    """Every way one inode may come out: everything lost first, everything kept last. Digests are computed once.

    Only growing at the end is allowed; the digests follow.
    """

    __slots__ = ("_digests", "ways")

    def __init__(self, ways: list[Way]) -> None:
        self.ways = ways
        self._digests: list[int] = []

    @property
    def digests(self) -> list[int]:
        known = self._digests
        if len(known) < len(self.ways):
            known.extend(way.node.digest() for way in self.ways[len(known) :])
        return known


@dataclass(slots=True, eq=False)
class World:
    """One set of names. `ways` stands in the order of `namespace.open_inodes`; `key` is the model's own."""

    namespace: Namespace
    ways: tuple[Ways, ...]
    key: object

    @staticmethod
    def of(namespace: Namespace, ways: Mapping[int, Ways], key: object) -> World:
        """The world of these names, with the ways of those inodes that the names reach."""
        found = []
        for ino in namespace.open_inodes:
            found.append(_named(namespace, ways[ino]) if namespace.inodes[ino].kind == "dir" else ways[ino])
        return World(namespace, tuple(found), key)


def _named(namespace: Namespace, ways: Ways) -> Ways:
    """A directory's attributes as chosen, with the entries of this namespace and the later of both times."""
    out = []
    for way in ways.ways:
        node = way.node.alias()
        named = namespace.inodes[node.ino]
        node.entries = named.entries
        if named.ctime_ns > node.ctime_ns:
            node.mtime_ns, node.ctime_ns = named.mtime_ns, named.ctime_ns
        out.append(Way(node, way.label))
    return Ways(out)


class WorldDisk:
    """The part of a disk that turns worlds into leaves and images. A model implements `build_worlds`."""

    def __init__(self, base: Image) -> None:
        self.base = base
        self.bounds: set[str] = set()
        self._worlds: list[World] | None = None

    def build_worlds(self) -> Iterator[World]:
        """Every world possible now, everything lost first, everything kept last."""
        raise NotImplementedError

    def changed(self) -> None:
        """Something was issued that changes which worlds there are."""
        self._worlds = None

    def worlds(self) -> list[World]:
        """The worlds possible now, at most WORLDS_MAX; kept until something changes them."""
        if self._worlds is None:
            found: list[World] = []
            for world in self.build_worlds():
                if len(found) == WORLDS_MAX:
                    self.bounds.add(WORLDS_BOUND)
                    break
                found.append(world)
            self._worlds = found
        return self._worlds

    def leaves(self, in_progress: Op | None = None) -> Iterator[tuple[int, Pick]]:
        budget = LEAVES_MAX
        for at, world in enumerate(self.worlds()):
            lists = [ways.digests for ways in world.ways]
            size = prod(map(len, lists))
            if size > budget:
                self.bounds.add(LEAVES_BOUND)
            yield from _of_world(at, world.namespace.digest, lists, budget)
            budget -= min(size, budget)

    def sample(self, draw: Draw, in_progress: Op | None = None) -> tuple[int, Pick]:
        worlds = self.worlds()
        at = draw(len(worlds))
        world = worlds[at]
        digest, pick = world.namespace.digest, [at]
        for ways in world.ways:
            place = draw(len(ways.ways))
            digest += ways.digests[place]
            pick.append(place)
        return digest & DIGEST_MASK, tuple(pick)

    def situation(self) -> object | None:
        """Equal on disks, begun alike, that may leave the same images; None where the model does not say."""
        return None

    def separable(self) -> Separation | None:
        """What is undecided now, taken apart; None where the model does not say how."""
        return None

    def world_of(self, number: int) -> World:
        """The world that a model names by a number of its own. Raises ValueError where there is none."""
        raise ValueError(f"no set of directory entries {WORLDS_MAX + number} at this crash point")

    def _listed(self, number: int) -> World:
        worlds = self.worlds()
        if not 0 <= number < len(worlds):
            raise ValueError(f"no set of directory entries {number} at this crash point")
        return worlds[number]

    def picked(self, pick: Pick) -> tuple[World, dict[int, Way]]:
        """The world that a pick names, and the way of each open inode. Raises ValueError for a pick no leaf has."""
        if not pick:
            raise ValueError("an empty pick names no set of directory entries")
        world = self.world_of(pick[0] - WORLDS_MAX) if pick[0] >= WORLDS_MAX else self._listed(pick[0])
        if len(pick) != 1 + len(world.ways):
            raise ValueError(f"pick {pick} does not fit the {len(world.ways)} undecided inodes here")
        chosen = {}
        for ino, ways, place in zip(world.namespace.open_inodes, world.ways, pick[1:], strict=True):
            if not 0 <= place < len(ways.ways):
                raise ValueError(f"no survivor {place} of inode {ino} at this crash point")
            chosen[ino] = ways.ways[place]
        return world, chosen

    def image(self, pick: Pick, in_progress: Op | None = None) -> Image:
        world, chosen = self.picked(pick)
        return world.namespace.image({ino: way.node for ino, way in chosen.items()})


def _of_world(at: int, fixed: int, lists: Sequence[list[int]], budget: int) -> Iterator[tuple[int, Pick]]:
    """The leaves of one world, at most `budget`."""
    if not lists:
        if budget > 0:
            yield fixed, (at,)
    elif len(lists) == 1:
        for place, digest in enumerate(lists[0][:budget]):
            yield (fixed + digest) & DIGEST_MASK, (at, place)
    else:
        *heads, last = lists
        for places in product(*(range(len(digests)) for digests in heads)):
            total = fixed
            for digests, place in zip(heads, places, strict=True):
                total += digests[place]
            head = (at, *places)
            for place, digest in enumerate(last[:budget]):
                yield (total + digest) & DIGEST_MASK, (*head, place)
            budget -= len(last)
            if budget <= 0:
                return
