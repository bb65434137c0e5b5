"""Locks against Linux: random programs of two real processes, and the matrix of who excludes whom."""

from __future__ import annotations

import fcntl
import os
import pickle
import random
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.machine_twin import RealWorld, SimWorld, Slot, Step, World, shrunk

FLOCK = struct.Struct("@hhqqi4x")
OFD_GETLK, OFD_SETLK = 36, 37
Turn = tuple[int, Step]
PROGRAMS = int(os.environ.get("SIMFS_LOCK_PROGRAMS", "400"))


class RealProcess:
    """A real process that makes the calls it is sent and sends the answers back."""

    def __init__(self, root: str) -> None:
        self.orders_in, self.orders = os.pipe()
        self.answers, self.answers_out = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.serve(root)
            finally:
                os._exit(0)
        os.close(self.orders_in)
        os.close(self.answers_out)

    def serve(self, root: str) -> None:
        for fd in range(3, 256):
            if fd not in (self.orders_in, self.answers_out):
                try:
                    os.close(fd)
                except OSError:
                    pass
        world = RealWorld(root)
        with os.fdopen(self.orders_in, "rb") as orders, os.fdopen(self.answers_out, "wb") as answers:
            while True:
                try:
                    step = pickle.load(orders)
                except EOFError:
                    return
                pickle.dump(run(world, step), answers)
                answers.flush()

    def run(self, step: Step) -> Any:
        os.write(self.orders, pickle.dumps(step))
        with os.fdopen(os.dup(self.answers), "rb", buffering=0) as answers:
            return pickle.load(answers)

    def end(self) -> None:
        os.close(self.orders)
        os.close(self.answers)
        os.waitpid(self.pid, 0)


def run(world: World, step: Step) -> Any:
    """The answer; a lock that F_GETLK found names its owner by -1 (an OFD lock), 0 (nobody) or 1 (some process)."""
    answer = world.run(step)
    if isinstance(answer, bytes) and step.call == "fcntl":
        kind, whence, start, length, pid = FLOCK.unpack(answer)
        return kind, whence, start, length, (pid > 0) - (pid < 0)
    return answer


@contextmanager
def real_pair(root: str) -> Iterator[list[RealProcess]]:
    for name in ("f", "g"):
        Path(root, name).write_bytes(b"0123456789")
    pair = [RealProcess(root), RealProcess(root)]
    try:
        yield pair
    finally:
        for process in pair:
            process.end()


class SimPair:
    """The same two processes on one machine."""

    def __init__(self, root: str) -> None:
        first, second = SimWorld(root), SimWorld(root)
        second.machine, second.system = first.machine, first.system
        for name in ("f", "g"):
            fd = first.system.open(f"{root}/{name}", os.O_CREAT | os.O_WRONLY, 0o644)
            first.system.write(fd, b"0123456789")
            first.system.close(fd)
        second.process = first.machine.spawn("other", os.getuid(), os.getgid())
        self.worlds = [first, second]

    def run(self, who: int, step: Step) -> Any:
        world = self.worlds[who]
        world.machine.current = world.process
        return run(world, step)


def differs(program: Sequence[Turn], root: str) -> str | None:
    """Run `program` in both worlds; the first difference."""
    sim = SimPair(root)
    with real_pair(root) as real:
        for at, (who, step) in enumerate(program):
            ours, theirs = sim.run(who, step), real[who].run(step)
            if ours != theirs:
                return f"turn {at}, process {who}: {step}\n  Linux: {theirs}\n  simfs: {ours}"
    return None


def record(kind: int, start: int = 0, length: int = 0, whence: int = 0) -> bytes:
    return FLOCK.pack(kind, whence, start, length, 0)


def opening(root: str, name: str, slot: int, flags: int = os.O_RDWR) -> Step:
    return Step("open", (f"{root}/{name}", flags), into=slot)


