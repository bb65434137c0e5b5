"""What a filesystem says about itself: statvfs and pathconf.

Sizes are those of the limit, where one is set; without a limit the filesystem has `UNLIMITED_BLOCKS` and never fills.
The number of inodes is not limited.
"""

from __future__ import annotations

import errno
import os
from typing import Any

from simfs.machine.errors import NotSimulated, os_error
from simfs.machine.namespace import LINK_MAX
from simfs.machine.paths import NAME_MAX, PATH_MAX, Paths
from simfs.machine.space import BLOCK, UNLIMITED_BLOCKS

INODES = 1 << 24
_LIMITS = {
    "PC_LINK_MAX": LINK_MAX,
    "PC_NAME_MAX": NAME_MAX,
    "PC_PATH_MAX": PATH_MAX,
    "PC_PIPE_BUF": 4096,
    "PC_NO_TRUNC": 1,
    "PC_CHOWN_RESTRICTED": 1,
    "PC_FILESIZEBITS": 64,
    "PC_ALLOC_SIZE_MIN": BLOCK,
    "PC_REC_MIN_XFER_SIZE": BLOCK,
    "PC_REC_XFER_ALIGN": BLOCK,
}


class VolumeCalls(Paths):
    """The calls about a whole filesystem."""

    __slots__ = ()

    def statvfs(self, path: Any) -> os.statvfs_result:
        """os.statvfs of a path or descriptor: sizes in blocks of 4 KiB. ENOENT and a walk's errors, EBADF."""
        m = self.machine
        p = self.enter("statvfs")
        if isinstance(path, int):
            desc = p.fds.get(path)
            if desc is None:
                raise os_error(errno.EBADF, path)
            device = m.inodes[desc.ino].device
        else:
            device = self.find(p, path, None, True, (path,)).device
        if m.footprint is not None:
            m.footprint.append((("space", device), "R"))
        space = m.spaces.get(device)
        total, free = (UNLIMITED_BLOCKS, UNLIMITED_BLOCKS) if space is None else (space.limit, space.free)
        flags = os.ST_NOATIME
        return os.statvfs_result(
            (BLOCK, BLOCK, total, free, free, INODES, INODES, INODES, flags, NAME_MAX, device)
        )  # fmt: skip

    def fstatvfs(self, fd: int, /) -> os.statvfs_result:
        """os.fstatvfs: EBADF."""
        try:
            return self.statvfs(fd)
        except OSError as error:
            error.filename = None
            raise

    def pathconf(self, path: Any, name: Any) -> int:
        """os.pathconf of a path or descriptor, for the limits of names and files. Raises NotSimulated for others."""
        p = self.enter("pathconf")
        if isinstance(path, int):
            self.descriptor(p, path)
        else:
            self.find(p, path, None, True, (path,))
        known = name if isinstance(name, str) else next((n for n, i in os.pathconf_names.items() if i == name), name)
        if known not in _LIMITS:
            raise NotSimulated(f"os.pathconf({name!r})", "only limits of names, links and file sizes are modelled")
        return _LIMITS[known]

    def fpathconf(self, fd: int, name: Any, /) -> int:
        """os.fpathconf: as pathconf."""
        return self.pathconf(fd, name)
