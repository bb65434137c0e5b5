"""One inode's content and attributes between flushes, under byte-prefix survival.

Model. Since the last flush that covered them, the content ops of a file (writes and truncations) are one sequence. A
power loss keeps a prefix of it, and of the last write kept a prefix of its bytes; a truncation is kept or lost whole.
Attribute ops (mode, owner, explicit times, xattrs) are a second sequence of which a prefix survives, independent of
the first. A file's mtime is the time of the last content op kept, or the explicit time if that was set later.

A flush that failed covers nothing, and what was pending at it is kept or lost block by block (`limbo.py`); ops issued
afterwards are a new sequence above it. Writing to such a block writes it whole, with what the page cache shows of it.

Every byte is a cut up to CUT_EVERY_BYTE pending bytes. Beyond, cuts are taken around write, newline, 512- and
4,096-byte boundaries (one byte to either side) and inside multi-byte characters, and the enumeration says that it
was bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simfs.disk.limbo import Kept, Stage, blocks_touched, forget, outcomes, whole, with_blocks
from simfs.disk.worlds import Way, Ways
from simfs.machine.inode import Inode
from simfs.machine.ops import ContentOp, Create, Meta, Truncate, Write, op_key

CUT_EVERY_BYTE = 4096
BOUND = "byte cuts above 4096 pending bytes: write, newline, 512- and 4096-byte boundaries +-1, inside characters"


def apply_content(data: bytes, op: ContentOp, count: int | None = None) -> bytes:
    """`data` after the first `count` bytes of a write (all by default), or after a truncation."""
    if isinstance(op, Truncate):
        return data[: op.size].ljust(op.size, b"\0")
    payload = op.data if count is None else op.data[:count]
    if len(data) < op.offset:
        data = data.ljust(op.offset, b"\0")
    return data[: op.offset] + payload + data[op.offset + len(payload) :]


def apply_meta(node: Inode, op: Meta) -> None:
    """Set on `node` (a private copy) what the attribute op sets."""
    value = op.value
    if op.what == "mode":
        assert isinstance(value, int)
        node.mode = value
    elif op.what == "owner":
        assert isinstance(value, tuple)
        node.uid, node.gid = value
    elif op.what == "times":
        assert isinstance(value, tuple)
        node.atime_ns, node.mtime_ns = value
    else:
        assert isinstance(value, tuple)
        name, content = value
        node.xattrs = {k: v for k, v in node.xattrs.items() if k != name}
        if content is not None:
            node.xattrs[name] = content
    node.ctime_ns = op.time_ns


def cuts(payload: bytes, every_byte: bool, offset: int = 0) -> list[int]:
    """How many bytes of `payload`, written at `offset`, may survive: from 1 to all but one, in increasing order."""
    size = len(payload)
    if every_byte:
        return list(range(1, size))
    points = {1, size - 1}
    for at in range(512 - offset % 512, size, 512):
        points.update((at - 1, at, at + 1))
    at = payload.find(b"\n")
    while at >= 0:
        points.update((at, at + 1, at + 2))
        at = payload.find(b"\n", at + 1)
    text = payload.decode("utf-8", "replace")
    if len(text) != size:
        inside = [i for i in range(1, size) if payload[i] & 0xC0 == 0x80]
        points.update(inside if len(inside) <= 64 else inside[:32] + inside[-32:])
    return sorted(p for p in points if 0 < p < size)


def new_inode(op: Create, device: int = 0) -> Inode:
    """The inode as it is made: empty."""
    return Inode(
        op.ino, op.kind, op.mode, op.uid, op.gid,
        atime_ns=op.time_ns, mtime_ns=op.time_ns, ctime_ns=op.time_ns, target=op.target, device=device,
        reused=op.reused,
    )  # fmt: skip


@dataclass(slots=True, frozen=True)
class Survivor:
    """What one way keeps: so many content ops whole, bytes of the next, attribute ops, and blocks in limbo."""

    ops: int
    extra: int
    metas: int
    limbo: Kept


@dataclass(slots=True, eq=False)
class FileState:
    """`durable` is what is covered, `stages` what failed flushes left unsure, `pending` and `metas` the ops since."""

    durable: Inode
    pending: list[ContentOp] = field(default_factory=list)
    metas: list[Meta] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    bounded: bool = False
    limbo_bounded: bool = False
    _ways: Ways | None = None
    _settled: int = -1
    """Index of the last content op in `durable` or `stages`."""
    _settled_ns: int = 0
    """Its time (ns), as long as `durable` does not show it."""
    _full: bytes | None = None
    """What the page cache holds: everything kept. None until somebody asks."""

    def add(self, op: ContentOp | Meta) -> None:
        """Issue an op of this inode."""
        if isinstance(op, Meta):
            self.metas.append(op)
            self._ways = None
            return
        before = self.full()
        self.pending.append(op)
        self._full = apply_content(before, op)
        if self._ways is not None:
            if self.metas or self.stages or self._total() > CUT_EVERY_BYTE:
                self._ways = None
            else:
                self._ways.ways.extend(self._keeping(len(self.pending) - 1, before, 0, frozenset()))

    @property
    def decided(self) -> bool:
        """Whether there is only one way."""
        return not (self.pending or self.metas or self.stages)

    @property
    def grows(self) -> bool:
        """Whether the list that `ways` answered before is still the one, with more at its end."""
        return self._ways is not None

    def situation(self) -> object | None:
        """Equal for states that may come out in the same ways; None where a failed flush makes that hard to say."""
        if self.stages:
            return None
        since = sorted((*self.pending, *self.metas), key=lambda op: op.index)
        newer = tuple(meta.index > self._settled for meta in self.metas)
        return self.durable.digest(), self._settled_ns, newer, tuple(map(op_key, since))

    def full(self) -> bytes:
        """The content that the page cache holds: every op applied."""
        if self._full is None:
            self._full = bytes(self.durable.data)
        return self._full

    def _settle(self, contents: int) -> list[ContentOp]:
        taken = self.pending[:contents]
        del self.pending[:contents]
        if taken:
            self._settled, self._settled_ns = taken[-1].index, taken[-1].time_ns
        self._ways = None
        return taken

    def flush(self, contents: int, metas: int) -> None:
        """The first `contents` content ops and `metas` attribute ops are durable now."""
        if not contents and not metas and not self.stages:
            return
        cached = self._cached(contents)
        taken = self._settle(contents)
        if self.stages:
            forget(self.stages, taken)
            if taken:
                self.stages.append(Stage.of(taken, cached, True))
            if not any(stage.blocks for stage in self.stages if not stage.certain):
                cached = outcomes(self.stages, bytes(self.durable.data))[0][-1][0]
                self.stages = []
        if not self.stages:
            self.durable = self._node(cached, self._settled, self._settled_ns, 0)
            self._settled_ns = 0
            if not self.pending:
                self._full = cached
        if metas:
            node = self.durable.alias()
            self._apply_metas(node, metas, self._settled, self._settled_ns or node.mtime_ns)
            if any(meta.what == "times" and meta.index > self._settled for meta in self.metas[:metas]):
                self._settled_ns = 0
            self.durable = node
            del self.metas[:metas]

    def fail(self, contents: int) -> None:
        """A flush failed while the first `contents` content ops were pending."""
        cached = self._cached(contents)
        taken = self._settle(contents)
        if taken:
            self.stages.append(Stage.of(taken, cached, False))

    def _cached(self, contents: int) -> bytes:
        """What the page cache held after the first `contents` pending ops."""
        if contents == len(self.pending):
            return self.full()
        data = bytes(self.durable.data)
        for stage in self.stages:
            for op in stage.ops:
                data = apply_content(data, op)
        for op in self.pending[:contents]:
            data = apply_content(data, op)
        return data

    def _node(self, data: bytes, last: int, time_ns: int, metas: int) -> Inode:
        """The inode with this content, of which the op `last`, issued at `time_ns`, is the newest part kept."""
        node = self.durable.alias()
        node.data = data
        if time_ns:
            node.mtime_ns, node.ctime_ns = time_ns, max(node.ctime_ns, time_ns)
        self._apply_metas(node, metas, last, node.mtime_ns)
        return node

    def _apply_metas(self, node: Inode, metas: int, last: int, mtime_ns: int) -> None:
        for meta in self.metas[:metas]:
            apply_meta(node, meta)
            if meta.what == "times" and meta.index < last:
                node.mtime_ns = mtime_ns

    def ways(self) -> Ways:
        """Every way the inode may come out, everything lost first, everything kept last."""
        if self._ways is None:
            self._ways = Ways(self._build())
        return self._ways

    def lost(self) -> Ways:
        """The one way that keeps nothing but what is durable."""
        content, kept = outcomes(self.stages, bytes(self.durable.data))[0][0]
        return Ways([Way(self._node(content, self._settled, self._settled_ns, 0), Survivor(0, 0, 0, kept))])

    def _total(self) -> int:
        return sum(len(op.data) for op in self.pending if isinstance(op, Write))

    def _keeping(self, place: int, before: bytes, metas: int, limbo: Kept) -> list[Way]:
        """The ways whose last content op kept, whole or in part, is `pending[place]`, issued above `before`."""
        op = self.pending[place]
        if isinstance(op, Truncate):
            node = self._node(apply_content(before, op), op.index, op.time_ns, metas)
            return [Way(node, Survivor(place + 1, 0, metas, limbo))]
        out = []
        every = self._total() <= CUT_EVERY_BYTE
        self.bounded |= not every
        for count in cuts(op.data, every, op.offset):
            node = self._node(apply_content(before, op, count), op.index, op.time_ns, metas)
            out.append(Way(node, Survivor(place, count, metas, limbo)))
        node = self._node(apply_content(before, op), op.index, op.time_ns, metas)
        out.append(Way(node, Survivor(place + 1, 0, metas, limbo)))
        return out

    def _build(self) -> list[Way]:
        out = []
        contents, self.limbo_bounded = outcomes(self.stages, bytes(self.durable.data))
        for content, limbo in contents:
            for metas in range(len(self.metas) + 1):
                data = content
                out.append(Way(self._node(data, self._settled, self._settled_ns, metas), Survivor(0, 0, metas, limbo)))
                for place, op in enumerate(self.pending if whole(self.stages, limbo) else ()):
                    data = with_blocks(self.stages, data, op)
                    out.extend(self._keeping(place, data, metas, limbo))
                    data = apply_content(data, op)
        return out

    def fates(self, kept: Survivor | None) -> dict[int, tuple[int, int]]:
        """Op index -> (bytes or units kept, of how many) for every op not durable; `kept` None: all lost."""
        out: dict[int, tuple[int, int]] = {}
        for place, op in enumerate(self.pending):
            size = len(op.data) if isinstance(op, Write) else 1
            whole = kept is not None and place < kept.ops
            part = kept.extra if kept is not None and place == kept.ops else 0
            out[op.index] = (size if whole else part, size)
        for place, meta in enumerate(self.metas):
            out[meta.index] = (int(kept is not None and place < kept.metas), 1)
        for number, stage in enumerate(self.stages):
            for op in stage.ops:
                units = [(number, b) for b in blocks_touched(op)] if isinstance(op, Write) else [(number, -1)]
                there = sum(1 for unit in units if kept is not None and unit in kept.limbo)
                out[op.index] = (there, len(units))
        return out
