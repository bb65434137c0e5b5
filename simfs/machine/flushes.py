"""fsync, fdatasync, sync and syncfs: what a program says when something must reach the disk.

The calls only leave their op: what they make durable is the disk model's rule. A flush may fail, by a fault
(`fail_flush`). Then every description of the inode that was open is told once, by its next fsync, fdatasync or
syncfs; never by close or sync. Each answer with an error leaves a `FailedFlush`, so no model takes it for a promise.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

from simfs.machine.calls import Calls
from simfs.machine.errors import os_error
from simfs.machine.ops import FailedFlush, Flush, FlushAll

if TYPE_CHECKING:
    from simfs.machine.descriptors import Description
    from simfs.machine.process import Process


class FlushCalls(Calls):
    """The calls that flush."""

    __slots__ = ()

    def fsync(self, fd: Any) -> None:
        """os.fsync of a file or directory, open for whatever. EBADF, and EIO after a flush that failed."""
        m = self.machine
        p = self.enter("fsync")
        desc = p.fds.get(fd) or self.descriptor(p, fd)
        if desc.path_only:
            raise os_error(errno.EBADF)
        if m.unreported:
            self.report(p, desc)
        m.journal.append(Flush(desc.path, desc.ino, desc.is_dir, False), p.index, m.wall_ns)

    def fdatasync(self, fd: Any) -> None:
        """os.fdatasync: as fsync, times excepted. EBADF, and EIO after a flush that failed."""
        m = self.machine
        p = self.enter("fdatasync")
        desc = p.fds.get(fd) or self.descriptor(p, fd)
        if desc.path_only:
            raise os_error(errno.EBADF)
        if m.unreported:
            self.report(p, desc)
        m.journal.append(Flush(desc.path, desc.ino, desc.is_dir, True), p.index, m.wall_ns)

    def sync(self) -> None:
        """os.sync: everything, on every filesystem. Never fails."""
        m = self.machine
        p = self.enter("sync")
        m.journal.append(FlushAll("", None), p.index, m.wall_ns)

    def syncfs(self, fd: Any) -> None:
        """syncfs(2): everything on the filesystem of `fd`. EBADF, and EIO after a flush that failed."""
        m = self.machine
        p = self.enter("syncfs")
        desc = self.usable(p, fd)
        if m.unreported:
            self.report(p, desc)
        m.journal.append(FlushAll(desc.path, m.inodes[desc.ino].device), p.index, m.wall_ns)

    def fail_flush(self, p: Process, fd: Any, code: int = errno.EIO) -> None:
        """A flush of `fd` fails with `code`: noted here, told now to this description and later to the others."""
        desc = self.usable(p, fd)
        failures, _ = self.machine.unreported.get(desc.ino, (0, 0))
        for process in self.machine.processes:
            for other in process.fds.values():
                if other.ino == desc.ino and not failures:
                    other.told = 0
        self.machine.unreported[desc.ino] = (failures + 1, code)
        self.report(p, desc)

    def report(self, p: Process, desc: Description) -> None:
        """Raise what `desc` has not been told yet about failed flushes of its inode."""
        m = self.machine
        failures, code = m.unreported.get(desc.ino, (0, 0))
        if desc.told < failures:
            desc.told = failures
            m.journal.append(FailedFlush(desc.path, desc.ino, desc.is_dir), p.index, m.wall_ns)
            raise os_error(code)
