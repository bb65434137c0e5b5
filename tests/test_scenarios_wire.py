"""The suite `wire`: every state of each world is visited, and every law is broken by a mutant made for it."""

from __future__ import annotations

from scenarios.entries import Ask
from scenarios.mutants import wire as mutants
from scenarios.suites.wire import wire_suite


def test_every_state_of_every_world_keeps_the_laws():
    (entry,) = wire_suite()
    verdict = entry.run(Ask())
    assert verdict.status == "proved", verdict.reason
    assert verdict.searched.executions > 20_000


def test_every_law_has_a_mutant_that_it_notices_alone():
    noticed = {law for mutant in mutants.mutants() for law in mutant.made_for}
    assert noticed == {law.id for entry in wire_suite() for law in entry.laws}
