"""The suite `wire`: every state of each world is visited, and every law is broken by a mutant made for it."""

from __future__ import annotations

import pytest

from scenarios.entries import Ask
from scenarios.mutants import wire as mutants
from scenarios.mutants.table import Store, judge
from scenarios.suites.wire import wire_suite

STORE = Store("wire", wire_suite, mutants.mutants)


def test_every_state_of_every_world_keeps_the_laws():
    (entry,) = wire_suite()
    verdict = entry.run(Ask())
    assert verdict.status == "proved", verdict.reason
    assert verdict.searched.executions > 20_000


@pytest.mark.parametrize("mutant", mutants.mutants(), ids=lambda mutant: mutant.name)
def test_each_law_alone_notices_the_mutants_made_for_it(mutant):
    assert [law for law in mutant.made_for if judge(STORE, mutant, (law,)).law != law] == []


def test_every_law_has_a_mutant_that_it_notices_alone():
    noticed = {law for mutant in mutants.mutants() for law in mutant.made_for}
    assert noticed == {law.id for entry in wire_suite() for law in entry.laws}
