"""flock: the call. Record locks are in `record_calls`.

A blocking flock waits until the lock is free and takes it in the same step. With LOCK_NB it fails with EWOULDBLOCK
(`BlockingIOError`). Changing the kind of a lock is not one step on Linux: the old lock is given up first, so a failed
or waiting upgrade has lost it.
"""

from __future__ import annotations

import errno
import fcntl
from typing import Any

from simfs.machine.calls import Calls
from simfs.machine.errors import os_error

_KINDS = (fcntl.LOCK_SH, fcntl.LOCK_EX, fcntl.LOCK_UN)


class FlockCalls(Calls):
    """fcntl.flock."""

    __slots__ = ()

    def flock(self, fd: Any, operation: int, /) -> None:
        """fcntl.flock: LOCK_SH, LOCK_EX or LOCK_UN, with LOCK_NB or not. EBADF, EINVAL, EWOULDBLOCK."""
        m = self.machine
        locks = m.locks
        kind = operation & ~fcntl.LOCK_NB
        blocking = not operation & fcntl.LOCK_NB and kind != fcntl.LOCK_UN
        p = self.enter_private()
        if kind not in _KINDS:
            raise os_error(errno.EINVAL)
        desc = p.fds.get(fd) or self.descriptor(p, fd)
        if desc.path_only:
            raise os_error(errno.EBADF)
        if not blocking or (desc.flock and desc.flock != kind):
            self.give_way(p, "flock")
        if kind == fcntl.LOCK_UN:
            if desc.flock:
                locks.flock_drop(p, desc)
            return
        if desc.flock == kind:
            return
        if desc.flock:
            locks.flock_drop(p, desc)
        elif blocking:
            why = f"flock {'SH' if kind == fcntl.LOCK_SH else 'EX'} on {desc.path}"
            m.wait(p, lambda: locks.flock_free(desc, kind), None, why)
            locks.flock_take(p, desc, kind)
            return
        if not locks.flock_free(desc, kind):
            if blocking:
                m.wait(p, lambda: locks.flock_free(desc, kind), None, f"flock upgrade on {desc.path}")
            else:
                if m.footprint is not None:
                    m.footprint.append((("lock", desc.ino), "R"))
                raise os_error(errno.EWOULDBLOCK)
        locks.flock_take(p, desc, kind)