def drawn(source: random.Random, root: str) -> list[Turn]:
    """A random program: two processes, two files, three descriptor slots each, every kind of lock."""
    program: list[Turn] = [(who, opening(root, "f", slot)) for who in (0, 1) for slot in (0, 1)]
    for _ in range(source.randrange(1, 25)):
        who, slot = source.randrange(2), Slot(source.randrange(3))
        kind = source.choice((fcntl.F_RDLCK, fcntl.F_WRLCK, fcntl.F_UNLCK))
        arg = record(kind, source.randrange(-2, 12), source.randrange(-3, 6), source.randrange(3))
        flags = source.choice((os.O_RDWR, os.O_RDONLY, os.O_WRONLY))
        step = source.choice(
            (
                opening(root, source.choice("fg"), slot.number, flags),
                Step("close", (slot,)),
                Step("dup", (slot,), into=source.randrange(3)),
                Step("flock", (slot, source.choice((1, 2, 8)) | fcntl.LOCK_NB)),
                Step("flock", (slot, source.choice((1, 2, 8)) | fcntl.LOCK_NB)),
                Step("fcntl", (slot, fcntl.F_SETLK, arg)),
                Step("fcntl", (slot, fcntl.F_GETLK, arg)),
                Step("fcntl", (slot, OFD_SETLK, arg)),
                Step("fcntl", (slot, OFD_GETLK, arg)),
                Step("lockf", (slot, source.choice((1, 2)) | fcntl.LOCK_NB, source.randrange(5), source.randrange(5))),
                Step("lseek", (slot, source.randrange(10), 0)),
            )
        )
        program.append((who, step))
    return program


def test_random_lock_programs_of_two_processes_have_the_answers_of_linux(tmp_path: Path) -> None:
    root = str(tmp_path)
    for seed in range(PROGRAMS):
        program = drawn(random.Random(seed), root)
        if differs(program, root):
            small = shrunk(program, lambda steps: differs(steps, root) is not None)  # type: ignore[arg-type, type-var]
            lines = [f"  process {who}: {step}" for who, step in small]  # type: ignore[misc, has-type]
            pytest.fail("\n".join([f"seed {seed}", *lines, differs(small, root) or "?"]))  # type: ignore[arg-type]


HOLD = {
    "flock SH": Step("flock", (Slot(0), fcntl.LOCK_SH | fcntl.LOCK_NB)),
    "flock EX": Step("flock", (Slot(0), fcntl.LOCK_EX | fcntl.LOCK_NB)),
    "record SH": Step("fcntl", (Slot(0), fcntl.F_SETLK, record(fcntl.F_RDLCK, 0, 5))),
    "record EX": Step("fcntl", (Slot(0), fcntl.F_SETLK, record(fcntl.F_WRLCK, 0, 5))),
    "OFD SH": Step("fcntl", (Slot(0), OFD_SETLK, record(fcntl.F_RDLCK, 0, 5))),
    "OFD EX": Step("fcntl", (Slot(0), OFD_SETLK, record(fcntl.F_WRLCK, 0, 5))),
}
TRY = {
    **{name: Step(step.call, (Slot(2), *step.args[1:])) for name, step in HOLD.items()},
    "record EX beside": Step("fcntl", (Slot(2), fcntl.F_SETLK, record(fcntl.F_WRLCK, 5, 5))),
}
WHO = {
    "the same descriptor": [(0, Step("dup", (Slot(0),), into=2))],
    "another description of the process": [],
    "another process": [],
}
FREE = {
    "held": [],
    "unlocked": [(0, Step("flock", (Slot(0), fcntl.LOCK_UN))), (0, HOLD["record SH"])][:1],
    "closed": [(0, Step("close", (Slot(0),)))],
    "another descriptor of the file closed": [(0, Step("close", (Slot(1),)))],
}


@pytest.mark.parametrize("who", WHO)
def test_who_excludes_whom_and_what_frees_a_lock_is_as_on_linux(who: str, tmp_path: Path) -> None:
    root = str(tmp_path)
    asker = 1 if who == "another process" else 0
    for held, tried, freed in product(HOLD, TRY, FREE):
        program: list[Turn] = [(0, opening(root, "f", 0)), (0, opening(root, "f", 1))]
        program += WHO[who] or [(asker, opening(root, "f", 2))]
        program += [(0, HOLD[held]), *FREE[freed], (asker, TRY[tried]), (1 - asker, opening(root, "f", 2))]
        program += [(1 - asker, step) for step in TRY.values()]
        found = differs(program, root)
        assert found is None, f"{held}, {freed}, then {tried} by {who}: {found}"


@pytest.mark.parametrize("held", HOLD)
def test_the_end_of_a_process_frees_its_locks_as_on_linux(held: str, tmp_path: Path) -> None:
    root = str(tmp_path)
    sim = SimPair(root)
    with real_pair(root) as real:
        for step in (opening(root, "f", 0), HOLD[held]):
            assert sim.run(0, step) == real[0].run(step)
        real[0].end()
        sim.worlds[0].machine.kill(sim.worlds[0].process)
        for step in (opening(root, "f", 2), *TRY.values()):
            assert sim.run(1, step) == real[1].run(step)
        real[0] = real[1]
        real.pop()
