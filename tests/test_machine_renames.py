"""The full rename matrix against Linux: what there is at the source, what at the target, and how it is called."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from tests.machine_twin import Slot, Step, difference

Make = Callable[[str], list[Step]]
WRITE = os.O_CREAT | os.O_WRONLY


def file(name: str) -> list[Step]:
    return [Step("open", (name, WRITE, 0o644), into=0), Step("write", (Slot(0), name.encode()))]


KINDS: dict[str, Make] = {
    "absent": lambda name: [],
    "file": file,
    "empty directory": lambda name: [Step("mkdir", (name,))],
    "full directory": lambda name: [Step("mkdir", (name,)), *file(f"{name}/inner")],
    "link to a file": lambda name: [*file("other"), Step("symlink", (f"{up(name)}other", name))],
    "link to a directory": lambda name: [Step("mkdir", ("there",)), Step("symlink", (f"{up(name)}there", name))],
    "dangling link": lambda name: [Step("symlink", ("nothing", name))],
}
PLACES = {"same directory": ("a", "b"), "two directories": ("d/a", "e/b")}
CALLS: dict[str, Callable[[str, str], Step]] = {
    "rename": lambda src, dst: Step("rename", (src, dst)),
    "replace": lambda src, dst: Step("replace", (src, dst)),
    "NOREPLACE": lambda src, dst: Step("renameat2", (src, dst, 1)),
    "EXCHANGE": lambda src, dst: Step("renameat2", (src, dst, 2)),
}
SLASHES = (("", ""), ("/", ""), ("", "/"), ("/", "/"))


def up(name: str) -> str:
    return "../" * name.count("/")


def ready() -> list[Step]:
    return [Step("mkdir", ("d",)), Step("mkdir", ("e",))]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("call", CALLS)
def test_every_source_on_every_target_ends_as_on_linux(call: str, place: str, tmp_path: Path) -> None:
    src, dst = PLACES[place]
    cases = 0
    for (before, after), slashes in product(product(KINDS, KINDS), SLASHES):
        move = CALLS[call](src + slashes[0], dst + slashes[1])
        program = [*ready(), *KINDS[before](src), *KINDS[after](dst), move]
        found = difference(program, str(tmp_path / "w"))
        assert found is None, f"{before} -> {after}: {found}"
        cases += 1
    assert cases == 7 * 7 * 4


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("call", CALLS)
def test_a_target_that_is_a_hard_link_of_the_source_ends_as_on_linux(call: str, place: str, tmp_path: Path) -> None:
    src, dst = PLACES[place]
    for kind in ("file", "link to a file", "dangling link"):
        program = [*ready(), *KINDS[kind](src), Step("link", (src, dst)), CALLS[call](src, dst)]
        found = difference(program, str(tmp_path / "w"))
        assert found is None, f"hard link of a {kind}: {found}"


@pytest.mark.parametrize("call", CALLS)
def test_moves_within_one_branch_of_the_tree_end_as_on_linux(call: str, tmp_path: Path) -> None:
    places = ("d", "d/x", "d/x/y", "d/x/y/z", "d/.", "d/..", "d/x/..", ".", "..", "/", "e", "d/new", "d/x/new", "")
    for src, dst in product(places, places):
        program = [
            *ready(),
            Step("mkdir", ("d/x",)),
            Step("mkdir", ("d/x/y",)),
            *file("d/x/y/z"),
            CALLS[call](src, dst),
        ]
        found = difference(program, str(tmp_path / "w"))
        assert found is None, f"{src!r} -> {dst!r}: {found}"
