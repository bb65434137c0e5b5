"""fcntl and lockf: record locks, and the small flags of descriptors and descriptions.

F_SETLK, F_SETLKW and F_GETLK lock byte ranges for the process (POSIX), the F_OFD_ ones for the open file description.
A shared lock needs a descriptor open for reading, an exclusive one for writing (EBADF). A lock that cannot be had is
EAGAIN, or a wait; a wait that would close a circle of waiting processes is EDEADLK, for POSIX locks only.
Ranges follow the kernel: `l_len` 0 reaches to the end however far that moves, a negative one lies before `l_start`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from typing import TYPE_CHECKING, Any

from simfs.machine.descriptors import DescriptorCalls
from simfs.machine.errors import NotSimulated, os_error
from simfs.machine.locks import FOREVER, Record
from simfs.machine.space import BLOCK

if TYPE_CHECKING:
    from simfs.machine.descriptors import Description
    from simfs.machine.process import Process

FLOCK = struct.Struct("@hhqqi4x")
"""struct flock: l_type, l_whence, l_start, l_len, l_pid."""
_POSIX = (fcntl.F_GETLK, fcntl.F_SETLK, fcntl.F_SETLKW)
_OFD = (36, 37, 38)
"""F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW."""
_KEPT = ~(os.O_CREAT | os.O_EXCL | os.O_NOCTTY | os.O_TRUNC | os.O_CLOEXEC)
_LARGEFILE = 0o100000
_SETTABLE = os.O_APPEND | os.O_NONBLOCK | os.O_NOATIME


class RecordCalls(DescriptorCalls):
    """fcntl.fcntl and fcntl.lockf."""

    __slots__ = ()

    def fcntl(self, fd: Any, cmd: int, arg: Any = 0, /) -> Any:
        """fcntl.fcntl for F_DUPFD, F_GETFD/SETFD, F_GETFL/SETFL and locks; an int, or bytes for bytes.

        EBADF, EINVAL, EMFILE, EAGAIN, EDEADLK. Raises NotSimulated for other commands.
        """
        p = self.enter_private()
        if cmd in _POSIX or cmd in _OFD:
            return self.record_lock(p, fd, cmd, arg)
        desc = self.descriptor(p, fd)
        number = fd if isinstance(fd, int) else fd.fileno()
        if cmd in (fcntl.F_DUPFD, fcntl.F_DUPFD_CLOEXEC):
            if not 0 <= arg < self.machine.fd_limit:
                raise os_error(errno.EINVAL)
            copy = self.install(p, desc, cmd == fcntl.F_DUPFD, arg)
            desc.refs += 1
            return copy
        if cmd == fcntl.F_GETFD:
            return 0 if number in p.inheritable else fcntl.FD_CLOEXEC
        if cmd == fcntl.F_SETFD:
            (p.inheritable.discard if arg & fcntl.FD_CLOEXEC else p.inheritable.add)(number)
            return 0
        if cmd == fcntl.F_GETFL:
            return desc.flags & _KEPT | (0 if desc.path_only else _LARGEFILE)
        if cmd == fcntl.F_SETFL:
            if desc.path_only:
                raise os_error(errno.EBADF)
            if arg & os.O_DIRECT:
                raise NotSimulated("O_DIRECT", "leave it out; what reaches the disk then is up to the model")
            desc.flags = desc.flags & ~_SETTABLE | arg & _SETTABLE
            desc.append = desc.flags & os.O_APPEND != 0
            return 0
        raise NotSimulated(f"fcntl.fcntl with command {cmd}", "leases, signals, pipes and seals are not modelled")

    def lockf(self, fd: Any, cmd: int, len: int = 0, start: int = 0, whence: int = 0, /) -> None:
        """fcntl.lockf: LOCK_SH, LOCK_EX or LOCK_UN, with LOCK_NB or not, as a POSIX record lock. See `fcntl`."""
        if cmd == fcntl.LOCK_UN:
            kind = fcntl.F_UNLCK
        elif cmd & fcntl.LOCK_SH:
            kind = fcntl.F_RDLCK
        elif cmd & fcntl.LOCK_EX:
            kind = fcntl.F_WRLCK
        else:
            raise ValueError("unrecognized lockf argument")
        command = fcntl.F_SETLK if cmd & fcntl.LOCK_NB else fcntl.F_SETLKW
        self.record_lock(self.enter_private(), fd, command, FLOCK.pack(kind, whence, start, len, 0))

    def os_lockf(self, fd: int, command: int, length: int, /) -> None:
        """os.lockf (not fcntl's): F_LOCK, F_TLOCK, F_ULOCK or F_TEST from the offset on, exclusively."""
        p = self.enter_private()
        if command == os.F_TEST:
            answer = self.record_lock(p, fd, fcntl.F_GETLK, FLOCK.pack(fcntl.F_WRLCK, os.SEEK_CUR, 0, length, 0))
            if FLOCK.unpack(answer)[0] != fcntl.F_UNLCK:
                raise os_error(errno.EACCES)
            return
        kind = fcntl.F_UNLCK if command == os.F_ULOCK else fcntl.F_WRLCK
        how = fcntl.F_SETLKW if command == os.F_LOCK else fcntl.F_SETLK
        if command not in (os.F_ULOCK, os.F_LOCK, os.F_TLOCK):
            raise os_error(errno.EINVAL)
        self.record_lock(p, fd, how, FLOCK.pack(kind, os.SEEK_CUR, 0, length, 0))

    def record_lock(self, p: Process, fd: Any, cmd: int, arg: Any) -> Any:
        """The lock commands of fcntl. `arg` is a struct flock as bytes, perhaps without its last padding."""
        if isinstance(arg, int):
            raise os_error(errno.EFAULT)
        raw = bytes(arg)
        kind, whence, start, length, pid = FLOCK.unpack(raw.ljust(FLOCK.size, b"\0")[: FLOCK.size])
        self.give_way(p, "fcntl")
        desc = self.usable(p, fd)
        first, last = self.range_of(desc, whence, start, length)
        ofd = cmd in _OFD
        if ofd and pid:
            raise os_error(errno.EINVAL)
        if kind not in (fcntl.F_RDLCK, fcntl.F_WRLCK, fcntl.F_UNLCK):
            raise os_error(errno.EINVAL)
        wanted = Record(desc if ofd else p, kind == fcntl.F_WRLCK, first, last, -1 if ofd else p.pid)
        if cmd in (fcntl.F_GETLK, _OFD[0]):
            if kind == fcntl.F_UNLCK and not ofd:
                raise os_error(errno.EINVAL)
            own = kind == fcntl.F_UNLCK
            return self.query(desc, wanted, own, raw.ljust(FLOCK.size, b"\0"))[: len(raw)]
        if kind == fcntl.F_UNLCK:
            self.unlock_range(p, desc, wanted)
            return raw
        if not (desc.writable if wanted.exclusive else desc.readable):
            raise os_error(errno.EBADF)
        self.lock_range(p, desc, wanted, cmd in (fcntl.F_SETLKW, _OFD[2]), ofd)
        return raw

    def range_of(self, desc: Description, whence: int, start: int, length: int) -> tuple[int, int]:
        """First and last byte of a range. EINVAL for one that begins before the file."""
        m = self.machine
        if whence == os.SEEK_CUR:
            start += desc.pos
        elif whence == os.SEEK_END:
            if m.footprint is not None:
                m.footprint.append((("data", desc.ino), "R"))
            start += BLOCK if desc.is_dir else len(m.inodes[desc.ino].data)
        elif whence != os.SEEK_SET:
            raise os_error(errno.EINVAL)
        if length < 0:
            start, last = start + length, start - 1
        else:
            last = start + length - 1 if length else FOREVER
        if start < 0:
            raise os_error(errno.EINVAL)
        if last > FOREVER or start > FOREVER:
            raise os_error(errno.EOVERFLOW)
        return start, last

    def query(self, desc: Description, wanted: Record, own: bool, raw: bytes) -> bytes:
        """F_GETLK: the lock in the way, or `raw` as F_UNLCK. With `own` the description's own lock (Linux 6.5)."""
        m = self.machine
        if m.footprint is not None:
            m.footprint.append((("lock", desc.ino), "R"))
        held = m.locks.held_by(desc.ino, wanted) if own else m.locks.conflict(desc.ino, wanted)
        if held is None:
            return FLOCK.pack(fcntl.F_UNLCK, *FLOCK.unpack(raw[: FLOCK.size])[1:])
        reach = 0 if held.last == FOREVER else held.last - held.first + 1
        return FLOCK.pack(fcntl.F_WRLCK if held.exclusive else fcntl.F_RDLCK, 0, held.first, reach, held.pid)

    def unlock_range(self, p: Process, desc: Description, wanted: Record) -> None:
        """F_UNLCK: whatever the owner holds of the range goes; nothing is fine too."""
        m = self.machine
        if m.locks.put(desc.ino, wanted, unlock=True):
            m.locks.note(p, desc, f"record UN {show(wanted)}", "W")

    def lock_range(self, p: Process, desc: Description, wanted: Record, blocking: bool, ofd: bool) -> None:
        """F_SETLK, or F_SETLKW if `blocking`."""
        m = self.machine
        locks, ino = m.locks, desc.ino
        held = locks.conflict(ino, wanted)
        if held is not None:
            if m.footprint is not None:
                m.footprint.append((("lock", ino), "W" if blocking else "R"))
            if not blocking:
                raise os_error(errno.EAGAIN)
            if not ofd and locks.closes_circle(p, held):
                raise os_error(errno.EDEADLK)
            if not ofd:
                locks.waiting[p.index] = (ino, wanted)
            try:
                m.wait(p, lambda: locks.conflict(ino, wanted) is None, None, f"record lock on {desc.path}")
            finally:
                locks.waiting.pop(p.index, None)
        if ofd:
            desc.ofd_locks = True
        else:
            p.record_locks.add(ino)
        locks.put(ino, wanted)
        kind, mode = ("EX", "W") if wanted.exclusive else ("SH", "C")
        locks.note(p, desc, f"record {kind} {show(wanted)}", mode)


def show(record: Record) -> str:
    """The range of a lock, for time lines."""
    return f"{record.first}-" if record.last == FOREVER else f"{record.first}-{record.last}"
