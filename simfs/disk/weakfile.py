"""Every way one inode may come out when nothing but a flush of it orders its changes.

Model. Each content op splits into pieces by 4 KiB block: a write into *grow* (the size becomes the end of what it
appends in this block), *garbage* (the appended bytes are there, as GARBAGE) and *data*; a truncation is one piece,
*cut*. Any subset of the pending pieces survives, each applied in the order of the calls. Every attribute holds its
durable value or that of any pending op that set it; a write also sets the modification time.

A flush makes the pieces of its file durable. A flush that failed leaves the pieces of blocks pending at it stuck, sizes
too: a later flush covers them only if their block was written again.

Enumeration is exact up to CUTS_MAX truncations and CONTENTS_MAX contents of a block or file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

from simfs.disk.filestate import apply_meta
from simfs.disk.worlds import Way, Ways
from simfs.machine.inode import Inode
from simfs.machine.ops import Meta, Truncate, Write

BLOCK = 4096
GARBAGE = b"\xa5"
CUTS_MAX = 6
CONTENTS_MAX = 1024
BOUND = f"more than {CUTS_MAX} truncations of a file pending: the last ones decided; {CONTENTS_MAX} contents at most"


@dataclass(slots=True, eq=False)
class Piece:
    """A part of a content op. `block` is -1 for a cut; `start` and `end` are offsets, `end` also the size it sets."""

    op: Write | Truncate
    kind: Literal["grow", "garbage", "data", "cut"]
    block: int
    start: int
    end: int
    done: bool = False
    stuck: bool = False


def pieces_of(op: Write | Truncate) -> list[Piece]:
    """The op as pieces, in the order in which they apply."""
    if isinstance(op, Truncate):
        return [Piece(op, "cut", -1, op.size, op.size)]
    out = []
    end = op.offset + len(op.data)
    for block in range(op.offset // BLOCK, -(-end // BLOCK) if op.data else 0):
        start, stop = max(op.offset, block * BLOCK), min(end, (block + 1) * BLOCK)
        if stop > op.size_before:
            out.append(Piece(op, "grow", block, start, stop))
            out.append(Piece(op, "garbage", block, max(start, op.size_before), stop))
        out.append(Piece(op, "data", block, start, stop))
    return out


Kept = frozenset[int]
"""`id` of each pending piece or op that a way keeps."""


@dataclass(slots=True, eq=False)
class WeakInode:
    """One inode with the pieces and attribute ops pending on it."""

    durable: Inode
    pieces: list[Piece] = field(default_factory=list)
    metas: list[Meta] = field(default_factory=list)
    settled_metas: int = 0
    bounded: bool = False
    _ways: Ways | None = None

    def add(self, op: Write | Truncate | Meta) -> None:
        self._ways = None
        if isinstance(op, Meta):
            self.metas.append(op)
            return
        fresh = pieces_of(op)
        again = {piece.block for piece in fresh}
        for piece in self.pieces:
            piece.stuck = piece.stuck and piece.block not in again
        self.pieces.extend(fresh)

    @property
    def decided(self) -> bool:
        return not (self.pieces or self.metas)

    def flush(self, contents: int, metas: int) -> None:
        """The pieces of content ops up to number `contents` of the pieces, and `metas` attribute ops, are durable."""
        self._ways = None
        for piece in self.pieces[:contents]:
            piece.done = not piece.stuck
        times = [piece.op.time_ns for piece in self.pieces[:contents]]
        if all(piece.done for piece in self.pieces[:contents]):
            data, size = bytes(self.durable.data), len(self.durable.data)
            for piece in self.pieces[:contents]:
                data, size = _apply(data, size, piece)
            self.durable = self.durable.alias()
            self.durable.data = data[:size].ljust(size, b"\0")
            del self.pieces[:contents]
        if times:
            self.durable = self.durable.alias()
            self.durable.mtime_ns = self.durable.ctime_ns = times[-1]
        if metas:
            self.durable = self.durable.alias()
            for meta in self.metas[:metas]:
                apply_meta(self.durable, meta)
            del self.metas[:metas]

    def fail(self, contents: int) -> None:
        """A flush failed while these pieces were pending."""
        self._ways = None
        for piece in self.pieces[:contents]:
            piece.stuck = not piece.done and piece.kind != "cut"

    def ways(self) -> Ways:
        """Every way the inode may come out, everything lost first, everything kept last."""
        if self._ways is None:
            attributes = list(self._attributes())
            out = []
            for content, kept in self._contents():
                for node, set_by in attributes:
                    shaped = node.alias()
                    if self.durable.kind == "file":
                        shaped.data = content
                    out.append(Way(shaped, kept | set_by))
            self._ways = Ways(out)
        return self._ways

    def _attributes(self) -> Iterator[tuple[Inode, Kept]]:
        """The durable inode under each combination of attribute values."""
        groups: dict[str, list[Meta | Write | Truncate]] = {}
        for meta in self.metas:
            named = meta.what == "xattr" and isinstance(meta.value, tuple)
            groups.setdefault(f"xattr {meta.value[0]}" if named else meta.what, []).append(meta)  # type: ignore[index]
        for piece in self.pieces:
            times = groups.setdefault("times", [])
            if not piece.done and piece.op not in times:
                times.append(piece.op)
        for chosen in product(*([None, *ops] for ops in groups.values())):
            node = self.durable.alias()
            for op in chosen:
                if isinstance(op, Meta):
                    apply_meta(node, op)
                elif op is not None:
                    node.mtime_ns = node.ctime_ns = op.time_ns
            yield node, frozenset(id(op) for op in chosen if isinstance(op, Meta))

    def _contents(self) -> list[tuple[bytes, Kept]]:
        cuts = [piece for piece in self.pieces if piece.kind == "cut" and not piece.done]
        self.bounded = len(cuts) > CUTS_MAX
        found: dict[bytes, Kept] = {}
        for mask in product((False, True), repeat=min(len(cuts), CUTS_MAX)):
            kept_cuts = {id(cut) for cut, keep in zip(cuts[-CUTS_MAX:], mask, strict=True) if keep}
            live = [p for p in self.pieces if p.kind != "cut" or p.done or id(p) in kept_cuts]
            for content, kept in self._under(live):
                found.setdefault(content, kept | kept_cuts)
                if len(found) >= CONTENTS_MAX:
                    self.bounded = True
                    return list(found.items())
        return list(found.items())

    def _under(self, live: list[Piece]) -> Iterator[tuple[bytes, Kept]]:
        """The contents when just these cuts, among the live pieces, survive."""
        ground, sizes = bytes(self.durable.data), {len(self.durable.data): frozenset[int]()}
        blocks: dict[int, dict[bytes, Kept]] = {}
        for piece in live:
            if piece.kind == "cut":
                sizes = {piece.end: frozenset()}
                ground = ground[: piece.end]
                blocks = {b: _cut(states, piece.end - b * BLOCK) for b, states in blocks.items()}
            elif piece.kind == "grow":
                sizes = {piece.end: frozenset()} if piece.done else {**sizes, piece.end: frozenset({id(piece)})}
            else:
                start = piece.block * BLOCK
                states = blocks.get(piece.block) or {ground[start : start + BLOCK]: frozenset[int]()}
                blocks[piece.block] = self._after(states, piece)
        for size, grown in sorted(sizes.items(), key=lambda item: (len(item[1]), item[0])):
            seen = sorted(block for block in blocks if block * BLOCK < size)
            for chosen in product(*(blocks[block].items() for block in seen)):
                data = bytearray(ground[:size].ljust(size, b"\0"))
                kept = grown
                for block, (content, by) in zip(seen, chosen, strict=True):
                    room = min(BLOCK, size - block * BLOCK)
                    data[block * BLOCK : block * BLOCK + room] = content[:room].ljust(room, b"\0")
                    kept = kept | by
                yield bytes(data), kept

    def _after(self, states: dict[bytes, Kept], piece: Piece) -> dict[bytes, Kept]:
        """The contents of a block when one more piece may, or if it is durable must, have been applied to it."""
        out = {} if piece.done else dict(states)
        for content, kept in states.items():
            at = piece.start - piece.block * BLOCK
            after = content[:at].ljust(at, b"\0") + _payload(piece) + content[at + piece.end - piece.start :]
            out.setdefault(after, kept | {id(piece)})
        if len(out) > CONTENTS_MAX:
            self.bounded = True
            out = dict([*out.items()][: CONTENTS_MAX - 1] + [*out.items()][-1:])
        return out


def _payload(piece: Piece) -> bytes:
    if piece.kind == "garbage":
        return GARBAGE * (piece.end - piece.start)
    assert isinstance(piece.op, Write)
    return piece.op.data[piece.start - piece.op.offset : piece.end - piece.op.offset]


def _cut(states: dict[bytes, Kept], room: int) -> dict[bytes, Kept]:
    out: dict[bytes, Kept] = {}
    for content, kept in states.items():
        out.setdefault(content[: max(room, 0)], kept)
    return out


def _apply(data: bytes, size: int, piece: Piece) -> tuple[bytes, int]:
    """Content and size after one piece that certainly survives."""
    if piece.kind == "cut":
        return data[: piece.end], piece.end
    if piece.kind == "grow":
        return data, piece.end
    data = data.ljust(piece.start, b"\0")
    return data[: piece.start] + _payload(piece) + data[piece.end :], size
