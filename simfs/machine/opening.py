"""os.open: from a path and flags to a descriptor, with the checks in the kernel's order.

A descriptor number is found first (EMFILE comes before ENOENT, and then nothing was made). O_CREAT makes a file where
the path, symlinks followed, names nothing: also at the end of a dangling symlink. O_EXCL refuses whatever is there,
a dangling symlink too. O_TRUNC needs write permission, not an access mode. O_TMPFILE makes a file without a name in
a directory. O_PATH names an inode and gives no access to its content. O_DIRECT raises `NotSimulated`: no disk model
here says what it guarantees.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from simfs.machine.bytestore import resize
from simfs.machine.descriptors import FIRST_FD, Description, DescriptorCalls
from simfs.machine.errors import NotSimulated, os_error
from simfs.machine.ops import Create, Truncate
from simfs.machine.paths import SPECIAL, Blame, Paths, split_path
from simfs.machine.permissions import READ, WRITE, may, may_change_entries

if TYPE_CHECKING:
    from simfs.machine.inode import Inode
    from simfs.machine.process import Process

TMPFILE_BIT = os.O_TMPFILE & ~os.O_DIRECTORY
_WANTED = (READ, WRITE, READ | WRITE, READ | WRITE)
_RARE = (
    os.O_DIRECTORY | os.O_NOFOLLOW | os.O_PATH | TMPFILE_BIT | os.O_DIRECT | os.O_EXCL | os.O_NOATIME | os.O_ASYNC
)  # fmt: skip
_MAKES = os.O_CREAT | os.O_TRUNC | TMPFILE_BIT
"""Flags with which an open may change the disk."""
_PATH_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class OpenCalls(Paths, DescriptorCalls):
    """os.open."""

    __slots__ = ()

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """os.open(2): a new descriptor, the lowest free number.

        EMFILE, EINVAL (flag combinations), and by the path: ENOENT, EEXIST, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG,
        EACCES, ENOSPC. Raises NotSimulated for O_DIRECT and O_ASYNC.
        """
        m = self.machine
        p = self.enter("open" if flags & _MAKES else "open existing")
        blame = (path,)
        if len(p.fds) >= m.fd_limit - FIRST_FD:
            split_path(path, blame)
            raise os_error(errno.EMFILE, path)
        flags = self.checked_flags(flags, blame) if flags & _RARE else flags
        directory, parts = self.locate_open(p, path, dir_fd, flags, blame)
        if parts is None:
            return self.install(p, self.describe(directory, flags, self.named(path)))
        if flags & TMPFILE_BIT:
            return self.install(p, self.nameless(p, path, flags, mode, dir_fd, blame))
        create = flags & os.O_CREAT
        exclusive = create and flags & os.O_EXCL
        follow = not (flags & os.O_NOFOLLOW or exclusive)
        directory, name, node = self.last(p, directory, parts, follow, blame, create != 0)
        truncate = flags & os.O_TRUNC
        text = path if path.__class__ is str and path[0] == "/" else self.meant(p, path, directory, name)
        if node is None:
            if not create:
                raise os_error(errno.ENOENT, path)
            node = self.create(p, directory, name, mode, text, blame)
        else:
            if exclusive:
                raise os_error(errno.EEXIST, path)
            self.check_open(p, node, flags, blame)
            if truncate and node.kind == "file":
                self.empty(p, node, text)
        desc = Description(node.ino, flags, text, node.kind == "dir")
        if m.unreported:
            desc.told = m.unreported.get(node.ino, (0, 0))[0]
        return self.install(p, desc)

    def locate_open(self, p: Process, path: Any, dir_fd: int | None, flags: int, blame: Blame) -> tuple[Inode, Any]:
        """As `locate`; (inode, None) for a path below /proc/self/fd, which opens what it names anew."""
        try:
            return self.locate(p, path, dir_fd, blame)
        except FileNotFoundError:
            node = self.held(p, path)
            if node is None:
                raise
            self.check_open(p, node, flags, blame)
            return node, None

    def checked_flags(self, flags: int, blame: Blame) -> int:
        """Refuse what Linux or this machine refuses among the rare flags."""
        if flags & os.O_DIRECT:
            raise NotSimulated("open with O_DIRECT", "open without it; what reaches the disk then is up to the model")
        if flags & os.O_ASYNC:
            raise NotSimulated("open with O_ASYNC", "signals are not simulated")
        if flags & os.O_PATH:
            return flags & _PATH_FLAGS
        if flags & TMPFILE_BIT:
            if not flags & os.O_DIRECTORY or flags & os.O_ACCMODE == os.O_RDONLY or flags & os.O_CREAT:
                raise os_error(errno.EINVAL, *blame)
            return flags
        if flags & os.O_CREAT and flags & os.O_DIRECTORY:
            raise os_error(errno.EINVAL, *blame)
        return flags

    def check_open(self, p: Process, node: Inode, flags: int, blame: Blame) -> None:
        """Whether an inode that exists may be opened so. ENOTDIR, ELOOP, EISDIR, EACCES, EPERM."""
        kind = node.kind
        if kind != "file":
            if flags & os.O_DIRECTORY and kind != "dir":
                raise os_error(errno.ENOTDIR, *blame)
            if flags & os.O_PATH:
                return
            if kind == "symlink":
                raise os_error(errno.ELOOP, *blame)
            if flags & (os.O_CREAT | os.O_ACCMODE | os.O_TRUNC):
                raise os_error(errno.EISDIR, *blame)
        elif flags & os.O_DIRECTORY:
            raise os_error(errno.ENOTDIR, *blame)
        if p.uid and not flags & os.O_PATH:
            if self.machine.footprint is not None:
                self.machine.footprint.append((("meta", node.ino), "R"))
            want = _WANTED[flags & os.O_ACCMODE] | (WRITE if flags & os.O_TRUNC else 0)
            if not may(p, node, want):
                raise os_error(errno.EACCES, *blame)
            if flags & os.O_NOATIME and p.uid != node.uid:
                raise os_error(errno.EPERM, *blame)

    def create(self, p: Process, directory: Inode, name: str, mode: int, text: str, blame: Blame) -> Inode:
        """A new empty file with its entry. ENOENT in a removed directory, EACCES, ENOSPC."""
        if name in SPECIAL:
            raise os_error(errno.EISDIR, *blame)
        if not directory.nlink:
            raise os_error(errno.ENOENT, *blame)
        if p.uid and not may_change_entries(p, directory):
            raise os_error(errno.EACCES, *blame)
        m = self.machine
        node = m.make(p, "file", mode & ~p.umask & 0o7777, directory, blame)
        m.add_entry(directory, name, node.ino)
        op = Create(text, directory.ino, name, node.ino, "file", node.mode, node.uid, node.gid, "", node.reused)
        m.journal.append(op, p.index, m.wall_ns)
        return node

    def nameless(self, p: Process, path: Any, flags: int, mode: int, dir_fd: int | None, blame: Blame) -> Description:
        """O_TMPFILE: a file in no directory, on the filesystem of the directory `path`."""
        m = self.machine
        directory = self.find(p, path, dir_fd, True, blame)
        if directory.kind != "dir":
            raise os_error(errno.ENOTDIR, *blame)
        if not may_change_entries(p, directory):
            raise os_error(errno.EACCES, *blame)
        node = m.make(p, "file", mode & ~p.umask & 0o7777, directory, blame)
        node.nlink = 0
        if not flags & os.O_EXCL:
            m.linkable.add(node.ino)
        text = f"{(m.path_of(directory.ino) or '(deleted)').rstrip('/')}/#{node.ino}"
        m.journal.append(
            Create(text, 0, "", node.ino, "file", node.mode, node.uid, node.gid, "", node.reused), p.index, m.wall_ns
        )  # fmt: skip
        return self.describe(node, flags, text)

    def empty(self, p: Process, node: Inode, text: str) -> None:
        """O_TRUNC of a file that exists: its size becomes 0 and its times move, whatever it was."""
        m = self.machine
        mine = m.own(node.ino)
        size = len(mine.data)
        resize(m, mine, 0)
        if p.uid and mine.mode & 0o6000:
            m.strip_ids(p, mine, text)
        m.journal.append(Truncate(text, node.ino, 0, size), p.index, m.wall_ns)

    def describe(self, node: Inode, flags: int, text: str) -> Description:
        """A fresh description of `node`."""
        return Description(node.ino, flags, text, node.kind == "dir")

    def named(self, path: Any) -> str:
        """`path` as text, for an op."""
        return path if path.__class__ is str else os.fsdecode(path)
