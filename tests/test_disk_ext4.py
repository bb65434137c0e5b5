"""`ext4` equals its prose: checked against a slow machine that runs every writeback, and by exact sets."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from simfs.disk.ext4 import Ext4
from simfs.machine.inode import Image
from simfs.machine.machine import Machine
from tests.disk_programs import PAGE, put, run_steps, trees
from tests.slow_ext4 import trees as slow_trees


def base_image() -> Image:
    """A durable disk: /a holds a block and three bytes, /b is short, directory /d is there, empty."""
    machine = Machine(record_sites=False)
    machine.spawn("setup")
    put(machine.system, "/a", b"A" * PAGE + b"aaa")
    put(machine.system, "/b", b"bb")
    machine.system.mkdir("/d", 0o755)
    return machine.freeze()


BASE = base_image()
_file = st.sampled_from(("/a", "/b", "/c"))
_offsets = st.sampled_from((0, 1, PAGE - 1, PAGE, PAGE + 2))
_payload = st.sampled_from((b"x", b"yz", b"v" * PAGE))
STEPS = st.one_of(
    st.tuples(st.sampled_from(("put", "append")), _file, _payload),
    st.tuples(st.just("pwrite"), _file, _offsets, _payload),
    st.tuples(st.just("truncate"), _file, _offsets),
    st.tuples(st.sampled_from(("rename", "link", "exchange")), _file, _file),
    st.tuples(st.just("unlink"), _file),
    st.tuples(st.just("mkdir"), st.just("/e")),
    st.tuples(st.just("flush"), st.sampled_from(("/a", "/b", "/c", "/")), st.booleans()),
    st.just(("sync",)),
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(STEPS, max_size=4))
@example([("put", "/c", b"yz"), ("rename", "/c", "/a"), ("mkdir", "/e")])
@example([("put", "/c", b"yz"), ("rename", "/c", "/a"), ("flush", "/a", True), ("mkdir", "/e")])
@example([("put", "/c", b"x"), ("truncate", "/c", PAGE + 2), ("mkdir", "/e"), ("pwrite", "/c", PAGE, b"yz")])
@example([("put", "/b", b"x"), ("mkdir", "/e"), ("append", "/b", b"yz"), ("flush", "/b", True)])
@example([("truncate", "/b", 1), ("append", "/b", b"x"), ("mkdir", "/e")])
def test_ext4_leaves_exactly_the_trees_that_some_run_of_a_slow_kernel_leaves(program: list[tuple[Any, ...]]) -> None:
    ops = run_steps(program, BASE)
    assert trees(Ext4(), BASE, ops) == slow_trees(BASE, ops)
