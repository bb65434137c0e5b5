"""How much a filesystem can hold, in blocks of 4 KiB.

Space is counted only where a limit is set: a file takes its blocks, holes left out; a directory takes one; a symlink
and an inode none. A write that does not fit is short, and fails with ENOSPC once nothing fits. What was taken comes
back when a file shrinks, and when the last name and the last descriptor of it are gone.

Holes: blocks that a file jumped over. They read as zeros and take no space. `Inode.holes` lists them in order as
(first block, block after the last, reserved); `reserved` ones were given space by fallocate and still hold no data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simfs.machine.inode import Inode

BLOCK = 4096
UNLIMITED_BLOCKS = 1 << 28
"""What statvfs calls the size of a filesystem without a limit: 1 TiB."""

Hole = tuple[int, int, bool]


class Space:
    """The blocks of one filesystem."""

    __slots__ = ("limit", "used")

    def __init__(self, limit_bytes: int, used: int) -> None:
        self.limit = limit_bytes // BLOCK
        self.used = used

    @property
    def free(self) -> int:
        """Blocks that can still be taken; never negative, though the disk may have started over its limit."""
        return max(0, self.limit - self.used)


def blocks_up_to(size: int) -> int:
    """Blocks that `size` bytes reach into."""
    return (size + BLOCK - 1) // BLOCK


def blocks_of(node: Inode) -> int:
    """Blocks that an inode takes."""
    if node.kind == "dir":
        return 1
    end = blocks_up_to(len(node.data))
    return end - sum(min(last, end) - first for first, last, reserved in node.holes if not reserved and first < end)


def without(holes: tuple[Hole, ...], first: int, last: int) -> tuple[Hole, ...]:
    """`holes` after blocks [first, last) were filled."""
    return tuple(_pieces(holes, first, last))


def _pieces(holes: tuple[Hole, ...], first: int, last: int) -> Iterator[Hole]:
    for low, high, reserved in holes:
        if high <= first or low >= last:
            yield low, high, reserved
            continue
        if low < first:
            yield low, first, reserved
        if high > last:
            yield last, high, reserved


def with_hole(holes: tuple[Hole, ...], first: int, last: int, reserved: bool = False) -> tuple[Hole, ...]:
    """`holes` after blocks [first, last) became a hole."""
    if first >= last:
        return holes
    return tuple(sorted([*_pieces(holes, first, last), (first, last, reserved)]))


def cut(holes: tuple[Hole, ...], end: int) -> tuple[Hole, ...]:
    """`holes` of a file that now ends before block `end`."""
    return tuple((first, min(last, end), reserved) for first, last, reserved in holes if first < end)
