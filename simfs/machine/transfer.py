"""Moving several buffers, or bytes from file to file, in one call.

readv, writev, preadv and pwritev are one step each, not a loop: what they write lands as one piece. sendfile and
copy_file_range read and write in one step. posix_fallocate reserves space, so that a later write cannot meet ENOSPC,
and makes the file at least as long as asked; what it reserves holds no data and is still a hole for SEEK_DATA.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from simfs.machine.bytestore import check_size, resize
from simfs.machine.content import ContentCalls
from simfs.machine.errors import NotSimulated, os_error
from simfs.machine.ops import Flush, Truncate
from simfs.machine.space import BLOCK, blocks_up_to, with_hole

if TYPE_CHECKING:
    from simfs.machine.descriptors import Description
    from simfs.machine.process import Process

VECTOR_MAX = 1024
"""How many buffers one call may have (IOV_MAX)."""
_HARMLESS = os.RWF_HIPRI | os.RWF_NOWAIT


class TransferCalls(ContentCalls):
    """The calls that move bytes in bulk."""

    __slots__ = ()

    def readable(self, desc: Description) -> None:
        """EBADF or EISDIR unless the description is a file open for reading."""
        if not desc.readable:
            raise os_error(errno.EBADF)
        if desc.is_dir:
            raise os_error(errno.EISDIR)

    def fetch(self, desc: Description, offset: int, length: int) -> bytes:
        """Up to `length` bytes of the file from `offset`."""
        m = self.machine
        if m.footprint is not None:
            m.footprint.append((("data", desc.ino), "R"))
        return bytes(m.inodes[desc.ino].data[offset : offset + length])

    def is_nothing(self, desc: Description, buffers: Any) -> bool:
        """Whether there is no room in `buffers`: then even a directory answers 0. EBADF if not open for reading."""
        if not desc.readable:
            raise os_error(errno.EBADF)
        return not any(len(memoryview(buffer)) for buffer in buffers)

    def spread(self, desc: Description, buffers: Any, offset: int) -> int:
        """Fill `buffers` one after the other from `offset`; how many bytes there were."""
        views = [memoryview(buffer).cast("B") for buffer in buffers]
        if len(views) > VECTOR_MAX:
            raise os_error(errno.EINVAL)
        data = self.fetch(desc, offset, sum(map(len, views)))
        at = 0
        for view in views:
            piece = data[at : at + len(view)]
            view[: len(piece)] = piece
            at += len(piece)
        return at

    def gathered(self, p: Process, desc: Description, buffers: Any, offset: int) -> int:
        """Write `buffers` as one piece at `offset`, or at the end; how many bytes."""
        if not desc.writable:
            raise os_error(errno.EBADF)
        pieces = [bytes(memoryview(buffer)) for buffer in buffers]
        if len(pieces) > VECTOR_MAX:
            raise os_error(errno.EINVAL)
        data = b"".join(pieces)
        if not data:
            return 0
        m = self.machine
        if m.footprint is not None:
            m.footprint.append((("data", desc.ino), "W"))
        return self.store(p, desc, offset, data)

    def size_of(self, desc: Description) -> int:
        """The length of the open file."""
        return len(self.machine.inodes[desc.ino].data)

    def readv(self, fd: int, buffers: Any, /) -> int:
        """os.readv: into several buffers from the offset, which moves. EBADF, EISDIR, EINVAL."""
        p = self.enter("readv")
        desc = self.descriptor(p, fd)
        if self.is_nothing(desc, buffers):
            return 0
        self.readable(desc)
        count = self.spread(desc, buffers, desc.pos)
        desc.pos += count
        return count

    def readinto(self, fd: int, buffer: Any, /) -> int:
        """os.readinto (Python 3.14): into one buffer from the offset, which moves. EBADF, EISDIR."""
        p = self.enter("read")
        desc = self.descriptor(p, fd)
        self.readable(desc)
        count = self.spread(desc, [buffer], desc.pos)
        desc.pos += count
        return count

    def preadv(self, fd: int, buffers: Any, offset: int, flags: int = 0, /) -> int:
        """os.preadv: into several buffers from `offset`; -1 is readv, as in preadv2(2). EBADF, EISDIR, EINVAL."""
        p = self.enter("preadv")
        if offset < -1:
            raise os_error(errno.EINVAL)
        desc = self.descriptor(p, fd)
        if self.is_nothing(desc, buffers):
            return 0
        self.readable(desc)
        if flags & ~_HARMLESS:
            raise os_error(errno.EOPNOTSUPP)
        count = self.spread(desc, buffers, desc.pos if offset == -1 else offset)
        if offset == -1:
            desc.pos += count
        return count

    def writev(self, fd: int, buffers: Any, /) -> int:
        """os.writev: several buffers as one piece at the offset, which moves, or at the end. EBADF, EINVAL, ENOSPC."""
        p = self.enter("writev")
        desc = self.descriptor(p, fd)
        offset = self.size_of(desc) if desc.append else desc.pos
        count = self.gathered(p, desc, buffers, offset)
        if count:
            desc.pos = offset + count
        return count

    def pwritev(self, fd: int, buffers: Any, offset: int, flags: int = 0, /) -> int:
        """os.pwritev: several buffers as one piece at `offset`; -1 is writev, as in pwritev2(2).

        RWF_DSYNC and RWF_SYNC flush, RWF_APPEND appends.

        EBADF, EINVAL, ENOSPC. Raises NotSimulated for other flags.
        """
        p = self.enter("pwritev")
        if offset < -1:
            raise os_error(errno.EINVAL)
        desc = self.descriptor(p, fd)
        if flags & ~(os.RWF_DSYNC | os.RWF_SYNC | os.RWF_APPEND):
            raise NotSimulated(f"os.pwritev with flags {flags:#x}", "only RWF_DSYNC, RWF_SYNC and RWF_APPEND are")
        at_end = desc.append or flags & os.RWF_APPEND
        place = self.size_of(desc) if at_end else desc.pos if offset == -1 else offset
        count = self.gathered(p, desc, buffers, place)
        if count and offset == -1:
            desc.pos = place + count
        if count and flags & (os.RWF_DSYNC | os.RWF_SYNC) and not desc.sync:
            m = self.machine
            m.journal.append(Flush(desc.path, desc.ino, False, not flags & os.RWF_SYNC), p.index, m.wall_ns)
        return count

    def sendfile(self, out_fd: int, in_fd: int, offset: int | None, count: int) -> int:
        """os.sendfile from file to file, from `offset` or (None) the offset of `in_fd`, which then moves.

        EBADF; EINVAL for an O_APPEND target, a directory or a negative offset; ENOSPC. Raises NotSimulated from a file
        to itself.
        """
        p = self.enter("sendfile")
        source = self.descriptor(p, in_fd)
        if not source.readable:
            raise os_error(errno.EBADF)
        if (offset is not None and offset < 0) or count < 0:
            raise os_error(errno.EINVAL)
        target = self.descriptor(p, out_fd)
        if not target.writable:
            raise os_error(errno.EBADF)
        if target.append or source.is_dir:
            raise os_error(errno.EINVAL)
        if source.ino == target.ino and count:
            raise NotSimulated(
                "os.sendfile from a file to itself", "the kernel reads pages that it writes; use a buffer"
            )
        data = self.fetch(source, source.pos if offset is None else offset, count)
        moved = self.gathered(p, target, [data], target.pos)
        target.pos += moved
        if offset is None:
            source.pos += moved
        return moved

    def copy_file_range(
        self, src: int, dst: int, count: int, offset_src: int | None = None, offset_dst: int | None = None
    ) -> int:
        """os.copy_file_range: bytes from file to file; an offset that is None is the description's and moves.

        EBADF (also for an O_APPEND target), EISDIR, EINVAL (overlapping ranges), EOVERFLOW, ENOSPC.
        """
        if count < 0:
            raise ValueError("negative value for 'count' not allowed")
        p = self.enter("copy_file_range")
        source, target = self.usable(p, src), self.usable(p, dst)
        if source.is_dir or target.is_dir:
            raise os_error(errno.EISDIR)
        if not source.readable or not target.writable or target.append:
            raise os_error(errno.EBADF)
        start = source.pos if offset_src is None else offset_src
        to = target.pos if offset_dst is None else offset_dst
        if start < 0 or to < 0:
            raise os_error(errno.EOVERFLOW if count else errno.EINVAL)
        if self.machine.footprint is not None:
            self.machine.footprint.append((("data", source.ino), "R"))
        length = max(0, min(count, self.size_of(source) - start))
        if source.ino == target.ino and length and start < to + length and to < start + length:
            raise os_error(errno.EINVAL)
        written = self.gathered(p, target, [self.fetch(source, start, length)], to)
        if offset_src is None:
            source.pos += written
        if offset_dst is None:
            target.pos += written
        return written

    def posix_fallocate(self, fd: int, offset: int, length: int, /) -> None:
        """os.posix_fallocate: reserve [offset, offset + length). EBADF, EINVAL, EFBIG, ENOSPC (then nothing is)."""
        m = self.machine
        p = self.enter("posix_fallocate")
        desc = self.usable(p, fd)
        if offset < 0 or length <= 0:
            raise os_error(errno.EINVAL)
        if not desc.writable:
            raise os_error(errno.EBADF)
        end = offset + length
        check_size(end)
        node = m.own(desc.ino)
        size = len(node.data)
        first, last = offset // BLOCK, blocks_up_to(end)
        holes = [(max(low, first), min(high, last)) for low, high, kept in node.holes if not kept]
        tail = max(first, blocks_up_to(size))
        holes = [(low, high) for low, high in [*holes, (tail, last)] if low < high]
        self.reserve(node.device, sum(high - low for low, high in holes))
        if end > size:
            resize(m, node, end)
        else:
            m.change(node)
        if p.uid and node.mode & 0o6000:
            m.strip_ids(p, node, desc.path)
        for low, high in holes:
            node.holes = with_hole(node.holes, low, high, reserved=True)
        if end > size:
            m.journal.append(Truncate(desc.path, desc.ino, end, size), p.index, m.wall_ns)

    def reserve(self, device: int, blocks: int) -> None:
        """Take `blocks` blocks, all or none. ENOSPC."""
        m = self.machine
        if not m.spaces or not blocks:
            return
        taken = m.take(device, blocks)
        if taken < blocks:
            m.give(device, taken)
            raise os_error(errno.ENOSPC)

    def posix_fadvise(self, fd: int, offset: int, length: int, advice: int, /) -> None:
        """os.posix_fadvise: advice changes nothing here. EBADF, EINVAL for an unknown advice."""
        p = self.enter_private()
        self.usable(p, fd)
        if not 0 <= advice <= 5 or length < 0:
            raise os_error(errno.EINVAL)
