"""The disk model `prefix`: the seed documents' own, and the default.

Content: of the writes and truncations of a file since its last flush a byte prefix survives (`filestate.py`).
Names: of the entry ops since the last flush of either directory any downset survives, ordered by (directory, name)
(`entrystate.py`). Nothing orders the content of one file against another's, or content against names, except
flushes: a flush of a file covers its inode and never a name; a flush of a directory covers its names and no content.
A new inode with no surviving name is gone, with all its bytes. Times travel with their op.

Source: the seed on session state, D2.2: a crash "keeps flushed bytes and any prefix of unflushed bytes; can lose
unflushed directory entries", in our words and made precise by the rulings of the disk-model design.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import prod

from simfs.disk.entrystate import EntryState, NameChanges
from simfs.disk.filestate import BOUND, LIMBO_BOUND, Choice, FileState
from simfs.disk.model import Covers, Draw, Fate, Pick
from simfs.disk.namespace import Namespace
from simfs.machine.inode import DIGEST_MASK, Image, Inode
from simfs.machine.ops import (
    Create,
    FailedFlush,
    Flush,
    FlushAll,
    Link,
    Meta,
    Op,
    Rename,
    Truncate,
    Unlink,
    Write,
)

NAMESPACES_MAX = 4096
NAMESPACES_BOUND = f"at most {NAMESPACES_MAX} sets of directory entries a crash point"
LEAVES_MAX = 200_000
LEAVES_BOUND = f"at most {LEAVES_MAX} images a crash point"


class PrefixDisk:
    """One disk under byte-prefix and per-name survival."""

    def __init__(self, base: Image) -> None:
        self.base = base
        self.bounds: set[str] = set()
        self.files: dict[int, FileState] = {}
        self.entries = EntryState(NameChanges(base, {}, {}))
        self._namespaces: list[tuple[tuple[bool, ...], Namespace]] | None = None
        self._undecided: frozenset[int] = frozenset()

    def _file(self, ino: int) -> FileState:
        state = self.files.get(ino)
        if state is None:
            state = self.files[ino] = FileState(self.base.inodes[ino])
        return state

    def add(self, op: Op, covers: Covers | None = None) -> None:
        if isinstance(op, Write | Truncate):
            self._touch(op.ino, lambda state: state.add(op))
        elif isinstance(op, Create | Link | Unlink | Rename):
            if isinstance(op, Create):
                self.files[op.ino] = FileState(new_inode(op))
            self.entries.add(op)
            self._namespaces = None
        elif isinstance(op, Meta):
            self._touch(op.ino, lambda state: state.add(op))
        elif isinstance(op, Flush):
            self._flush_inode(op, covers)
            if op.is_dir:
                self._flush_names(lambda name_op: op.ino in directories(name_op), covers)
        elif isinstance(op, FlushAll):
            for ino in self.files:
                self._flush_inode(Flush(op.path, ino, False), covers)
            self._flush_names(lambda name_op: True, covers)
        elif isinstance(op, FailedFlush) and op.ino in self.files:
            self._touch(op.ino, lambda state: state.fail(covered(state.pending, covers)))

    def _touch(self, ino: int, change: Callable[[FileState], None]) -> None:
        state = self._file(ino)
        was_decided = state.decided
        change(state)
        if was_decided:
            self._namespaces = None

    def _flush_inode(self, op: Flush, covers: Covers | None) -> None:
        state = self.files.get(op.ino)
        if state is None or state.decided:
            return
        metas = 0 if op.data_only else covered(state.metas, covers)
        state.flush(covered(state.pending, covers), metas)
        self._namespaces = None

    def _flush_names(self, picks: Callable[[Op], bool], covers: Covers | None) -> None:
        chosen = picks if covers is None else (lambda op: picks(op) and covers(op))
        if self.entries.pending and self.entries.flush(chosen):
            self._namespaces = None

    def namespaces(self) -> list[tuple[tuple[bool, ...], Namespace]]:
        """Every set of names that may survive, with the part of the image it fixes; kept until something changes it."""
        if self._namespaces is None:
            made = {ino: state.durable for ino, state in self.files.items()}
            undecided = {ino: state for ino, state in self.files.items() if not state.decided}
            out: list[tuple[tuple[bool, ...], Namespace]] = []
            for kept in self.downsets():
                if len(out) == NAMESPACES_MAX:
                    self.bounds.add(NAMESPACES_BOUND)
                    break
                changes = self.entries.changes(kept)
                out.append((kept, Namespace.build(self.base, changes.tables, made, undecided, changes.times)))
            self._namespaces = out
        return self._namespaces

    def downsets(self) -> Iterator[tuple[bool, ...]]:
        return self.entries.downsets()

    def choices(self, ino: int) -> list[Choice]:
        """Every way the content and attributes of an undecided inode may come out."""
        state = self.files[ino]
        found = state.choices()
        if state.bounded:
            self.bounds.add(BOUND)
        if state.limbo_bounded:
            self.bounds.add(LIMBO_BOUND)
        return found

    def leaves(self, in_progress: Op | None = None) -> Iterator[tuple[int, Pick]]:
        budget = LEAVES_MAX
        for at, (_, namespace) in enumerate(self.namespaces()):
            digests = [self._digests(namespace, ino) for ino in namespace.open_inodes]
            if prod(map(len, digests)) > budget:
                self.bounds.add(LEAVES_BOUND)
            fixed = namespace.digest
            if not digests:
                yield fixed, (at,)
                budget -= 1
            elif len(digests) == 1:
                for place, digest in enumerate(digests[0][:budget]):
                    yield (fixed + digest) & DIGEST_MASK, (at, place)
                budget -= len(digests[0])
            else:
                for places in product(*(range(len(d)) for d in digests)):
                    total = fixed
                    for digest_list, place in zip(digests, places, strict=True):
                        total += digest_list[place]
                    yield total & DIGEST_MASK, (at, *places)
                    budget -= 1
                    if budget <= 0:
                        break
            if budget <= 0:
                return

    def _digests(self, namespace: Namespace, ino: int) -> list[int]:
        choices = self.choices(ino)
        if namespace.inodes[ino].kind == "dir":
            return [_named(namespace, choice.node).digest() for choice in choices]
        return [choice.node.digest() for choice in choices]

    def sample(self, draw: Draw, in_progress: Op | None = None) -> tuple[int, Pick]:
        namespaces = self.namespaces()
        at = draw(len(namespaces))
        namespace = namespaces[at][1]
        digest, pick = namespace.digest, [at]
        for ino in namespace.open_inodes:
            digests = self._digests(namespace, ino)
            place = draw(len(digests))
            digest += digests[place]
            pick.append(place)
        return digest & DIGEST_MASK, tuple(pick)

    def _picked(self, pick: Pick) -> tuple[tuple[bool, ...], Namespace, dict[int, Choice]]:
        namespaces = self.namespaces()
        if not pick or not 0 <= pick[0] < len(namespaces):
            raise ValueError(f"no set of directory entries {pick[:1]} at this crash point")
        kept, namespace = namespaces[pick[0]]
        if len(pick) != 1 + len(namespace.open_inodes):
            raise ValueError(f"pick {pick} does not fit the {len(namespace.open_inodes)} undecided files here")
        chosen = {}
        for ino, place in zip(namespace.open_inodes, pick[1:], strict=True):
            choices = self.choices(ino)
            if not 0 <= place < len(choices):
                raise ValueError(f"no survivor {place} of inode {ino} at this crash point")
            chosen[ino] = choices[place]
        return kept, namespace, chosen

    def image(self, pick: Pick, in_progress: Op | None = None) -> Image:
        _, namespace, chosen = self._picked(pick)
        return namespace.image(
            {ino: _named(namespace, c.node) if c.node.kind == "dir" else c.node for ino, c in chosen.items()}
        )

    def fates(self, pick: Pick, in_progress: Op | None = None) -> dict[int, str]:
        kept, namespace, chosen = self._picked(pick)
        out: dict[int, str] = {}
        for entry, keep in zip(self.entries.pending, kept, strict=True):
            out[entry.op.index] = Fate.KEPT if keep else Fate.LOST
        for ino, state in self.files.items():
            choice = chosen.get(ino)
            for place, op in enumerate(state.pending):
                if choice is None or place > choice.ops or (place == choice.ops and not choice.extra):
                    out[op.index] = Fate.LOST
                elif place < choice.ops:
                    out[op.index] = Fate.KEPT
                else:
                    assert isinstance(op, Write)
                    out[op.index] = f"{choice.extra} of {len(op.data)} bytes kept"
            for place, meta in enumerate(state.metas):
                out[meta.index] = Fate.KEPT if choice is not None and place < choice.metas else Fate.LOST
            for place, op in enumerate(state.limbo):
                out[op.index] = Fate.KEPT if choice is not None and choice.limbo[place] else Fate.LOST
        return out


def _named(namespace: Namespace, node: Inode) -> Inode:
    """A directory's chosen attributes with the entries that this namespace gives it."""
    node = node.alias()
    node.entries = namespace.inodes[node.ino].entries
    return node


def new_inode(op: Create) -> Inode:
    """The inode as it is made: empty."""
    return Inode(
        op.ino, op.kind, op.mode, op.uid, op.gid,
        atime_ns=op.time_ns, mtime_ns=op.time_ns, ctime_ns=op.time_ns, target=op.target,
    )  # fmt: skip


def covered(ops: list[Op] | list[Meta] | list[Write | Truncate], covers: Covers | None) -> int:
    """How many of `ops`, a sequence, a flush covers: those that happened before it, which are the first ones."""
    if covers is None:
        return len(ops)
    return sum(1 for op in ops if covers(op))


def directories(op: Op) -> tuple[int, ...]:
    """The directories whose flush covers this entry op."""
    if isinstance(op, Rename):
        return (op.src_dir, op.dst_dir)
    return (op.dir,) if isinstance(op, Create | Link | Unlink) else ()


class Prefix:
    """`prefix`: byte prefixes of content, downsets of names. Closed under loss."""

    name = "prefix"
    closed_under_loss = True

    def start(self, base: Image) -> PrefixDisk:
        return PrefixDisk(base)
