"""From a path to an inode, as Linux walks it.

A walk starts at the root, at the working directory or at `dir_fd`, and takes one component after the other. Each
directory on the way must be a directory (ENOTDIR) and searchable (EACCES for a non-root user); each symlink on the
way is followed, 40 in all (ELOOP). "." and ".." are looked up like names; at the root of a mounted filesystem ".."
leaves it, because such a root has the covered directory's parent as its own. A component over 255 bytes or a path of
4,096 or more is ENAMETOOLONG. An empty path is ENOENT. What follows the last component decides the rest: calls that
change an entry stop before it (`locate`), calls that want an inode go through it (`find`). A trailing slash asks for
a directory and follows a last symlink.

Names are `str` inside; bytes come in and go out by the filesystem encoding with surrogate escapes, as `os.fsdecode`.
Paths are never normalised by text: "a/../b" needs a directory "a".
"""

from __future__ import annotations

import errno
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from simfs.machine.calls import Calls
from simfs.machine.errors import os_error
from simfs.machine.permissions import may_search

if TYPE_CHECKING:
    from simfs.machine.inode import Inode
    from simfs.machine.process import Process

NAME_MAX = 255
PATH_MAX = 4096
LINKS_MAX = 40
PROC_FD = "/proc/self/fd/"
SPECIAL = frozenset({".", "..", "/"})
"""Last components that name no entry: calls that change entries refuse them, each with its own errno."""

Blame = tuple[Any, ...]
"""What an `OSError` says after its text: (path,) or (source, None, target)."""


class SplitPath:
    """A path taken apart. `last` is "/" when there are no components, else the last one, "." and ".." included."""

    __slots__ = ("absolute", "before", "last", "slash")

    def __init__(self, text: str) -> None:
        parts = [part for part in text.split("/") if part]
        self.before = tuple(parts[:-1])
        self.last = parts[-1] if parts else "/"
        self.absolute = text[0] == "/"
        self.slash = text[-1] == "/"


def path_text(path: Any) -> str:
    """`path` (str, bytes or PathLike) as str; TypeError for anything else."""
    if hasattr(path, "__fspath__"):
        path = os.fspath(path)
    if isinstance(path, str):
        return path
    if isinstance(path, bytes):
        return os.fsdecode(path)
    raise TypeError(f"path should be string, bytes or os.PathLike, not {type(path).__name__}")


@lru_cache(maxsize=16384)
def _split(text: str) -> SplitPath:
    if "\0" in text:
        raise ValueError("embedded null byte")
    if not text:
        raise os_error(errno.ENOENT)
    if len(os.fsencode(text)) >= PATH_MAX:
        raise os_error(errno.ENAMETOOLONG)
    return SplitPath(text)


def split_path(path: Any, blame: Blame) -> SplitPath:
    """`path` in components. ENOENT when empty, ENAMETOOLONG, ValueError for a null byte."""
    try:
        return _split(path if path.__class__ is str else path_text(path))
    except OSError as error:
        raise os_error(error.errno or 0, *blame) from None


def check_name(name: str, blame: Blame) -> None:
    """ENAMETOOLONG for a component over 255 bytes."""
    if len(name) > 63 and len(os.fsencode(name)) > NAME_MAX:
        raise os_error(errno.ENAMETOOLONG, *blame)


