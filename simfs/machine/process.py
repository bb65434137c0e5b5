"""A simulated process: what the kernel keeps for it, and the streams its private numbers come from.

Two processes share one interpreter, so everything that Linux keeps for each process is here: descriptors, working
directory, umask, ids, environment, and the source of inode numbers, temporary names and random bytes. These come
from the process's own stream, never from a global counter: a shared counter would make every two calls conflict.

A dead process never runs again. `dead` is set first; every later call of its unwinding code raises `ProcessKilled`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simfs.machine.descriptors import Description

INO_STRIDE = 1 << 20
"""Inode numbers of stream s are (s + 1) * INO_STRIDE + 1, 2, ...: private streams that never meet."""


class ProcessKilled(BaseException):
    """Raised by every call of a process that is dead. Not an `Exception`: user code must not swallow it."""


@dataclass(slots=True, eq=False)
class Process:
    """One simulated process. `index` counts from 0 within one boot; `pid` is what it sees."""

    name: str
    index: int
    stream: int
    """Which stream of inode numbers it draws from: boot * 64 + index, so that no two boots share one."""
    pid: int
    start_time: int
    """Clock ticks (1/100 s) after boot, as in field 22 of /proc/<pid>/stat."""
    cwd: int
    umask: int = 0o022
    uid: int = 0
    gid: int = 0
    dead: bool = False
    exited: bool = False
    fds: dict[int, Description] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    steps: int = 0
    """Calls made so far."""
    inodes_made: int = 0
    fd_hint: int = 3
    """Every number from 3 below this one is in use: where the search for the lowest free one starts."""
    inheritable: set[int] = field(default_factory=set)
    """Descriptors without FD_CLOEXEC."""
    record_locks: set[int] = field(default_factory=set)
    """Inodes on which this process may hold POSIX record locks: any close of one of them drops those."""
    _random: random.Random | None = None

    @property
    def random(self) -> random.Random:
        """The process's own random numbers, the same in every run: seeded by boot and index."""
        if self._random is None:
            self._random = random.Random(self.stream)
        return self._random

    def next_ino(self) -> int:
        """A fresh inode number from this process's stream."""
        self.inodes_made += 1
        return (self.stream + 1) * INO_STRIDE + self.inodes_made
