"""Who holds which lock. Three kinds, as on Linux.

flock locks belong to an open file description and cover the whole file; shared ones exclude exclusive ones.
Record locks cover byte ranges and come in two sorts that exclude each other: POSIX ones belong to a process, and *any*
close of the file by that process drops all it has there; OFD ones belong to a description. flock and record locks do
not see each other. A holder never excludes itself: its new lock replaces what it held of the range.

Locks are on no disk: a kill drops those of the process, a power loss all of them.
"""

from __future__ import annotations

import fcntl
from typing import TYPE_CHECKING, NamedTuple

from simfs.machine.ops import Lock

if TYPE_CHECKING:
    from simfs.machine.descriptors import Description
    from simfs.machine.machine import Machine
    from simfs.machine.process import Process

FOREVER = (1 << 63) - 1
"""The last byte of a record lock that reaches to the end of the file, however far that moves."""


class Record(NamedTuple):
    """One record lock: bytes `first` to `last`, both included, of one owner."""

    owner: Process | Description
    exclusive: bool
    first: int
    last: int
    pid: int
    """The owner's pid, or -1 for an OFD lock, as F_GETLK shows it."""


class LockTable:
    """All locks of a machine, by inode."""

    __slots__ = ("flocks", "machine", "records", "waiting")

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.flocks: dict[int, list[Description]] = {}
        self.records: dict[int, list[Record]] = {}
        self.waiting: dict[int, tuple[int, Record]] = {}
        """Process index -> (inode, the POSIX lock that it waits for): to see circles."""

    # flock.

    def flock_free(self, desc: Description, kind: int) -> bool:
        """Whether `desc` could take a flock of `kind` now."""
        holders = self.flocks.get(desc.ino)
        if not holders:
            return True
        return all(h is desc or (kind == fcntl.LOCK_SH and h.flock == fcntl.LOCK_SH) for h in holders)

    def flock_take(self, p: Process, desc: Description, kind: int) -> None:
        """`desc` now holds a flock of `kind`."""
        holders = self.flocks.setdefault(desc.ino, [])
        if desc not in holders:
            holders.append(desc)
        desc.flock = kind
        if self.machine.footprint is not None:
            self.machine.footprint.append((("acquire", desc.ino), "R"))
        self.note(p, desc, "flock SH" if kind == fcntl.LOCK_SH else "flock EX", "C" if kind == fcntl.LOCK_SH else "W")

    def flock_drop(self, p: Process, desc: Description) -> None:
        """`desc` holds no flock any more."""
        kind = desc.flock
        holders = self.flocks[desc.ino]
        holders.remove(desc)
        if not holders:
            del self.flocks[desc.ino]
        desc.flock = 0
        self.note(p, desc, "flock UN", "C" if kind == fcntl.LOCK_SH else "W")

    def note(self, p: Process, desc: Description, how: str, mode: str) -> None:
        """Journal and footprint of a lock taken or dropped."""
        m = self.machine
        if m.footprint is not None:
            m.footprint.append((("lock", desc.ino), mode))
        m.journal.append(Lock(desc.path, desc.ino, how), p.index, m.wall_ns)

    # Record locks.

    def conflict(self, ino: int, wanted: Record) -> Record | None:
        """The first lock that `wanted` would have to wait for."""
        for held in self.records.get(ino, ()):
            if held.owner is wanted.owner or held.last < wanted.first or held.first > wanted.last:
                continue
            if held.exclusive or wanted.exclusive:
                return held
        return None

    def held_by(self, ino: int, range_of: Record) -> Record | None:
        """The first lock that the owner of `range_of` holds inside that range."""
        for held in self.records.get(ino, ()):
            if held.owner is range_of.owner and held.first <= range_of.last and range_of.first <= held.last:
                return held
        return None

    def put(self, ino: int, wanted: Record, unlock: bool = False) -> bool:
        """`wanted` replaces what its owner held of the range, with nothing if `unlock`. Whether anything changed.

        The locks of one owner stand together, in the order of the file; owners in the order of their first lock.
        """
        before = self.records.get(ino, [])
        mine: list[Record] = [] if unlock else [wanted]
        for held in before:
            if held.owner is not wanted.owner:
                continue
            if held.last < wanted.first or held.first > wanted.last:
                mine.append(held)
                continue
            if held.first < wanted.first:
                mine.append(held._replace(last=wanted.first - 1))
            if held.last > wanted.last:
                mine.append(held._replace(first=wanted.last + 1))
        at = next((i for i, held in enumerate(before) if held.owner is wanted.owner), len(before))
        after = [held for held in before if held.owner is not wanted.owner]
        after[at:at] = joined(mine)
        if after:
            self.records[ino] = after
        else:
            self.records.pop(ino, None)
        return after != before

    def closes_circle(self, p: Process, held: Record) -> bool:
        """Whether the owner of `held` already waits, through others perhaps, for a lock of `p`."""
        seen: set[int] = set()
        owner = held.owner
        while owner is not p:
            index = getattr(owner, "index", -1)
            if index in seen or index not in self.waiting:
                return False
            seen.add(index)
            ino, wanted = self.waiting[index]
            blocker = self.conflict(ino, wanted)
            if blocker is None:
                return False
            owner = blocker.owner
        return True

    # Ends.

    def drop_process(self, p: Process, ino: int) -> None:
        """`p` closed a descriptor of `ino`: its POSIX locks there go."""
        p.record_locks.discard(ino)
        self.drop_owner(p, p, ino, "")

    def drop_description(self, p: Process, desc: Description) -> None:
        """The last descriptor of `desc` is gone: its flock and OFD locks go."""
        if desc.flock:
            self.flock_drop(p, desc)
        if desc.ofd_locks:
            self.drop_owner(p, desc, desc.ino, desc.path)

    def drop_owner(self, p: Process, owner: Process | Description, ino: int, path: str) -> None:
        """All record locks of `owner` on `ino` go."""
        held = self.records.get(ino, [])
        kept = [record for record in held if record.owner is not owner]
        if len(kept) == len(held):
            return
        if kept:
            self.records[ino] = kept
        else:
            del self.records[ino]
        m = self.machine
        if m.footprint is not None:
            m.footprint.append((("lock", ino), "W"))
        m.journal.append(Lock(path, ino, "record locks dropped"), p.index, m.wall_ns)


def joined(records: list[Record]) -> list[Record]:
    """The locks of one owner in order, neighbours of the same kind made one."""
    out: list[Record] = []
    for record in sorted(records, key=lambda r: r.first):
        if out and out[-1].exclusive == record.exclusive and out[-1].last + 1 >= record.first:
            out[-1] = out[-1]._replace(last=max(out[-1].last, record.last))
        else:
            out.append(record)
    return out
