"""A search that is split by prefixes is the search that is not: the same classes, each once, and no more runs cut off
than it has itself; whatever the size of the parts, and in whatever order they are searched."""

from __future__ import annotations

import random

import pytest

from simfs.explore.boot import cut_off
from simfs.explore.explorer import stage_set
from simfs.explore.happens import Order
from simfs.explore.plan import NOTHING
from simfs.explore.ready import prepare
from simfs.explore.spec import spec_of
from simfs.explore.splitting import Branch, Left, Splitting
from simfs.explore.strategy import Runs, Seen
from tests.interleaving_programs import Program, scenario_of
from tests.test_explore_schedules import SMALL, random_program

LARGE = 1 << 30


def searched(
    program: Program, most: int, bound: int | None = None, ahead: int = 1, seed: int = 0
) -> tuple[list[str], int]:
    """The classes of all runs of a program's plan without mishaps, and how many runs were cut off. `ahead` branches are
    searched before the answer of the first of them is taken, in a drawn order."""
    made, _ = scenario_of(program, preemptions=bound)
    spec = spec_of(made)
    draw = random.Random(seed)
    classes: list[str] = []
    with stage_set(spec):
        ready = prepare(spec)
        runs = Runs(spec, spec.processes, ready.attributes, ready.base, most=most)
        parts = Splitting(bound)
        out: list[Branch] = []
        answers: dict[int, Left] = {}
        while True:
            while len(out) < ahead and (branch := parts.next()) is not None:
                out.append(branch)
            if not out:
                return classes, runs.blocked
            for branch in draw.sample(out, len(out)):
                if id(branch) not in answers:
                    for run, order in runs.of_branch(NOTHING, branch, Seen()):
                        assert isinstance(order, Order) and not cut_off(run)
                        classes.append(repr(order.class_key()))
                    answers[id(branch)] = runs.left
            first = out.pop(0)
            parts.take(first, answers.pop(id(first)))


@pytest.mark.parametrize("name", sorted(SMALL))
def test_every_class_is_met_once_whatever_the_size_of_the_parts(name: str) -> None:
    whole, _ = searched(SMALL[name], LARGE)
    assert len(whole) == len(set(whole))
    for most in (1, 3, 20):
        parts, _ = searched(SMALL[name], most)
        assert sorted(parts) == sorted(whole)


@pytest.mark.parametrize("seed", range(12))
def test_the_order_in_which_parts_are_searched_changes_nothing(seed: int) -> None:
    program = random_program(seed)
    whole, _ = searched(program, LARGE)
    alone, blocked = searched(program, 2)
    shared, blocked_too = searched(program, 2, ahead=5, seed=seed)
    assert sorted(alone) == sorted(shared) == sorted(whole)
    assert blocked == blocked_too


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("bound", [0, 1])
def test_with_a_bound_on_preemptions_the_parts_meet_the_same_classes(seed: int, bound: int) -> None:
    program = random_program(seed)
    whole, _ = searched(program, LARGE, bound)
    parts, _ = searched(program, 2, bound, ahead=4, seed=seed)
    assert set(parts) == set(whole)
    assert len(parts) == len(whole)
