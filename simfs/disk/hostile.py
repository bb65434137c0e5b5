"""The overlay `hostile`: a disk that does not keep what it kept. `hostile+MODEL` lays it over any model.

Each image of the model below may have one thing wrong with it besides, in the content of one file:

- *sector garbage*: one 512-byte sector reads as GARBAGE;
- *bit flip*: one bit is the other way round;
- *misdirected write*: a block written since the start went to another block, which now holds it, and its own place
  holds what it held before.

Never more than one in an image, and never in names or attributes, which filesystems guard by checksums. Which bits:
the lowest bit of the first, middle and last byte of each sector; that is a named bound. Sectors and blocks beyond
PLACES_MAX of a file are taken from its start and end only, named as well.

While the program runs, calls may fail: a read with EIO, a short read, a short write and then ENOSPC, a flush with EIO
(whose effect is the rule of the model below). Those are carried as data in `faults`; the explorer draws them.

An overlay is not closed under loss: a write lost is a place less that may be wrong.
Sources: TigerBeetle's storage faults; Bairavasundaram et al., "An analysis of data corruption in the storage stack".
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

from simfs.disk.model import Disk, DiskModel, Draw, Pick
from simfs.machine.faults import FLUSHES, READS, WRITES, Errno, Fault, Full, Short
from simfs.machine.inode import DIGEST_MASK, Image, Inode
from simfs.machine.ops import Op, Write

OVERLAY = "hostile"
SECTOR = 512
BLOCK = 4096
GARBAGE = b"\xe7"
PLACES_MAX = 8
BITS_BOUND = "bit flips: the lowest bit of the first, middle and last byte of each sector"
PLACES_BOUND = f"damage to more than {PLACES_MAX} sectors or blocks of a file: the first and last few"

FAULTS: tuple[Fault, ...] = (
    Errno(READS, code=errno.EIO),
    Short(READS, keep=1),
    Full(WRITES, after=1),
    Errno(FLUSHES, code=errno.EIO),
)


class HostileDisk:
    """A disk over another one. A pick is the other's pick and then (0,), or (n,) for the n-th thing wrong."""

    def __init__(self, below: Disk, base: Image) -> None:
        self.below = below
        self.base = base
        self.bounds: set[str] = below.bounds
        self.written: dict[int, set[int]] = {}
        """Inode -> blocks written since the start."""

    def add(self, op: Op, covers: object = None) -> None:
        self.below.add(op, covers)  # type: ignore[arg-type]
        if isinstance(op, Write) and op.data:
            first, last = op.offset // BLOCK, (op.offset + len(op.data) - 1) // BLOCK
            self.written.setdefault(op.ino, set()).update(range(first, last + 1))

    def leaves(self, in_progress: Op | None = None) -> Iterator[tuple[int, Pick]]:
        for digest, pick in self.below.leaves(in_progress):
            yield digest, (*pick, 0)
            image = self.below.image(pick, in_progress)
            for place, damage in enumerate(self._damages(image), 1):
                yield _digest(image, damage), (*pick, place)

    def sample(self, draw: Draw, in_progress: Op | None = None) -> tuple[int, Pick]:
        digest, pick = self.below.sample(draw, in_progress)
        image = self.below.image(pick, in_progress)
        damages = list(self._damages(image))
        place = draw(len(damages) + 1)
        return (_digest(image, damages[place - 1]) if place else digest), (*pick, place)

    def image(self, pick: Pick, in_progress: Op | None = None) -> Image:
        image = self.below.image(pick[:-1], in_progress)
        if not pick[-1]:
            return image
        for place, damage in enumerate(self._damages(image), 1):
            if place == pick[-1]:
                inodes = image.inodes.copy()
                for node in damage:
                    inodes[node.ino] = node
                return Image(inodes, image.root, image.mounts)
        raise ValueError(f"no damage {pick[-1]} to the image of {pick[:-1]}")

    def fates(self, pick: Pick, in_progress: Op | None = None) -> dict[int, str]:
        return self.below.fates(pick[:-1], in_progress)

    def _damages(self, image: Image) -> Iterator[list[Inode]]:
        """Each thing that may be wrong: the inodes that differ."""
        files = [node for node in image.inodes.values() if node.kind == "file" and node.data]
        for node in files:
            self.bounds.add(BITS_BOUND)
            data = bytes(node.data)
            for start in self._few(list(range(0, len(data), SECTOR))):
                end = min(start + SECTOR, len(data))
                yield [_with(node, data[:start] + GARBAGE * (end - start) + data[end:])]
                for at in sorted({start, (start + end) // 2, end - 1}):
                    yield [_with(node, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])]
        places = [(node, block) for node in files for block in range(-(-len(node.data) // BLOCK))]
        for node in files:
            for block in self._few(sorted(self.written.get(node.ino, ()))):
                if block * BLOCK < len(node.data):
                    for other, there in self._few_places(places):
                        if (other.ino, there) != (node.ino, block):
                            yield self._misdirected(node, block, other, there)

    def _misdirected(self, node: Inode, block: int, other: Inode, there: int) -> list[Inode]:
        start, size = block * BLOCK, len(node.data)
        payload = bytes(node.data[start : start + BLOCK])
        old = self.base.inodes.get(node.ino)
        before = bytes(old.data[start : start + BLOCK]) if old is not None else b""
        room = min(BLOCK, size - start)
        own = bytes(node.data[:start]) + before[:room].ljust(room, b"\0") + bytes(node.data[start + room :])
        target = own if other is node else bytes(other.data)
        at = there * BLOCK
        space = min(BLOCK, len(target) - at)
        hit = target[:at] + payload[:space].ljust(space, b"\0") + target[at + space :]
        return [_with(node, hit)] if other is node else [_with(node, own), _with(other, hit)]

    def _few(self, places: list[int]) -> list[int]:
        if len(places) <= PLACES_MAX:
            return places
        self.bounds.add(PLACES_BOUND)
        return places[: PLACES_MAX // 2] + places[-PLACES_MAX // 2 :]

    def _few_places(self, places: list[tuple[Inode, int]]) -> list[tuple[Inode, int]]:
        return [places[at] for at in self._few(list(range(len(places))))]


def _with(node: Inode, data: bytes) -> Inode:
    node = node.alias()
    node.data = data
    return node


def _digest(image: Image, damage: list[Inode]) -> int:
    total = image.digest
    for node in damage:
        total += node.digest() - image.inodes[node.ino].digest()
    return total & DIGEST_MASK


class Hostile:
    """`hostile+MODEL`: the images of the model, and each with one thing wrong."""

    closed_under_loss = False

    def __init__(self, model: DiskModel) -> None:
        self.model = model
        self.name = f"{OVERLAY}+{model.name}"
        self.faults: tuple[Fault, ...] = FAULTS
        self.refusals: tuple[Fault, ...] = getattr(model, "refusals", ())

    def start(self, base: Image) -> HostileDisk:
        return HostileDisk(self.model.start(base), base)
