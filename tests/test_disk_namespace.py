"""The image near another one is the image that a walk from the root finds."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from simfs.disk import namespace
from simfs.disk.models import models_named
from simfs.machine.inode import Image
from tests.disk_programs import base_image, run_steps, steps

BASE = base_image()
PROGRAMS = st.lists(steps(st.just(b"x"), st.integers(0, 3)), max_size=6)


@settings(max_examples=250, deadline=None, derandomize=True)
@given(PROGRAMS)
def test_a_near_image_is_the_one_that_a_walk_finds(program: list[tuple[Any, ...]]) -> None:
    original = namespace.Namespace.build
    compared = []

    def both(*args: Any) -> namespace.Namespace:
        near, walked = original(*args), namespace.Namespace.walked(*args)
        compared.append(1)
        assert near.digest == walked.digest
        assert set(near.open_inodes) == set(walked.open_inodes)
        assert near.inodes.keys() == walked.inodes.keys()
        for ino, node in walked.inodes.items():
            other = near.inodes[ino]
            assert (node.kind, node.nlink, node.entries) == (other.kind, other.nlink, other.entries)
            assert node.kind != "dir" or node.parent == other.parent
            assert node.mtime_ns == other.mtime_ns
        return near

    ops = run_steps(program, BASE)
    limit, namespace.NEAR_FROM = namespace.NEAR_FROM, 0
    namespace.Namespace.build = both  # type: ignore[method-assign]
    try:
        for name in ("prefix", "ext4", "posix-weakest"):
            disk = models_named(name)[0].start(BASE)
            for op in ops:
                disk.add(op)
            for _, pick in list(disk.leaves())[:50]:
                assert isinstance(disk.image(pick), Image)
    finally:
        namespace.Namespace.build, namespace.NEAR_FROM = original, limit  # type: ignore[method-assign]
    assert compared
