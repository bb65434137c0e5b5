"""A disk that is full answers as a real one: the same drawn programs on simfs with a size limit and on a small tmpfs.

Needs the right to mount; is skipped, and says so, where there is none.
"""

from __future__ import annotations

import errno
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simfs.machine.machine import Machine

BLOCKS = 6
BLOCK = 4096
PROGRAMS = 400
NAMES = ("a", "b", "c")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[str]:
    mounted = tmp_path / "small"
    mounted.mkdir()
    size = f"size={BLOCKS * BLOCK}"
    try:
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(mounted)], capture_output=True)
    except FileNotFoundError:
        pytest.skip("no mount command")
    if made.returncode:
        pytest.skip(f"mounting is not allowed here: {made.stderr.decode().strip()}")
    yield str(mounted)
    subprocess.run(["umount", "-l", str(mounted)], check=True)


def drawn(draw: random.Random) -> list[tuple[Any, ...]]:
    """Up to twelve calls on three files."""
    calls: list[tuple[Any, ...]] = []
    for _ in range(draw.randrange(3, 13)):
        name, place = draw.choice(NAMES), draw.choice((0, 100, BLOCK, 2 * BLOCK, 5 * BLOCK - 1))
        size = draw.choice((1, 100, BLOCK, 2 * BLOCK + 1, 4 * BLOCK, 9 * BLOCK))
        calls.append(
            draw.choice(
                (
                    ("pwrite", name, place, size),
                    ("pwrite", name, place, size),
                    ("append", name, size),
                    ("truncate", name, place),
                    ("unlink", name),
                    ("rename", name, draw.choice(NAMES)),
                )
            )
        )
    return calls


def result(system: Any, root: str, call: tuple[Any, ...]) -> object:
    """What a call answers: a number, a size or the name of an error."""
    kind, name, *rest = call
    path = f"{root}/{name}"
    try:
        if kind == "unlink":
            return system.unlink(path)
        if kind == "rename":
            return system.rename(path, f"{root}/{rest[0]}")
        append = os.O_APPEND if kind == "append" else 0
        fd = system.open(path, os.O_RDWR | os.O_CREAT | append, 0o644)
        try:
            if kind == "truncate":
                system.ftruncate(fd, rest[0])
                done = None
            elif kind == "append":
                done = system.write(fd, b"x" * rest[0])
            else:
                done = system.pwrite(fd, b"y" * rest[1], rest[0])
            return done, system.fstat(fd).st_size
        finally:
            system.close(fd)
    except OSError as error:
        return errno.errorcode[error.errno or 0]


def left(system: Any, root: str) -> dict[str, object]:
    """Each file's size and digest of its bytes, and how many blocks are free."""
    found: dict[str, object] = {"free": system.statvfs(root).f_bfree}
    for name in sorted(system.listdir(root)):
        fd = system.open(f"{root}/{name}", os.O_RDONLY)
        found[name] = system.pread(fd, 20 * BLOCK, 0)
        system.close(fd)
    return found


def test_a_full_disk_answers_as_a_small_tmpfs(small_disk: str) -> None:
    seed = "full disk 1"
    draw = random.Random(seed)
    full = 0
    for number in range(PROGRAMS):
        program = drawn(draw)
        machine = Machine(record_sites=False)
        machine.spawn("p")
        machine.system.mkdir("/small")
        machine.mount("/small", (BLOCKS + 1) * BLOCK)  # The root directory takes one; on tmpfs it takes none.
        simulated = [result(machine.system, "/small", call) for call in program]
        real = [result(os, small_disk, call) for call in program]
        assert simulated == real, (seed, number, program)
        assert left(machine.system, "/small") == left(os, small_disk), (seed, number, program)
        full += "ENOSPC" in real
        for name in os.listdir(small_disk):
            os.unlink(f"{small_disk}/{name}")
    assert full > PROGRAMS // 8
