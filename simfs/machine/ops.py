"""The vocabulary of the op journal: one `Op` for each thing that a simulated process did to the world.

Model. Every mutating system call becomes one op, or several in order where the kernel would do several (an O_SYNC
write is a `Write`, then a `Flush`). Opening with O_CREAT makes a `Create`; opening with O_TRUNC a `Truncate`; a call
that failed makes none, except a failed flush, which changes what later flushes cover. Promises and effects
(`Ack`, `Effect`) stand in the same list, so that what had been promised when the power went is a question of order.

An op names inodes by number, never by path: the paths in it are for people. Everything that a disk model needs to
compute what may survive is in the op, so nothing downstream ever looks at the machine that recorded it.

Ops are written once by the journal and never changed after the run. Sizes and offsets are bytes, times are
nanoseconds of the simulated wall clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from simfs.machine.site import Site

FileKind = Literal["file", "dir", "symlink"]
MetaKind = Literal["mode", "owner", "times", "xattr"]


@dataclass(slots=True, eq=False)
class Op:
    """One entry of the op journal. `path` is the absolute path as the process meant it, for people only."""

    path: str
    index: int = field(default=-1, init=False)
    """Position in the journal of this boot."""
    process: int = field(default=-1, init=False)
    """Index of the simulated process (`Process.index`), -1 for the machine itself."""
    site: Site | None = field(default=None, init=False)
    """Where in the program under test the call was made."""
    time_ns: int = field(default=0, init=False)
    clock: tuple[int, ...] = field(default=(), init=False)
    """Happens-before of a run with several processes: `clock[p]` is how many ops of process p came before or at
    this one. Empty when one process ran: then the order is the journal's."""


@dataclass(slots=True, eq=False)
class Create(Op):
    """A new inode and, unless it is nameless (O_TMPFILE: `dir` is 0), its first directory entry."""

    dir: int
    name: str
    ino: int
    kind: FileKind
    mode: int
    uid: int = 0
    gid: int = 0
    target: str = ""
    reused: int = 0
    """The number of a freed inode that this one is known by; 0: none."""


@dataclass(slots=True, eq=False)
class Write(Op):
    """Bytes written at an offset by one call. `size_before` is the file's size just before."""

    ino: int
    offset: int
    data: bytes
    size_before: int


@dataclass(slots=True, eq=False)
class Truncate(Op):
    """The size set, down or up (zeros), by truncate, ftruncate, O_TRUNC or fallocate."""

    ino: int
    size: int
    size_before: int


@dataclass(slots=True, eq=False)
class Link(Op):
    """A further entry for an inode that exists: link, or linkat of an O_TMPFILE."""

    dir: int
    name: str
    ino: int


@dataclass(slots=True, eq=False)
class Unlink(Op):
    """An entry removed: unlink, or rmdir when `is_dir`."""

    dir: int
    name: str
    ino: int
    is_dir: bool


@dataclass(slots=True, eq=False)
class Rename(Op):
    """One entry moved. `victim` is the inode whose entry was replaced or exchanged with; None if there was none."""

    src_dir: int
    src_name: str
    dst_dir: int
    dst_name: str
    ino: int
    victim: int | None
    exchange: bool
    is_dir: bool
    to_path: str


@dataclass(slots=True, eq=False)
class Meta(Op):
    """An explicit change of an inode's attributes.

    `value` by `what`: mode -> permission bits; owner -> (uid, gid); times -> (atime_ns, mtime_ns);
    xattr -> (name, bytes, or None when removed).
    """

    ino: int
    what: MetaKind
    value: object


@dataclass(slots=True, eq=False)
class Flush(Op):
    """fsync or (`data_only`) fdatasync that returned, of a file or of a directory."""

    ino: int
    is_dir: bool
    data_only: bool = False


@dataclass(slots=True, eq=False)
class FailedFlush(Op):
    """A flush that was answered with an error: not a flush, and pages pending at it are no longer dirty."""

    ino: int
    is_dir: bool


@dataclass(slots=True, eq=False)
class FlushAll(Op):
    """sync (`device` None: every mount) or syncfs of one mount."""

    device: int | None = None


@dataclass(slots=True, eq=False)
class Close(Op):
    """The last descriptor of an open file description of a regular file, opened for writing, was closed."""

    ino: int


@dataclass(slots=True, eq=False)
class Lock(Op):
    """A lock taken or dropped: no effect on the disk, shown in time lines. `how` is for people, as "flock EX"."""

    ino: int
    how: str


@dataclass(slots=True, eq=False)
class Ask(Op):
    """A caller asked for something: from here on it may happen. `path` is empty."""

    label: str
    value: object = None


@dataclass(slots=True, eq=False)
class Fail(Op):
    """A caller was told that what it asked for did not happen, or may not have. `path` is empty."""

    label: str
    value: object = None


@dataclass(slots=True, eq=False)
class Ack(Op):
    """A promise to a caller, from here on binding. `path` is empty."""

    label: str
    value: object = None


@dataclass(slots=True, eq=False)
class Effect(Op):
    """Something done to the outside world: never undone, promises nothing."""

    label: str
    value: object = None


@dataclass(slots=True, eq=False)
class Note(Op):
    """Something a time line shows and no disk remembers: start, exit, kill, pause, sleep, clock jump."""

    text: str


ContentOp = Write | Truncate
HistoryOp = Ask | Ack | Fail | Effect
EntryOp = Create | Link | Unlink | Rename

_FIELDS: dict[type[Op], tuple[str, ...]] = {}


def op_key(op: Op) -> tuple[object, ...]:
    """What an op does, as a tuple that compares equal for equal ops; position, process and call site are not in it."""
    kind = type(op)
    names = _FIELDS.get(kind)
    if names is None:
        names = _FIELDS[kind] = ("time_ns", *(n for n in kind.__slots__))
    return (kind.__name__, *(repr(v) if isinstance(v := getattr(op, name), list | dict | set) else v for name in names))
