"""Directory listings: scandir, listdir, and the working directory: chdir, fchdir, getcwd.

Order: by CRC-32 of the name. It is the same in every run, it does not tell which entry was made first, and it is not
sorted: a real disk owes nobody an order, and code that relies on one should meet that here. "." and ".." are left out.

A listing is a snapshot of the moment when it is made. A `DirEntry` remembers name, inode and kind from then; `stat`
looks when it is first asked, and again never.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any
from zlib import crc32

from simfs.machine.errors import os_error
from simfs.machine.paths import Paths, path_text
from simfs.machine.permissions import READ, may

if TYPE_CHECKING:
    from simfs.machine.inode import Inode
    from simfs.machine.process import Process
    from simfs.machine.system import SimSystem


@lru_cache(maxsize=65536)
def listing_key(name: str) -> tuple[int, str]:
    """Where `name` stands in a listing."""
    return crc32(os.fsencode(name)), name


class DirEntry:
    """One entry of a listing, of the shape of `os.DirEntry`."""

    __slots__ = ("_dir_fd", "_followed", "_ino", "_itself", "_kind", "_system", "name", "path")

    def __init__(self, system: SimSystem, name: Any, path: Any, ino: int, kind: str, dir_fd: int | None) -> None:
        self.name = name
        self.path = path
        self._system = system
        self._dir_fd = dir_fd
        self._ino = ino
        self._kind = kind
        self._itself: os.stat_result | None = None
        self._followed: os.stat_result | None = None

    def inode(self) -> int:
        """The inode number of the entry itself."""
        return self._ino

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """As `os.stat`, asked once and kept."""
        if follow_symlinks and self._kind == "symlink":
            if self._followed is None:
                self._followed = self._system.stat(self.path, dir_fd=self._dir_fd)
            return self._followed
        if self._itself is None:
            self._itself = self._system.lstat(self.path, dir_fd=self._dir_fd)
        return self._itself

    def is_symlink(self) -> bool:
        """Whether the entry was a symlink when listed."""
        return self._kind == "symlink"

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a directory, or leads to one; False when it leads nowhere."""
        return self._is(0o040000, "dir", follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a file, or leads to one; False when it leads nowhere."""
        return self._is(0o100000, "file", follow_symlinks)

    def is_junction(self) -> bool:
        """False: there are none on Linux."""
        return False

    def _is(self, form: int, kind: str, follow: bool) -> bool:
        if not follow or self._kind != "symlink":
            return self._kind == kind
        try:
            return self.stat().st_mode & 0o170000 == form
        except FileNotFoundError:
            return False

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"


class ScandirIterator:
    """What `scandir` returns: an iterator that can be closed, and is a context manager."""

    __slots__ = ("_entries",)

    def __init__(self, entries: list[DirEntry]) -> None:
        self._entries: Iterator[DirEntry] = iter(entries)

    def __iter__(self) -> ScandirIterator:
        return self

    def __next__(self) -> DirEntry:
        return next(self._entries)

    def close(self) -> None:
        """Nothing more comes."""
        self._entries = iter(())

    def __enter__(self) -> ScandirIterator:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


class ListingCalls(Paths):
    """The calls that list directories, and the working directory."""

    __slots__ = ()

    def listed(self, p: Process, path: Any) -> Inode:
        """The directory to list, by path or descriptor. ENOTDIR, EACCES, EBADF."""
        m = self.machine
        if isinstance(path, int):
            desc = self.descriptor(p, path)
            if desc.path_only:
                raise os_error(errno.EBADF, path)
            node = m.inodes[desc.ino]
            if not desc.is_dir:
                raise os_error(errno.ENOTDIR, path)
        else:
            node = self.find(p, path, None, True, (path,))
            if node.kind != "dir":
                raise os_error(errno.ENOTDIR, path)
            if p.uid and not may(p, node, READ):
                raise os_error(errno.EACCES, path)
        if m.footprint is not None:
            m.footprint.append((("list", node.ino), "R"))
        return node

    def listdir(self, path: Any = None) -> list[Any]:
        """os.listdir of a path (default ".") or descriptor: names, as bytes if the path is. ENOENT, ENOTDIR, EACCES."""
        p = self.enter("listdir")
        names = sorted(self.listed(p, "." if path is None else path).entries, key=listing_key)
        return [os.fsencode(name) for name in names] if isinstance(path, bytes) else names

    def scandir(self, path: Any = None) -> ScandirIterator:
        """os.scandir of a path (default ".") or descriptor. ENOENT, ENOTDIR, EACCES."""
        m = self.machine
        p = self.enter("scandir")
        where = "." if path is None else path
        node = self.listed(p, where)
        as_bytes = isinstance(where, bytes)
        prefix = "" if isinstance(where, int) else path_text(where)
        if prefix and prefix[-1] != "/":
            prefix += "/"
        entries = []
        dir_fd = where if isinstance(where, int) else None
        system = m.system
        for name in sorted(node.entries, key=listing_key):
            ino = node.entries[name]
            full: Any = prefix + name
            shown: Any = name
            if as_bytes:
                full, shown = os.fsencode(full), os.fsencode(name)
            child = m.inodes[ino]
            number = m.number(child) if child.reused else ino
            entries.append(DirEntry(system, shown, full, number, child.kind, dir_fd))
        return ScandirIterator(entries)

    def chdir(self, path: Any) -> None:
        """os.chdir of a path or descriptor. ENOENT, ENOTDIR, EACCES."""
        p = self.enter("chdir")
        if isinstance(path, int):
            desc = p.fds.get(path)
            if desc is None:
                raise os_error(errno.EBADF, path)
            node = self.machine.inodes[desc.ino]
        else:
            node = self.find(p, path, None, True, (path,))
        if node.kind != "dir":
            raise os_error(errno.ENOTDIR, path)
        if p.uid:
            self.search(p, node, (path,))
        before, p.cwd = p.cwd, node.ino
        if not self.machine.inodes[before].nlink:
            self.machine.forget_if_unused(before)

    def fchdir(self, fd: Any) -> None:
        """os.fchdir: EBADF, ENOTDIR, EACCES."""
        try:
            self.chdir(fd if isinstance(fd, int) else fd.fileno())
        except OSError as error:
            error.filename = None
            raise

    def getcwd(self) -> str:
        """os.getcwd: ENOENT when the working directory has been removed."""
        p = self.enter("getcwd")
        path = self.machine.path_of(p.cwd)
        if path is None:
            raise os_error(errno.ENOENT)
        return path

    def getcwdb(self) -> bytes:
        """os.getcwdb: as getcwd, in bytes."""
        return os.fsencode(self.getcwd())
