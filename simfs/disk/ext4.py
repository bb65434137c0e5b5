"""The disk model `ext4`: data=ordered, delayed allocation, unwritten extents; what a default installation does.

(1) Metadata is one sequence for each filesystem, and a prefix of it survives (any set closed under happens-before where
    several processes ran): entries, inodes, truncations, attributes, times, and sizes once space was found.
(2) A new or growing file has its old size, its own, or one between that ends a block, or the bytes before a gap, and
    holds a block prefix of its data and then NULs. That holds under a new name, in a renamed directory, after link or
    EXCHANGE just the same.
(3) An append into a last block that has space and is partly filled puts its size, up to the block's end, into the
    sequence at once; the data follow when they will: NULs until then.
(4) Overwritten blocks are ordered with nothing; each is old or new as a whole. `tear=sector`: at most one block of an
    image may be torn between its 512-byte sectors. Appended bytes stay in the order of their offsets.
(5) A rename over a regular file, whose source waits for space, finds it then and waits for nothing: the new name holds
    the data, or NULs of the new size. An absent target, a directory, link, EXCHANGE, and a source that has its space
    start nothing. `dioread=lock`: there are no unwritten extents, so the data of a new block are there before the
    sequence shows it: (2) and (5) then leave no NULs, (3) still does, also for the second write of a temporary file.
(6) After a truncation to 0 by any call, the next close finds space for what was written, and waits for nothing.
(7) A flush of a directory, or sync, makes the sequence so far durable. A flush of a regular file makes its data durable
    and the sequence up to the inode's last metadata op: for fsync any op on it, times included; for fdatasync one that
    made it, set its size, or wrote what needed space; if there is none, nothing. Space that the flush itself finds does
    not count: background writeback may have found it before, and the flush then waits for less.
(8) A truncation inside a block zeroes the rest of the block in place, unordered with the size.
(9) A failed flush covers nothing: the blocks pending at it are kept or lost one by one, and a later flush covers them
    only if they were written again. It leaves the sequence as it is: a flush of a directory that failed may be
    repeated (in truth the filesystem would have stopped).

Background writeback may come at any moment, so that sizes and data of any earlier moment are possible; it is never
relied on, and may have left a flush or a rename less to do. Nothing ages: time does not stand in for a flush.

Sources: the kernel's Documentation/filesystems/ext4; fs/ext4 (`ext4_alloc_da_blocks` at rename and at release,
`ext4_fsync_journal`, `ext4_da_write_end`); measurements on a logged block device, Linux 6.18.
"""

from __future__ import annotations

from simfs.disk.ext4disk import Ext4Disk
from simfs.disk.ext4file import Rules
from simfs.machine.inode import Image


class Ext4:
    """`ext4`. Closed under loss: a longer history has each image of a shorter one, unless a flush was added."""

    closed_under_loss = True

    def __init__(self, name: str = "ext4", rules: Rules | None = None) -> None:
        self.name = name
        self.rules = rules or Rules()

    def start(self, base: Image) -> Ext4Disk:
        return Ext4Disk(base, self.rules)
