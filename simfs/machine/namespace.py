"""Names: mkdir, rmdir, link, unlink, symlink, readlink.

Each changes one directory entry and stops before the last component of its path: a symlink there is the thing
itself, never what it points at. The checks come in the kernel's order, because that order decides the errno: the walk,
"." and "..", what is there, permission, then the filesystem's own refusals. A directory that was removed but is still
held by a descriptor or as a working directory takes no new names (ENOENT).
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from simfs.machine.errors import os_error
from simfs.machine.ops import Create, Link, Unlink
from simfs.machine.paths import PATH_MAX, SPECIAL, Blame, Paths, path_text
from simfs.machine.permissions import is_stuck, may_change_entries, may_link

if TYPE_CHECKING:
    from simfs.machine.inode import Inode
    from simfs.machine.process import Process

LINK_MAX = 65000
"""Names of one file, or subdirectories of one directory plus 2, as on ext4."""


class NamespaceCalls(Paths):
    """The calls on single directory entries."""

    __slots__ = ()

    def vacant(self, p: Process, path: Any, dir_fd: int | None, want_dir: bool, blame: Blame) -> tuple[Inode, str]:
        """Where a new entry goes: EEXIST if anything is there, ENOENT for a slash after what is no directory."""
        directory, parts = self.locate(p, path, dir_fd, blame)
        name = parts.last
        if name in SPECIAL or self.entry(directory, name, blame) is not None:
            raise os_error(errno.EEXIST, *blame)
        if parts.slash and not want_dir:
            raise os_error(errno.ENOENT, *blame)
        return directory, name

    def check_add(self, p: Process, directory: Inode, blame: Blame) -> None:
        """Whether `p` may add an entry: ENOENT in a removed directory, EACCES."""
        if not directory.nlink:
            raise os_error(errno.ENOENT, *blame)
        if p.uid and not may_change_entries(p, directory):
            raise os_error(errno.EACCES, *blame)

    def check_remove(self, p: Process, directory: Inode, victim: Inode, blame: Blame) -> None:
        """Whether `p` may remove or replace an entry: EACCES, or EPERM by the sticky bit."""
        if p.uid and not may_change_entries(p, directory):
            raise os_error(errno.EACCES, *blame)
        if p.uid and is_stuck(p, directory, victim):
            raise os_error(errno.EPERM, *blame)

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """os.mkdir: a new empty directory. EEXIST, ENOENT, ENOTDIR, EACCES, EMLINK, ENOSPC."""
        m = self.machine
        p = self.enter("mkdir")
        blame = (path,)
        directory, name = self.vacant(p, path, dir_fd, True, blame)
        self.check_add(p, directory, blame)
        if directory.nlink >= LINK_MAX:
            raise os_error(errno.EMLINK, path)
        node = m.make(p, "dir", mode & ~p.umask & 0o1777, directory, blame)
        m.add_entry(directory, name, node.ino)
        m.own(directory.ino).nlink += 1
        text = self.meant(p, path, directory, name)
        op = Create(text, directory.ino, name, node.ino, "dir", node.mode, node.uid, node.gid, "", node.reused)
        m.journal.append(op, p.index, m.wall_ns)

    def rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        """os.rmdir: remove an empty directory. ENOTEMPTY, ENOTDIR, EBUSY (root, mount), EINVAL ("."), EACCES, EPERM."""
        m = self.machine
        p = self.enter("rmdir")
        blame = (path,)
        directory, parts = self.locate(p, path, dir_fd, blame)
        name = parts.last
        if name in SPECIAL:
            raise os_error({".": errno.EINVAL, "..": errno.ENOTEMPTY, "/": errno.EBUSY}[name], path)
        node = self.entry(directory, name, blame)
        if node is None:
            raise os_error(errno.ENOENT, path)
        self.check_remove(p, directory, node, blame)
        if node.kind != "dir":
            raise os_error(errno.ENOTDIR, path)
        if node.ino in m.mounts:
            raise os_error(errno.EBUSY, path)
        if m.footprint is not None:
            m.footprint.append((("list", node.ino), "R"))
        if node.entries:
            raise os_error(errno.ENOTEMPTY, path)
        m.remove_entry(directory, name)
        m.lose_directory(node.ino, directory)
        text = self.meant(p, path, directory, name)
        m.journal.append(Unlink(text, directory.ino, name, node.ino, True), p.index, m.wall_ns)

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        """os.unlink: remove the name of a file or symlink. ENOENT, EISDIR, ENOTDIR (slash), EACCES, EPERM."""
        m = self.machine
        p = self.enter("unlink")
        blame = (path,)
        directory, parts = self.locate(p, path, dir_fd, blame)
        name = parts.last
        if name in SPECIAL:
            raise os_error(errno.EISDIR, path)
        node = self.entry(directory, name, blame)
        if node is None:
            raise os_error(errno.ENOENT, path)
        if parts.slash:
            raise os_error(errno.EISDIR if node.kind == "dir" else errno.ENOTDIR, path)
        self.check_remove(p, directory, node, blame)
        if node.kind == "dir":
            raise os_error(errno.EISDIR, path)
        m.remove_entry(directory, name)
        m.lose_name(node.ino)
        text = path if path.__class__ is str and path[0] == "/" else self.meant(p, path, directory, name)
        m.journal.append(Unlink(text, directory.ino, name, node.ino, False), p.index, m.wall_ns)

    def remove(self, path: Any, *, dir_fd: int | None = None) -> None:
        """os.remove: the same as `unlink`."""
        self.unlink(path, dir_fd=dir_fd)

    def link(
        self,
        src: Any,
        dst: Any,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
        follow_symlinks: bool = True,
    ) -> None:
        """os.link: a further name for the inode of `src`.

        A symlink `src` is followed only if a `dir_fd` is given too: without one Python calls link(2), which never
        follows. ENOENT, EEXIST, EXDEV, EPERM (a directory, or not yours), EMLINK, EACCES.
        """
        m = self.machine
        p = self.enter("link")
        blame = (src, None, dst)
        follow = follow_symlinks and (src_dir_fd is not None or dst_dir_fd is not None)
        if not follow and self.held(p, src) is not None:
            raise os_error(errno.EXDEV, *blame)
        node = self.find(p, src, src_dir_fd, follow, blame)
        directory, name = self.vacant(p, dst, dst_dir_fd, False, blame)
        if node.device != directory.device:
            raise os_error(errno.EXDEV, *blame)
        if not may_link(p, node):
            raise os_error(errno.EPERM, *blame)
        self.check_add(p, directory, blame)
        if node.kind == "dir":
            raise os_error(errno.EPERM, *blame)
        if not node.nlink and node.ino not in m.linkable:
            raise os_error(errno.ENOENT, *blame)
        if node.nlink >= LINK_MAX:
            raise os_error(errno.EMLINK, *blame)
        m.linkable.discard(node.ino)
        mine = m.own(node.ino)
        mine.nlink += 1
        m.change(mine)
        m.add_entry(directory, name, node.ino)
        text = self.meant(p, dst, directory, name)
        m.journal.append(Link(text, directory.ino, name, node.ino), p.index, m.wall_ns)

    def symlink(self, src: Any, dst: Any, target_is_directory: bool = False, *, dir_fd: int | None = None) -> None:
        """os.symlink: a new symlink `dst` that says `src`. EEXIST, ENOENT, ENOTDIR, EACCES, ENAMETOOLONG."""
        m = self.machine
        p = self.enter("symlink")
        blame = (src, None, dst)
        target = path_text(src)
        if "\0" in target:
            raise ValueError("embedded null byte")
        if not target:
            raise os_error(errno.ENOENT, *blame)
        if len(os.fsencode(target)) >= PATH_MAX:
            raise os_error(errno.ENAMETOOLONG, *blame)
        directory, name = self.vacant(p, dst, dir_fd, False, blame)
        self.check_add(p, directory, blame)
        node = m.make(p, "symlink", 0o777, directory, blame)
        node.target = target
        m.add_entry(directory, name, node.ino)
        text = self.meant(p, dst, directory, name)
        op = Create(text, directory.ino, name, node.ino, "symlink", 0o777, node.uid, node.gid, target, node.reused)
        m.journal.append(op, p.index, m.wall_ns)

    def readlink(self, path: Any, *, dir_fd: int | None = None) -> Any:
        """os.readlink: what a symlink says; bytes for a path of bytes. EINVAL for what is no symlink, ENOENT.

        An empty path with a `dir_fd` names what that descriptor, opened with O_PATH, names.
        """
        m = self.machine
        p = self.enter("readlink")
        blame = (path,)
        if dir_fd is not None and path in ("", b""):
            held = m.inodes[self.descriptor(p, dir_fd).ino] if dir_fd in p.fds else None
            if held is None or held.kind != "symlink":
                raise os_error(errno.EBADF if held is None else errno.ENOENT, path)
            return os.fsencode(held.target) if isinstance(path, bytes) else held.target
        directory, parts = self.locate(p, path, dir_fd, blame)
        node = self.last(p, directory, parts, False, blame)[2]
        if node is None:
            raise os_error(errno.ENOENT, path)
        if node.kind != "symlink":
            raise os_error(errno.EINVAL, path)
        if m.footprint is not None:
            m.footprint.append((("data", node.ino), "R"))
        return os.fsencode(node.target) if isinstance(path, bytes) else node.target
