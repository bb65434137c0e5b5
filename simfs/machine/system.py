"""`SimSystem`: the calls of one machine, with the names, arguments and errors of `os`, `fcntl` and `time`.

One object a machine; the process that calls is `machine.current`. Each group of calls has its file:

| file | calls |
|---|---|
| `opening`, `descriptors` | open, close, dup, inheritable, blocking |
| `content` | read, write, pread, pwrite, lseek, truncate |
| `namespace`, `renames` | mkdir, rmdir, link, unlink, symlink, readlink; rename, replace, renameat2 |
| `attributes` | stat, chmod, chown, utime, access, umask |
| `listing` | listdir, scandir, chdir, getcwd |
| `flushes` | fsync, fdatasync, sync, syncfs |
| `lock_calls` | flock |
| `clock`, `identity` | time, sleep, getpid, is_alive, urandom |

They are one class by inheritance and not by delegation, because a layer between would cost as much as a call.
"""

from __future__ import annotations

from simfs.machine.attributes import AttributeCalls
from simfs.machine.clock import ClockCalls
from simfs.machine.content import ContentCalls
from simfs.machine.flushes import FlushCalls
from simfs.machine.identity import IdentityCalls
from simfs.machine.listing import ListingCalls
from simfs.machine.lock_calls import FlockCalls
from simfs.machine.opening import OpenCalls
from simfs.machine.renames import RenameCalls


class SimSystem(
    OpenCalls,
    ContentCalls,
    RenameCalls,
    AttributeCalls,
    ListingCalls,
    FlushCalls,
    FlockCalls,
    ClockCalls,
    IdentityCalls,
):
    """Every call that a simulated process can make. See the files above for results and errors."""

    __slots__ = ()
