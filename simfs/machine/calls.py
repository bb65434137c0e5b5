"""What every group of calls shares: how a call begins, and how a descriptor number becomes a description.

A call is *visible* when another process could tell whether it ran before or after one of its own calls, and *private*
otherwise (lseek, dup, getpid, umask, ...). Before a visible call, and only there, the process gives way: the gate
may switch to another process, which then runs up to its own next visible call. A private call runs on.

A call that may wait (a blocking lock, a sleep) gives way once, in `Machine.wait`, and not at the gate: its step is
"the lock was free and is now mine", which is simply not possible while somebody else holds it.

While a call runs it adds to `Machine.footprint`, unless that is None, the pairs (resource, mode) that it touched.
Modes: "R" reads, "W" writes, "C" changes in a way that commutes with other "C"s.

| resource | R | C | W |
|---|---|---|---|
| ("dent", directory, name) | look-up | | entry made, removed, replaced; "..": the directory moved |
| ("list", directory) | listing, rmdir of it | entry made or removed | |
| ("data", inode) | read, size | | write, truncate |
| ("meta", inode) | stat, permission check (not root) | times, link count | chmod, chown, utime, xattr |
| ("lock", inode) | a try that failed, a query | shared lock taken or dropped | exclusive one |
| ("acquire", inode) | a flock that was taken, beside its ("lock", inode): taking and dropping never race | | |
| ("clock",) | reading either clock, stat | | advance, jump |
| ("stamp",) | a call that stamps a file time | | advance, jump: only matters where times are read |
| ("proc", pid) | is_alive | | exit, kill |
| ("numbers", device) | | an inode's number is free again | an inode made; only where numbers are reused |
| ("space", device) | statvfs | | blocks taken or freed; only where a size limit is set |

Flushes touch nothing: no other process can see them.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

from simfs.machine.errors import StepLimit, os_error
from simfs.machine.process import ProcessKilled

if TYPE_CHECKING:
    from simfs.machine.descriptors import Description
    from simfs.machine.machine import Machine
    from simfs.machine.process import Process

Footprint = list[tuple[tuple[Any, ...], str]]


class Calls:
    """Base of the call groups: holds the machine and nothing else."""

    __slots__ = ("machine",)

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def enter(self, call: str) -> Process:
        """Begin a visible call: the process that makes it, once it is its turn. A dead one gets `ProcessKilled`."""
        m = self.machine
        p = m.current
        assert p is not None, f"{call}: no simulated process is running on this machine"
        if p.dead:
            raise ProcessKilled(p.name)
        p.steps += 1
        if p.steps > m.step_limit:
            raise StepLimit(f"process {p.name} made more than {m.step_limit} calls; the last one is {call}")
        if m.gate is not None:
            m.gate(p, call)
            if p.dead:
                raise ProcessKilled(p.name)
        return p

    def enter_private(self) -> Process:
        """Begin a call that no other process can see: as `enter`, without giving way."""
        m = self.machine
        p = m.current
        assert p is not None, "no simulated process is running on this machine"
        if p.dead:
            raise ProcessKilled(p.name)
        p.steps += 1
        if p.steps > m.step_limit:
            raise StepLimit(f"process {p.name} made more than {m.step_limit} calls")
        return p

    def give_way(self, p: Process, call: str) -> None:
        """The gate alone, for a call that finds out late that it is visible."""
        gate = self.machine.gate
        if gate is not None:
            gate(p, call)
            if p.dead:
                raise ProcessKilled(p.name)

    def descriptor(self, p: Process, fd: Any) -> Description:
        """The description that `fd` (a number, or an object with `fileno`) names; EBADF."""
        if not isinstance(fd, int):
            fileno = getattr(fd, "fileno", None)
            fd = fileno() if fileno is not None else fd.__index__()
        desc = p.fds.get(fd)
        if desc is None:
            raise os_error(errno.EBADF)
        return desc

    def usable(self, p: Process, fd: Any) -> Description:
        """As `descriptor`, but EBADF also for one opened with O_PATH."""
        desc = self.descriptor(p, fd)
        if desc.path_only:
            raise os_error(errno.EBADF)
        return desc
