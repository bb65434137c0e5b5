"""The disk as the processes see it: inodes, their names, and who keeps them alive.

The state is the inodes of an image with changed ones laid over it. An inode is copied when it is first changed, so
nothing here costs more than what it changes, and `freeze` hands what was changed over to the new image and starts
sharing again.

A file lives while it has a name or a descriptor, a directory while it has a name, a descriptor or a process that
works in it. Every change stamps times from the machine's wall clock; reading stamps nothing (noatime).
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from simfs.machine.errors import os_error
from simfs.machine.inode import Image, Inode
from simfs.machine.ops import Close, FileKind, Meta
from simfs.machine.permissions import without_ids
from simfs.machine.space import Space, blocks_of

if TYPE_CHECKING:
    from simfs.machine.calls import Footprint
    from simfs.machine.descriptors import Description
    from simfs.machine.journal import OpJournal
    from simfs.machine.locks import LockTable
    from simfs.machine.process import Process


class Inodes(dict[int, Inode]):
    """Inodes by number, taken over from an image one by one when they are first asked for."""

    __slots__ = ("base",)

    def __init__(self, base: dict[int, Inode]) -> None:
        self.base = base

    def __missing__(self, ino: int) -> Inode:
        node = self[ino] = self.base[ino]
        return node


class LiveDisk:
    """The inodes of a running machine."""

    __slots__ = (
        "footprint", "freed", "gone", "inodes", "journal", "linkable", "locks", "mounts", "owned", "processes",
        "reused", "root", "spaces", "wall_ns",
    )  # fmt: skip
    journal: OpJournal
    locks: LockTable
    processes: list[Process]
    wall_ns: int

    def __init__(self, image: Image) -> None:
        self.inodes = Inodes(image.inodes)
        self.owned: set[int] = set()
        """Inodes that are this machine's own and may be changed; all others are shared with the image."""
        self.gone: set[int] = set()
        self.linkable: set[int] = set()
        """Nameless files (O_TMPFILE without O_EXCL) that may still be given a name."""
        self.freed: dict[int, set[int]] | None = None
        """Where numbers of inodes are reused: device -> those that are free. None: each inode has a fresh one."""
        self.reused = 0
        """How many inodes got a number that was used before."""
        self.root = image.root
        self.mounts = image.mounts
        self.spaces: dict[int, Space] = {}
        self.footprint: Footprint | None = None

    def freeze(self) -> Image:
        """What is visible now, as an image. The machine may go on; it shares the image from here on."""
        inodes = dict(self.inodes.base)
        nameless: list[Inode] = []
        for ino in sorted(self.owned):
            node = self.inodes[ino]
            if not node.nlink:
                inodes.pop(ino, None)
                nameless.append(node)
                continue
            if node.kind == "file":
                node.data = bytes(node.data)
            inodes[ino] = node
        for ino in self.gone:
            inodes.pop(ino, None)
        self.gone = set()
        self.inodes = Inodes(inodes)
        self.owned = {node.ino for node in nameless}
        self.inodes.update((node.ino, node) for node in nameless)
        return Image(inodes, self.root, self.mounts)

    def own(self, ino: int) -> Inode:
        """The machine's own copy of an inode, made now if it was the image's."""
        node = self.inodes[ino]
        if ino not in self.owned:
            self.owned.add(ino)
            node = self.inodes[ino] = node.copy()
        return node

    def make(self, p: Process, kind: FileKind, mode: int, directory: Inode, blame: tuple[object, ...]) -> Inode:
        """A new inode on the filesystem of `directory`; its entry is the caller's business. ENOSPC."""
        gid = p.gid
        if directory.mode & 0o2000:
            gid = directory.gid
            if kind == "dir":
                mode |= 0o2000
        device = directory.device
        if self.spaces and kind == "dir" and self.take(device, 1) < 1:
            raise os_error(errno.ENOSPC, *blame)
        ino = p.next_ino()
        now = self.wall_ns
        data = bytearray() if kind == "file" else b""
        nlink = 2 if kind == "dir" else 1
        node = Inode(ino, kind, mode, p.uid, gid, nlink, now, now, now, data, {}, "", {}, directory.ino, device)
        if self.freed is not None:
            node.reused = self._free_number(self.freed, device)
        self.inodes[ino] = node
        self.owned.add(ino)
        return node

    def _free_number(self, freed: dict[int, set[int]], device: int) -> int:
        """The lowest free number of a filesystem, taken; 0 where there is none. Each is used again once in a boot, so
        that no two inodes that a power loss may leave show the same one."""
        if self.footprint is not None:
            self.footprint.append((("numbers", device), "W"))
        numbers = freed.get(device)
        if not numbers:
            return 0
        number = min(numbers)
        numbers.remove(number)
        self.reused += 1
        return number

    def number(self, node: Inode) -> int:
        """What stat shows as an inode's number. Where a power loss brought back the inode that had it before, the later
        one has its own."""
        before = node.reused
        return before if before and (before in self.gone or before not in self.inodes.base) else node.ino

    def touch(self, node: Inode) -> None:
        """The content of `node` (which the machine owns) changed: mtime and ctime are now."""
        node.mtime_ns = node.ctime_ns = self.wall_ns
        footprint = self.footprint
        if footprint is not None:
            footprint.append((("meta", node.ino), "C"))
            footprint.append((("stamp",), "R"))

    def change(self, node: Inode, mode: str = "C") -> None:
        """The attributes of `node` (which the machine owns) changed: ctime is now."""
        node.ctime_ns = self.wall_ns
        footprint = self.footprint
        if footprint is not None:
            footprint.append((("meta", node.ino), mode))
            footprint.append((("stamp",), "R"))

    def strip_ids(self, p: Process, node: Inode, path: str) -> None:
        """`p` wrote to `node` (which the machine owns) or gave it away: set-user-id and set-group-id go."""
        mode = without_ids(p, node)
        if mode != node.mode:
            node.mode = mode
            self.change(node, "W")
            self.journal.append(Meta(path, node.ino, "mode", mode), p.index, self.wall_ns)

    def add_entry(self, directory: Inode, name: str, ino: int) -> None:
        """`name` in `directory` now means `ino`; link counts are the caller's."""
        mine = self.own(directory.ino)
        mine.entries[name] = ino
        mine.mtime_ns = mine.ctime_ns = self.wall_ns
        if self.footprint is not None:
            self._entry_changed(self.footprint, directory.ino, name)

    def remove_entry(self, directory: Inode, name: str) -> None:
        """`name` in `directory` means nothing any more; link counts are the caller's."""
        mine = self.own(directory.ino)
        del mine.entries[name]
        mine.mtime_ns = mine.ctime_ns = self.wall_ns
        if self.footprint is not None:
            self._entry_changed(self.footprint, directory.ino, name)

    def _entry_changed(self, footprint: Footprint, ino: int, name: str) -> None:
        footprint.append((("dent", ino, name), "W"))
        footprint.append((("list", ino), "C"))
        footprint.append((("meta", ino), "C"))
        footprint.append((("stamp",), "R"))

    def lose_name(self, ino: int) -> None:
        """A file or symlink lost one of its names."""
        node = self.own(ino)
        node.nlink -= 1
        self.change(node)
        if not node.nlink:
            self.forget_if_unused(ino)

    def lose_directory(self, ino: int, parent: Inode) -> None:
        """An empty directory lost its name in `parent`."""
        node = self.own(ino)
        node.nlink = 0
        self.change(node)
        self.own(parent.ino).nlink -= 1
        self.forget_if_unused(ino)

    def let_go(self, p: Process, desc: Description) -> None:
        """One number of `desc` is gone: count down, and at zero give up what the description held."""
        ino = desc.ino
        if p.record_locks and ino in p.record_locks:
            self.locks.drop_process(p, ino)
        desc.refs -= 1
        if desc.refs:
            return
        if desc.flock or desc.ofd_locks:
            self.locks.drop_description(p, desc)
        if desc.writable and not desc.is_dir:
            self.journal.append(Close(desc.path, ino), p.index, self.wall_ns)
        if not self.inodes[ino].nlink:
            self.forget_if_unused(ino)

    def forget_if_unused(self, ino: int) -> None:
        """Free an inode without names unless a descriptor or a working directory still keeps it."""
        for p in self.processes:
            if p.cwd == ino and not p.dead:
                return
            for desc in p.fds.values():
                if desc.ino == ino:
                    return
        node = self.inodes[ino]
        if self.spaces:
            self.give(node.device, blocks_of(node))
        if self.freed is not None and not node.reused:
            self.freed.setdefault(node.device, set()).add(ino)
            if self.footprint is not None:
                self.footprint.append((("numbers", node.device), "C"))
        self.inodes.pop(ino, None)
        self.owned.discard(ino)
        self.gone.add(ino)

    def path_of(self, ino: int) -> str | None:
        """The absolute path of a directory; None once it, or a directory above it, has been removed."""
        names: list[str] = []
        covered = {root: ino for ino, root in self.mounts.items()}
        while ino != self.root:
            node = self.inodes[ino]
            if not node.nlink:
                return None
            above = self.inodes[node.parent]
            wanted = covered.get(ino, ino)
            name = next((n for n, i in above.entries.items() if i == wanted), None)
            if name is None:
                return None
            if self.footprint is not None:
                self.footprint.append((("dent", above.ino, name), "R"))
            names.append(name)
            ino = above.ino
        return "/" + "/".join(reversed(names))

    # Space.

    def limit(self, device: int, size_bytes: int) -> None:
        """From now on the filesystem `device` holds so much and no more."""
        everything = {**self.inodes.base, **self.inodes}
        here = [n for ino, n in everything.items() if n.device == device and ino not in self.gone]
        self.spaces[device] = Space(size_bytes, sum(map(blocks_of, here)))

    def take(self, device: int, blocks: int) -> int:
        """Take up to `blocks` blocks; how many there were. Call only where `spaces` is not empty."""
        space = self.spaces.get(device)
        if space is None:
            return blocks
        if self.footprint is not None and blocks:
            self.footprint.append((("space", device), "W"))
        taken = min(blocks, space.free)
        space.used += taken
        return taken

    def give(self, device: int, blocks: int) -> None:
        """Give `blocks` blocks back."""
        space = self.spaces.get(device)
        if space is not None:
            space.used -= blocks
            if self.footprint is not None and blocks:
                self.footprint.append((("space", device), "W"))
