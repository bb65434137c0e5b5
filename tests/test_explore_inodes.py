"""Numbers of inodes used again: what tells files apart by `st_ino` is fooled, and only where that is asked for."""

from __future__ import annotations

import os
from typing import Any

import simfs
from simfs.explore.plan import Plan
from simfs.machine.machine import Machine

LOG = "/log"


class Followed(simfs.Scenario):
    """A log is rotated by removing it and beginning a new one, while a reader follows it by name.

    The reader goes on from its offset as long as it takes the file for the same one.
    """

    power = False
    reuse_inodes = True
    keeps_it_open = False

    def setup(self, m: simfs.Handle) -> None:
        self.put(m.system, b"first\n")

    def put(self, system: Any, data: bytes) -> None:
        fd = system.open(LOG, os.O_WRONLY | os.O_CREAT, 0o644)
        system.write(fd, data)
        system.close(fd)

    @simfs.process
    def rotator(self, m: simfs.Handle) -> None:
        m.system.unlink(LOG)
        self.put(m.system, b"second\n")
        m.ack("written", "second")

    @simfs.process
    def reader(self, m: simfs.Handle) -> None:
        system = m.system
        try:
            fd = system.open(LOG, os.O_RDONLY)
        except FileNotFoundError:
            return
        known, offset = system.fstat(fd), len(system.read(fd, 100))
        if not self.keeps_it_open:
            system.close(fd)
        try:
            again = system.open(LOG, os.O_RDONLY)
        except FileNotFoundError:
            return
        now = system.fstat(again)
        same = (now.st_ino, now.st_dev) == (known.st_ino, known.st_dev)
        system.lseek(again, offset if same else 0, os.SEEK_SET)
        m.effect("read", (same, offset, system.read(again, 100)))

    @simfs.law
    def a_new_log_is_read_from_its_beginning(self, m: simfs.Handle) -> None:
        for event in m.history:
            if event.label == "read":
                same, offset, data = event.value
                if offset == 6:
                    assert data == b"" if same else data in (b"", b"second\n"), f"from byte 6 of the new log: {data!r}"


class KeptOpen(Followed):
    keeps_it_open = True


def test_a_reader_that_goes_by_the_number_misses_a_rotation() -> None:
    found = simfs.explore(Followed)
    assert found.status == "violated"
    assert found.counterexample is not None
    assert "i" in str(found.counterexample.path[0].plan)
    again = simfs.replay(found.counterexample.token, Followed)
    assert again.finding == found.counterexample.finding


def test_without_reuse_it_is_never_fooled() -> None:
    assert simfs.explore(Followed, reuse_inodes=False).status == "proved"


def test_a_reader_that_keeps_the_old_file_open_is_right() -> None:
    assert simfs.explore(KeptOpen).status == "proved"


def reusing() -> Machine:
    machine = Machine(record_sites=False)
    machine.spawn("program")
    machine.freed = {}
    return machine


def made(machine: Machine, path: str) -> int:
    machine.system.close(machine.system.open(path, os.O_WRONLY | os.O_CREAT, 0o644))
    return machine.system.stat(path).st_ino


def test_the_lowest_free_number_is_used_again_once_and_not_while_a_descriptor_keeps_it() -> None:
    machine = reusing()
    system = machine.system
    first, second = made(machine, "/a"), made(machine, "/b")
    kept = system.open("/a", os.O_RDONLY)
    system.unlink("/a")
    assert made(machine, "/c") not in (first, second)
    system.close(kept)
    system.unlink("/b")
    assert made(machine, "/d") == first
    assert {entry.name: entry.inode() for entry in system.scandir("/")}["d"] == first
    assert made(machine, "/e") == second
    system.unlink("/d")
    assert made(machine, "/f") not in (first, second)


def test_an_inode_that_a_power_loss_brings_back_has_its_number_alone() -> None:
    machine = reusing()
    first = made(machine, "/a")
    image = machine.freeze()
    machine = Machine(image, boot=2, record_sites=False)
    machine.spawn("program")
    machine.freed = {}
    machine.system.unlink("/a")
    assert made(machine, "/b") == first
    both = set()
    disk = simfs.disk.models.models_named("prefix")[0].start(image)
    for op in machine.journal.ops:
        disk.add(op)
    for _, pick in disk.leaves():
        after = Machine(disk.image(pick), boot=3, record_sites=False)
        after.spawn("reader")
        numbers = [after.system.stat("/" + name).st_ino for name in after.system.listdir("/")]
        assert len(set(numbers)) == len(numbers)
        both.add(tuple(sorted(numbers)))
    assert {len(numbers) for numbers in both} == {0, 1, 2} and (first,) in both and len(both) == 3


def test_a_plan_says_it() -> None:
    assert Plan.parse("k0.3+i") == Plan.parse(str(Plan.parse("k0.3+i")))
    assert Plan.parse("i").reuse
