"""Disks that say they are in the same situation leave the same images, so that the second need not be looked at."""

from __future__ import annotations

import random
from typing import Any

import pytest

from simfs.disk.models import models_named
from simfs.disk.worlds import WorldDisk
from simfs.machine.machine import Machine
from simfs.machine.ops import FailedFlush
from tests.disk_programs import base_image, put, run, run_steps

BASE = base_image()
PROGRAMS = 1500
STEPS: list[tuple[Any, ...]] = [
    ("append", "/a", b"x"),
    ("append", "/a", b"y"),
    ("append", "/d/a", b"x"),
    ("put", "/d/b", b"z"),
    ("truncate", "/a", 2),
    ("chmod", "/a", 0o600),
    ("utime", "/a", (3, 4)),
    ("rename", "/d/a", "/b"),
    ("link", "/a", "/d/a"),
    ("unlink", "/a"),
    ("unlink", "/d/a"),
    ("flush", "/a", False),
    ("flush", "/a", True),
    ("flush", "/d", False),
    ("flush", "/", False),
]


def started(disk: str) -> WorldDisk:
    found = models_named(disk)[0].start(BASE)
    assert isinstance(found, WorldDisk)
    return found


@pytest.mark.parametrize("name", ["prefix", "prefix:rename_atomic=no", "synced-only"])
def test_equal_situations_leave_equal_images(name: str) -> None:
    draw = random.Random(f"situations {name}")
    known: dict[object, frozenset[int]] = {}
    met_again = 0
    for _ in range(PROGRAMS):
        program = [draw.choice(STEPS) for _ in range(draw.randrange(2, 6))]
        disk = started(name)
        for op in run_steps(program, BASE):
            disk.add(op)
        leaves = frozenset(digest for digest, _ in disk.leaves())
        met_again += disk.situation() in known
        assert known.setdefault(disk.situation(), leaves) == leaves, program
    assert met_again > PROGRAMS // 4
    assert len(set(known.values())) > 50


def test_the_order_of_calls_that_have_nothing_to_do_with_each_other_is_no_part_of_it() -> None:
    machine = Machine(BASE, boot=2, record_sites=False)
    machine.spawn("program")
    for path in ("/a", "/d/a"):
        put(machine.system, path, b"new")
    ops = [op for op in machine.journal.ops if type(op).__name__ in ("Create", "Write", "Truncate")]
    first, second = started("prefix"), started("prefix")
    for op in ops:
        first.add(op)
    for op in sorted(ops, key=lambda op: op.path, reverse=True):
        second.add(op)
    assert first.situation() == second.situation() is not None


def test_after_a_failed_flush_nothing_is_said() -> None:
    def program(system: Any) -> None:
        put(system, "/a", b"new")

    disk = started("prefix")
    ops = run(program, BASE)
    for op in ops:
        disk.add(op)
    failed = FailedFlush("/a", next(op.ino for op in ops if type(op).__name__ == "Write"), False)
    failed.index = len(ops)
    disk.add(failed)
    assert disk.situation() is None
