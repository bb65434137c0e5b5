"""Crash points of a reduced search are all the instants that any schedule has, and no others."""

from __future__ import annotations

import random

import pytest

from tests.interleaving_programs import Program, images

BLOCKS = 20
PROGRAMS_A_BLOCK = 20


def random_program(draw: random.Random) -> Program:
    """Two processes that change names and contents in one directory, with flushes of files and of the directory."""
    processes = []
    for _ in range(2):
        kind = draw.randrange(4)
        name, other = draw.choice(["a", "b", "n"]), draw.choice(["a", "b", "n", "o"])
        if kind == 0:
            calls = [("open", name), ("write", name, draw.choice([b"x", b"yz"])), ("fsync", name)]
        elif kind == 1:
            calls = [("opendir",), draw.choice([("rename", name, other), ("unlink", name)]), ("fsync", "dir")]
        elif kind == 2:
            calls = [draw.choice([("link", name, other), ("rename", name, other)]), ("ack", "done")]
        else:
            calls = [("truncate", name, draw.randrange(3)), ("unlink", other)]
        processes.append(calls)
    return processes


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("disk", ["prefix"])
def test_images_at_cuts_equal_those_of_every_schedule(block: int, disk: str) -> None:
    draw = random.Random(f"cuts {block}")
    for _ in range(PROGRAMS_A_BLOCK):
        program = random_program(draw)
        naive = images(program, "naive", disk)
        reduced = images(program, "exhaustive", disk)
        assert closed(reduced, naive), program


def closed(reduced: set[tuple[int, tuple[str, ...]]], naive: set[tuple[int, tuple[str, ...]]]) -> bool:
    """The reduced search leaves out cuts whose images are all those of a larger one, so the images must be the same."""
    return reduced == naive
