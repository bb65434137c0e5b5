"""Who is running: pids, ids, whether somebody is alive, and random bytes.

Pids come from the machine and repeat after a reboot, as they may on a real one. What never repeats is an `Identity`:
boot id, pid and start time together. Random bytes come from the process's own stream, the same in every run.
"""

from __future__ import annotations

import errno
import signal
from typing import Any, NamedTuple

from simfs.machine.calls import Calls
from simfs.machine.errors import NotSimulated, os_error
from simfs.machine.process import ProcessKilled


class Identity(NamedTuple):
    """A process, never to be mistaken for a later one with its pid. `start_time` is in clock ticks since the boot."""

    boot_id: str
    pid: int
    start_time: int


class IdentityCalls(Calls):
    """The calls about processes."""

    __slots__ = ()

    def getpid(self) -> int:
        """os.getpid: unique within a boot, from 100."""
        return self.enter_private().pid

    def getppid(self) -> int:
        """os.getppid: 1."""
        self.enter_private()
        return 1

    def getuid(self) -> int:
        """os.getuid: the user that the process was spawned for."""
        return self.enter_private().uid

    def geteuid(self) -> int:
        """os.geteuid: the same as getuid."""
        return self.enter_private().uid

    def getgid(self) -> int:
        """os.getgid: the group that the process was spawned for."""
        return self.enter_private().gid

    def getegid(self) -> int:
        """os.getegid: the same as getgid."""
        return self.enter_private().gid

    def process_identity(self, pid: int | None = None) -> Identity:
        """The identity of a living process, by default this one. ESRCH."""
        m = self.machine
        p = self.enter_private()
        if pid is not None and pid != p.pid:
            self.give_way(p, "process_identity")
            if m.footprint is not None:
                m.footprint.append((("proc", pid), "R"))
            other = m.process_by_pid(pid)
            if other is None:
                raise os_error(errno.ESRCH)
            p = other
        return Identity(m.boot_id, p.pid, p.start_time)

    def is_alive(self, identity: Any) -> bool:
        """Whether the very process of `identity` (boot_id, pid, start_time) still runs in this boot."""
        m = self.machine
        self.enter("is_alive")
        if m.footprint is not None:
            m.footprint.append((("proc", identity.pid), "R"))
        p = m.process_by_pid(identity.pid)
        return p is not None and m.boot_id == identity.boot_id and p.start_time == identity.start_time

    def kill(self, pid: int, sig: int, /) -> None:
        """os.kill with signal 0 (is anybody there?) or SIGKILL. ESRCH, EPERM. Raises NotSimulated for other signals."""
        m = self.machine
        p = self.enter("kill")
        if m.footprint is not None:
            m.footprint.append((("proc", pid), "R"))
        target = m.process_by_pid(pid)
        if target is None:
            raise os_error(errno.ESRCH)
        if p.uid not in (0, target.uid):
            raise os_error(errno.EPERM)
        if sig == 0:
            return
        if sig != signal.SIGKILL:
            raise NotSimulated(f"os.kill with signal {sig}", "only 0 and SIGKILL are modelled")
        m.kill(target)
        if target is p:
            raise ProcessKilled(p.name)

    def urandom(self, size: int, /) -> bytes:
        """os.urandom: bytes from the process's own stream."""
        return self.enter_private().random.randbytes(size)

    def getrandom(self, size: int, flags: int = 0) -> bytes:
        """os.getrandom: as urandom."""
        return self.urandom(size)
