"""A block torn at its sectors: the power failed while the drive was writing it in place.

Model. A block is eight sectors of 512 bytes; a sector is written whole or not at all. Sectors that are overwritten land
in any order; sectors that hold bytes appended to the block land in the order of their offsets.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

SECTOR = 512


def torn(old: bytes, new: bytes, room: int) -> Iterator[bytes]:
    """Every proper mixture of the sectors of `old` and `new`, as far as `room` bytes reach."""
    size = min(max(len(old), len(new)), room)
    if size <= SECTOR:
        return
    before, after = old[:size].ljust(size, b"\0"), new[:size].ljust(size, b"\0")
    changed = [at for at in range(0, size, SECTOR) if before[at : at + SECTOR] != after[at : at + SECTOR]]
    inside = [at for at in changed if at + SECTOR <= len(old)]
    appended = [at for at in changed if at + SECTOR > len(old)]
    for mask in product((False, True), repeat=len(inside)):
        for count in range(len(appended) + 1):
            landed = [at for at, there in zip(inside, mask, strict=True) if there] + appended[:count]
            if 0 < len(landed) < len(changed):
                data = bytearray(before)
                for at in landed:
                    data[at : at + SECTOR] = after[at : at + SECTOR]
                yield bytes(data)
