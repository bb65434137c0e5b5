"""The smallest story of each planted fault that takes several power losses, exactly, as in `test_shrink_quality.py`.

A size is (processes that did something, ops told, switches, faults, ops lost or torn, bytes lost of torn writes), each
a sum over the boots; the recovery is a boot. Each expected size is argued for in the comment beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

import simfs
from simfs.explore.shrink import shrink_token
from simfs.explore.token import parse
from simfs.machine.ops import Close, Lock, Note, Write
from tests import shrink_boots_programs as planted
from tests.test_shrink_quality import Size


def size_of(found: simfs.Counterexample) -> Size:
    """Taken from what a person is shown, not from what the search counts."""
    total = [0] * 6
    legs = iter(found.path)
    for boot in found.boots:
        if boot.kind == "recovery" and boot.crash is None:
            continue
        leg = next(legs)
        told = [op.process for op in boot.issued if not isinstance(op, Note | Lock | Close)]
        lost = torn = 0
        for op in boot.ops:
            fate = boot.fates.get(op.index, "durable") if boot.crash is not None else "durable"
            lost += fate not in ("durable", "kept")
            if isinstance(op, Write) and fate.split()[0].isdigit():
                torn += len(op.data) - int(fate.split()[0])
        faults = len(leg.plan.kills) + len(leg.plan.strikes) + (leg.plan.jump is not None)
        switches = sum(one != other for one, other in pairwise(told))
        parts = (len(set(told)), len(told), switches, faults, lost, torn)
        total = [one + other for one, other in zip(total, parts, strict=True)]
    a, b, c, d, e, f = total
    return (a, b, c, d, e, f)


MINIMA: list[tuple[type[simfs.Scenario], str, int, Size]] = [
    # The writer has done nothing. Recovery makes and writes its own noise, which is in its way, and truncates the file.
    (planted.RecoveryInPlace, "prefix", 2, (1, 3, 0, 0, 0, 0)),
    (planted.RecoveryInPlace, "ext4", 2, (1, 3, 0, 0, 0, 0)),
    # Recovery makes, writes and unlinks; the write is lost.
    (planted.RecoveryForgetsAFlush, "prefix", 2, (1, 3, 0, 0, 1, 0)),
    (planted.RecoveryForgetsAFlush, "ext4", 2, (1, 3, 0, 0, 1, 0)),
    # First: make, write and flush the noise, make the mark. Then the noise again, truncated; make, write, flush more
    # noise; make, write, promise. The last file is lost, entry and content.
    (planted.SecondLife, "prefix", 2, (2, 13, 0, 0, 2, 0)),
    (planted.SecondLife, "ext4", 2, (2, 13, 0, 0, 2, 0)),
    # First: make, write and flush the noise, flush the directory, make the file, and nothing is lost: it is empty. Then
    # the noise, truncated, the directory, the read, and two ops before the end: the second boot runs to its end.
    (planted.BelievesHalf, "prefix", 2, (2, 12, 0, 0, 0, 0)),
    (planted.BelievesHalf, "ext4", 2, (2, 12, 0, 0, 0, 0)),
    # The bystander has begun in neither life.
    (planted.BystandersTwice, "prefix", 2, (2, 13, 0, 0, 2, 0)),
    (planted.BystandersTwice, "ext4", 2, (2, 13, 0, 0, 2, 0)),
    # Make, write, promise; the write is lost. The second life, which the search finds first, is not needed.
    (planted.OneLifeIsEnough, "prefix", 1, (1, 3, 0, 0, 1, 0)),
    (planted.OneLifeIsEnough, "ext4", 1, (1, 3, 0, 0, 1, 0)),
    # One file in each of two lives; then make, write, promise, of which the first two are lost.
    (planted.ThreeLosses, "prefix", 3, (3, 5, 0, 0, 2, 0)),
    (planted.ThreeLosses, "ext4", 3, (3, 5, 0, 0, 2, 0)),
]


@pytest.mark.parametrize(
    ("kind", "disk", "boots", "size"), MINIMA, ids=[f"{kind.__name__}-{disk}" for kind, disk, _, _ in MINIMA]
)
def test_the_story_of_several_boots_is_the_smallest_there_is(
    kind: type[simfs.Scenario], disk: str, boots: int, size: Size
) -> None:
    found = simfs.explore(kind, disk=disk).counterexample
    assert found is not None, f"{kind.__name__} holds"
    assert (len(found.path), size_of(found)) == (boots, size)
    again = simfs.replay(found.token, kind)
    assert (again.law, again.finding.message) == (found.law, found.finding.message)


def every_story(kind: type[simfs.Scenario], disk: str) -> Iterator[simfs.Counterexample]:
    """Pairs of crash points with pairs of disks, by brute force: those that break a law."""
    reference = simfs.explore(kind, disk=disk).counterexample
    assert reference is not None
    head = "~".join(reference.token.split("~")[:3])
    picks = [f"{one}.{two}" for one in range(4) for two in range(2)] + ["0", "1"]
    recovery = "r" if "/r@" in reference.token else ""
    for first in range(1, 4):
        for second in range(4, 7):
            for one in ("0", "1"):
                for two in picks:
                    try:
                        yield simfs.replay(f"{head}~~@{first}.{one}/{recovery}@{second}.{two}", kind)
                    except simfs.StaleToken:
                        continue


def test_no_pair_of_crashes_that_is_tried_by_brute_force_is_smaller() -> None:
    found = simfs.explore(planted.RecoveryForgetsAFlush, disk="ext4").counterexample
    assert found is not None
    sizes = [size_of(other) for other in every_story(planted.RecoveryForgetsAFlush, "ext4")]
    assert len(sizes) >= 10
    assert min(sizes) == size_of(found)


def test_a_story_of_two_boots_is_found_the_same_twice_and_by_more_jobs() -> None:
    tokens = {
        simfs.explore(planted.BystandersTwice, jobs=jobs).counterexample.token  # type: ignore[union-attr]
        for jobs in (1, 1, 2)
    }
    assert len(tokens) == 1


def test_a_larger_story_of_two_boots_is_shrunk_by_its_token() -> None:
    large = simfs.explore(planted.SecondLife, shrink=False).counterexample
    small = simfs.explore(planted.SecondLife).counterexample
    assert large is not None and small is not None and large.token != small.token
    assert shrink_token(parse(large.token), planted.SecondLife).token == small.token
