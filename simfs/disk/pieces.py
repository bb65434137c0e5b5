"""Entry ops taken apart, for models and options under which a rename is not atomic.

Model. A rename becomes: its old name goes, the name it replaces goes, its new name comes. An exchange: each of the two
names goes and comes back with the other inode. Every piece is an entry op of its own, with the number, the process and
the time of the call it is part of.
"""

from __future__ import annotations

from simfs.machine.ops import EntryOp, Link, Op, Rename, Unlink


def _as_part_of(op: Op, piece: EntryOp) -> EntryOp:
    piece.index, piece.process, piece.site = op.index, op.process, op.site
    piece.time_ns, piece.clock = op.time_ns, op.clock
    return piece


def pieces(op: EntryOp) -> list[EntryOp]:
    """The parts of the op, in order; an op that is no rename is its own only part."""
    if not isinstance(op, Rename):
        return [op]
    parts: list[EntryOp] = [Unlink(op.path, op.src_dir, op.src_name, op.ino, op.is_dir)]
    if op.victim is not None:
        parts.append(Unlink(op.to_path, op.dst_dir, op.dst_name, op.victim, op.is_dir))
    if op.exchange:
        assert op.victim is not None
        parts.append(Link(op.path, op.src_dir, op.src_name, op.victim))
    parts.append(Link(op.to_path, op.dst_dir, op.dst_name, op.ino))
    return [_as_part_of(op, part) for part in parts]


def torn_renames(op: Rename) -> list[list[EntryOp]]:
    """The ways in which a rename may be left half done: some of its parts, not all. A directory never has two names."""
    parts = pieces(op)
    out = []
    for mask in range(1, (1 << len(parts)) - 1):
        chosen = [part for at, part in enumerate(parts) if mask >> at & 1]
        if op.is_dir and _twice(op, chosen):
            continue
        out.append(chosen)
    return out


def _twice(op: Rename, parts: list[EntryOp]) -> bool:
    """Whether a directory would stand under two names."""
    gone = {(part.dir, part.name) for part in parts if isinstance(part, Unlink)}
    come = {(part.dir, part.name): part.ino for part in parts if isinstance(part, Link)}
    names = {(op.src_dir, op.src_name): op.ino}
    if op.victim is not None:
        names[op.dst_dir, op.dst_name] = op.victim
    after = {name: ino for name, ino in names.items() if name not in gone} | come
    return len(set(after.values())) < len(after)
