"""`prefix` equals its prose: checked against a slow second definition, and by exact sets."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simfs.disk.models import models_named
from simfs.disk.prefix import Prefix
from simfs.machine.inode import Image
from tests.disk_programs import base_image, flush, put, run, run_steps, steps, trees
from tests.slow_prefix import trees as slow_trees

BASE = base_image()
PROGRAMS = st.lists(steps(st.sampled_from((b"x", b"yz")), st.integers(0, 7)), max_size=7)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(PROGRAMS)
def test_prefix_leaves_exactly_the_trees_of_its_slow_definition(program: list[tuple[Any, ...]]) -> None:
    ops = run_steps(program, BASE)
    assert trees(Prefix(), BASE, ops) == slow_trees(BASE, ops)


def _trees(program: Any, base: Image | None = None) -> list[dict[str, object]]:
    base = base or Image.empty()
    return sorted((dict(tree) for tree in trees(Prefix(), base, run(program, base))), key=repr)


def test_a_write_over_4096_pending_bytes_is_cut_at_named_places_and_says_so() -> None:
    ops = run(lambda s: put(s, "/f", b"x" * 5000))
    disk = Prefix().start(Image.empty())
    for op in ops:
        disk.add(op)
    sizes = sorted({len(node.data) for _, pick in disk.leaves() for node in [_file(disk.image(pick))] if node})
    around = [size for at in range(512, 5000, 512) for size in (at - 1, at, at + 1)]
    assert sizes == [0, 1, *around, 4999, 5000]
    assert len(disk.bounds) == 1


def test_cuts_of_a_big_write_fall_on_block_boundaries_of_the_file_not_of_the_write() -> None:
    def program(s: Any) -> None:
        put(s, "/f", b"h" * 100)
        flush(s, "/f")
        flush(s, "/")
        put(s, "/f", b"x" * 5000, os.O_APPEND)

    disk = Prefix().start(Image.empty())
    for op in run(program):
        disk.add(op)
    sizes = {len(_file(disk.image(pick)).data) for _, pick in disk.leaves()}
    assert {511, 512, 513, 4095, 4096, 4097} <= sizes


def _file(image: Image) -> Any:
    return next((node for node in image.inodes.values() if node.kind == "file"), None)


def test_the_mtime_of_a_write_over_a_pending_utime_is_the_writes() -> None:
    """utime, then write, then fdatasync: the write is durable, the utime is not, and must not come back over it."""
    machine_times = []

    def program(s: Any) -> None:
        put(s, "/a", b"1", os.O_APPEND)
        s.utime("/a", ns=(5, 5))
        put(s, "/a", b"2", os.O_APPEND)
        flush(s, "/a", data_only=True)

    disk = Prefix().start(BASE)
    for op in run(program, BASE):
        disk.add(op)
    for _, pick in disk.leaves():
        machine_times.append(_file(disk.image(pick)).mtime_ns)
    assert len(machine_times) == 2 and 5 not in machine_times


def test_an_explicit_time_that_was_flushed_stays() -> None:
    def program(s: Any) -> None:
        put(s, "/a", b"1", os.O_APPEND)
        s.utime("/a", ns=(5, 5))
        flush(s, "/a")
        s.chmod("/a", 0o600)

    disk = Prefix().start(BASE)
    for op in run(program, BASE):
        disk.add(op)
    assert {_file(disk.image(pick)).mtime_ns for _, pick in disk.leaves()} == {5}


def test_a_retried_flush_does_not_cover_what_a_failed_one_left() -> None:
    def program(s: Any) -> None:
        fd = s.open("/a", os.O_WRONLY | os.O_APPEND)
        s.write(fd, b"-new")
        with pytest.raises(OSError):
            s.fail_flush(s.machine.current, fd)
        s.fsync(fd)

    assert _trees(program, BASE) == [{"/a": b"old-a", "/d": "dir"}, {"/a": b"old-a-new", "/d": "dir"}]


def test_a_block_written_again_after_a_failed_flush_is_covered_whole() -> None:
    def program(s: Any) -> None:
        fd = s.open("/a", os.O_WRONLY | os.O_APPEND)
        s.write(fd, b"-1")
        with pytest.raises(OSError):
            s.fail_flush(s.machine.current, fd)
        s.write(fd, b"-2")
        s.fsync(fd)

    assert _trees(program, BASE) == [{"/a": b"old-a-1-2", "/d": "dir"}]


def test_blocks_of_a_failed_flush_survive_one_by_one() -> None:
    def program(s: Any) -> None:
        fd = s.open("/a", os.O_WRONLY)
        s.write(fd, b"1" * 4096 + b"2" * 4096)
        with pytest.raises(OSError):
            s.fail_flush(s.machine.current, fd)
        flush(s, "/")

    contents = {tree["/a"] for tree in _trees(program, BASE)}
    assert contents == {
        b"old-a",
        b"1" * 4096,
        b"old-a" + bytes(4091) + b"2" * 4096,
        b"1" * 4096 + b"2" * 4096,
    }


def test_a_failed_flush_of_a_directory_is_not_mended_by_a_later_one() -> None:
    def program(s: Any) -> None:
        s.link("/a", "/b")
        fd = s.open("/", os.O_RDONLY)
        with pytest.raises(OSError):
            s.fail_flush(s.machine.current, fd)
        s.fsync(fd)

    assert len(_trees(program, BASE)) == 2


def test_a_directory_written_again_after_a_failed_flush_is_covered_whole() -> None:
    def program(s: Any) -> None:
        s.link("/a", "/b")
        fd = s.open("/", os.O_RDONLY)
        with pytest.raises(OSError):
            s.fail_flush(s.machine.current, fd)
        s.link("/a", "/c")
        s.fsync(fd)

    assert _trees(program, BASE) == [{"/a": b"old-a", "/b": b"old-a", "/c": b"old-a", "/d": "dir"}]


def test_syncfs_covers_its_own_mount_only() -> None:
    from simfs.machine.machine import Machine

    machine = Machine(record_sites=False)
    machine.spawn("setup")
    machine.system.mkdir("/m", 0o755)
    machine.mount("/m")
    base = machine.freeze()

    def program(s: Any) -> None:
        put(s, "/m/x", b"x")
        put(s, "/y", b"y")
        fd = s.open("/m", os.O_RDONLY)
        s.syncfs(fd)

    found = {tuple(sorted(tree.items())) for tree in _trees(program, base)}
    assert all(("/m/x", b"x") in tree for tree in found) and len(found) == 3
    for name in ("ext4", "posix-weakest", "synced-only"):
        (model,) = models_named(name)
        left = trees(model, base, run(program, base))
        assert all(("/m/x", b"x") in tree for tree in left) and len(left) >= 2, name


@pytest.mark.parametrize("model", models_named("all"), ids=lambda model: model.name)
def test_samples_are_leaves(model: Any) -> None:
    disk = model.start(BASE)
    for op in run_steps([("put", "/b", b"yz"), ("rename", "/b", "/a"), ("append", "/a", b"x")], BASE):
        disk.add(op)
    leaves = {pick: digest for digest, pick in disk.leaves()}
    for turn in range(50):
        state = [turn * 7919 + 1]

        def draw(n: int, state: list[int] = state) -> int:
            state[0] = state[0] * 1103515245 + 12345 & 0x7FFFFFFF
            return (state[0] >> 8) % n

        digest, pick = disk.sample(draw)
        assert leaves[pick] == digest == disk.image(pick).digest


def test_a_pick_that_no_leaf_has_is_refused() -> None:
    disk = Prefix().start(BASE)
    for op in run_steps([("put", "/b", b"yz")], BASE):
        disk.add(op)
    for pick in ((9, 0), (0, 9), (1,), ()):
        with pytest.raises(ValueError):
            disk.image(pick)
