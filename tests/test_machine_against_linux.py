"""The machine answers like Linux: random programs, step by step, against a real directory.

`SIMFS_PROGRAMS` sets how many random programs run (default 4,000; nightly runs more), `SIMFS_SEED` where they start. A
difference is shrunk to the steps that it needs, and printed with its seed.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.machine_programs import Programs
from tests.machine_twin import Step, difference, shrunk

PROGRAMS = int(os.environ.get("SIMFS_PROGRAMS", "4000"))
SEED = int(os.environ.get("SIMFS_SEED", "0"))
LENGTH = 40
BATCHES = 8


def report(program: Sequence[Step], root: str) -> str:
    """The shortest form of a program that differs, and how."""
    small = shrunk(program, lambda steps: difference(steps, root) is not None)
    lines = [f"  {step}" for step in small]
    return "\n".join(["the program", *lines, "differs:", difference(small, root) or "(not when shrunk)"])


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_programs_have_the_answers_and_the_final_tree_of_linux(batch: int, tmp_path: Path) -> None:
    root = str(tmp_path / "w")
    for seed in range(SEED + batch, SEED + PROGRAMS, BATCHES):
        source = random.Random(seed)
        program = Programs(source.randrange).program(LENGTH)
        if difference(program, root):
            pytest.fail(f"SIMFS_SEED={seed}: {report(program, root)}")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_programs_of_several_users_have_the_answers_and_the_final_tree_of_linux(
    batch: int, tmp_path: Path
) -> None:
    root = str(tmp_path / "w")
    for seed in range(SEED + batch, SEED + PROGRAMS // 4, BATCHES):
        source = random.Random(seed)
        program = Programs(source.randrange, users=True).program(LENGTH)
        if difference(program, root):
            pytest.fail(f"SIMFS_SEED={seed}: {report(program, root)}")


@settings(
    max_examples=150,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_drawn_programs_have_the_answers_and_the_final_tree_of_linux(data: st.DataObject, tmp_path: Path) -> None:
    program = Programs(lambda n: data.draw(st.integers(0, n - 1))).program(LENGTH)
    found = difference(program, str(tmp_path / "w"))
    assert found is None, found
