"""rename, replace and renameat2: one entry moves, at once, over whatever had the new name.

The table for source x target is the kernel's. In its order: both walks; two filesystems are EXDEV; "." and ".." are
EBUSY; then the source must exist, NOREPLACE wants no target (EEXIST), EXCHANGE wants one (ENOENT); a slash wants a
directory (ENOTDIR); a directory may not move below itself (EINVAL) nor replace one above itself (ENOTEMPTY). Two names
of one inode: nothing happens, successfully. A directory replaces only an empty directory, anything else only what is no
directory. A symlink is moved or replaced itself.

The op is one `Rename`: the disk model decides whether it is one thing on the disk.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

from simfs.machine.errors import NotSimulated, os_error
from simfs.machine.namespace import LINK_MAX, NamespaceCalls
from simfs.machine.ops import Rename
from simfs.machine.paths import SPECIAL, Blame, SplitPath
from simfs.machine.permissions import WRITE, may

if TYPE_CHECKING:
    from simfs.machine.inode import Inode
    from simfs.machine.process import Process

RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2
RENAME_WHITEOUT = 4


class RenameCalls(NamespaceCalls):
    """The calls that move entries."""

    __slots__ = ()

    def rename(self, src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        """os.rename: `dst` becomes what `src` was. See the header for errnos."""
        self.move(self.enter("rename"), src, dst, src_dir_fd, dst_dir_fd, 0)

    def replace(self, src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        """os.replace: on Linux the same as `rename`."""
        self.move(self.enter("rename"), src, dst, src_dir_fd, dst_dir_fd, 0)

    def renameat2(
        self, src: Any, dst: Any, flags: int = 0, /, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        """renameat2(2) with RENAME_NOREPLACE (1) or RENAME_EXCHANGE (2); EINVAL for both or for unknown flags."""
        p = self.enter("renameat2")
        if flags & RENAME_WHITEOUT:
            raise NotSimulated("renameat2 with RENAME_WHITEOUT", "it is for union filesystems; unlink the source")
        if flags & ~3 or flags == 3:
            raise os_error(errno.EINVAL, src, None, dst)
        self.move(p, src, dst, src_dir_fd, dst_dir_fd, flags)

    def move(self, p: Process, src: Any, dst: Any, src_dir_fd: int | None, dst_dir_fd: int | None, flags: int) -> None:
        """The rename itself."""
        m = self.machine
        blame = (src, None, dst)
        old_dir, old = self.locate(p, src, src_dir_fd, blame)
        new_dir, new = self.locate(p, dst, dst_dir_fd, blame)
        if old_dir.device != new_dir.device:
            raise os_error(errno.EXDEV, *blame)
        if old.last in SPECIAL:
            raise os_error(errno.EBUSY, *blame)
        if new.last in SPECIAL:
            raise os_error(errno.EEXIST if flags == RENAME_NOREPLACE else errno.EBUSY, *blame)
        node = self.entry(old_dir, old.last, blame)
        if node is None:
            raise os_error(errno.ENOENT, *blame)
        victim = self.entry(new_dir, new.last, blame)
        self.check_shape(node, old, victim, new, flags, blame)
        if old_dir is not new_dir:
            self.check_ancestors(node, old_dir, victim, new_dir, flags, blame)
        if victim is node:
            return
        self.check_rights(p, node, old_dir, victim, new_dir, flags, blame)
        if m.mounts and (node.ino in m.mounts or (victim is not None and victim.ino in m.mounts)):
            raise os_error(errno.EBUSY, *blame)
        exchange = flags == RENAME_EXCHANGE
        if victim is not None and not exchange and victim.kind == "dir":
            if m.footprint is not None:
                m.footprint.append((("list", victim.ino), "R"))
            if victim.entries:
                raise os_error(errno.ENOTEMPTY, *blame)
        if exchange:
            assert victim is not None
            self.swap(node, old_dir, old.last, victim, new_dir, new.last)
        else:
            self.carry(node, old_dir, old.last, victim, new_dir, new.last)
        is_dir = node.kind == "dir"
        op = Rename(
            self.meant(p, src, old_dir, old.last), old_dir.ino, old.last, new_dir.ino, new.last, node.ino,
            None if victim is None else victim.ino, exchange, is_dir, self.meant(p, dst, new_dir, new.last),
        )  # fmt: skip
        m.journal.append(op, p.index, m.wall_ns)

    def check_shape(
        self, node: Inode, old: SplitPath, victim: Inode | None, new: SplitPath, flags: int, blame: Blame
    ) -> None:
        """What must or must not be there, and trailing slashes."""
        if flags == RENAME_NOREPLACE and victim is not None:
            raise os_error(errno.EEXIST, *blame)
        exchange = flags == RENAME_EXCHANGE
        if exchange:
            if victim is None:
                raise os_error(errno.ENOENT, *blame)
            if victim.kind != "dir" and new.slash:
                raise os_error(errno.ENOTDIR, *blame)
        if node.kind != "dir" and (old.slash or (new.slash and not exchange)):
            raise os_error(errno.ENOTDIR, *blame)

    def check_ancestors(
        self, node: Inode, old_dir: Inode, victim: Inode | None, new_dir: Inode, flags: int, blame: Blame
    ) -> None:
        """A directory cannot end up below itself."""
        if node.kind == "dir" and self.is_above(node, new_dir):
            raise os_error(errno.EINVAL, *blame)
        if victim is not None and victim.kind == "dir" and self.is_above(victim, old_dir):
            raise os_error(errno.EINVAL if flags == RENAME_EXCHANGE else errno.ENOTEMPTY, *blame)

    def is_above(self, upper: Inode, lower: Inode) -> bool:
        """Whether directory `lower` is `upper` or somewhere below it."""
        m = self.machine
        ino = lower.ino
        while True:
            if ino == upper.ino:
                return True
            if m.footprint is not None:
                m.footprint.append((("dent", ino, ".."), "R"))
            above = m.inodes[ino].parent
            if ino in (m.root, above):
                return False
            ino = above

    def check_rights(
        self, p: Process, node: Inode, old_dir: Inode, victim: Inode | None, new_dir: Inode, flags: int, blame: Blame
    ) -> None:
        """Permissions, and what may replace what."""
        is_dir = node.kind == "dir"
        self.check_remove(p, old_dir, node, blame)
        if victim is None:
            self.check_add(p, new_dir, blame)
        else:
            self.check_remove(p, new_dir, victim, blame)
            if flags != RENAME_EXCHANGE and is_dir != (victim.kind == "dir"):
                raise os_error(errno.ENOTDIR if is_dir else errno.EISDIR, *blame)
        if old_dir is not new_dir:
            if is_dir and not may(p, node, WRITE):
                raise os_error(errno.EACCES, *blame)
            if flags == RENAME_EXCHANGE and victim is not None and victim.kind == "dir" and not may(p, victim, WRITE):
                raise os_error(errno.EACCES, *blame)
            if is_dir and victim is None and new_dir.nlink >= LINK_MAX:
                raise os_error(errno.EMLINK, *blame)

    def carry(
        self, node: Inode, old_dir: Inode, old_name: str, victim: Inode | None, new_dir: Inode, new_name: str
    ) -> None:
        """The plain rename, once everything allows it."""
        m = self.machine
        m.change(m.own(node.ino))
        m.remove_entry(old_dir, old_name)
        m.add_entry(new_dir, new_name, node.ino)
        if victim is not None:
            if victim.kind == "dir":
                m.lose_directory(victim.ino, new_dir)
            else:
                m.lose_name(victim.ino)
        if node.kind == "dir":
            self.settle(node, old_dir, new_dir)

    def swap(self, node: Inode, old_dir: Inode, old_name: str, victim: Inode, new_dir: Inode, new_name: str) -> None:
        """The exchange, once everything allows it."""
        m = self.machine
        m.add_entry(old_dir, old_name, victim.ino)
        m.add_entry(new_dir, new_name, node.ino)
        for moved, source, target in ((node, old_dir, new_dir), (victim, new_dir, old_dir)):
            m.change(m.own(moved.ino))
            if moved.kind == "dir":
                self.settle(moved, source, target)

    def settle(self, node: Inode, old_dir: Inode, new_dir: Inode) -> None:
        """A directory that moved: its ".." and the link counts of both parents."""
        m = self.machine
        if old_dir.ino == new_dir.ino:
            return
        m.own(node.ino).parent = new_dir.ino
        m.own(old_dir.ino).nlink -= 1
        m.own(new_dir.ino).nlink += 1
        if m.footprint is not None:
            m.footprint.append((("dent", node.ino, ".."), "W"))
