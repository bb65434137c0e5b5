"""Crash points of a reduced search are all the instants that any schedule has, and no others."""

from __future__ import annotations

import random

import pytest

from tests.interleaving_programs import Program, images

BLOCKS = {"prefix": 20, "ext4": 6, "posix-weakest": 6, "synced-only": 6, "scc": 6}
"""How many blocks of random programs are compared on each disk model."""
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


@pytest.mark.parametrize(("disk", "block"), [(disk, block) for disk, count in BLOCKS.items() for block in range(count)])
def test_images_at_cuts_equal_those_of_every_schedule(disk: str, block: int) -> None:
    draw = random.Random(f"cuts {block}")
    for _ in range(PROGRAMS_A_BLOCK):
        program = random_program(draw)
        assert images(program, "exhaustive", disk) == images(program, "naive", disk), program


def test_three_unlocked_claimers_have_the_crash_instants_of_the_naive_search() -> None:
    # Each looks whether the job is there and takes it by renaming it to a name of its own.
    program: Program = [[("stat", "a"), ("rename", "a", f"taken{who}"), ("ack", f"by {who}")] for who in (1, 2)]
    program = [*program, [("stat", "a"), ("rename", "a", "taken3")]]
    naive = images(program, "naive", "scc")
    assert images(program, "exhaustive", "scc") == naive
    assert len(naive) > 10
