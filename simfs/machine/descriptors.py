"""Open file descriptions, and the calls that hand out, share and close descriptors.

A descriptor is a number of one process; a description is what it names: an inode, an offset, an access mode. dup and
F_DUPFD make a second number for the same description, so offset, O_APPEND and flock are shared. A number is the
lowest free one from `FIRST_FD` up. When the last number of a description goes, its flock goes; when any number of a
file is closed, the record locks that the process holds on that file go (that is POSIX).

A description keeps an inode alive: a file without a name is freed by its last close.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from simfs.machine.calls import Calls
from simfs.machine.errors import os_error

if TYPE_CHECKING:
    from simfs.machine.process import Process

FIRST_FD = 3
"""The lowest number that the machine hands out: 0, 1 and 2 are the standard streams, which are not simulated."""


class Description:
    """One open file description. `ino` is looked up at each use: the inode may be copied on write meanwhile."""

    __slots__ = (
        "append", "flags", "flock", "ino", "is_dir", "ofd_locks", "order", "path", "path_only", "pos", "readable",
        "refs", "sync", "told", "writable",
    )  # fmt: skip

    def __init__(self, ino: int, flags: int, path: str, is_dir: bool) -> None:
        access = flags & os.O_ACCMODE
        self.ino = ino
        self.path = path
        self.flags = flags
        self.is_dir = is_dir
        self.path_only = flags & os.O_PATH != 0
        self.readable = access != os.O_WRONLY and not self.path_only
        self.writable = access != os.O_RDONLY and not self.path_only
        self.append = flags & os.O_APPEND != 0
        self.sync = flags & os.O_SYNC
        """The O_SYNC and O_DSYNC bits: non-zero when each write is flushed before it returns."""
        self.pos = 0
        self.refs = 1
        self.flock = 0
        """LOCK_SH or LOCK_EX while this description holds a flock, else 0."""
        self.ofd_locks = False
        """Whether this description ever took an open-file-description record lock."""
        self.told = 0
        """How many failed flushes of its inode this description has been told of."""
        self.order: list[str] | None = None
        """A directory's names as the first read of it saw them."""


class DescriptorCalls(Calls):
    """close, dup, and what a descriptor remembers by itself."""

    __slots__ = ()

    def install(self, p: Process, desc: Description, inheritable: bool = False, lowest: int = 0) -> int:
        """Give `desc` the lowest free number not below `lowest`; EMFILE when the process has as many as it may."""
        fds = p.fds
        fd = p.fd_hint if lowest <= p.fd_hint else lowest
        while fd in fds:
            fd += 1
        if fd >= self.machine.fd_limit:
            raise os_error(errno.EMFILE)
        fds[fd] = desc
        if lowest <= p.fd_hint:
            p.fd_hint = fd + 1
        if inheritable:
            p.inheritable.add(fd)
        return fd

    def close(self, fd: int) -> None:
        """os.close: EBADF. Drops the flock with the last number, record locks with any."""
        m = self.machine
        p = self.enter_private()
        desc = p.fds.get(fd) or self.descriptor(p, fd)
        if desc.flock or desc.ofd_locks or p.record_locks:
            self.give_way(p, "close")
        elif m.freed is not None and not m.inodes[desc.ino].nlink:
            self.give_way(p, "close")  # It may free a number that another process then gets.
        self.drop(p, fd, desc)
        m.let_go(p, desc)

    def drop(self, p: Process, fd: int, desc: Description) -> None:
        """Forget number `fd` of `p`, without releasing the description."""
        del p.fds[fd]
        if fd < p.fd_hint:
            p.fd_hint = fd
        if p.inheritable:
            p.inheritable.discard(fd)

    def closerange(self, fd_low: int, fd_high: int, /) -> None:
        """os.closerange: closes what is open of [fd_low, fd_high), errors ignored."""
        p = self.enter_private()
        for fd in sorted(n for n in p.fds if fd_low <= n < fd_high):
            self.close(fd)

    def dup(self, fd: int, /) -> int:
        """os.dup: a second number for the same description; EBADF, EMFILE."""
        p = self.enter_private()
        desc = self.descriptor(p, fd)
        number = self.install(p, desc)
        desc.refs += 1
        return number

    def dup2(self, fd: int, fd2: int, inheritable: bool = True) -> int:
        """os.dup2: `fd2` names the description of `fd`; what it named before is closed. EBADF, EINVAL."""
        p = self.enter_private()
        desc = self.descriptor(p, fd)
        if fd2 < 0 or fd2 >= self.machine.fd_limit:
            raise os_error(errno.EBADF)
        if fd == fd2:
            if not inheritable:
                raise os_error(errno.EINVAL)
            return fd2
        if fd2 in p.fds:
            self.close(fd2)
        p.fds[fd2] = desc
        desc.refs += 1
        if inheritable:
            p.inheritable.add(fd2)
        else:
            p.inheritable.discard(fd2)
        return fd2

    def get_inheritable(self, fd: int, /) -> bool:
        """os.get_inheritable: EBADF."""
        p = self.enter_private()
        self.descriptor(p, fd)
        return fd in p.inheritable

    def set_inheritable(self, fd: int, inheritable: int, /) -> None:
        """os.set_inheritable: EBADF."""
        p = self.enter_private()
        self.descriptor(p, fd)
        if inheritable:
            p.inheritable.add(fd)
        else:
            p.inheritable.discard(fd)

    def get_blocking(self, fd: int, /) -> bool:
        """os.get_blocking: whether O_NONBLOCK is off; it means nothing for files. EBADF."""
        return not self.descriptor(self.enter_private(), fd).flags & os.O_NONBLOCK

    def set_blocking(self, fd: int, blocking: bool, /) -> None:
        """os.set_blocking: EBADF."""
        desc = self.descriptor(self.enter_private(), fd)
        desc.flags = desc.flags & ~os.O_NONBLOCK if blocking else desc.flags | os.O_NONBLOCK

    def isatty(self, fd: int, /) -> bool:
        """os.isatty: False, as for every file."""
        self.enter_private()
        return False
