"""Reading and writing bytes: read, write, pread, pwrite, lseek, truncate, ftruncate.

A call moves as much as it was asked to, unless the file or the space ends. A write through an O_APPEND description
lands whole at the end that it finds, whatever offset pwrite names. With O_SYNC or O_DSYNC a write is flushed before it
returns. Nothing else here ever reaches the disk: what a power loss leaves is the disk model's business.

A write that crosses a page can be cut by a kill: see `Machine.kill_after`.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from simfs.machine.bytestore import check_size, next_data, next_hole, put, resize
from simfs.machine.errors import os_error
from simfs.machine.ops import Flush, Truncate, Write
from simfs.machine.paths import Paths, path_text
from simfs.machine.permissions import WRITE, may
from simfs.machine.process import ProcessKilled

if TYPE_CHECKING:
    from simfs.machine.descriptors import Description
    from simfs.machine.process import Process


class ContentCalls(Paths):
    """The calls on the bytes of one file."""

    __slots__ = ()

    def read(self, fd: int, length: int, /) -> bytes:
        """os.read: up to `length` bytes from the offset, which moves. EBADF, EISDIR, EINVAL."""
        m = self.machine
        p = self.enter("read")
        if length < 0:
            raise os_error(errno.EINVAL)
        desc = p.fds.get(fd) or self.descriptor(p, fd)
        if not desc.readable or desc.is_dir:
            raise os_error(errno.EISDIR if desc.is_dir and desc.readable else errno.EBADF)
        if m.footprint is not None:
            m.footprint.append((("data", desc.ino), "R"))
        offset = desc.pos
        data = m.inodes[desc.ino].data[offset : offset + length]
        desc.pos = offset + len(data)
        return data if data.__class__ is bytes else bytes(data)

    def pread(self, fd: int, length: int, offset: int, /) -> bytes:
        """os.pread: up to `length` bytes from `offset`. EBADF, EISDIR, EINVAL."""
        m = self.machine
        p = self.enter("pread")
        if length < 0 or offset < 0:
            raise os_error(errno.EINVAL)
        desc = p.fds.get(fd) or self.descriptor(p, fd)
        if not desc.readable or desc.is_dir:
            raise os_error(errno.EISDIR if desc.is_dir and desc.readable else errno.EBADF)
        if m.footprint is not None:
            m.footprint.append((("data", desc.ino), "R"))
        data = m.inodes[desc.ino].data[offset : offset + length]
        return data if data.__class__ is bytes else bytes(data)

    def write(self, fd: int, data: Any, /) -> int:
        """os.write: the bytes at the offset, which moves, or at the end; how many. EBADF, ENOSPC, EFBIG."""
        m = self.machine
        p = self.enter("write")
        desc = p.fds.get(fd) or self.descriptor(p, fd)
        if not desc.writable:
            raise os_error(errno.EBADF)
        if data.__class__ is not bytes:
            data = bytes(memoryview(data))
        if not data:
            return 0
        if m.footprint is not None:
            m.footprint.append((("data", desc.ino), "W"))
        offset = len(m.inodes[desc.ino].data) if desc.append else desc.pos
        written = self.store(p, desc, offset, data)
        desc.pos = offset + written
        return written

    def pwrite(self, fd: int, data: Any, offset: int, /) -> int:
        """os.pwrite: the bytes at `offset`; how many. EBADF, EINVAL, ENOSPC, EFBIG."""
        m = self.machine
        p = self.enter("pwrite")
        if offset < 0:
            raise os_error(errno.EINVAL)
        desc = p.fds.get(fd) or self.descriptor(p, fd)
        if not desc.writable:
            raise os_error(errno.EBADF)
        if data.__class__ is not bytes:
            data = bytes(memoryview(data))
        if not data:
            return 0
        if m.footprint is not None:
            m.footprint.append((("data", desc.ino), "W"))
        return self.store(p, desc, len(m.inodes[desc.ino].data) if desc.append else offset, data)

    def store(self, p: Process, desc: Description, offset: int, data: bytes) -> int:
        """Put `data`, which is not empty, into the file of `desc`, note it and flush it if the description asks."""
        m = self.machine
        ino = desc.ino
        node = m.inodes[ino] if ino in m.owned else m.own(ino)
        killed = m.kill_after is not None
        if killed:
            data = data[: m.kill_after]
            m.kill_after = None
        size = len(node.data)
        if data:
            data = put(m, node, offset, data)
            node.mtime_ns = node.ctime_ns = m.wall_ns
            if m.footprint is not None:
                m.touch(node)
            if p.uid and node.mode & 0o6000:
                m.strip_ids(p, node, desc.path)
            m.journal.append(Write(desc.path, desc.ino, offset, data, size), p.index, m.wall_ns)
        if killed:
            m.kill(p)
            raise ProcessKilled(p.name)
        if desc.sync:
            data_only = desc.sync & os.O_SYNC != os.O_SYNC
            m.journal.append(Flush(desc.path, desc.ino, False, data_only), p.index, m.wall_ns)
        return len(data)

    def lseek(self, fd: int, position: int, how: int, /) -> int:
        """os.lseek, with SEEK_DATA and SEEK_HOLE: the new offset. EBADF, EINVAL, ENXIO.

        SEEK_SET and SEEK_CUR are private; the others look at the file.
        """
        m = self.machine
        p = self.enter_private()
        desc = p.fds.get(fd) or self.descriptor(p, fd)
        if desc.path_only:
            raise os_error(errno.EBADF)
        if how > os.SEEK_CUR:
            self.give_way(p, "lseek")
            if m.footprint is not None:
                m.footprint.append((("data", desc.ino), "R"))
        if how == os.SEEK_SET:
            target = position
        elif how == os.SEEK_CUR:
            target = desc.pos + position
        elif how == os.SEEK_END:
            target = len(m.inodes[desc.ino].data) + position
        elif how in (os.SEEK_DATA, os.SEEK_HOLE):
            node = m.inodes[desc.ino]
            if not 0 <= position < len(node.data):
                raise os_error(errno.ENXIO)
            found = next_data(node, position) if how == os.SEEK_DATA else next_hole(node, position)
            if found is None:
                raise os_error(errno.ENXIO)
            target = found
        else:
            raise os_error(errno.EINVAL)
        if not 0 <= target < 1 << 63:
            raise os_error(errno.EINVAL)
        desc.pos = target
        return target

    def ftruncate(self, fd: int, length: int, /) -> None:
        """os.ftruncate: the size of an open file. EBADF, EINVAL (not open for writing, negative), EFBIG."""
        p = self.enter("ftruncate")
        if length < 0:
            raise os_error(errno.EINVAL)
        desc = self.usable(p, fd)
        if not desc.writable or desc.is_dir:
            raise os_error(errno.EINVAL)
        check_size(length)
        self.set_size(p, desc.ino, length, desc.path)

    def truncate(self, path: Any, length: int) -> None:
        """os.truncate: the size of the file at a path, or of a descriptor. EISDIR, EINVAL, EACCES, EFBIG."""
        if isinstance(path, int):
            self.ftruncate(path, length)
            return
        p = self.enter("truncate")
        if length < 0:
            raise os_error(errno.EINVAL, path)
        node = self.find(p, path, None, True, (path,))
        if node.kind == "dir":
            raise os_error(errno.EISDIR, path)
        if p.uid and not may(p, node, WRITE):
            raise os_error(errno.EACCES, path)
        check_size(length, (path,))
        directory = self.machine.inodes[p.cwd]
        self.set_size(p, node.ino, length, self.meant(p, path, directory, path_text(path)), same=False)

    def set_size(self, p: Process, ino: int, length: int, text: str, same: bool = True) -> None:
        """Resize and note it. To the `same` size the kernel leaves the times alone for a path, not for an open file."""
        m = self.machine
        size = len(m.inodes[ino].data)
        node = m.own(ino)
        if size == length and not same:
            if m.footprint is not None:
                m.footprint.append((("data", ino), "R"))
            if p.uid and node.mode & 0o6000:
                m.strip_ids(p, node, text)
            return
        resize(m, node, length)
        if p.uid and node.mode & 0o6000:
            m.strip_ids(p, node, text)
        m.journal.append(Truncate(text, ino, length, size), p.index, m.wall_ns)
