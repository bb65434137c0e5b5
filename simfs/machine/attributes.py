"""Attributes of inodes: stat, chmod, chown, utime, access, umask and extended attributes.

Only the owner or root changes mode and times (EPERM); only root gives a file away. Times can be set, except ctime,
which is always the moment of the change. Extended attributes are those of the name space "user", on files and
directories; root may also use "trusted". `stat` gives a real `os.stat_result`; a directory's size is one block.
"""

from __future__ import annotations

import errno
import math
import os
from typing import TYPE_CHECKING, Any

from simfs.machine.errors import os_error
from simfs.machine.ops import Meta
from simfs.machine.paths import Blame, Paths, path_text
from simfs.machine.permissions import WRITE, may, without_ids
from simfs.machine.space import BLOCK, blocks_of

if TYPE_CHECKING:
    from simfs.machine.inode import Inode
    from simfs.machine.process import Process

FORMAT = {"file": 0o100000, "dir": 0o040000, "symlink": 0o120000}
DEVICE_BASE = 0xFE00
"""st_dev of filesystem 0; the others follow."""
SECOND_NS = 1_000_000_000


def stat_of(node: Inode, number: int = 0) -> os.stat_result:
    """The `os.stat_result` of an inode, under another number than its own if one is given."""
    kind = node.kind
    size = len(node.data) if kind == "file" else BLOCK if kind == "dir" else len(os.fsencode(node.target))
    blocks = 8 * blocks_of(node) if kind != "symlink" else 0 if size < 60 else 8
    a, m, c = node.atime_ns, node.mtime_ns, node.ctime_ns
    a_s, a_ns = divmod(a, SECOND_NS)
    m_s, m_ns = divmod(m, SECOND_NS)
    c_s, c_ns = divmod(c, SECOND_NS)
    return os.stat_result(
        (
            FORMAT[kind] | node.mode, number or node.ino, DEVICE_BASE + node.device, node.nlink, node.uid, node.gid,
            size, a_s, m_s, c_s, a_s + 1e-9 * a_ns, m_s + 1e-9 * m_ns, c_s + 1e-9 * c_ns, a, m, c, BLOCK, blocks, 0,
        )
    )  # fmt: skip


def nanoseconds(seconds: float) -> int:
    """Seconds as Python hands them to the kernel: whole ones exact, the fraction rounded down."""
    if isinstance(seconds, int):
        return seconds * SECOND_NS
    fraction, whole = math.modf(seconds)
    return int(whole) * SECOND_NS + math.floor(fraction * 1e9)


