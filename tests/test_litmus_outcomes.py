"""Each disk model leaves exactly what its prose says of some sixty small programs, and each answer is a story to read.

The stories are in `golden/litmus`. Where one changes, read it against the prose of the model before you accept it:
`SIMFS_ACCEPT_LITMUS=1 pytest tests/test_litmus_outcomes.py` writes them anew.

Three kinds of defect are looked for in every program and every model that has a slow second definition: a loss that
cannot be, a survival that cannot be (the fast model yields what the slow one does not), and a state never reached (the
slow one yields what the fast one does not).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from simfs.disk.models import models_named
from simfs.disk.realdir import load
from simfs.explore.boot import run_boot
from simfs.explore.choices import Replayed
from simfs.explore.explorer import stage_set
from simfs.explore.outcomes import ROOT
from simfs.explore.ready import prepare
from simfs.explore.scenario import scenario
from simfs.explore.spec import spec_of
from simfs.machine.inode import Image
from simfs.machine.ops import Lock, Note, Op
from tests import slow_ext4, slow_prefix, slow_simple
from tests.litmus_programs import ALL, Litmus
from tests.litmus_story import story

GOLDEN = Path(__file__).parent / "golden" / "litmus"
every_program = pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
no_failures = pytest.mark.parametrize(
    "program",
    [program for program in ALL if not any("fails with EIO" in step.words for step in program.steps)],
    ids=lambda program: program.name,
)
"""The slow definitions know no failed flushes; those stories were only read."""


@every_program
def test_every_model_leaves_what_the_story_says(program: Litmus) -> None:
    path = GOLDEN / f"{program.name}.txt"
    text = story(program)
    if os.environ.get("SIMFS_ACCEPT_LITMUS") == "1":
        path.write_text(text)
    assert text == path.read_text(), "read the change against the model's prose, then accept it (see the header)"


def test_every_story_has_its_program() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {program.name for program in ALL} | {"strength"}
    assert len(ALL) >= 30


def recorded(program: Litmus) -> tuple[Image, list[Op]]:
    """The durable disk and the op journal of a program."""

    def setup(m: Any) -> None:
        m.system.mkdir(ROOT)
        program.prepare(ROOT)

    def run(m: Any) -> None:
        for step in program.steps:
            step(ROOT)

    spec = spec_of(scenario(setup=setup, processes=run, law=lambda: None, name="litmus"))
    with stage_set(spec):
        ready = prepare(spec)
        done = run_boot(spec, spec.processes, ready.attributes, ready.base, Replayed(()))
    assert all(runner.error is None for runner in done.runners)
    return ready.base.image, [op for op in done.ops if not isinstance(op, Note | Lock)]


Slow = Callable[[Image, Sequence[Op]], set[Any]]
SLOW: dict[str, Slow] = {
    "prefix": slow_prefix.trees,
    "ext4": slow_ext4.trees,
    "synced-only": slow_simple.synced_only_trees,
    "posix-weakest": slow_simple.weakest_trees,
}


@pytest.mark.parametrize("name", SLOW)
@no_failures
def test_no_loss_or_survival_that_cannot_be_and_no_state_left_out(program: Litmus, name: str) -> None:
    base, ops = recorded(program)
    (model,) = models_named(name)
    disk = model.start(base)
    for count in range(len(ops) + 1):
        fast = {_shape(disk.image(pick)) for _, pick in disk.leaves()}
        slow = SLOW[name](base, ops[:count])
        assert fast - slow == set(), f"after {count} ops: left by the model, impossible by its prose"
        assert slow - fast == set(), f"after {count} ops: possible by the prose, never left by the model"
        if count < len(ops):
            disk.add(ops[count])


@every_program
def test_scc_leaves_every_call_whole_or_cut_at_a_page(program: Litmus) -> None:
    base, ops = recorded(program)
    disk = models_named("scc")[0].start(base)
    for count in range(len(ops) + 1):
        following = ops[count] if count < len(ops) else None
        fast = {_shape(disk.image(pick, following)) for _, pick in disk.leaves(following)}
        assert fast == slow_simple.scc_trees(base, ops[:count], following)
        if following is not None:
            disk.add(following)


def _shape(image: Image) -> tuple[tuple[str, object], ...]:
    return tuple(sorted(("/" + path, what) for path, what in image.tree().items()))


@every_program
def test_a_model_closed_under_loss_keeps_every_image_when_a_call_is_added(program: Litmus) -> None:
    base, ops = recorded(program)
    for name in program.models:
        (model,) = models_named(name)
        if not model.closed_under_loss:
            continue
        disk = model.start(base)
        before = {digest for digest, _ in disk.leaves()}
        for op in ops:
            disk.add(op)
            after = {digest for digest, _ in disk.leaves()}
            if type(op).__name__ not in ("Flush", "FlushAll", "FailedFlush"):
                assert before <= after, f"{name}: {op}"
            before = after


@every_program
def test_the_same_program_on_a_real_directory_ends_with_the_same_tree(program: Litmus, tmp_path: Path) -> None:
    program.prepare(str(tmp_path))
    for step in program.steps:
        step(str(tmp_path))
    base, ops = recorded(program)
    disk = models_named("scc")[0].start(base)
    for op in ops:
        disk.add(op)
    assert load(tmp_path).tree() == disk.image((0,)).tree(ROOT)
