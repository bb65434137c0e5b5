"""The models `scc`, `synced-only` and `posix-weakest` said a second time, slowly: every subset of every part, tried.

Only the prose is shared with `simfs.disk`. No failed flushes. `posix-weakest` takes each content op apart into size,
garbage and data for each block and each rename into its names, tries all subsets, and keeps those with what flushes
covered; so programs must be small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from simfs.machine.inode import Image
from simfs.machine.ops import Create, Flush, FlushAll, Link, Op, Rename, Truncate, Unlink, Write

BLOCK = 4096
Tree = tuple[tuple[str, object], ...]
Content = tuple[int, dict[int, bytes]]


class World:
    """Names and contents while parts are applied."""

    def __init__(self, base: Image) -> None:
        self.kinds = {ino: node.kind for ino, node in base.inodes.items()}
        self.targets = {ino: node.target for ino, node in base.inodes.items()}
        self.tables = {ino: dict(node.entries) for ino, node in base.inodes.items() if node.kind == "dir"}
        self.data = {ino: bytes(node.data) for ino, node in base.inodes.items() if node.kind == "file"}
        self.root = base.root

    def note(self, op: Op) -> None:
        """Know the inode that the op makes."""
        if isinstance(op, Create):
            self.kinds[op.ino], self.targets[op.ino] = op.kind, op.target
            self.data.setdefault(op.ino, b"")

    def name(self, directory: int, name: str, ino: int | None) -> None:
        table = self.tables.setdefault(directory, {})
        if ino is None:
            table.pop(name, None)
        else:
            table[name] = ino

    def tree(self) -> Tree:
        out: list[tuple[str, object]] = []
        stack = [("", self.root)]
        while stack:
            path, ino = stack.pop()
            for name, child in self.tables.get(ino, {}).items():
                kind = self.kinds[child]
                if kind == "dir":
                    stack.append((f"{path}/{name}", child))
                what = (
                    "dir" if kind == "dir" else f"-> {self.targets[child]}" if kind == "symlink" else self.data[child]
                )
                out.append((f"{path}/{name}", what))
        return tuple(sorted(out))


def name_parts(op: Op) -> list[tuple[int, str, int | None]]:
    """(directory, name, what it holds afterwards) for each part of an entry op, in order."""
    if isinstance(op, Rename):
        parts: list[tuple[int, str, int | None]] = [(op.src_dir, op.src_name, None)]
        if op.victim is not None:
            parts.append((op.dst_dir, op.dst_name, None))
        if op.exchange:
            parts.append((op.src_dir, op.src_name, op.victim))
        return [*parts, (op.dst_dir, op.dst_name, op.ino)]
    if isinstance(op, Unlink):
        return [(op.dir, op.name, None)]
    assert isinstance(op, Create | Link)
    return [(op.dir, op.name, op.ino)]


def apply_whole(world: World, op: Op, count: int | None = None) -> None:
    """Do what the op does; of a write only the first `count` bytes if given."""
    world.note(op)
    if isinstance(op, Create | Link | Unlink | Rename):
        for part in name_parts(op):
            world.name(*part)
    elif isinstance(op, Truncate):
        world.data[op.ino] = world.data[op.ino][: op.size].ljust(op.size, b"\0")
    elif isinstance(op, Write):
        data = op.data[:count]
        old = world.data[op.ino]
        if data:
            world.data[op.ino] = old[: op.offset].ljust(op.offset, b"\0") + data + old[op.offset + len(data) :]


def scc_trees(base: Image, ops: Sequence[Op], following: Op | None) -> set[Tree]:
    found = set()
    cuts = [0]
    if isinstance(following, Write):
        cuts += [at for at in range(1, len(following.data)) if (following.offset + at) % BLOCK == 0]
    for count in cuts:
        world = World(base)
        for op in ops:
            apply_whole(world, op)
        if count:
            assert following is not None
            apply_whole(world, following, count)
        found.add(world.tree())
    return found


def covered(ops: Sequence[Op], at: int, inode: int, kind: str) -> bool:
    """Whether a later flush covers what the op at `at` did to a file ("file") or in a directory ("dir")."""
    return any(
        isinstance(op, FlushAll) or (isinstance(op, Flush) and op.ino == inode and op.is_dir == (kind == "dir"))
        for op in ops[at + 1 :]
    )


def synced_only_trees(base: Image, ops: Sequence[Op]) -> set[Tree]:
    entries = [(at, op) for at, op in enumerate(ops) if isinstance(op, Create | Link | Unlink | Rename)]
    kept = {at for at, op in entries if any(covered(ops, at, d, "dir") for d, _, _ in name_parts(op))}
    while True:
        names = {(d, n) for at in kept for d, n, _ in name_parts(ops[at])}
        last = {name: max(at for at in kept if name in {(d, n) for d, n, _ in name_parts(ops[at])}) for name in names}
        more = {at for at, op in entries for d, n, _ in name_parts(op) if (d, n) in last and at <= last[d, n]} | kept
        if more == kept:
            break
        kept = more
    found = set()
    for names_kept in (kept, {at for at, _ in entries}):
        world = World(base)
        for at, op in enumerate(ops):
            world.note(op)
            if at in names_kept or (isinstance(op, Write | Truncate) and covered(ops, at, op.ino, "file")):
                apply_whole(world, op)
        found.add(world.tree())
    return found


def content_parts(op: Write | Truncate) -> Iterator[tuple[str, int, int, bytes]]:
    """(what, start, end, bytes) for each part of a content op."""
    if isinstance(op, Truncate):
        yield "cut", op.size, op.size, b""
        return
    end = op.offset + len(op.data)
    at = op.offset
    while at < end:
        stop = min(end, (at // BLOCK + 1) * BLOCK)
        if stop > op.size_before:
            yield "size", at, stop, b""
            begin = max(at, op.size_before)
            yield "data", begin, stop, b"\xa5" * (stop - begin)
        yield "data", at, stop, op.data[at - op.offset : stop - op.offset]
        at = stop


def weakest_trees(base: Image, ops: Sequence[Op]) -> set[Tree]:
    names: list[tuple[int, str, int | None, bool]] = []
    contents: dict[int, list[tuple[str, int, int, bytes, bool]]] = {}
    blank = World(base)
    for at, op in enumerate(ops):
        blank.note(op)
        if isinstance(op, Create | Link | Unlink | Rename):
            names += [(d, n, ino, covered(ops, at, d, "dir")) for d, n, ino in name_parts(op)]
        elif isinstance(op, Write | Truncate):
            sure = covered(ops, at, op.ino, "file")
            contents.setdefault(op.ino, []).extend((*part, sure) for part in content_parts(op))
    ways = {ino: sorted(_subsets(blank.data[ino], parts)) for ino, parts in contents.items()}
    found: set[Tree] = set()
    seen: set[object] = set()
    for mask in product((False, True), repeat=len(names)):
        if any(sure and not keep for keep, (*_, sure) in zip(mask, names, strict=True)):
            continue
        world = World(base)
        world.kinds, world.targets = blank.kinds, blank.targets
        for keep, (directory, name, ino, _) in zip(mask, names, strict=True):
            if keep:
                world.name(directory, name, ino)
        shape = repr(sorted((d, sorted(t.items())) for d, t in world.tables.items()))
        homes = [ino for table in world.tables.values() for ino in table.values() if world.kinds[ino] == "dir"]
        if shape in seen or len(homes) > len(set(homes)):
            continue
        seen.add(shape)
        for chosen in product(*ways.values()):
            world.data = {**blank.data, **dict(zip(ways, chosen, strict=True))}
            found.add(world.tree())
    return found


def _subsets(base: bytes, parts: list[Any]) -> set[bytes]:
    found = set()
    for mask in product((False, True), repeat=len(parts)):
        if any(part[-1] and not keep for keep, part in zip(mask, parts, strict=True)):
            continue
        size, data = len(base), base
        for keep, (what, start, end, new, _) in zip(mask, parts, strict=True):
            if not keep:
                continue
            if what == "cut":
                size, data = end, data[:end]
            elif what == "size":
                size = end
            else:
                data = data[:start].ljust(start, b"\0") + new + data[end:]
        found.add(data[:size].ljust(size, b"\0"))
    return found
