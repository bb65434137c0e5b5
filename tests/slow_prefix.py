"""The model `prefix` said a second time, slowly and straight from its prose: every subset of all ops, tested.

Nothing is shared with `simfs.disk`: no pending lists, no folding of what is durable. All ops of a journal are taken; a
set of entry ops may survive if it holds what flushes covered and, with each op, the op before it in the chain of each
of its names (and of directory renames); of a file's content ops a prefix by bytes survives, not shorter than what the
last flush covered. Only trees are compared: path -> "dir", bytes, or "-> target".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from simfs.machine.inode import Image
from simfs.machine.ops import Create, Flush, FlushAll, Link, Op, Rename, Truncate, Unlink, Write

Tree = tuple[tuple[str, object], ...]


def names(op: Op) -> list[tuple[int, str]]:
    if isinstance(op, Rename):
        return [(op.src_dir, op.src_name), (op.dst_dir, op.dst_name)]
    assert isinstance(op, Create | Link | Unlink)
    return [(op.dir, op.name)]


def entry_sets(ops: Sequence[Op]) -> Iterator[list[Op]]:
    entries = [op for op in ops if isinstance(op, Create | Link | Unlink | Rename)]
    needs: list[set[int]] = []
    for at, op in enumerate(entries):
        earlier = set()
        for before in range(at):
            other = entries[before]
            both_move_dirs = isinstance(op, Rename) and isinstance(other, Rename) and op.is_dir and other.is_dir
            if both_move_dirs or set(names(op)) & set(names(other)):
                earlier.add(before)
        needs.append(earlier)
    covered: set[int] = set()
    for at, op in enumerate(entries):
        for flush in (later for later in ops if later.index > op.index):
            if isinstance(flush, FlushAll) or (
                isinstance(flush, Flush) and flush.is_dir and any(flush.ino == d for d, _ in names(op))
            ):
                covered.add(at)
    while True:
        more = {need for at in covered for need in needs[at]} | covered
        if more == covered:
            break
        covered = more
    for mask in product((False, True), repeat=len(entries)):
        kept = {at for at, keep in enumerate(mask) if keep}
        if covered <= kept and all(needs[at] <= kept for at in kept):
            yield [entries[at] for at in sorted(kept)]


def contents(ino: int, base: bytes, ops: Sequence[Op]) -> set[bytes]:
    mine = [op for op in ops if isinstance(op, Write | Truncate) and op.ino == ino]
    floor = 0
    for flush in ops:
        if isinstance(flush, FlushAll) or (isinstance(flush, Flush) and flush.ino == ino):
            floor = sum(1 for op in mine if op.index < flush.index)
    found = set()
    data = base
    for at, op in enumerate(mine):
        if at >= floor:
            found.add(data)
        if isinstance(op, Truncate):
            data = data[: op.size] + bytes(op.size - len(data[: op.size]))
            continue
        start = data
        for count in range(1, len(op.data) + 1):
            data = bytearray(start)
            data.extend(bytes(max(0, op.offset + count - len(data))))
            data[op.offset : op.offset + count] = op.data[:count]
            data = bytes(data)
            if at >= floor:
                found.add(data)
    found.add(data)
    return found


def trees(base: Image, ops: Sequence[Op]) -> set[Tree]:
    """Every tree that a power loss after `ops` may leave."""
    kinds = {ino: node.kind for ino, node in base.inodes.items()}
    targets = {ino: node.target for ino, node in base.inodes.items()}
    for op in ops:
        if isinstance(op, Create):
            kinds[op.ino], targets[op.ino] = op.kind, op.target
    old = {ino: bytes(node.data) for ino, node in base.inodes.items()}
    ways = {ino: sorted(contents(ino, old.get(ino, b""), ops)) for ino, kind in kinds.items() if kind == "file"}
    found: set[Tree] = set()
    for kept in entry_sets(ops):
        tables = {ino: dict(node.entries) for ino, node in base.inodes.items() if node.kind == "dir"}
        for op in kept:
            if isinstance(op, Rename):
                tables.setdefault(op.src_dir, {}).pop(op.src_name, None)
                tables.setdefault(op.dst_dir, {})[op.dst_name] = op.ino
                if op.exchange:
                    assert op.victim is not None
                    tables[op.src_dir][op.src_name] = op.victim
            elif isinstance(op, Unlink):
                tables.setdefault(op.dir, {}).pop(op.name, None)
            elif isinstance(op, Create | Link):
                tables.setdefault(op.dir, {})[op.name] = op.ino
        paths: dict[str, int] = {}
        stack = [("", base.root)]
        while stack:
            path, ino = stack.pop()
            for name, child in tables.get(ino, {}).items():
                paths[f"{path}/{name}"] = child
                if kinds[child] == "dir":
                    stack.append((f"{path}/{name}", child))
        files = sorted({ino for ino in paths.values() if kinds[ino] == "file"})
        for chosen in product(*(ways[ino] for ino in files)):
            data = dict(zip(files, chosen, strict=True))
            found.add(
                tuple(
                    sorted(
                        (path, "dir" if kinds[i] == "dir" else data[i] if kinds[i] == "file" else f"-> {targets[i]}")
                        for path, i in paths.items()
                    )
                )
            )
    return found
