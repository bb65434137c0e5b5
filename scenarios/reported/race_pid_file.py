"""D8: a process number that outlives its process. getpaseo/paseo#5128; relatives: troglobit/inadyn#334,
stellar/stellar-core#652, ServerContainers/samba#80.

What happened. A daemon keeps its number in a file, on a volume that outlasts the container. After a restart the number
belongs to another program: the owner seems to live, and the daemon never starts again. In the relatives it is the
daemon itself that got its old number back, and takes itself for another one that runs.

Why that is wrong. A number names a process only while it lives, and only in one boot. After that it names whoever got
it next.

What is right. Hold a lock of the kernel on the file: it ends with its holder, whatever happens, and the number in it is
for people. Or keep an identity that never comes again: the boot, the number, and when the process started.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from typing import Any

import simfs
from scenarios.reported.holding import WITNESS, assert_one_holder, holding, make_empty
from scenarios.reported.laws import CLM1, CLM5
from scenarios.reported.registry import EVERY_MODEL, Case
from simfs.machine.identity import Identity

PID_FILE = "/var.pid"


class _Daemon(simfs.Scenario):
    """A daemon and a second copy of it start; the power goes; the daemon starts again, alone, and must serve.

    Numbers are given out in the order of the processes, so after the loss the daemon has the number that the second
    copy had, and the other program, where there is one, that of the daemon.
    """

    def setup(self, m: Any) -> None:
        make_empty(WITNESS)

    def claim(self, m: Any) -> bool:
        """Whether the caller may serve."""
        raise NotImplementedError

    def serve(self, m: Any) -> None:
        if not self.claim(m):
            m.effect("refused")
            return
        with holding(m):
            m.effect("serves")

    @simfs.process
    def second_copy(self, m: Any) -> None:
        self.serve(m)

    @simfs.process(restart=1)
    def daemon(self, m: Any) -> None:
        self.serve(m)

    @simfs.law(CLM1)
    def one_serves(self, m: Any) -> None:
        assert_one_holder(m)

    @simfs.law(CLM5)
    def serves_after_a_power_loss(self, m: Any) -> None:
        refused = [event for event in m.history if event.label == "refused" and event.boot > 1]
        assert not refused, "nobody serves, and the daemon does not start: it takes the dead owner for alive"


class _WithAnotherProgram(_Daemon):
    """The daemon, a second copy, and another program, which starts with each boot too and ends at any moment."""

    @simfs.process(restart=1)
    def other_program(self, m: Any) -> None:
        os.listdir("/")


class KnowsItsOwnNumber(_WithAnotherProgram):
    """A living process that has the number in the file is the owner, unless it is the caller."""

    def claim(self, m: Any) -> bool:
        return claim_by_number(also_self=False)


class MeetsItsOwnNumber(_Daemon):
    """A living process that has the number in the file is the owner."""

    def claim(self, m: Any) -> bool:
        return claim_by_number(also_self=True)


class LocksTheFile(_WithAnotherProgram):
    """The file is locked while its owner lives, and never removed."""

    disk = EVERY_MODEL

    def claim(self, m: Any) -> bool:
        fd = os.open(PID_FILE, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        os.pwrite(fd, b"%d" % os.getpid(), 0)
        return True


class KeepsAnIdentity(_Daemon):
    """The claim is a symbolic link whose target is boot, number and start: it appears complete, or not at all."""

    disk = EVERY_MODEL

    def claim(self, m: Any) -> bool:
        with suppress(FileNotFoundError):
            boot_id, pid, start_time = os.readlink(PID_FILE).split()
            if m.system.is_alive(Identity(boot_id, int(pid), int(start_time))):
                return False
            os.unlink(PID_FILE)
        try:
            os.symlink(" ".join(map(str, m.system.process_identity())), PID_FILE)
            return True
        except FileExistsError:
            return False


def claim_by_number(also_self: bool) -> bool:
    """Claim the file unless a process with the number in it lives."""
    with suppress(FileNotFoundError, ValueError, ProcessLookupError):
        with open(PID_FILE) as file:
            pid = int(file.read())
        if also_self or pid != os.getpid():
            os.kill(pid, 0)
            return False
    with open(PID_FILE, "w") as file:
        file.write(f"{os.getpid()}")
        file.flush()
        os.fsync(file.fileno())
    return True


CASES = (
    Case(
        "D8",
        "after a restart another program has the number of the daemon",
        "getpaseo/paseo#5128",
        KnowsItsOwnNumber,
        LocksTheFile,
        (CLM5,),
    ),
    Case(
        "D8-self",
        "after a restart the daemon has its own old number",
        "troglobit/inadyn#334",
        MeetsItsOwnNumber,
        KeepsAnIdentity,
        (CLM5, CLM1),
    ),
)
