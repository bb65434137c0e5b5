"""Processes on one machine: who may run, what their end takes along, and how they wait."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
from collections.abc import Callable

import pytest
from greenlet import getcurrent, greenlet

from simfs.machine.errors import Deadlock, StepLimit
from simfs.machine.machine import Machine, boot_id
from simfs.machine.ops import Close, Note
from simfs.machine.process import Process, ProcessKilled

RW = os.O_RDWR | os.O_CREAT


def test_pids_start_at_100_and_repeat_after_a_reboot() -> None:
    first, second = Machine(boot=1), Machine(boot=2)
    assert [first.spawn("a").pid, first.spawn("b").pid, second.spawn("a").pid] == [100, 101, 100]


def test_an_identity_tells_a_process_from_a_later_one_with_its_pid() -> None:
    before, after = Machine(boot=1), Machine(boot=2)
    before.spawn("holder")
    after.spawn("asker")
    holder = before.system.process_identity()
    assert holder.pid == after.system.getpid()
    assert before.system.is_alive(holder) and not after.system.is_alive(holder)
    assert holder.boot_id == boot_id(1) and boot_id(1) != boot_id(2)


def test_a_process_that_ended_is_not_alive() -> None:
    machine = Machine()
    victim, asker = machine.spawn("victim"), machine.spawn("asker")
    identity = machine.system.process_identity()
    machine.current = asker
    assert machine.system.is_alive(identity)
    machine.exit(victim)
    assert not machine.system.is_alive(identity)
    with pytest.raises(ProcessLookupError):
        machine.system.process_identity(identity.pid)
    with pytest.raises(ProcessLookupError):
        machine.system.kill(identity.pid, 0)


def test_a_start_time_counts_ticks_since_the_boot() -> None:
    machine = Machine()
    machine.advance(2_500_000_000)
    assert machine.spawn("late").start_time == 250


@pytest.mark.parametrize("end", [Machine.exit, Machine.kill])
def test_an_ended_process_leaves_files_and_takes_descriptors_and_locks(end: Callable[[Machine, Process], None]) -> None:
    machine = Machine()
    victim, survivor = machine.spawn("victim"), machine.spawn("survivor")
    fd = machine.system.open("/f", RW)
    machine.system.write(fd, b"kept")
    machine.system.flock(fd, fcntl.LOCK_EX)
    machine.system.lockf(fd, fcntl.LOCK_EX)
    end(machine, victim)
    assert isinstance(machine.journal[-1], Close)
    machine.current = survivor
    mine = machine.system.open("/f", RW)
    machine.system.flock(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)
    machine.system.lockf(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert machine.system.read(mine, 10) == b"kept"


def test_every_call_of_a_killed_process_raises_and_does_nothing() -> None:
    machine = Machine()
    victim = machine.spawn("victim")
    system = machine.system
    fd = system.open("/f", RW)
    machine.kill(victim)
    after = len(machine.journal)
    for call in (
        lambda: system.write(fd, b"x"), lambda: system.close(fd), lambda: system.mkdir("/d"), lambda: system.getpid(),
        lambda: system.time(), lambda: system.sleep(1), lambda: system.flock(fd, 2), lambda: system.umask(0),
    ):  # fmt: skip
        with pytest.raises(ProcessKilled):
            call()
    assert len(machine.journal) == after
    assert machine.freeze().tree() == {"f": b""}


def test_a_process_may_kill_another_and_itself() -> None:
    machine = Machine()
    killer, victim = machine.spawn("killer"), machine.spawn("victim")
    machine.system.kill(victim.pid, signal.SIGKILL)
    assert victim.dead and not killer.dead
    with pytest.raises(ProcessKilled):
        machine.system.kill(killer.pid, signal.SIGKILL)


def test_a_kill_inside_a_write_leaves_what_was_written_so_far() -> None:
    machine = Machine()
    machine.spawn("victim")
    fd = machine.system.open("/f", RW)
    machine.kill_after = 4096
    with pytest.raises(ProcessKilled):
        machine.system.write(fd, b"x" * 10_000)
    assert machine.freeze().tree() == {"f": b"x" * 4096}
    assert machine.processes[0].dead and machine.kill_after is None


def test_too_many_calls_end_the_run() -> None:
    machine = Machine(step_limit=10)
    machine.spawn("loop")
    with pytest.raises(StepLimit, match="loop made more than 10 calls"):
        while True:
            machine.system.access("/", os.F_OK)


def test_alone_a_sleep_moves_both_clocks_at_once_and_a_jump_only_one() -> None:
    machine = Machine(wall_ns=1_000)
    machine.spawn("sleeper")
    machine.system.sleep(1.5)
    assert (machine.system.time_ns(), machine.system.monotonic_ns()) == (1_500_001_000, 1_500_000_000)
    machine.jump(-500_000_000)
    assert (machine.system.time_ns(), machine.system.monotonic_ns()) == (1_000_001_000, 1_500_000_000)
    machine.system.clock_settime_ns(0, 7)
    assert machine.system.clock_gettime_ns(0) == 7


def test_alone_a_wait_that_nothing_can_end_is_a_deadlock_that_says_for_what() -> None:
    machine = Machine()
    machine.spawn("waiter")
    first, second = machine.system.open("/f", RW), machine.system.open("/f", RW)
    machine.system.flock(first, fcntl.LOCK_EX)
    with pytest.raises(Deadlock, match="process waiter waits for flock EX on /f"):
        machine.system.flock(second, fcntl.LOCK_EX)


class Together:
    """Runs bodies as processes that take turns at every visible call, in order; nobody runs while it waits."""

    def __init__(self, machine: Machine, bodies: dict[str, Callable[[], object]]) -> None:
        self.machine = machine
        self.hub = getcurrent()
        self.calls: list[tuple[str, str]] = []
        self.waits: dict[str, tuple[Callable[[], bool], int | None]] = {}
        machine.gate, machine.block = self.gate, self.block
        self.tasks = [(machine.spawn(name), greenlet(body)) for name, body in bodies.items()]

    def gate(self, process: Process, call: str) -> None:
        self.calls.append((process.name, call))
        self.hub.switch()

    def block(self, process: Process, ready: Callable[[], bool], deadline_ns: int | None, why: str) -> None:
        self.waits[process.name] = ready, deadline_ns
        self.hub.switch()

    def may_run(self, process: Process) -> bool:
        if process.name not in self.waits:
            return True
        ready, deadline = self.waits[process.name]
        return ready() or (deadline is not None and self.machine.mono_ns >= deadline)

    def run(self) -> None:
        while any(not task.dead for _, task in self.tasks):
            able = [(p, task) for p, task in self.tasks if not task.dead and self.may_run(p)]
            if not able:
                self.machine.advance(min(d for _, d in self.waits.values() if d is not None) - self.machine.mono_ns)
                continue
            for process, task in able:
                if self.may_run(process):
                    self.waits.pop(process.name, None)
                    self.machine.current = process
                    task.switch()


def test_a_blocking_flock_waits_for_the_holder() -> None:
    machine = Machine()
    order: list[str] = []

    def use(name: str) -> None:
        fd = machine.system.open("/f", RW)
        machine.system.flock(fd, fcntl.LOCK_EX)
        order.append(f"{name} in")
        for _ in range(3):
            machine.system.write(fd, b"x")
        order.append(f"{name} out")
        machine.system.close(fd)

    Together(machine, {"a": lambda: use("a"), "b": lambda: use("b")}).run()
    assert order == ["a in", "a out", "b in", "b out"]


def test_sleepers_wake_in_the_order_of_their_deadlines() -> None:
    machine = Machine()
    woken: list[tuple[str, int]] = []

    def nap(name: str, seconds: float) -> None:
        machine.system.sleep(seconds)
        woken.append((name, machine.system.monotonic_ns()))

    Together(machine, {"long": lambda: nap("long", 2), "short": lambda: nap("short", 1)}).run()
    assert woken == [("short", 1_000_000_000), ("long", 2_000_000_000)]


def test_a_circle_of_record_locks_is_edeadlk_for_the_one_that_closes_it() -> None:
    machine = Machine()
    codes: list[int | None] = []

    def cross(mine: int, other: int) -> None:
        fd = machine.system.open("/f", RW)
        machine.system.lockf(fd, fcntl.LOCK_EX, 1, mine)
        machine.system.getcwd()
        try:
            machine.system.lockf(fd, fcntl.LOCK_EX, 1, other)
            codes.append(None)
        except OSError as error:
            codes.append(error.errno)
        machine.system.close(fd)

    Together(machine, {"a": lambda: cross(0, 1), "b": lambda: cross(1, 0)}).run()
    assert sorted(codes, key=str) == [errno.EDEADLK, None]


def test_private_calls_do_not_give_way_and_visible_ones_do() -> None:
    machine = Machine()

    def body() -> None:
        s = machine.system
        fd = s.open("/f", RW)
        s.lseek(fd, 0, os.SEEK_SET)
        s.getpid()
        s.close(s.dup(fd))
        s.umask(0o22)
        s.urandom(4)
        s.get_inheritable(fd)
        s.fsync(fd)
        s.close(fd)

    together = Together(machine, {"one": body})
    together.run()
    assert together.calls == [("one", "open"), ("one", "fsync")]


def test_a_close_that_drops_a_lock_gives_way() -> None:
    machine = Machine()

    def body() -> None:
        fd = machine.system.open("/f", RW)
        machine.system.flock(fd, fcntl.LOCK_EX)
        machine.system.close(fd)

    together = Together(machine, {"one": body})
    together.run()
    assert together.calls == [("one", "open"), ("one", "close")]


def test_a_process_killed_while_it_waited_does_not_get_the_lock() -> None:
    machine = Machine()
    seen: list[str] = []

    def holder() -> None:
        fd = machine.system.open("/f", RW)
        machine.system.flock(fd, fcntl.LOCK_EX)
        machine.system.getcwd()
        machine.system.getcwd()
        machine.kill(machine.processes[1])
        machine.system.flock(fd, fcntl.LOCK_UN)
        machine.system.flock(machine.system.open("/f", RW), fcntl.LOCK_EX | fcntl.LOCK_NB)
        seen.append("free")

    def waiter() -> None:
        try:
            machine.system.flock(machine.system.open("/f", RW), fcntl.LOCK_EX)
        except ProcessKilled:
            seen.append("killed")

    Together(machine, {"holder": holder, "waiter": waiter}).run()
    assert sorted(seen) == ["free", "killed"]


def test_start_exit_and_kill_are_on_the_time_line() -> None:
    machine = Machine()
    a, b = machine.spawn("a"), machine.spawn("b")
    machine.exit(a)
    machine.kill(b)
    machine.exit(b)
    texts = [op.text for op in machine.journal if isinstance(op, Note)]
    assert texts == ["start a", "start b", "exit a", "kill b"]


def test_random_bytes_and_inode_numbers_come_from_the_process_itself() -> None:
    def made(others: int) -> tuple[bytes, int]:
        machine = Machine()
        me = machine.spawn("me")
        for n in range(others):
            machine.current = machine.spawn(f"other {n}")
            machine.system.urandom(8)
            machine.system.mkdir(f"/{n}")
        machine.current = me
        machine.system.mkdir("/mine")
        return machine.system.urandom(16), machine.system.stat("/mine").st_ino

    assert made(0) == made(3)
