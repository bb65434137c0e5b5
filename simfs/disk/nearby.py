"""The inodes of an image that differs from another by a few entries, at the cost of the difference.

Model. Everything in the base image is reachable. An entry that came makes its inode reachable, and if that is a new
directory, what is in it; an entry that went takes one link, and an inode without any is gone, with what only it led to.
That is exact as long as no directory of the base got another place: then links could hold each other in a circle that
no name leads to, and `nearby` answers None.
"""

from __future__ import annotations

from collections.abc import Mapping

from simfs.machine.inode import Image, Inode

Entries = Mapping[int, dict[str, int]]
"""Directory inode -> its entries, for every directory whose entries differ from the base image."""


class _Change:
    """The base image while it is being changed."""

    def __init__(self, base: Image, entries: Entries, made: Mapping[int, Inode]) -> None:
        self.known, self.entries, self.made = base.inodes, entries, made
        self.inodes = base.inodes.copy()
        self.links: dict[int, int] = {}
        """Links of every inode that got or lost one; of a directory, its one entry."""
        self.parents: dict[int, int] = {}
        self.subdirs: set[int] = set()
        """Directories that got or lost a subdirectory."""

    def node(self, ino: int) -> Inode:
        return self.made.get(ino) or self.known[ino]

    def table(self, ino: int) -> Mapping[str, int]:
        """The entries of a directory as they are now."""
        found = self.entries.get(ino)
        return found if found is not None else self.node(ino).entries

    def _count(self, ino: int) -> int:
        if ino in self.links:
            return self.links[ino]
        if ino not in self.inodes:
            return 0
        node = self.known[ino]
        return 1 if node.kind == "dir" else node.nlink

    def come(self, directory: int, ino: int) -> None:
        """An entry of a reachable directory leads to `ino`."""
        stack = [(directory, ino)]
        while stack:
            parent, child = stack.pop()
            self.links[child] = self._count(child) + 1
            self.parents.setdefault(child, parent)
            is_dir = self.node(child).kind == "dir"
            if is_dir:
                self.subdirs.add(parent)
            if child not in self.inodes:
                self.inodes[child] = self.node(child)
                if is_dir:
                    stack.extend((child, below) for below in self.table(child).values())

    def go(self, directory: int, ino: int) -> None:
        """An entry of a reachable directory led to `ino` and does no more."""
        stack = [(directory, ino)]
        while stack:
            parent, child = stack.pop()
            self.links[child] = self._count(child) - 1
            is_dir = self.node(child).kind == "dir"
            if is_dir:
                self.subdirs.add(parent)
            if not self.links[child]:
                del self.inodes[child]
                if is_dir:
                    stack.extend((child, below) for below in self.table(child).values())


def nearby(
    base: Image, entries: Entries, made: Mapping[int, Inode], dir_times: Mapping[int, int]
) -> tuple[dict[int, Inode], int] | None:
    """The reachable inodes with these entries, and the sum of their digests; None where a directory was moved."""
    change = _Change(base, entries, made)
    gone: list[tuple[int, int]] = []
    come: list[tuple[int, int]] = []
    for directory, table in entries.items():
        node = base.inodes.get(directory)
        if node is not None:
            old, new = node.entries.items(), table.items()
            gone.extend((directory, ino) for _, ino in sorted(old - new))
            come.extend((directory, ino) for _, ino in sorted(new - old))
    new_tables = [table.values() for directory, table in entries.items() if directory not in base.inodes]
    if any(_moved(base, ino) for _, ino in come) or any(_moved(base, ino) for table in new_tables for ino in table):
        return None
    for directory, ino in come:
        change.come(directory, ino)
    for directory, ino in gone:
        change.go(directory, ino)
    _settle(change, dir_times)
    digest = base.digest
    for ino in {*entries, *made, *change.links}:
        old_node, new_node = base.inodes.get(ino), change.inodes.get(ino)
        if old_node is not new_node:
            digest += (new_node.digest() if new_node is not None else 0) - (
                old_node.digest() if old_node is not None else 0
            )
    return change.inodes, digest


def _moved(base: Image, ino: int) -> bool:
    node = base.inodes.get(ino)
    return node is not None and node.kind == "dir"


def _settle(change: _Change, dir_times: Mapping[int, int]) -> None:
    """Give every inode that differs its entries, times, links and parent, in copies of its own."""
    inodes = change.inodes
    for ino in {*change.entries, *change.made, *change.links, *change.subdirs}:
        if ino not in inodes:
            continue
        node = change.node(ino)
        own = change.entries.get(ino)
        if own is not None and node.kind == "dir":
            node = node.alias()
            node.entries = own
            node.mtime_ns = node.ctime_ns = dir_times.get(ino, node.mtime_ns)
        before = change.known.get(ino)
        if node.kind == "dir":
            nlink = before.nlink if before is not None and ino not in change.subdirs else _nlink(change, node)
        else:
            nlink = change.links.get(ino, node.nlink if before is None else before.nlink)
        parent = before.parent if before is not None else change.parents.get(ino, node.parent)
        if node.nlink != nlink or node.parent != parent:
            digest = node.digest()
            node = node.alias()
            node.nlink, node.parent, node._digest = nlink, parent, digest
        inodes[ino] = node


def _nlink(change: _Change, node: Inode) -> int:
    return 2 + sum(1 for child in node.entries.values() if change.node(child).kind == "dir")
