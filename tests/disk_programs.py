"""Random small programs for the disk models: a list of steps is run on a machine, and its op journal is the subject."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from simfs.disk.model import DiskModel
from simfs.machine.inode import Image
from simfs.machine.machine import Machine
from simfs.machine.ops import Op

FILES = ("/a", "/b", "/d/a", "/d/b")
DIRS = ("/d", "/e")
PAGE = 4096


def run(program: Callable[[Any], None], base: Image | None = None) -> list[Op]:
    """The op journal of a program that is given the machine's system."""
    machine = Machine(Image.empty() if base is None else base, boot=2, record_sites=False)
    machine.spawn("program")
    program(machine.system)
    return [op for op in machine.journal.ops if type(op).__name__ not in ("Note", "Lock")]


def base_image() -> Image:
    """A durable disk: /a holds "old-a", directory /d is there, empty."""
    machine = Machine(record_sites=False)
    machine.spawn("setup")
    system = machine.system
    put(system, "/a", b"old-a")
    system.mkdir("/d", 0o755)
    return machine.freeze()


def put(system: Any, path: str, data: bytes, flags: int = os.O_CREAT | os.O_TRUNC) -> None:
    """Open for writing, write all, close."""
    fd = system.open(path, os.O_WRONLY | flags, 0o644)
    system.write(fd, data)
    system.close(fd)


def flush(system: Any, path: str, data_only: bool = False) -> None:
    """Open, flush, close; a file or a directory."""
    fd = system.open(path, os.O_RDONLY)
    (system.fdatasync if data_only else system.fsync)(fd)
    system.close(fd)


def take_step(system: Any, step: tuple[Any, ...]) -> None:
    """One step of a drawn program; what the machine refuses is no step."""
    name, *rest = step
    try:
        if name == "put":
            put(system, rest[0], rest[1])
        elif name == "append":
            put(system, rest[0], rest[1], os.O_APPEND)
        elif name == "pwrite":
            fd = system.open(rest[0], os.O_WRONLY)
            system.pwrite(fd, rest[2], rest[1])
            system.close(fd)
        elif name == "truncate":
            fd = system.open(rest[0], os.O_WRONLY)
            system.ftruncate(fd, rest[1])
            system.close(fd)
        elif name == "flush":
            flush(system, rest[0], rest[1])
        elif name == "exchange":
            system.renameat2(rest[0], rest[1], 2)
        else:
            getattr(system, name)(*rest)
    except OSError:
        pass


def run_steps(steps: Sequence[tuple[Any, ...]], base: Image) -> list[Op]:
    """The op journal of a drawn program."""

    def program(system: Any) -> None:
        for step in steps:
            take_step(system, step)

    return run(program, base)


_file = st.sampled_from(FILES)
_dir = st.sampled_from(DIRS)


def steps(payload: st.SearchStrategy[bytes], offsets: st.SearchStrategy[int]) -> st.SearchStrategy[tuple[Any, ...]]:
    """One step: content, names or a flush."""
    return st.one_of(
        st.tuples(st.sampled_from(("put", "append")), _file, payload),
        st.tuples(st.just("pwrite"), _file, offsets, payload),
        st.tuples(st.just("truncate"), _file, offsets),
        st.tuples(st.sampled_from(("rename", "link", "exchange")), _file, _file),
        st.tuples(st.just("unlink"), _file),
        st.tuples(st.just("rename"), _dir, _dir),
        st.tuples(st.sampled_from(("mkdir", "rmdir")), _dir),
        st.tuples(st.just("flush"), st.sampled_from((*FILES, *DIRS, "/")), st.booleans()),
        st.just(("sync",)),
    )


def trees(model: DiskModel, base: Image, ops: Sequence[Op]) -> set[tuple[tuple[str, object], ...]]:
    """The trees that `model` says a power loss after `ops` may leave; checks every leaf on the way."""
    disk = model.start(base)
    for op in ops:
        disk.add(op)
    seen: dict[int, tuple[tuple[str, object], ...]] = {}
    for digest, pick in disk.leaves():
        image = disk.image(pick)
        assert image.digest == digest
        assert sum(node.digest() for node in image.inodes.values()) % (1 << 128) == digest
        shape = tuple(sorted(("/" + path, what) for path, what in image.tree().items()))
        assert seen.setdefault(digest, shape) == shape
        assert set(disk.fates(pick)) >= {op.index for op in ops if type(op).__name__ in CHANGING}
    assert not disk.bounds
    return set(seen.values())


CHANGING = ("Create", "Write", "Truncate", "Link", "Unlink", "Rename", "Meta")