class Paths(Calls):
    """The walks. Every method takes `blame`, the paths an error names."""

    __slots__ = ()

    def start(self, p: Process, dir_fd: int | None, blame: Blame) -> Inode:
        """Where the walk of a relative path begins. EBADF, ENOTDIR."""
        m = self.machine
        if dir_fd is None or dir_fd == -100:
            return m.inodes[p.cwd]
        desc = p.fds.get(dir_fd)
        if desc is None:
            raise os_error(errno.EBADF, *blame)
        node = m.inodes[desc.ino]
        if node.kind != "dir":
            raise os_error(errno.ENOTDIR, *blame)
        return node

    def locate(self, p: Process, path: Any, dir_fd: int | None, blame: Blame) -> tuple[Inode, SplitPath]:
        """The directory that holds, or would hold, the last component, which is not looked up."""
        m = self.machine
        try:
            parts = _split(path if path.__class__ is str else path_text(path))
        except OSError as error:
            raise os_error(error.errno or 0, *blame) from None
        m.links_followed = 0
        node = m.inodes[m.root] if parts.absolute else self.start(p, dir_fd, blame)
        if parts.before:
            node = self.descend(p, node, parts.before, blame)
        if p.uid:
            self.search(p, node, blame)
        return node, parts

    def find(self, p: Process, path: Any, dir_fd: int | None, follow: bool, blame: Blame) -> Inode:
        """The inode that `path` names, a last symlink followed if `follow`. ENOENT and all of a walk's errors."""
        try:
            directory, parts = self.locate(p, path, dir_fd, blame)
        except FileNotFoundError:
            held = self.held(p, path)
            if held is None:
                raise
            return held
        node = self.last(p, directory, parts, follow, blame)[2]
        if node is None:
            raise os_error(errno.ENOENT, *blame)
        return node

    def held(self, p: Process, path: Any) -> Inode | None:
        """The inode behind "/proc/self/fd/N", the one path of /proc that stores need (linkat of an O_TMPFILE)."""
        text = path_text(path)
        if not text.startswith(PROC_FD) or not text[len(PROC_FD) :].isdecimal():
            return None
        desc = p.fds.get(int(text[len(PROC_FD) :]))
        return None if desc is None else self.machine.inodes[desc.ino]

    def descend(self, p: Process, node: Inode, names: tuple[str, ...], blame: Blame) -> Inode:
        """Walk `names` from `node`; what comes out is a directory."""
        m = self.machine
        inodes = m.inodes
        footprint = m.footprint
        for name in names:
            if p.uid:
                self.search(p, node, blame)
            if footprint is not None:
                footprint.append((("dent", node.ino, name), "R"))
            ino = node.entries.get(name)
            if ino is None:
                node = self.step(p, node, name, blame)
                continue
            if ino in m.mounts:
                ino = m.mounts[ino]
            child = inodes[ino]
            if child.kind != "dir":
                if child.kind != "symlink":
                    raise os_error(errno.ENOTDIR, *blame)
                child = self.through(p, node, child, blame)
                if child.kind != "dir":
                    raise os_error(errno.ENOTDIR, *blame)
            node = child
        return node

    def step(self, p: Process, node: Inode, name: str, blame: Blame) -> Inode:
        """A component that is no entry: ".", "..", or an error."""
        if name == ".":
            return node
        if name == "..":
            return self.machine.inodes[node.parent]
        check_name(name, blame)
        raise os_error(errno.ENOENT, *blame)

    def search(self, p: Process, node: Inode, blame: Blame) -> None:
        """EACCES unless `p` may look names up in `node`."""
        footprint = self.machine.footprint
        if footprint is not None:
            footprint.append((("meta", node.ino), "R"))
        if not may_search(p, node):
            raise os_error(errno.EACCES, *blame)

    def entry(self, node: Inode, name: str, blame: Blame) -> Inode | None:
        """The inode of entry `name` itself: a symlink not followed, a mount not entered; None if absent."""
        m = self.machine
        if m.footprint is not None:
            m.footprint.append((("dent", node.ino, name), "R"))
        ino = node.entries.get(name)
        if ino is None:
            check_name(name, blame)
            return None
        return m.inodes[ino]

    def last(
        self, p: Process, node: Inode, parts: SplitPath, follow: bool, blame: Blame, create: bool = False
    ) -> tuple[Inode, str, Inode | None]:
        """Look the last component up: (its directory, its name, the inode or None), symlinks followed if asked.

        A symlink that points at nothing yields the directory and name where its target would be. With `create` (open
        with O_CREAT) a slash at the end is EISDIR at once, whatever is there.
        """
        if create and parts.slash:
            raise os_error(errno.EISDIR, *blame)
        m = self.machine
        name = parts.last
        if m.footprint is not None:
            m.footprint.append((("dent", node.ino, name), "R"))
        ino = node.entries.get(name)
        if ino is None:
            if name in SPECIAL:
                return node, name, m.inodes[node.parent] if name == ".." else node
            check_name(name, blame)
            return node, name, None
        if ino in m.mounts:
            ino = m.mounts[ino]
        child = m.inodes[ino]
        if child.kind == "symlink" and (follow or parts.slash):
            return self.pointed_at(p, node, child, blame, parts.slash, create)
        if parts.slash and child.kind != "dir":
            raise os_error(errno.ENOTDIR, *blame)
        return node, name, child

    def pointed_at(
        self, p: Process, node: Inode, link: Inode, blame: Blame, slash: bool = False, create: bool = False
    ) -> tuple[Inode, str, Inode | None]:
        """Follow `link`, an entry of `node`, to its end. ELOOP, and all of a walk's errors."""
        m = self.machine
        m.links_followed += 1
        if m.links_followed > LINKS_MAX:
            raise os_error(errno.ELOOP, *blame)
        parts = split_path(link.target, blame)
        if slash and not parts.slash:
            parts = split_path(link.target + "/", blame)
        start = m.inodes[m.root] if parts.absolute else node
        if parts.before:
            start = self.descend(p, start, parts.before, blame)
        if p.uid:
            self.search(p, start, blame)
        return self.last(p, start, parts, True, blame, create)

    def through(self, p: Process, node: Inode, link: Inode, blame: Blame) -> Inode:
        """The inode that `link`, met in the middle of a path, leads to. ENOENT when it dangles."""
        _, _, found = self.pointed_at(p, node, link, blame)
        if found is None:
            raise os_error(errno.ENOENT, *blame)
        return found

    def meant(self, p: Process, path: Any, directory: Inode, name: str) -> str:
        """The absolute path of an op, for people: as it was written, or below the directory it was relative to."""
        text: str = path if path.__class__ is str else path_text(path)
        if text[0] == "/":
            return text
        above = self.machine.path_of(directory.ino) or "(deleted)"
        return above + name if above == "/" else f"{above}/{name}"
