"""One inode's content and attributes between flushes, under byte-prefix survival.

Model. Since the last flush that covered them, the content ops of a file (writes and truncations) are one sequence. A
power loss keeps a prefix of it, and of the last write kept a prefix of its bytes; a truncation is kept or lost whole.
Attribute ops (mode, owner, explicit times, xattrs) are a second sequence of which a prefix survives, independent of
the first. A file's mtime is the time of the last content op kept, or the explicit time if that was set later.

A flush that failed covers nothing, and what was pending at it is no longer dirty: each such op is kept or lost by
itself ("limbo") and no later flush covers it; ops issued afterwards are a new sequence.

Every byte is a cut up to CUT_EVERY_BYTE pending bytes. Beyond, cuts are taken around write, newline, 512- and
4,096-byte boundaries (one byte to either side) and inside multi-byte characters, and the enumeration says that it
was bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

from simfs.machine.inode import Inode
from simfs.machine.ops import ContentOp, Meta, Truncate, Write

CUT_EVERY_BYTE = 4096
BOUND = "byte cuts of more than 4096 pending bytes: write, newline, 512- and 4096-byte boundaries +-1, inside characters"
LIMBO_MAX = 6
LIMBO_BOUND = f"of more than {LIMBO_MAX} ops pending at a failed flush: all kept, all lost, or one lost"


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


def cuts(payload: bytes, every_byte: bool) -> list[int]:
    """How many bytes of `payload` may survive, from 1 to all but one, in increasing order."""
    size = len(payload)
    if every_byte:
        return list(range(1, size))
    points = {1, size - 1}
    for step in (512, 4096):
        for at in range(step, size, step):
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


@dataclass(slots=True, eq=False)
class Choice:
    """One way this inode may come out: the inode, and how many content ops, bytes of the next, limbo and meta ops."""

    node: Inode
    ops: int
    extra: int
    limbo: tuple[bool, ...]
    metas: int


@dataclass(slots=True, eq=False)
class FileState:
    """`durable` is what is covered; `pending`, `metas` and `limbo` are the ops since, in order."""

    durable: Inode
    pending: list[ContentOp] = field(default_factory=list)
    metas: list[Meta] = field(default_factory=list)
    limbo: list[ContentOp] = field(default_factory=list)
    bounded: bool = False
    limbo_bounded: bool = False
    _choices: list[Choice] | None = None
    _stays: set[int] = field(default_factory=set)
    """Indexes of limbo ops that a later flush covered: written again above a limbo, so durable."""

    def add(self, op: ContentOp | Meta) -> None:
        if isinstance(op, Meta):
            self.metas.append(op)
            self._choices = None
        else:
            self.pending.append(op)
            self._extend(op)

    @property
    def decided(self) -> bool:
        return not (self.pending or self.metas or self.limbo)

    def flush(self, contents: int, metas: int) -> None:
        """The first `contents` content ops and `metas` attribute ops are durable now."""
        if not contents and not metas:
            return
        if self.limbo:
            self._flush_over_limbo(contents)
            contents = 0
        node = self._with(self.pending[:contents], 0, self.metas[:metas], ())
        self.durable = node
        del self.pending[:contents]
        del self.metas[:metas]
        self._choices = None

    def _flush_over_limbo(self, contents: int) -> None:
        """Covered writes are durable whatever became of the limbo below them: they join it as ops that stay."""
        self.limbo.extend(self.pending[:contents])
        self._stays.update(op.index for op in self.pending[:contents])
        del self.pending[:contents]

    def fail(self, contents: int) -> None:
        """A flush failed while the first `contents` content ops were pending."""
        self.limbo.extend(self.pending[:contents])
        del self.pending[:contents]
        self._choices = None

    def _with(self, ops: list[ContentOp], extra: int, metas: list[Meta], limbo: tuple[bool, ...]) -> Inode:
        data = bytes(self.durable.data)
        last = -1
        time_ns = self.durable.mtime_ns
        node = self.durable.alias()
        for op, kept in zip(self.limbo, limbo, strict=bool(limbo)):
            if kept:
                data, last, time_ns = apply_content(data, op), op.index, op.time_ns
        for place, op in enumerate(ops):
            partial = extra if extra and place == len(ops) - 1 else None
            data, last, time_ns = apply_content(data, op, partial), op.index, op.time_ns
        node.data, node.mtime_ns, node.ctime_ns = data, time_ns, max(node.ctime_ns, time_ns)
        for meta in metas:
            apply_meta(node, meta)
            if meta.what == "times" and meta.index < last:
                node.mtime_ns = time_ns
        return node

    def choices(self) -> list[Choice]:
        """Every way the inode may come out, everything lost first, everything kept last."""
        if self._choices is None:
            self._choices = self._build()
        return self._choices

    def _extend(self, op: ContentOp) -> None:
        """Add to kept choices those that keep (part of) the op just issued; rebuild if that is not all that changes."""
        known = self._choices
        if known is None or self.metas or self.limbo or self._total() > CUT_EVERY_BYTE:
            self._choices = None
            return
        known.extend(self._keeping(len(self.pending) - 1, [], ()))

    def _total(self) -> int:
        return sum(len(op.data) for op in self.pending if isinstance(op, Write))

    def _keeping(self, place: int, metas: list[Meta], limbo: tuple[bool, ...]) -> list[Choice]:
        """The choices whose last content op kept, whole or in part, is `pending[place]`."""
        op = self.pending[place]
        out = []
        if isinstance(op, Write):
            every = self._total() <= CUT_EVERY_BYTE
            self.bounded |= not every
            before = self._with(self.pending[:place], 0, metas, limbo)
            data, size = bytes(before.data), len(op.data)
            for count in [*cuts(op.data, every), size]:
                node = before.alias()
                node.data = apply_content(data, op, count)
                node.mtime_ns = node.ctime_ns = op.time_ns
                if metas:
                    node = self._with(self.pending[: place + 1], count if count < size else 0, metas, limbo)
                whole = count == size
                out.append(Choice(node, place + whole, 0 if whole else count, limbo, len(metas)))
        else:
            out.append(Choice(self._with(self.pending[: place + 1], 0, metas, limbo), place + 1, 0, limbo, len(metas)))
        return out

    def _build(self) -> list[Choice]:
        out = []
        for limbo in self._limbo_masks():
            for count in range(len(self.metas) + 1):
                metas = self.metas[:count]
                out.append(Choice(self._with([], 0, metas, limbo), 0, 0, limbo, count))
                for place in range(len(self.pending)):
                    out.extend(self._keeping(place, metas, limbo))
        return out

    def _limbo_masks(self) -> list[tuple[bool, ...]]:
        size = len(self.limbo)
        stays = [op.index in self._stays for op in self.limbo]
        free = size - sum(stays)
        if free <= LIMBO_MAX:
            return [
                mask
                for mask in product((False, True), repeat=size)
                if all(kept or not stay for kept, stay in zip(mask, stays, strict=True))
            ]
        self.limbo_bounded = True
        masks = [tuple(stays), (True,) * size]
        masks.extend(tuple(i != lost or stays[i] for i in range(size)) for lost in range(size))
        return list(dict.fromkeys(masks))
