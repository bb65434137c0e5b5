"""A program with other flushes than it has, without changing or running it: a disk model that adds or leaves out some.

Model. A flush changes nothing that a program sees; it only decides what a power loss may leave. So a program with one
more flush makes the same runs, and its crash images are those of the same op journal with one flush more in it. An
*added flush* follows each call made at one call site: it is issued just before the next op of the same process (or, to
ask how long it may wait, before the next op made at another site). A *dropped flush* is the flush at one call site,
never issued.

A crash between a call and the flush added after it is still a crash point, so a patched model is not closed under loss:
every point is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from simfs.disk.model import Covers, Disk, DiskModel, Draw, Pick
from simfs.machine.inode import Image
from simfs.machine.ops import (
    Ack,
    Create,
    Effect,
    Flush,
    FlushAll,
    Link,
    Meta,
    Note,
    Op,
    Rename,
    Truncate,
    Unlink,
    Write,
)
from simfs.machine.site import Site

What = Literal["file", "directory", "source directory"]
Key = tuple[Site, str]
"""A call site and what was called there."""


def call_of(op: Op) -> str:
    """What the op is called in prose."""
    if isinstance(op, Create):
        return {"file": "creation", "dir": "mkdir", "symlink": "symlink"}[op.kind]
    names: dict[type[Op], str] = {
        Write: "write", Truncate: "truncation", Link: "link", Unlink: "unlink", Rename: "rename", Meta: "change",
        Flush: "flush", FlushAll: "sync", Ack: "promise", Effect: "effect",
    }  # fmt: skip
    return names.get(type(op), type(op).__name__.lower())


def key_of(op: Op) -> Key | None:
    """What the op is found again by in another run; None for one without a call site."""
    return None if op.site is None else (op.site, call_of(op))


@dataclass(frozen=True, slots=True)
class AddedFlush:
    """A flush of `what`, after each `call` at `site`. `until`: issued only before the next op of that key."""

    site: Site
    call: str
    what: What
    path: str = field(compare=False)
    """What is flushed, as one run named it."""
    until: Key | None = None

    def __str__(self) -> str:
        kind = "file" if self.what == "file" else "directory"
        return f"fsync the {kind} {self.path} after the {self.call} at {self.site}"

    def flush_for(self, op: Op) -> Flush | None:
        """The flush to issue after `op`, if it was made there."""
        if op.site != self.site or call_of(op) != self.call:
            return None
        found = _target(op, self.what)
        if found is None:
            return None
        flush = Flush(found[1], found[0], self.what != "file")
        flush.index, flush.process, flush.time_ns, flush.clock = op.index, op.process, op.time_ns, op.clock
        return flush


def _target(op: Op, what: What) -> tuple[int, str] | None:
    """(inode, path) of what a flush after `op` would flush."""
    if what == "file":
        return (op.ino, op.path) if isinstance(op, Write | Truncate) else None
    if isinstance(op, Create | Link | Unlink) and op.dir and what == "directory":
        return op.dir, str(PurePosixPath(op.path).parent)
    if isinstance(op, Rename) and what == "directory":
        return op.dst_dir, str(PurePosixPath(op.to_path).parent)
    if isinstance(op, Rename) and op.src_dir != op.dst_dir:
        return op.src_dir, str(PurePosixPath(op.path).parent)
    return None


def flushes_after(op: Op) -> Iterator[AddedFlush]:
    """The flushes that could be added after a call: of the file it wrote, of each directory it changed."""
    kinds: tuple[What, ...] = ("file", "directory", "source directory")
    for what in kinds:
        found = _target(op, what)
        if found is not None and op.site is not None:
            yield AddedFlush(op.site, call_of(op), what, found[1])


class PatchedDisk:
    """A disk to which some flushes are issued besides, and some not at all."""

    def __init__(self, below: Disk, added: Sequence[AddedFlush], dropped: frozenset[Site]) -> None:
        self.below, self.added, self.dropped = below, added, dropped
        self.bounds = below.bounds
        self.due: list[tuple[AddedFlush, Flush, Op]] = []

    def add(self, op: Op, covers: Covers | None = None) -> None:
        self._issue_before(op)
        if not (isinstance(op, Flush | FlushAll) and op.site in self.dropped):
            self.below.add(op, covers)
        for rule in self.added:
            flush = rule.flush_for(op)
            if flush is not None:
                self.due.append((rule, flush, op))

    def _issue_before(self, following: Op) -> None:
        """Issue what is due before this op of its process."""
        if not self.due:
            return
        waiting = []
        for due in self.due:
            rule, flush, after = due
            if _comes_after(following, rule, after):
                self.below.add(flush, _covers(after))
            else:
                waiting.append(due)
        self.due = waiting

    def leaves(self, in_progress: Op | None = None) -> Iterator[tuple[int, Pick]]:
        return self.below.leaves(in_progress)

    def sample(self, draw: Draw, in_progress: Op | None = None) -> tuple[int, Pick]:
        return self.below.sample(draw, in_progress)

    def image(self, pick: Pick, in_progress: Op | None = None) -> Image:
        return self.below.image(pick, in_progress)

    def fates(self, pick: Pick, in_progress: Op | None = None) -> dict[int, str]:
        return self.below.fates(pick, in_progress)


def _comes_after(following: Op, rule: AddedFlush, after: Op) -> bool:
    """Whether a flush added after `after` has returned by the time of `following`. A note is no time to wait for: the
    process may still be in the flush; but what another process does after it has seen the note is."""
    if following.process == after.process:
        return not isinstance(following, Note) and rule.until in (None, key_of(following))
    clock = following.clock
    return bool(clock) and rule.until is None and clock[after.process] > after.clock[after.process]


def _covers(after: Op) -> Covers | None:
    """An added flush covers what happens before the call that it follows, and that call."""
    if not after.clock:
        return None
    return lambda earlier: after.clock[earlier.process] >= earlier.clock[earlier.process]


@dataclass(frozen=True, slots=True)
class PatchedModel:
    """`model`, for a program with these flushes added and those call sites' flushes dropped."""

    model: DiskModel
    added: tuple[AddedFlush, ...] = ()
    dropped: frozenset[Site] = frozenset()
    closed_under_loss: bool = False

    @property
    def name(self) -> str:
        return self.model.name

    def start(self, base: Image) -> PatchedDisk:
        return PatchedDisk(self.model.start(base), self.added, self.dropped)