class AttributeCalls(Paths):
    """The calls on attributes."""

    __slots__ = ()

    def stat(self, path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        """os.stat of a path or of a descriptor. ENOENT and a walk's errors, EBADF."""
        if isinstance(path, int):
            self.plain("stat", path, dir_fd, follow_symlinks)
            return self.fstat(path)
        m = self.machine
        p = self.enter("stat")
        node = self.find(p, path, dir_fd, follow_symlinks, (path,))
        if m.footprint is not None:
            self.looked(node)
        return stat_of(node, m.number(node) if node.reused else 0)

    def plain(self, call: str, path: Any, dir_fd: int | None, follow: bool) -> None:
        """ValueError for a descriptor together with what only goes with paths."""
        if isinstance(path, int):
            if dir_fd is not None:
                raise ValueError(f"{call}: can't specify dir_fd without matching path")
            if not follow:
                raise ValueError(f"{call}: cannot use fd and follow_symlinks together")

    def lstat(self, path: Any, *, dir_fd: int | None = None) -> os.stat_result:
        """os.lstat: a last symlink itself. ENOENT and a walk's errors."""
        m = self.machine
        p = self.enter("lstat")
        node = self.find(p, path, dir_fd, False, (path,))
        if m.footprint is not None:
            self.looked(node)
        return stat_of(node, m.number(node) if node.reused else 0)

    def fstat(self, fd: Any) -> os.stat_result:
        """os.fstat: EBADF."""
        m = self.machine
        p = self.enter("fstat")
        desc = p.fds.get(fd) or self.descriptor(p, fd)
        node = m.inodes[desc.ino]
        if m.footprint is not None:
            self.looked(node)
        return stat_of(node, m.number(node) if node.reused else 0)

    def looked(self, node: Inode) -> None:
        """What a stat reads."""
        footprint = self.machine.footprint
        assert footprint is not None
        footprint.append((("data", node.ino), "R"))
        footprint.append((("meta", node.ino), "R"))
        footprint.append((("clock",), "R"))

    def subject(self, p: Process, path: Any, dir_fd: int | None, follow: bool, blame: Blame) -> tuple[Inode, str]:
        """The inode that an attribute call is about, by path or descriptor, and its path for people."""
        if isinstance(path, int):
            desc = p.fds.get(path)
            if desc is None or desc.path_only:
                raise os_error(errno.EBADF, *blame)
            return self.machine.inodes[desc.ino], desc.path
        node = self.find(p, path, dir_fd, follow, blame)
        start = self.machine.inodes[p.cwd] if dir_fd is None else self.start(p, dir_fd, blame)
        return node, self.meant(p, path, start, path_text(path))

    def mark(self, p: Process, node: Inode, text: str, what: Any, value: object) -> None:
        """Journal a change of attributes."""
        m = self.machine
        m.change(node, "W")
        m.journal.append(Meta(text, node.ino, what, value), p.index, m.wall_ns)

    def chmod(self, path: Any, mode: int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
        """os.chmod of a path or descriptor. EPERM unless owner or root; EOPNOTSUPP for a symlink itself."""
        p = self.enter("chmod")
        node, text = self.subject(p, path, dir_fd, follow_symlinks, (path,))
        if node.kind == "symlink":
            raise os_error(errno.EOPNOTSUPP, path)
        if p.uid not in (0, node.uid):
            raise os_error(errno.EPERM, path)
        mode &= 0o7777
        if p.uid and p.gid != node.gid:
            mode &= ~0o2000
        mine = self.machine.own(node.ino)
        mine.mode = mode
        self.mark(p, mine, text, "mode", mode)

    def fchmod(self, fd: int, mode: int) -> None:
        """os.fchmod: EBADF, EPERM."""
        p = self.machine.current
        number = fd if isinstance(fd, int) or p is None else self.fileno(fd)
        self.unnamed(self.chmod, number, mode)

    def fileno(self, fd: Any) -> int:
        """The number of a file object."""
        return int(fd.fileno()) if hasattr(fd, "fileno") else int(fd.__index__())

    def unnamed(self, call: Any, fd: int, *rest: Any) -> None:
        """Make `call` on a descriptor: its errors name no path."""
        try:
            call(fd, *rest)
        except OSError as error:
            error.filename = None
            raise

    def chown(self, path: Any, uid: int, gid: int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
        """os.chown; -1 keeps. EPERM unless root, or the owner who keeps uid and names the own group.

        Set-user-id of a file goes, and set-group-id mostly, whoever calls.
        """
        self.plain("chown", path, dir_fd, follow_symlinks)
        p = self.enter("chown")
        node, text = self.subject(p, path, dir_fd, follow_symlinks, (path,))
        is_owner = p.uid == node.uid
        if p.uid and not (uid == -1 or (is_owner and uid == node.uid)):
            raise os_error(errno.EPERM, path)
        if p.uid and not (gid == -1 or (is_owner and gid in (node.gid, p.gid))):
            raise os_error(errno.EPERM, path)
        mode = without_ids(p, node) if node.kind == "file" else node.mode
        if p.uid and mode != node.mode and not is_owner:
            raise os_error(errno.EPERM, path)
        mine = self.machine.own(node.ino)
        if mode != node.mode:
            self.machine.strip_ids(p, mine, text)
        mine.uid = node.uid if uid == -1 else uid
        mine.gid = node.gid if gid == -1 else gid
        self.mark(p, mine, text, "owner", (mine.uid, mine.gid))

    def lchown(self, path: Any, uid: int, gid: int) -> None:
        """os.lchown: chown of a symlink itself."""
        self.chown(path, uid, gid, follow_symlinks=False)

    def fchown(self, fd: int, uid: int, gid: int) -> None:
        """os.fchown: EBADF, EPERM."""
        self.unnamed(self.chown, self.fileno(fd), uid, gid)

    def utime(
        self,
        path: Any,
        times: Any = None,
        *,
        ns: tuple[int, int] | None = None,
        dir_fd: int | None = None,
        follow_symlinks: bool = True,
    ) -> None:
        """os.utime: `times` in seconds, `ns` in nanoseconds, neither for now. EPERM; EACCES for now without write.

        As Python does it, the error names no path.
        """
        if times is not None and ns is not None:
            raise ValueError("utime: you may specify either 'times' or 'ns' but not both")
        m = self.machine
        self.plain("utime", path, dir_fd, follow_symlinks)
        p = self.enter("utime")
        node, text = self.subject(p, path, dir_fd, follow_symlinks, ())
        if ns is not None:
            atime, mtime = ns
        elif times is not None:
            atime, mtime = (nanoseconds(t) for t in times)
        else:
            atime = mtime = m.wall_ns
            if m.footprint is not None:
                m.footprint.append((("clock",), "R"))
        if p.uid not in (0, node.uid):
            if ns is not None or times is not None:
                raise os_error(errno.EPERM)
            if not may(p, node, WRITE):
                raise os_error(errno.EACCES)
        mine = m.own(node.ino)
        mine.atime_ns, mine.mtime_ns = atime, mtime
        self.mark(p, mine, text, "times", (atime, mtime))

    def access(
        self,
        path: Any,
        mode: int,
        *,
        dir_fd: int | None = None,
        effective_ids: bool = False,
        follow_symlinks: bool = True,
    ) -> bool:
        """os.access: whether path exists (F_OK) and may be read, written, executed. Never raises OSError."""
        m = self.machine
        p = self.enter("access")
        try:
            node = self.find(p, path, dir_fd, follow_symlinks, (path,))
        except OSError:
            return False
        if m.footprint is not None:
            m.footprint.append((("meta", node.ino), "R"))
        return may(p, node, mode)

    def umask(self, mask: int, /) -> int:
        """os.umask: set the process's mask; the one before."""
        p = self.enter_private()
        before = p.umask
        p.umask = mask & 0o777
        return before
