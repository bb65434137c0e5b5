"""Extended attributes: getxattr, setxattr, removexattr, listxattr.

Name spaces: "user" on files and directories, for who may read and write them; "trusted" for root; "security" for root
to write. Anything else is EOPNOTSUPP. An attribute is read and replaced whole.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from simfs.machine.attributes import AttributeCalls
from simfs.machine.errors import os_error
from simfs.machine.permissions import READ, WRITE, may

if TYPE_CHECKING:
    from simfs.machine.inode import Inode
    from simfs.machine.process import Process

NAME_MAX = 255
VALUE_MAX = 65536
ROOM = 4000
"""Bytes that ext4 has for all attributes of an inode outside the inode, about: one block."""


class XattrCalls(AttributeCalls):
    """The calls on extended attributes."""

    __slots__ = ()

    def attribute(self, p: Process, node: Inode, name: Any, want: int, path: Any) -> str:
        """Check name and rights. ERANGE, EOPNOTSUPP, EINVAL, EPERM, ENODATA, EACCES."""
        text = os.fsdecode(name)
        if not 0 < len(os.fsencode(text)) <= NAME_MAX:
            raise os_error(errno.ERANGE, path)
        space, dot, rest = text.partition(".")
        if space == "trusted" and p.uid:
            raise os_error(errno.EPERM if want == WRITE else errno.ENODATA, path)
        if space == "security" and p.uid and want == WRITE:
            raise os_error(errno.EPERM, path)
        if space == "user":
            if node.kind == "symlink":
                raise os_error(errno.EPERM if want == WRITE else errno.ENODATA, path)
            if node.kind == "dir" and node.mode & 0o1000 and want == WRITE and p.uid not in (0, node.uid):
                raise os_error(errno.EPERM, path)
        if space not in ("trusted", "security", "system") and not may(p, node, want):
            raise os_error(errno.EACCES, path)
        if space not in ("user", "trusted", "security") or not dot:
            raise os_error(errno.EOPNOTSUPP, path)
        if not rest:
            raise os_error(errno.EINVAL, path)
        return text

    def getxattr(self, path: Any, attribute: Any, *, follow_symlinks: bool = True) -> bytes:
        """os.getxattr: ENODATA, EOPNOTSUPP, EACCES."""
        p = self.enter("getxattr")
        node, _ = self.subject(p, path, None, follow_symlinks, (path,))
        if self.machine.footprint is not None:
            self.machine.footprint.append((("meta", node.ino), "R"))
        value = node.xattrs.get(self.attribute(p, node, attribute, READ, path))
        if value is None:
            raise os_error(errno.ENODATA, path)
        return value

    def setxattr(self, path: Any, attribute: Any, value: Any, flags: int = 0, *, follow_symlinks: bool = True) -> None:
        """os.setxattr: EEXIST (XATTR_CREATE), ENODATA (XATTR_REPLACE), E2BIG, ENOSPC, EOPNOTSUPP, EPERM, EACCES."""
        p = self.enter("setxattr")
        data = bytes(value)
        node, text = self.subject(p, path, None, follow_symlinks, (path,))
        if flags & ~(os.XATTR_CREATE | os.XATTR_REPLACE):
            raise os_error(errno.EINVAL, path)
        if len(data) > VALUE_MAX:
            raise os_error(errno.E2BIG, path)
        name = self.attribute(p, node, attribute, WRITE, path)
        if flags & os.XATTR_CREATE and name in node.xattrs:
            raise os_error(errno.EEXIST, path)
        if flags & os.XATTR_REPLACE and name not in node.xattrs:
            raise os_error(errno.ENODATA, path)
        together = {**node.xattrs, name: data}
        if sum(len(n) + len(v) for n, v in together.items()) > ROOM:
            raise os_error(errno.ENOSPC, path)
        mine = self.machine.own(node.ino)
        mine.xattrs = together
        self.mark(p, mine, text, "xattr", (name, data))

    def removexattr(self, path: Any, attribute: Any, *, follow_symlinks: bool = True) -> None:
        """os.removexattr: ENODATA, EOPNOTSUPP, EPERM, EACCES."""
        p = self.enter("removexattr")
        node, text = self.subject(p, path, None, follow_symlinks, (path,))
        name = self.attribute(p, node, attribute, WRITE, path)
        if name not in node.xattrs:
            raise os_error(errno.ENODATA, path)
        mine = self.machine.own(node.ino)
        mine.xattrs = {n: v for n, v in mine.xattrs.items() if n != name}
        self.mark(p, mine, text, "xattr", (name, None))

    def listxattr(self, path: Any = None, *, follow_symlinks: bool = True) -> list[str]:
        """os.listxattr of a path (default ".") or descriptor: names, sorted."""
        p = self.enter("listxattr")
        where = "." if path is None else path
        node, _ = self.subject(p, where, None, follow_symlinks, (where,))
        if self.machine.footprint is not None:
            self.machine.footprint.append((("meta", node.ino), "R"))
        return sorted(name for name in node.xattrs if not p.uid or not name.startswith("trusted."))
