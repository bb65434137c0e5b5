"""The smallest story of each planted fault, exactly: what `shrink` answers is a minimum, not merely something smaller.

A size is (processes that did something, ops told, switches, faults, ops lost or torn, bytes lost of torn writes), in
the order in which stories are compared. Each expected size is argued for in the comment beside it.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

import simfs
from simfs.machine.ops import Close, Lock, Note, Write
from tests import shrink_programs as planted

Size = tuple[int, int, int, int, int, int]


def story(kind: type[simfs.Scenario], disk: str) -> Size:
    found = simfs.explore(kind, disk=disk).counterexample
    assert found is not None, f"{kind.__name__} holds"
    assert len(found.boots) - sum(boot.kind == "recovery" for boot in found.boots) == 1
    boot = found.boots[0]
    told = [op for op in boot.issued if not isinstance(op, Note | Lock | Close)]
    lanes = [op.process for op in told]
    lost = torn = 0
    for op in boot.ops:
        fate = boot.fates.get(op.index, "durable") if boot.crash is not None else "durable"
        lost += fate not in ("durable", "kept")
        if isinstance(op, Write) and fate.split()[0].isdigit():
            torn += len(op.data) - int(fate.split()[0])
    plan = found.path[0].plan
    faults = len(plan.kills) + len(plan.strikes) + (plan.jump is not None)
    switches = sum(one != other for one, other in pairwise(lanes))
    return len(set(lanes)), len(told), switches, faults, lost, torn


MINIMA: list[tuple[type[simfs.Scenario], str, Size]] = [
    # The noise before it is in the way of its own process: create, write, flush; then create, write, promise.
    (planted.PromiseAmidNoise, "prefix", (1, 6, 0, 0, 2, 0)),
    (planted.PromiseAmidNoise, "ext4", (1, 6, 0, 0, 2, 0)),
    # The truncation alone is enough, and nothing has to be lost.
    (planted.OverwriteInPlace, "prefix", (1, 3, 0, 0, 0, 0)),
    (planted.OverwriteInPlace, "ext4", (1, 3, 0, 0, 0, 0)),
    # Create, write, rename; the write is lost whole.
    (planted.RenameFirst, "prefix", (1, 3, 0, 0, 1, 0)),
    # The last byte of one write.
    (planted.TwoLines, "prefix", (1, 1, 0, 0, 1, 1)),
    (planted.BigTear, "prefix", (1, 2, 0, 0, 1, 1)),
    # Create, write and flush a, create b: what b holds does not matter. Only the entry of a is lost.
    (planted.TwoFilesOneLost, "prefix", (1, 4, 0, 0, 1, 0)),
    # Bystanders have not begun when the power goes.
    (planted.BystanderFirst, "prefix", (1, 3, 0, 0, 2, 0)),
    (planted.BystanderFirst, "ext4", (1, 3, 0, 0, 2, 0)),
    (planted.TwoBystanders, "prefix", (1, 3, 0, 0, 2, 0)),
    # Without a crash everybody ends. Both read first; then one truncates and writes, then the other.
    (planted.LostUpdate, "prefix", (2, 4, 1, 0, 0, 0)),
    # The read is no op; what was read is told after the write.
    (planted.ReaderBetween, "prefix", (2, 3, 1, 0, 0, 0)),
    # Three processes switch at least twice.
    (planted.ReaderBetweenAmidNoise, "prefix", (3, 5, 2, 0, 0, 0)),
    # The kill was allowed and is not needed; where it is, it is the only fault, right after the lock is made.
    (planted.KilledHalfway, "prefix", (1, 3, 0, 0, 0, 0)),
    (planted.KillNeeded, "prefix", (1, 1, 0, 1, 0, 0)),
    (planted.SwallowedFault, "prefix", (1, 4, 0, 1, 0, 0)),
    (planted.PowerNotFault, "prefix", (1, 6, 0, 0, 2, 0)),
    # One of two power losses is left.
    (planted.OneLossIsEnough, "prefix", (1, 3, 0, 0, 2, 0)),
    # The byte of the file is not written yet when the other process sees and promises it.
    (planted.PromiseOfAnother, "prefix", (2, 4, 1, 0, 1, 0)),
    (planted.UnlinkedTooEarly, "prefix", (1, 5, 0, 0, 1, 0)),
]


@pytest.mark.parametrize(("kind", "disk", "size"), MINIMA, ids=[f"{kind.__name__}-{disk}" for kind, disk, _ in MINIMA])
def test_the_story_of_a_planted_fault_is_the_smallest_there_is(
    kind: type[simfs.Scenario], disk: str, size: Size
) -> None:
    assert story(kind, disk=disk) == size


def test_a_smaller_story_is_found_the_same_twice() -> None:
    tokens = {simfs.explore(planted.PromiseOfAnother).counterexample.token for _ in range(2)}  # type: ignore[union-attr]
    assert len(tokens) == 1


def test_more_jobs_find_the_same_smallest_story() -> None:
    one = simfs.explore(planted.BystanderFirst).counterexample
    two = simfs.explore(planted.BystanderFirst, jobs=2).counterexample
    assert one is not None and two is not None
    assert one.token == two.token
