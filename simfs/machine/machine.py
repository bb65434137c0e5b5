"""One boot of one machine: its disk as seen, clocks, processes, locks and op journal; nothing that is on no disk.

The machine starts from an `Image` and shares its inodes until it changes them (`livedisk`), so loading costs nothing
that grows with the disk. What survives a power loss is no business of this file: the op journal is the only way out.

Who runs is not decided here. `current` is the process whose calls these are. With no scheduler (*solo mode*: setup,
recovery, laws) calls simply run; a sleep or a timed wait moves the clocks at once, and a wait that nothing can end
raises `Deadlock`. A scheduler sets two hooks. `gate(process, call)` is called before each visible call and may run
other processes before it returns. `block(process, ready, deadline_ns, why)` is called instead of the gate by a call
that waits; it returns when `ready()` is true or the monotonic clock has reached `deadline_ns`. Both may return into
a process that was killed meanwhile: the call then raises `ProcessKilled` and changes nothing.

Clocks are coarse: they move by sleep, `advance` and `jump` only, so the calls in between bear the same time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256

from simfs.machine.errors import Deadlock
from simfs.machine.inode import EPOCH_NS, Image, Inode
from simfs.machine.journal import OpJournal
from simfs.machine.livedisk import LiveDisk
from simfs.machine.locks import LockTable
from simfs.machine.ops import HistoryOp, Note
from simfs.machine.process import Process, ProcessKilled
from simfs.machine.system import SimSystem

FIRST_PID = 100
TICK_NS = 10_000_000
"""One clock tick, the unit of a process's start time."""

Gate = Callable[[Process, str], None]
Block = Callable[[Process, Callable[[], bool], int | None, str], None]


@lru_cache(maxsize=1024)
def boot_id(boot: int) -> str:
    """The boot id of boot number `boot`, in the form of /proc/sys/kernel/random/boot_id."""
    digits = sha256(b"boot %d" % boot).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


class Machine(LiveDisk):
    """A running machine. `boot` counts from 1; `wall_ns` is its wall clock at the start; limits in bytes."""

    __slots__ = (
        "block", "boot", "current", "fd_limit", "gate", "kill_after", "links_followed", "mono_ns", "step_limit",
        "system", "unreported",
    )  # fmt: skip

    def __init__(
        self,
        image: Image | None = None,
        *,
        boot: int = 1,
        wall_ns: int = EPOCH_NS,
        record_sites: bool = True,
        size_limit: int | None = None,
        fd_limit: int = 1024,
        step_limit: int = 1_000_000,
    ) -> None:
        LiveDisk.__init__(self, Image.empty() if image is None else image)
        self.boot = boot
        self.wall_ns = wall_ns
        self.mono_ns = 0
        self.fd_limit = fd_limit
        self.step_limit = step_limit
        """How many calls a process may make before `StepLimit`."""
        self.journal = OpJournal(record_sites)
        self.locks = LockTable(self)
        self.processes: list[Process] = []
        self.current: Process | None = None
        self.system = SimSystem(self)
        self.gate: Gate | None = None
        self.block: Block | None = None
        self.kill_after: int | None = None
        """When set, the next write of content keeps so many bytes, and its process is killed in it."""
        self.links_followed = 0
        self.unreported: dict[int, tuple[int, int]] = {}
        """Inode -> (number of its failed flushes, errno of the last): each description open then reports one."""
        if size_limit is not None:
            self.limit(0, size_limit)

    def spawn(self, name: str, uid: int = 0, gid: int = 0) -> Process:
        """A new process, in the root directory. It becomes `current` if nobody alive is."""
        index = len(self.processes)
        pid = FIRST_PID + index
        p = Process(name, index, self.boot * 64 + index, pid, self.mono_ns // TICK_NS, self.root, 0o022, uid, gid)
        self.processes.append(p)
        self.note(p, f"start {name}")
        if self.current is None or self.current.dead:
            self.current = p
        return p

    def exit(self, process: Process) -> None:
        """The process ends by itself: descriptors closed, locks dropped. It can make no further call."""
        if not process.dead:
            self._end(process, "exit")
            process.exited = True

    def kill(self, process: Process) -> None:
        """SIGKILL: descriptors and locks go, the page cache stays; whatever it calls next raises `ProcessKilled`."""
        if not process.dead:
            self._end(process, "kill")

    def _end(self, p: Process, how: str) -> None:
        p.dead = True
        if self.footprint is not None:
            self.footprint.append((("proc", p.pid), "W"))
        self.note(p, f"{how} {p.name}")
        descriptions = list(p.fds.values())
        p.fds.clear()
        for desc in descriptions:
            self.let_go(p, desc)
        if not self.inodes[p.cwd].nlink:
            self.forget_if_unused(p.cwd)

    @property
    def boot_id(self) -> str:
        """This boot's id: a function of its number."""
        return boot_id(self.boot)

    def process_by_pid(self, pid: int) -> Process | None:
        """The living process with this pid, if any."""
        index = pid - FIRST_PID
        if 0 <= index < len(self.processes) and not self.processes[index].dead:
            return self.processes[index]
        return None

    def wait(self, p: Process, ready: Callable[[], bool], deadline_ns: int | None, why: str) -> None:
        """Let `p` wait until `ready()` or the deadline (monotonic). The caller looks which of the two it was."""
        if self.block is not None:
            self.block(p, ready, deadline_ns, why)
            if p.dead:
                raise ProcessKilled(p.name)
        elif not ready():
            if deadline_ns is None:
                raise Deadlock(f"process {p.name} waits for {why}, and nothing else runs that could end this")
            self.advance(max(0, deadline_ns - self.mono_ns))

    def advance(self, ns: int) -> None:
        """Time passes: both clocks move."""
        self.wall_ns += ns
        self.mono_ns += ns
        self._clock_moved()

    def jump(self, ns: int) -> None:
        """Somebody sets the wall clock, forwards or backwards; the monotonic clock does not notice."""
        self.wall_ns += ns
        self._clock_moved()
        self.note(None, f"wall clock jumps by {ns / 1e9:+g} s")

    def _clock_moved(self) -> None:
        if self.footprint is not None:
            self.footprint.append((("clock",), "W"))
            self.footprint.append((("stamp",), "W"))

    def promise(self, op: HistoryOp) -> None:
        """The running process tells a caller something, or does something to the outside world."""
        p = self.system.enter(type(op).__name__.lower())
        self.journal.append(op, p.index, self.wall_ns)

    def note(self, p: Process | None, text: str) -> None:
        """A line for the time line only."""
        self.journal.append(Note("", text), -1 if p is None else p.index, self.wall_ns)

    def mount(self, path: str, size_limit: int | None = None) -> int:
        """Mount a new, empty filesystem over the empty directory `path`; its device number. For setting up only."""
        covered = self.system.find(self.spawned(), path, None, True, (path,))
        assert covered.kind == "dir" and covered.ino not in self.mounts.values(), f"{path}: not a directory to mount on"
        device = max([0, *(self.inodes[root].device for root in self.mounts.values())]) + 1
        root = Inode(self.spawned().next_ino(), "dir", 0o755, nlink=2, parent=covered.parent, device=device)
        self.inodes[root.ino] = root
        self.owned.add(root.ino)
        self.mounts = {**self.mounts, covered.ino: root.ino}
        if size_limit is not None:
            self.limit(device, size_limit)
        return device

    def spawned(self) -> Process:
        """The running process, which must exist."""
        assert self.current is not None, "no simulated process is running on this machine"
        return self.current
