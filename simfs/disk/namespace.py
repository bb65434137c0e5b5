"""From directory entries to an image: who is reachable, under which names, with how many links.

A disk model decides which entries exist; this turns such a decision into the part of an image that does not depend on
file contents: what no name leads to is dropped, links are counted, parents found. Contents and attributes of files are
laid on top by the model, one choice each.

Two ways lead to the same answer. Where no directory was moved, only what differs from the base image is looked at
(`nearby.py`), so that a choice costs what was changed and not what there is. Otherwise, and where there is not much,
the whole tree is walked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simfs.disk.nearby import Entries, nearby
from simfs.machine.inode import DIGEST_MASK, Image, Inode

NEAR_FROM = 24
"""Inodes of an image from which on it pays to look at the difference only."""


@dataclass(slots=True, eq=False)
class Namespace:
    """One possible set of names. `digest` covers all reachable inodes except those in `open_inodes`, whose content
    or attributes are still to be chosen."""

    inodes: dict[int, Inode]
    digest: int
    open_inodes: tuple[int, ...]
    base: Image

    @staticmethod
    def build(
        base: Image,
        entries: Entries,
        made: Mapping[int, Inode],
        undecided: Mapping[int, object],
        dir_times: Mapping[int, int],
    ) -> Namespace:
        """`made` holds inodes that `base` lacks or whose durable state differs from it, `undecided` the ones whose
        state a choice decides, `dir_times` mtimes of changed directories (ns)."""
        near = nearby(base, entries, made, dir_times) if len(base.inodes) >= NEAR_FROM else None
        if near is None:
            return Namespace.walked(base, entries, made, undecided, dir_times)
        inodes, digest = near
        open_inodes = tuple(ino for ino in undecided if ino in inodes)
        digest -= sum(inodes[ino].digest() for ino in open_inodes)
        return Namespace(inodes, digest & DIGEST_MASK, open_inodes, base)

    @staticmethod
    def walked(
        base: Image,
        entries: Entries,
        made: Mapping[int, Inode],
        undecided: Mapping[int, object],
        dir_times: Mapping[int, int],
    ) -> Namespace:
        """The same by a walk from the root."""
        inodes: dict[int, Inode] = {}
        links: dict[int, int] = {}
        parents: dict[int, int] = {}
        known = base.inodes
        stack = [base.mounts.get(base.root, base.root), *base.mounts.values()]
        while stack:
            ino = stack.pop()
            if ino in inodes:
                continue
            node = made.get(ino) or known[ino]
            own = entries.get(ino)
            if own is not None and node.kind == "dir":
                node = node.copy()
                node.entries = own
                node.mtime_ns = node.ctime_ns = dir_times.get(ino, node.mtime_ns)
            inodes[ino] = node
            if node.kind != "dir":
                continue
            for child in node.entries.values():
                links[child] = links.get(child, 0) + 1
                parents.setdefault(child, ino)
                if child not in inodes:
                    stack.append(child)
        for ino, node in list(inodes.items()):
            _settle(inodes, ino, node, links, parents)
        open_inodes = tuple(ino for ino in undecided if ino in inodes)
        skipped = set(open_inodes)
        digest = sum(node.digest() for ino, node in inodes.items() if ino not in skipped) & DIGEST_MASK
        return Namespace(inodes, digest, open_inodes, base)

    def image(self, chosen: Mapping[int, Inode]) -> Image:
        """The image with `chosen` inodes in the places left open."""
        inodes = self.inodes.copy()
        for ino, node in chosen.items():
            named = inodes[ino]
            if node.nlink != named.nlink or node.parent != named.parent:
                digest = node.digest()
                node = node.alias()
                node.nlink, node.parent, node._digest = named.nlink, named.parent, digest
            inodes[ino] = node
        return Image(inodes, self.base.root, self.base.mounts)


def _settle(inodes: dict[int, Inode], ino: int, node: Inode, links: dict[int, int], parents: dict[int, int]) -> None:
    """Give the inode its link count and parent, in a copy when the shared one differs."""
    if node.kind == "dir":
        nlink = 2 + sum(1 for child in node.entries.values() if inodes[child].kind == "dir")
    else:
        nlink = links.get(ino, 0)
    parent = parents.get(ino, ino)
    if node.nlink != nlink or node.parent != parent:
        digest = node.digest()
        node = node.alias()
        node.nlink, node.parent, node._digest = nlink, parent, digest
        inodes[ino] = node
