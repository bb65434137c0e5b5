"""Inodes and disk images: the state of a filesystem as plain values.

An `Inode` has an identity (its number), a kind, attributes, and content by kind: `data` of a file, `entries` of a
directory (name -> inode number, "." and ".." left out), `target` of a symlink. An `Image` is a set of inodes and
a root. The same class serves the live machine and a frozen image: inodes in an image are shared and never written;
a machine that wants to change one makes its own copy first (`Inode.copy`, copy on write). A file's `data` is
`bytes` while shared and `bytearray` once a machine owns it.

`parent` of a directory is kept live for ".." and for paths; an image computes it when it is built. `nlink` of a file
is the number of its entries; of a directory 2 plus its subdirectories.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from simfs.machine.ops import FileKind

ROOT_INO = 1
EPOCH_NS = 1_767_225_600_000_000_000
"""Where simulated wall clocks start: 2026-01-01T00:00:00Z."""
DIGEST_MASK = (1 << 128) - 1


@dataclass(slots=True, eq=False)
class Inode:
    """One file, directory or symlink. Times are nanoseconds of the wall clock, `mode` the permission bits."""

    ino: int
    kind: FileKind
    mode: int
    uid: int = 0
    gid: int = 0
    nlink: int = 1
    atime_ns: int = EPOCH_NS
    mtime_ns: int = EPOCH_NS
    ctime_ns: int = EPOCH_NS
    data: bytes | bytearray = b""
    entries: dict[str, int] = field(default_factory=dict)
    target: str = ""
    xattrs: dict[str, bytes] = field(default_factory=dict)
    parent: int = ROOT_INO
    device: int = 0
    _digest: int = 0
    holes: tuple[tuple[int, int, bool], ...] = ()
    """Blocks that a file skipped, see `space`. No part of the digest: they read as the zeros they are."""
    reused: int = 0
    """The number that stat shows instead of its own: that of an inode which was freed before in the same boot. 0: none.
    It identifies nothing in here."""

    def digest(self) -> int:
        """128 bits that stand for number, kind, attributes and content; access time, parent and nlink are left out.

        Kept once computed: call it on inodes that will not change any more.
        """
        if self._digest:
            return self._digest
        head = f"{self.ino} {self.kind} {self.mode} {self.uid} {self.gid} {self.mtime_ns} {self.device}\0"
        if self.reused:
            head += f"{self.reused}\0"
        hasher = blake2b(head.encode(), digest_size=16)
        if self.kind == "file":
            hasher.update(self.data)
        elif self.kind == "dir":
            hasher.update(repr(sorted(self.entries.items())).encode("utf-8", "surrogateescape"))
        else:
            hasher.update(self.target.encode("utf-8", "surrogateescape"))
        if self.xattrs:
            hasher.update(repr(sorted(self.xattrs.items())).encode("utf-8", "surrogateescape"))
        self._digest = int.from_bytes(hasher.digest(), "little")
        return self._digest

    def alias(self) -> Inode:
        """Another object with the same state, content shared: for changing attributes only."""
        return Inode(
            self.ino, self.kind, self.mode, self.uid, self.gid, self.nlink,
            self.atime_ns, self.mtime_ns, self.ctime_ns,
            self.data, self.entries, self.target, self.xattrs, self.parent, self.device, 0, self.holes, self.reused,
        )  # fmt: skip

    def copy(self) -> Inode:
        """A private copy to change: a file's data becomes a bytearray, entries and xattrs new dicts."""
        node = self.alias()
        if self.kind == "file":
            node.data = bytearray(self.data)
        elif self.kind == "dir":
            node.entries = self.entries.copy()
        if self.xattrs:
            node.xattrs = self.xattrs.copy()
        return node

    def freeze(self) -> Inode:
        """A copy that an image may share: data as bytes."""
        frozen = self.copy()
        frozen.data = bytes(self.data)
        return frozen


@dataclass(slots=True, eq=False)
class Image:
    """A disk as a value. Never changed after it was made; `inodes` holds reachable inodes only."""

    inodes: dict[int, Inode]
    root: int = ROOT_INO
    mounts: dict[int, int] = field(default_factory=dict)
    """Directory inode that is covered -> root inode of the filesystem mounted there."""
    _digest: int = -1

    @property
    def digest(self) -> int:
        """128 bits that stand for the whole disk: the sum of its inodes' digests, so that a part may be exchanged."""
        if self._digest < 0:
            self._digest = sum(node.digest() for node in self.inodes.values()) & DIGEST_MASK
        return self._digest

    @staticmethod
    def empty() -> Image:
        """One root directory, owned by root, mode 0755."""
        return Image({ROOT_INO: Inode(ROOT_INO, "dir", 0o755, nlink=2)})

    def walk(self) -> Iterator[tuple[str, Inode]]:
        """Every path with its inode, parents first, names in order; mounted filesystems included."""
        stack = [("/", self.inodes[self.mounts.get(self.root, self.root)])]
        while stack:
            path, node = stack.pop()
            yield path, node
            prefix = path if path == "/" else path + "/"
            for name in sorted(node.entries, reverse=True):
                ino = node.entries[name]
                stack.append((prefix + name, self.inodes[self.mounts.get(ino, ino)]))

    def tree(self, root: str = "/") -> dict[str, str | bytes]:
        """What a person sees below `root`: relative path -> "dir", "-> target" of a symlink, or a file's bytes."""
        prefix = root.rstrip("/") + "/"
        out: dict[str, str | bytes] = {}
        for path, node in self.walk():
            if not path.startswith(prefix) or path == prefix:
                continue
            relative = path[len(prefix) :]
            if node.kind == "dir":
                out[relative] = "dir"
            elif node.kind == "symlink":
                out[relative] = f"-> {node.target}"
            else:
                out[relative] = bytes(node.data)
        return out
