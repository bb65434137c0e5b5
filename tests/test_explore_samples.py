"""Bounded and sampled searches say so, and find what is within their reach."""

from __future__ import annotations

from typing import Any

import pytest

import simfs
from tests.interleaving_programs import outcomes
from tests.test_explore_runs import Claim, System, UnlockedClaim, get, put
from tests.test_explore_schedules import SMALL


@pytest.mark.parametrize("strategy", ["random", "pct", "pos", "portfolio"])
def test_each_sampling_strategy_finds_the_double_claim_and_says_that_it_sampled(strategy: str) -> None:
    assert simfs.explore(UnlockedClaim, strategy=strategy, kills=0).status == "violated"
    verdict = simfs.explore(Claim, strategy=strategy)
    assert verdict.status == "sampled"
    assert verdict.ok
    assert "200 runs drawn at random" in verdict.reason
    assert 1 < verdict.searched.classes <= 200


def test_the_same_seed_draws_the_same_runs() -> None:
    one = simfs.explore(UnlockedClaim, strategy="portfolio", seed=7).counterexample
    other = simfs.explore(UnlockedClaim, strategy="portfolio", seed=7).counterexample
    assert one is not None and other is not None
    assert one.token == other.token


def test_a_budget_that_ends_first_is_no_success() -> None:
    verdict = simfs.explore(Claim, budget=0.0)
    assert verdict.status == "inconclusive"
    assert not verdict.ok
    assert "budget" in verdict.reason


class ThreeSwitches(System):
    """A flag that is seen at 1, 2 and 3 by the reader, which takes three preemptions of the writer."""

    disk = "scc"
    power = False

    def setup(self, m: Any) -> None:
        put(m.system, "/n", b"0")

    @simfs.process
    def writer(self, m: Any) -> None:
        for value in (b"1", b"2", b"3", b"4"):
            put_in_place(m.system, value)

    @simfs.process
    def reader(self, m: Any) -> None:
        seen = [get(m.system, "/n") for _ in range(3)]
        if seen == [b"1", b"2", b"3"]:
            m.effect("seen all")

    @simfs.law
    def never_all(self, m: Any) -> None:
        assert not m.effects("seen all")


def put_in_place(s: Any, value: bytes) -> None:
    fd = s.open("/n", 1)
    s.pwrite(fd, value, 0)
    s.close(fd)


@pytest.mark.parametrize("preemptions", [0, 1, 2, 3, 4, 5, None])
def test_a_bound_on_preemptions_finds_the_bug_only_when_it_allows_enough(preemptions: int | None) -> None:
    verdict = simfs.explore(ThreeSwitches, preemptions=preemptions)
    if preemptions is None or preemptions >= 5:
        assert verdict.status == "violated"
    else:
        assert verdict.status == "bounded"
        assert verdict.reason == f"at most {preemptions} preemptions in a run"


def test_bounded_preemptions_reach_a_part_of_all_outcomes_and_in_the_end_all() -> None:
    program = [[("open", "a"), ("add", "a"), ("add", "a")], [("open", "a"), ("add", "a")]]
    everything, _ = outcomes(program, "exhaustive")
    sizes = []
    for bound in range(4):
        found, _ = outcomes(program, "exhaustive", preemptions=bound)
        assert found <= everything
        sizes.append(len(found))
    assert sizes == sorted(sizes)
    assert sizes[-1] == len(everything)


@pytest.mark.parametrize("bound", [0, 1, 2])
@pytest.mark.parametrize("name", sorted(SMALL.keys() - {"three locked adds", "shared and exclusive"}))
def test_within_a_bound_the_reduced_search_finds_the_outcomes_of_the_naive_one(name: str, bound: int) -> None:
    naive, naive_runs = outcomes(SMALL[name], "naive", preemptions=bound)
    reduced, runs = outcomes(SMALL[name], "exhaustive", preemptions=bound)
    assert reduced == naive
    assert runs <= naive_runs
