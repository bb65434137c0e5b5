"""The bytes of a file: growing, shrinking, holes and the space they take.

A file is one `bytearray` (shared ones are `bytes`, and are copied before they get here), so it has to fit in memory:
beyond `FILE_SIZE_MAX` the machine says `NotSimulated` rather than answer wrongly. What lies between the old end and
a write or a new size behind it reads as zeros; the whole blocks of it are a hole.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from simfs.machine.errors import NotSimulated, os_error
from simfs.machine.space import BLOCK, blocks_up_to, cut, with_hole, without

if TYPE_CHECKING:
    from simfs.machine.inode import Inode
    from simfs.machine.machine import Machine

FILE_SIZE_MAX = 1 << 28
"""256 MiB."""
LINUX_SIZE_MAX = (1 << 44) - BLOCK
"""The largest file of ext4 with 4 KiB blocks, in bytes: beyond it, EFBIG."""


def check_size(size: int, blame: tuple[object, ...] = ()) -> None:
    """EFBIG beyond what Linux allows; NotSimulated beyond what this machine holds."""
    if size > FILE_SIZE_MAX:
        if size > LINUX_SIZE_MAX:
            raise os_error(errno.EFBIG, *blame)
        raise NotSimulated(f"a file of {size} bytes", f"content is in memory, {FILE_SIZE_MAX} bytes a file at most")


def resize(m: Machine, node: Inode, size: int) -> None:
    """Set the size of a file that the machine owns. Growing takes no space: the new blocks are a hole."""
    content = node.data
    assert isinstance(content, bytearray)
    before = len(content)
    if size < before:
        if m.spaces:
            first, last = blocks_up_to(size), blocks_up_to(before)
            holes = [(low, high) for low, high, kept in node.holes if not kept and high > first]
            m.give(node.device, last - first - sum(min(high, last) - max(low, first) for low, high in holes))
        del content[size:]
        if node.holes:
            node.holes = cut(node.holes, blocks_up_to(size))
    elif size > before:
        content += bytes(size - before)
        node.holes = with_hole(node.holes, blocks_up_to(before), blocks_up_to(size))
    if m.footprint is not None:
        m.footprint.append((("data", node.ino), "W"))
    m.touch(node)


def put(m: Machine, node: Inode, offset: int, data: bytes) -> bytes:
    """Write `data` at `offset` into a file that the machine owns; what was written, less than asked when space ends.

    ENOSPC when not one byte fits.
    """
    content = node.data
    size = len(content)
    end = offset + len(data)
    if end > FILE_SIZE_MAX:
        check_size(end)
    if m.spaces and node.device in m.spaces:
        data = fitting(m, node, offset, data)
        end = offset + len(data)
    if offset == size:
        content += data
    elif offset < size:
        content[offset:end] = data  # type: ignore[index]
    else:
        content += bytes(offset - size)
        content += data
        node.holes = with_hole(node.holes, blocks_up_to(size), offset // BLOCK)
    if node.holes:
        node.holes = without(node.holes, offset // BLOCK, blocks_up_to(end))
    return data


def fitting(m: Machine, node: Inode, offset: int, data: bytes) -> bytes:
    """As much of `data` as there is space for, which is taken."""
    first, last = offset // BLOCK, blocks_up_to(offset + len(data))
    allocated = blocks_up_to(len(node.data))
    for block in range(first, last):
        hole = any(low <= block < high and not kept for low, high, kept in node.holes)
        if (block >= allocated or hole) and not m.take(node.device, 1):
            fits = block * BLOCK - offset
            if fits <= 0:
                raise os_error(errno.ENOSPC)
            return data[:fits]
    return data


def next_data(node: Inode, offset: int) -> int | None:
    """Where SEEK_DATA goes from `offset`, inside the file: None when only a hole follows."""
    for low, high, _ in node.holes:
        if low * BLOCK <= offset < high * BLOCK:
            offset = high * BLOCK
    return offset if offset < len(node.data) else None


def next_hole(node: Inode, offset: int) -> int:
    """Where SEEK_HOLE goes from `offset`, inside the file: the end is a hole."""
    for low, high, _ in node.holes:
        if offset < high * BLOCK:
            return max(offset, low * BLOCK)
    return len(node.data)
