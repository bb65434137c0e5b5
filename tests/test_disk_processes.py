"""Where several processes ran, a disk leaves what some schedule of the same happens-before order would have left.

Two processes work on files and names of their own, so that nothing but their own order orders their calls. One disk
is given the calls with their vector clocks, and flushes that cover what happens before them; it must leave exactly
what is left when every schedule is taken by itself, as if one process had made the calls in that order.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simfs
from simfs.disk.model import DiskModel
from simfs.disk.models import models_named
from simfs.machine.inode import Image
from simfs.machine.machine import Machine
from simfs.machine.ops import FailedFlush, Flush, FlushAll, Op
from tests.disk_programs import put, run_steps

Shape = tuple[tuple[str, object], ...]


def base_image() -> Image:
    machine = Machine(record_sites=False)
    machine.spawn("setup")
    for home in ("/p", "/q"):
        machine.system.mkdir(home, 0o755)
        put(machine.system, f"{home}/f", b"old")
    return machine.freeze()


BASE = base_image()


def program(home: str) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    file = st.sampled_from((f"{home}/f", f"{home}/g"))
    return st.lists(
        st.one_of(
            st.tuples(st.sampled_from(("put", "append")), file, st.just(b"x")),
            st.tuples(st.just("rename"), file, file),
            st.tuples(st.just("flush"), st.sampled_from((f"{home}/f", f"{home}/g", home)), st.booleans()),
        ),
        max_size=3,
    )


def lane(steps: list[tuple[Any, ...]], process: int) -> list[Op]:
    """The ops of one process, with the clocks that two processes that never meet have."""
    ops = [op for op in run_steps(steps, BASE) if type(op).__name__ != "Close"]
    for count, op in enumerate(ops, 1):
        op.process = process
        op.clock = (count, 0) if process == 0 else (0, count)
        if hasattr(op, "ino") and op.ino not in BASE.inodes:
            op.ino += process * 1_000_000
        victim = getattr(op, "victim", None)
        if victim is not None and victim not in BASE.inodes:
            op.victim = victim + process * 1_000_000  # type: ignore[attr-defined]
    return ops


def schedules(first: Sequence[Op], second: Sequence[Op]) -> Iterator[list[Op]]:
    total = len(first) + len(second)
    for places in combinations(range(total), len(first)):
        mine, other = iter(first), iter(second)
        yield [next(mine) if at in places else next(other) for at in range(total)]


def numbered(ops: Sequence[Op], clocks: bool) -> list[Op]:
    out = []
    for index, op in enumerate(ops):
        op = copy.copy(op)
        op.index = index
        if not clocks:
            op.clock, op.process = (), 0
        out.append(op)
    return out


def left(model: DiskModel, ops: Sequence[Op], clocks: bool) -> set[Shape]:
    disk = model.start(BASE)
    for op in numbered(ops, clocks):
        if clocks and isinstance(op, Flush | FlushAll | FailedFlush):
            disk.add(op, lambda earlier, op=op: op.clock[earlier.process] >= earlier.clock[earlier.process])  # type: ignore[misc]
        else:
            disk.add(op)
    return {tuple(sorted(disk.image(pick).tree().items())) for _, pick in disk.leaves()}


@pytest.mark.parametrize("name", ["synced-only", "prefix", "ext4", "posix-weakest"])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(first=program("/p"), second=program("/q"))
def test_one_disk_with_clocks_leaves_what_all_schedules_leave(name: str, first: Any, second: Any) -> None:
    (model,) = models_named(name)
    one, other = lane(first, 0), lane(second, 1)
    if len(one) + len(other) > 9:
        one, other = one[:5], other[:4]
    every = [left(model, order, clocks=False) for order in schedules(one, other)]
    for order in ([*one, *other], [*other, *one]):
        assert left(model, order, clocks=True) == set().union(*every)


class Appenders(simfs.Scenario):
    """Two processes append to one log; the law only writes down what it finds."""

    found: ClassVar[set[bytes]] = set()

    def setup(self, m: Any) -> None:
        open("/log", "wb").close()

    def append(self, data: bytes) -> None:
        fd = os.open("/log", os.O_WRONLY | os.O_APPEND)
        os.write(fd, data)
        os.close(fd)

    @simfs.process
    def one(self, m: Any) -> None:
        self.append(b"aa")

    @simfs.process
    def two(self, m: Any) -> None:
        self.append(b"bb")

    @simfs.law
    def note(self, m: Any) -> None:
        self.found.add(open("/log", "rb").read())


@pytest.mark.parametrize(
    ("disk", "after_one"),
    [
        ("scc", [b"", b"aa", b"aabb"]),
        ("synced-only", [b"", b"aabb"]),
        ("prefix", [b"", b"a", b"aa", b"aab", b"aabb"]),
        ("ext4", [b"", b"aa", b"\0\0", b"aabb", b"aa\0\0", b"\0\0\0\0"]),
    ],
)
def test_each_append_of_two_processes_lands_whole_at_the_end_it_found(disk: str, after_one: list[bytes]) -> None:
    Appenders.found.clear()
    assert simfs.explore(Appenders, disk=disk, lazy=False).status == "proved"
    swapped = [data.replace(b"a", b"c").replace(b"b", b"a").replace(b"c", b"b") for data in after_one]
    assert Appenders.found == {*after_one, *swapped}
