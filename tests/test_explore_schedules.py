"""The search of schedules makes every class of runs exactly once, and misses no outcome."""

from __future__ import annotations

import random

import pytest

from tests.interleaving_programs import Program, outcomes

ADD = ("add", "a")


@pytest.mark.parametrize(
    ("processes", "steps", "classes"),
    [
        (2, 1, 4),  # RWrw, rwRW, and both reads first with either write last
        (2, 2, 34),
        (2, 3, 328),
        (2, 4, 3334),
        (3, 1, 36),
        (3, 2, 7134),
    ],
)
def test_read_modify_write_programs_have_exactly_this_many_classes(processes: int, steps: int, classes: int) -> None:
    program = [[("open", "a"), *[ADD] * steps]] * processes
    _, runs = outcomes(program, "exhaustive")
    assert runs == classes


SMALL: dict[str, Program] = {
    "two adds": [[("open", "a"), ADD], [("open", "a"), ADD]],
    "add and read twice": [[("open", "a"), ADD], [("open", "a"), ("read", "a"), ("read", "a")]],
    "adds of different files": [[("open", "a"), ADD], [("open", "b"), ("add", "b")]],
    "create exclusively": [[("excl", "n")], [("excl", "n")], [("exists", "n")]],
    "create and list": [[("open", "n")], [("open", "o")], [("list",)]],
    "rename over": [[("rename", "a", "b")], [("open", "b"), ("read", "b")]],
    "rename both ways": [[("rename", "a", "b")], [("rename", "b", "a")]],
    "rename and unlink": [[("rename", "a", "n")], [("unlink", "a")], [("unlink", "n")]],
    "link and unlink": [[("link", "a", "n")], [("unlink", "a")], [("stat", "n")]],
    "link twice": [[("link", "a", "n")], [("link", "b", "n")]],
    "make and remove a directory": [[("mkdir", "n"), ("rmdir", "n")], [("mkdir", "n")]],
    "append by both": [[("open", "a"), ("append", "a", b"1")], [("open", "a"), ("append", "a", b"2")]],
    "write and truncate": [[("open", "a"), ("write", "a", b"xyz")], [("truncate", "a", 1)], [("stat", "a")]],
    "replace by temporary name": [
        [("open", "t"), ("write", "t", b"1"), ("rename", "t", "a")],
        [("open", "t"), ("write", "t", b"22"), ("rename", "t", "a")],
    ],
    "unlinked but open": [[("open", "a"), ("unlink", "a"), ("write", "a", b"9")], [("open", "a"), ("read", "a")]],
    "locked adds": [[("open", "a"), ("lock", "a"), ADD, ("unlock", "a")]] * 2,
    "three locked adds": [[("open", "a"), ("lock", "a"), ADD]] * 3,
    "locked twice in a row": [[("open", "a"), ("lock", "a"), ("unlock", "a"), ("lock", "a"), ADD]] * 2,
    "lock one, add another": [[("open", "a"), ("open", "b"), ("lock", "a"), ("add", "b")]] * 2,
    "two locks in opposite order": [
        [("open", "a"), ("open", "b"), ("lock", "a"), ("lock", "b"), ADD],
        [("open", "a"), ("open", "b"), ("lock", "b"), ("lock", "a"), ADD],
    ],
    "try a lock": [[("open", "a"), ("trylock", "a"), ADD, ("unlock", "a")], [("open", "a"), ("trylock", "a"), ADD]],
    "try a lock that a waiter wants": [
        [("open", "a"), ("lock", "a"), ADD, ("unlock", "a")],
        [("open", "a"), ("trylock", "a"), ADD],
    ],
    "shared and exclusive": [
        [("open", "a"), ("share", "a"), ("read", "a"), ("unlock", "a")],
        [("open", "a"), ("share", "a"), ("read", "a")],
        [("open", "a"), ("lock", "a"), ADD],
    ],
    "shared, then upgraded": [[("open", "a"), ("share", "a"), ("lock", "a"), ADD]] * 2,
    "lock dropped by close": [[("open", "a"), ("lock", "a"), ADD, ("close", "a")], [("open", "a"), ("lock", "a"), ADD]],
    "lock held over a sleep": [
        [("open", "a"), ("lock", "a"), ("sleep", 5), ADD, ("unlock", "a")],
        [("open", "a"), ("lock", "a"), ADD],
    ],
    "two sleeps": [[("sleep", 1), ("open", "a"), ADD], [("sleep", 2), ("open", "a"), ADD]],
    "sleep and look at the clock": [[("sleep", 1), ("clock",)], [("clock",), ("clock",)]],
    "sleeper against a worker": [[("sleep", 1), ("unlink", "a")], [("open", "a"), ADD, ("exists", "a")]],
    "three sleepers": [[("sleep", 1), ("open", "a"), ADD], [("sleep", 1), ("exists", "a")], [("clock",)]],
    "exchange of work by names": [[("open", "n"), ("rename", "n", "o")], [("exists", "o"), ("unlink", "o")]],
    "directory in the way": [[("mkdir", "n")], [("rename", "a", "n")], [("rmdir", "n")]],
}
KILLED = [
    "two adds",
    "locked adds",
    "three locked adds",
    "replace by temporary name",
    "lock held over a sleep",
    "create exclusively",
    "link and unlink",
    "lock dropped by close",
    "try a lock",
]


@pytest.mark.parametrize("name", SMALL)
def test_the_reduced_search_finds_the_outcomes_of_the_naive_one(name: str) -> None:
    naive, naive_runs = outcomes(SMALL[name], "naive")
    reduced, runs = outcomes(SMALL[name], "exhaustive")
    assert reduced == naive
    assert runs <= naive_runs


@pytest.mark.parametrize("name", KILLED)
def test_with_a_kill_the_reduced_search_finds_the_outcomes_of_the_naive_one(name: str) -> None:
    naive, _ = outcomes(SMALL[name], "naive", kills=1)
    reduced, _ = outcomes(SMALL[name], "exhaustive", kills=1)
    assert reduced == naive


@pytest.mark.parametrize("name", ["sleep and look at the clock", "two adds", "lock held over a sleep"])
def test_with_a_clock_jump_the_reduced_search_finds_the_outcomes_of_the_naive_one(name: str) -> None:
    naive, _ = outcomes(SMALL[name], "naive", clock_jumps=(-3600.0,))
    reduced, _ = outcomes(SMALL[name], "exhaustive", clock_jumps=(-3600.0,))
    assert reduced == naive


def random_call(draw: random.Random) -> tuple[object, ...]:
    name = draw.choice(["rename", "link", "unlink", "mkdir", "rmdir", "truncate", "exists", "stat", "list", "excl"])
    names = ["a", "b", "n"]
    if name in ("rename", "link"):
        return (name, draw.choice(names), draw.choice(names))
    if name == "truncate":
        return (name, draw.choice(names), draw.randrange(3))
    return (name,) if name == "list" else (name, draw.choice(names))


def random_program(seed: int) -> Program:
    draw = random.Random(seed)
    return [[random_call(draw) for _ in range(2)] for _ in range(draw.choice([2, 2, 3]))]


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_have_the_outcomes_of_the_naive_search(seed: int) -> None:
    program = random_program(seed)
    naive, _ = outcomes(program, "naive")
    reduced, _ = outcomes(program, "exhaustive")
    assert reduced == naive, program
