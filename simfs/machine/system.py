"""`SimSystem`: the calls of one machine, with the names, arguments and errors of `os`, `fcntl` and `time`.

One object a machine; the process that calls is `machine.current`. Each group of calls has its file:

| file | calls |
|---|---|
| `opening`, `descriptors` | open, close, dup, inheritable, blocking |
| `content`, `transfer` | read, write, pread, pwrite, lseek, truncate; vectors, sendfile, fallocate |
| `namespace`, `renames` | mkdir, rmdir, link, unlink, symlink, readlink; rename, replace, renameat2 |
| `attributes`, `xattrs`, `volumes` | stat, chmod, chown, utime, access, umask; xattrs; statvfs, pathconf |
| `listing` | listdir, scandir, chdir, getcwd |
| `flushes` | fsync, fdatasync, sync, syncfs |
| `lock_calls`, `record_calls` | flock; fcntl, lockf |
| `clock`, `identity` | time, sleep, getpid, is_alive, urandom |
| `refused` | everything that raises `NotSimulated` |

They are one class by inheritance and not by delegation, because a layer between would cost as much as a call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simfs.machine.clock import ClockCalls
from simfs.machine.flushes import FlushCalls
from simfs.machine.identity import IdentityCalls
from simfs.machine.listing import ListingCalls
from simfs.machine.lock_calls import FlockCalls
from simfs.machine.opening import OpenCalls
from simfs.machine.record_calls import RecordCalls
from simfs.machine.refused import REFUSED, refusal
from simfs.machine.renames import RenameCalls
from simfs.machine.transfer import TransferCalls
from simfs.machine.volumes import VolumeCalls
from simfs.machine.xattrs import XattrCalls


class SimSystem(
    OpenCalls,
    TransferCalls,
    RenameCalls,
    XattrCalls,
    VolumeCalls,
    ListingCalls,
    FlushCalls,
    FlockCalls,
    RecordCalls,
    ClockCalls,
    IdentityCalls,
):
    """Every call that a simulated process can make. See the files above for results and errors."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A call that is not modelled: the function exists and raises `NotSimulated`."""
        if name in REFUSED:
            return refusal(name)
        raise AttributeError(name)
