"""What a failed flush leaves behind: blocks that are no longer dirty and may or may not have reached the disk.

Model. A flush that failed covers nothing. Each 4 KiB block pending at it is kept or lost by itself, as the page cache
showed it; a later flush covers such a block only when it was written again, and then whole. A truncation pending at
it is one more unit: kept or lost, and the blocks only with it; a size is no block, so a later flush does cover it.
Where the last blocks are lost the file is shorter, where middle ones are it reads what was there before, or zeros.

A `Stage` is one failed flush, or one flush that succeeded above a failed one. Outcomes of a sequence of stages are
what applying them in order may give. Source: Rebello et al., "Can applications recover from fsync failures?" (ATC'20).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from simfs.machine.ops import ContentOp, Truncate

BLOCK = 4096
BLOCKS_MAX = 6
OUTCOMES_MAX = 256
LIMBO_BOUND = (
    f"of more than {BLOCKS_MAX} blocks pending at a failed flush: all kept, all lost, one kept or one lost; "
    f"{OUTCOMES_MAX} outcomes a file at most"
)

Kept = frozenset[tuple[int, int]]
"""(number of the stage, block) for each block kept; block -1 is the truncation."""


def blocks_touched(op: ContentOp) -> range:
    """The blocks of the file that the op makes dirty. Truncating inside a block dirties it; growing dirties none."""
    if isinstance(op, Truncate):
        inside = op.size < op.size_before and op.size % BLOCK
        return range(op.size // BLOCK, op.size // BLOCK + 1) if inside else range(0)
    return range(op.offset // BLOCK, (op.offset + max(len(op.data), 1) - 1) // BLOCK + 1) if op.data else range(0)


@dataclass(slots=True, eq=False)
class Stage:
    """Blocks of one flush, as the page cache showed them. `certain`: the flush returned success."""

    blocks: dict[int, bytes]
    size: int
    """Size of the file at the flush, bytes."""
    cut: int | None
    """Smallest size that a truncation pending at the flush set; None if there was none."""
    certain: bool
    cut_certain: bool
    ops: list[ContentOp]

    @staticmethod
    def of(ops: list[ContentOp], cached: bytes, certain: bool) -> Stage:
        """The stage for a flush of `ops`, after which the page cache holds `cached`."""
        cuts = [op.size for op in ops if isinstance(op, Truncate)]
        touched = sorted({block for op in ops for block in blocks_touched(op)})
        blocks = {b: cached[b * BLOCK : (b + 1) * BLOCK] for b in touched if b * BLOCK < len(cached)}
        return Stage(blocks, len(cached), min(cuts) if cuts else None, certain, certain, ops)

    def outcomes(self, data: bytes) -> Iterator[tuple[bytes, frozenset[int]]]:
        """What may stand on the disk after this stage when `data` stood there before, and the blocks kept."""
        if self.cut is not None:
            if not self.cut_certain:
                yield data, frozenset()
            data = data[: self.cut].ljust(self._grown(), b"\0")
        for kept in self._subsets():
            yield self._overlay(data, kept), kept if self.cut is None else kept | {-1}

    def _grown(self) -> int:
        """The size that a truncation upwards gives, or 0."""
        last = self.ops[-1]
        return last.size if isinstance(last, Truncate) else 0

    def _subsets(self) -> list[frozenset[int]]:
        every = list(self.blocks)
        if self.certain:
            return [frozenset(every)]
        if len(every) <= BLOCKS_MAX:
            masks = product((False, True), repeat=len(every))
            return [frozenset(b for b, keep in zip(every, mask, strict=True) if keep) for mask in masks]
        whole = frozenset(every)
        return [frozenset(), *(frozenset({b}) for b in every), *(whole - {b} for b in every), whole]

    def _overlay(self, data: bytes, kept: frozenset[int]) -> bytes:
        for block in sorted(kept):
            content = self.blocks[block]
            start = block * BLOCK
            data = data[:start].ljust(start, b"\0") + content + data[start + len(content) :]
        return data


def forget(stages: list[Stage], ops: list[ContentOp]) -> None:
    """A flush that returned covered `ops`: blocks they wrote are no longer in limbo, nor are earlier truncations."""
    touched = {block for op in ops for block in blocks_touched(op)}
    cuts = [op.size for op in ops if isinstance(op, Truncate)]
    ends = -(-min(cuts) // BLOCK) if cuts else None
    for stage in stages:
        stage.cut_certain = True
        stage.blocks = {b: v for b, v in stage.blocks.items() if b not in touched and (ends is None or b < ends)}


def outcomes(stages: list[Stage], data: bytes) -> tuple[list[tuple[bytes, Kept]], bool]:
    """Every content that the stages may leave of `data`, nothing kept first; and whether the list was cut short."""
    found: dict[bytes, Kept] = {data: frozenset()}
    bounded = any(len(stage.blocks) > BLOCKS_MAX and not stage.certain for stage in stages)
    for number, stage in enumerate(stages):
        following: dict[bytes, Kept] = {}
        for content, kept in found.items():
            for after, blocks in stage.outcomes(content):
                following.setdefault(after, kept | {(number, block) for block in blocks})
        bounded |= len(following) > OUTCOMES_MAX
        found = dict(list(following.items())[:OUTCOMES_MAX])
    return list(found.items()), bounded


def whole(stages: list[Stage], kept: Kept) -> bool:
    """Whether every truncation in limbo was kept: content issued afterwards survives only above all of them."""
    return all(stage.cut is None or stage.cut_certain or (n, -1) in kept for n, stage in enumerate(stages))


def with_blocks(stages: list[Stage], data: bytes, op: ContentOp) -> bytes:
    """`data` with the blocks in limbo that `op` writes again: they reach the disk whole, as the page cache has them."""
    touched = blocks_touched(op)
    for stage in stages:
        for block, content in stage.blocks.items():
            if block in touched:
                start = block * BLOCK
                data = data[:start].ljust(start, b"\0") + content + data[start + len(content) :]
    return data
