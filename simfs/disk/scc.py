"""The disk model `scc` (strict crash consistency): everything issued is kept, in order.

Each call is on the disk when it returns. A power loss during a write may leave it cut at a 4 KiB boundary of the file;
every other call happened or did not. A failure on this model is pure logic, not a missing flush. A flush that fails
finds nothing pending, so it changes nothing. With `rename_atomic=no` a power loss during a rename may leave part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simfs.disk.entrystate import NameChanges
from simfs.disk.filestate import apply_content, apply_meta, new_inode
from simfs.disk.model import Covers, Draw, Fate, Pick
from simfs.disk.namespace import Namespace
from simfs.disk.pieces import pieces, torn_renames
from simfs.machine.inode import Image, Inode
from simfs.machine.ops import Create, EntryOp, Link, Meta, Op, Rename, Truncate, Unlink, Write

PAGE = 4096


class SccDisk:
    """One disk that keeps everything. A pick is (0,), or (n,) for the n-th way to cut the call in progress."""

    def __init__(self, base: Image, split_renames: bool = False) -> None:
        self.base = base
        self.split_renames = split_renames
        self.bounds: set[str] = set()
        self.nodes: dict[int, Inode] = {}
        self.names = NameChanges(base, {}, {})
        self.kept: list[int] = []
        self._whole: Image | None = None

    def add(self, op: Op, covers: Covers | None = None) -> None:
        if isinstance(op, Write | Truncate | Meta):
            node = self._node(op.ino).alias()
            if isinstance(op, Meta):
                apply_meta(node, op)
            else:
                node.data = apply_content(bytes(node.data), op)
                node.mtime_ns = node.ctime_ns = op.time_ns
            self.nodes[op.ino] = node
        elif isinstance(op, Create | Link | Unlink | Rename):
            if isinstance(op, Create):
                home = self.nodes.get(op.dir) or self.base.inodes.get(op.dir)
                self.nodes[op.ino] = new_inode(op, home.device if home is not None else 0)
            self.names.apply(op)
        else:
            return
        self._whole = None
        self.kept.append(op.index)

    def _node(self, ino: int) -> Inode:
        return self.nodes.get(ino) or self.base.inodes[ino]

    def _cuts(self, in_progress: Op | None) -> Sequence[int | list[EntryOp]]:
        """The ways to cut a call: bytes that a write leaves, or the parts that a rename leaves."""
        if isinstance(in_progress, Write):
            first = PAGE - in_progress.offset % PAGE
            return range(first, len(in_progress.data), PAGE)
        if isinstance(in_progress, Rename) and self.split_renames:
            return torn_renames(in_progress)
        return ()

    def leaves(self, in_progress: Op | None = None) -> Iterator[tuple[int, Pick]]:
        for place in range(1 + len(self._cuts(in_progress))):
            pick = (place,)
            yield self.image(pick, in_progress).digest, pick

    def sample(self, draw: Draw, in_progress: Op | None = None) -> tuple[int, Pick]:
        pick = (draw(1 + len(self._cuts(in_progress))),)
        return self.image(pick, in_progress).digest, pick

    def image(self, pick: Pick, in_progress: Op | None = None) -> Image:
        cuts = self._cuts(in_progress)
        if len(pick) != 1 or not 0 <= pick[0] <= len(cuts):
            raise ValueError(f"pick {pick} names no way to cut the call in progress")
        if not pick[0]:
            if self._whole is None:
                built = Namespace.build(self.base, self.names.tables, self.nodes, {}, self.names.times)
                self._whole = built.image({})
            return self._whole
        nodes, names = self.nodes, self.names
        cut = cuts[pick[0] - 1]
        if isinstance(cut, int):
            assert isinstance(in_progress, Write)
            node = self._node(in_progress.ino).alias()
            node.data = apply_content(bytes(node.data), in_progress, cut)
            node.mtime_ns = node.ctime_ns = in_progress.time_ns
            nodes = {**nodes, node.ino: node}
        else:
            names = names.copy()
            for part in cut:
                names.apply(part)
        return Namespace.build(self.base, names.tables, nodes, {}, names.times).image({})

    def fates(self, pick: Pick, in_progress: Op | None = None) -> dict[int, str]:
        out = dict.fromkeys(self.kept, Fate.DURABLE)
        if pick[0] and in_progress is not None:
            cut = self._cuts(in_progress)[pick[0] - 1]
            if isinstance(cut, int) and isinstance(in_progress, Write):
                out[in_progress.index] = f"{cut} of {len(in_progress.data)} bytes kept"
            elif isinstance(cut, list) and isinstance(in_progress, Rename):
                out[in_progress.index] = f"{len(cut)} of {len(pieces(in_progress))} parts kept"
        return out


class Scc:
    """`scc`: nothing is ever lost. Not closed under loss: each crash point has its own image."""

    name = "scc"
    closed_under_loss = False

    def __init__(self, split_renames: bool = False) -> None:
        self.split_renames = split_renames

    def start(self, base: Image) -> SccDisk:
        return SccDisk(base, self.split_renames)
