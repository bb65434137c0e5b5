"""The model `ext4` said a second time, as a machine that runs: page cache, space, data and a metadata sequence.

Where `simfs.disk` reasons about which versions and sizes may be left, this runs the program on a small kernel whose
background writeback may do its next thing at any moment, follows every such run, and cuts the power at the end. What
is shared is the prose only. Files of a few blocks and programs of a few steps; no failed flushes, no options, no times.

The sequence holds: ("names", op), ("touch", ino), ("size", ino, n), ("space", ino, block, life), and
("cut", ino, n, ((block, next life), ...)). "space" makes a block readable; before it the block reads as zeros. A run is
kept as a value, so that equal ones meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simfs.machine.inode import Image
from simfs.machine.ops import Close, Create, Flush, FlushAll, Link, Op, Rename, Truncate, Unlink, Write

BLOCK = 4096
Tree = tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class Block:
    """One block in the page cache and on the disk. `space`: allocated."""

    disk: bytes = b""
    space: bool = False
    readable: bool = False
    dirty: bool = False
    owes: bool = False
    """Holds appended bytes that are not on the disk."""
    life: int = 0


@dataclass(frozen=True)
class File:
    cache: bytes
    blocks: tuple[Block, ...]
    disk_size: int
    truncated: bool = False

    def page(self, at: int) -> bytes:
        return self.cache[at * BLOCK : (at + 1) * BLOCK]


@dataclass(frozen=True)
class State:
    files: tuple[tuple[int, File], ...]
    sequence: tuple[tuple[Any, ...], ...] = ()
    committed: int = 0
    disk: tuple[tuple[tuple[int, int, int], bytes], ...] = ()
    """(inode, block, life) -> bytes on the disk."""

    def file(self, ino: int) -> File:
        return dict(self.files)[ino]

    def with_file(self, ino: int, file: File) -> State:
        return replace(self, files=tuple(sorted({**dict(self.files), ino: file}.items(), key=lambda item: item[0])))

    def log(self, *entry: Any) -> State:
        return replace(self, sequence=(*self.sequence, entry))

    def put(self, ino: int, block: int, life: int, data: bytes) -> State:
        return replace(self, disk=tuple(sorted({**dict(self.disk), (ino, block, life): data}.items())))


def _blocks(file: File, count: int) -> list[Block]:
    return [*file.blocks, *[Block()] * (count - len(file.blocks))]


def start(base: Image) -> State:
    state = State(())
    for ino, node in base.inodes.items():
        if node.kind == "file":
            data = bytes(node.data)
            count = -(-len(data) // BLOCK)
            state = state.with_file(
                ino, File(data, (Block(space=True, readable=True),) * count, len(data))
            )
            for at in range(count):
                state = state.put(ino, at, 0, data[at * BLOCK : (at + 1) * BLOCK])
    return state


def find_space(state: State, ino: int, at: int) -> State:
    """Give one block space; the size on the disk follows."""
    file = state.file(ino)
    blocks = list(file.blocks)
    blocks[at] = replace(blocks[at], space=True)
    size = max(file.disk_size, min(len(file.cache), (at + 1) * BLOCK))
    state = state.with_file(ino, replace(file, blocks=tuple(blocks), disk_size=size))
    return state.log("size", ino, size) if size > file.disk_size else state


def write_back(state: State, ino: int, at: int) -> State:
    """Put one block on the disk as the cache shows it."""
    file = state.file(ino)
    block = file.blocks[at]
    state = state.put(ino, at, block.life, file.page(at))
    if not block.readable:
        state = state.log("space", ino, at, block.life)
    blocks = list(file.blocks)
    blocks[at] = replace(block, dirty=False, readable=True, owes=False)
    return state.with_file(ino, replace(state.file(ino), blocks=tuple(blocks)))


def background(state: State) -> Iterator[State]:
    """Each thing that writeback may do next."""
    for ino, file in state.files:
        waiting = [at for at, block in enumerate(file.blocks) if block.dirty and not block.space]
        if waiting:
            yield find_space(state, ino, waiting[0])
        for at, block in enumerate(file.blocks):
            if block.dirty and block.space and not (block.owes and any(lower.owes for lower in file.blocks[:at])):
                yield write_back(state, ino, at)


def closure(states: set[State]) -> set[State]:
    found, stack = set(states), list(states)
    while stack:
        for following in background(stack.pop()):
            if following not in found:
                found.add(following)
                stack.append(following)
    return found


def find_all_space(state: State, ino: int) -> State:
    """A call of the program starts writeback of what still waits for space."""
    for at, block in enumerate(state.file(ino).blocks):
        if block.dirty and not block.space:
            state = find_space(state, ino, at)
    return state


def write(state: State, op: Write) -> State:
    file = state.file(op.ino)
    before, end = len(file.cache), op.offset + len(op.data)
    cache = file.cache.ljust(op.offset, b"\0")
    cache = cache[: op.offset] + op.data + cache[end:]
    blocks = _blocks(file, -(-len(cache) // BLOCK))
    state = state.log("touch", op.ino)
    size = file.disk_size
    for at in range(op.offset // BLOCK, (end - 1) // BLOCK + 1):
        appends = min(end, (at + 1) * BLOCK) > before
        if appends and at == before // BLOCK and before % BLOCK and blocks[at].space:
            size = max(size, min(len(cache), (at + 1) * BLOCK))
            state = state.log("size", op.ino, size)
        blocks[at] = replace(blocks[at], dirty=True, owes=blocks[at].owes or appends)
    return state.with_file(op.ino, replace(file, cache=cache, blocks=tuple(blocks), disk_size=size))


def truncate(state: State, op: Truncate) -> State:
    file = state.file(op.ino)
    cache = file.cache[: op.size].ljust(op.size, b"\0")
    blocks = _blocks(file, -(-max(op.size, len(file.cache)) // BLOCK))
    freed = range(-(-op.size // BLOCK), len(blocks) if op.size < len(file.cache) else 0)
    state = state.log("cut", op.ino, op.size, tuple((at, blocks[at].life + 1) for at in freed))
    if op.size < len(file.cache):
        for at in freed:
            blocks[at] = Block(life=blocks[at].life + 1)
        if op.size % BLOCK:
            at = op.size // BLOCK
            blocks[at] = replace(blocks[at], dirty=True)
    file = replace(file, truncated=file.truncated or op.size == 0)
    return state.with_file(op.ino, replace(file, cache=cache, blocks=tuple(blocks), disk_size=op.size))


def flush_data(state: State, ino: int) -> State:
    state = find_all_space(state, ino)
    for at, block in enumerate(state.file(ino).blocks):
        if block.dirty:
            state = write_back(state, ino, at)
    return state


def concerns(entry: tuple[Any, ...], ino: int, data_only: bool) -> bool:
    """Whether a flush of the inode waits for this entry of the sequence."""
    if entry[0] == "names":
        op = entry[1]
        if data_only:
            return isinstance(op, Create) and op.ino == ino
        return op.ino == ino or (isinstance(op, Rename) and op.victim == ino)
    return entry[1] == ino and not (data_only and entry[0] == "touch")


def flush(state: State, op: Flush) -> State:
    if op.is_dir:
        return replace(state, committed=len(state.sequence))
    if op.ino in dict(state.files):
        state = flush_data(state, op.ino)
    last = max((at + 1 for at, e in enumerate(state.sequence) if concerns(e, op.ino, op.data_only)), default=0)
    return replace(state, committed=max(state.committed, last))


def issue(state: State, op: Op) -> State:
    if isinstance(op, Create):
        if op.kind == "file":
            state = state.with_file(op.ino, File(b"", (), 0))
        return state.log("names", op)
    if isinstance(op, Link | Unlink):
        return state.log("names", op)
    if isinstance(op, Rename):
        if op.victim is not None and not op.exchange and not op.is_dir and op.ino in dict(state.files):
            state = find_all_space(state, op.ino)
        return state.log("names", op)
    if isinstance(op, Write):
        return write(state, op) if op.data else state
    if isinstance(op, Truncate):
        return truncate(state, op)
    if isinstance(op, Flush):
        return flush(state, op)
    if isinstance(op, FlushAll):
        for ino, _ in state.files:
            state = flush_data(state, ino)
        return replace(state, committed=len(state.sequence))
    if isinstance(op, Close):
        file = state.file(op.ino)
        if file.truncated:
            state = find_all_space(state.with_file(op.ino, replace(file, truncated=False)), op.ino)
    return state


def tree(base: Image, state: State, upto: int) -> Tree:
    """What is there when the first `upto` entries of the sequence survive."""
    tables = {ino: dict(node.entries) for ino, node in base.inodes.items() if node.kind == "dir"}
    kinds = {ino: node.kind for ino, node in base.inodes.items()}
    targets = {ino: node.target for ino, node in base.inodes.items()}
    sizes = {ino: len(node.data) for ino, node in base.inodes.items()}
    lives: dict[tuple[int, int], tuple[int, bool]] = {}
    """(inode, block) -> its life, and whether it can be read."""
    for ino, node in base.inodes.items():
        for at in range(-(-len(node.data) // BLOCK)):
            lives[ino, at] = (0, True)
    for kind, what, *rest in state.sequence[:upto]:
        if kind == "size":
            sizes[what] = rest[0]
        elif kind == "space":
            lives[what, rest[0]] = (rest[1], True)
        elif kind == "cut":
            lives.update({(what, at): (life, False) for at, life in rest[1]})
            sizes[what] = rest[0]
        elif kind == "names":
            if isinstance(what, Create):
                kinds[what.ino], targets[what.ino] = what.kind, what.target
            change_names(tables, what)
    out: list[tuple[str, object]] = []
    stack = [("", base.root)]
    disk = dict(state.disk)
    while stack:
        path, ino = stack.pop()
        for name, child in tables.get(ino, {}).items():
            if kinds[child] == "dir":
                out.append((f"{path}/{name}", "dir"))
                stack.append((f"{path}/{name}", child))
                continue
            if kinds[child] == "symlink":
                out.append((f"{path}/{name}", f"-> {targets[child]}"))
                continue
            size = sizes.get(child, 0)
            data = b""
            for at in range(-(-size // BLOCK)):
                number, readable = lives.get((child, at), (0, False))
                data += (disk.get((child, at, number), b"") if readable else b"")[:BLOCK].ljust(BLOCK, b"\0")
            out.append((f"{path}/{name}", data[:size]))
    return tuple(sorted(out))


def change_names(tables: dict[int, dict[str, int]], op: Op) -> None:
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


def trees(base: Image, ops: Sequence[Op]) -> set[Tree]:
    """Every tree that a power loss after `ops` may leave."""
    states = closure({start(base)})
    for op in ops:
        states = closure({issue(state, op) for state in states})
    found = set()
    for state in states:
        for upto in range(state.committed, len(state.sequence) + 1):
            found.add(tree(base, state, upto))
    return found
