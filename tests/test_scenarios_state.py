"""The suite `state`: proved in every small case, with exact counts, and every law is broken by a mutant made for it."""

from __future__ import annotations

import pytest

from scenarios.entries import Ask
from scenarios.mutants import state
from scenarios.suites import state_cases
from scenarios.suites.state import state_suite


@pytest.mark.parametrize(("name", "cases"), [("state_live", 6316), ("state_tree", 83_588)])
def test_every_small_case_is_proved(name, cases):
    (entry,) = (entry for entry in state_suite() if entry.name == name)
    verdict = entry.run(Ask())
    assert verdict.status == "proved", verdict.reason
    assert verdict.searched.executions == cases


def test_drawn_histories_hold_every_kind_of_change():
    text = repr([commits for _, commits in state_cases.drawn()])
    for part in ("owner_task", "fork_source", "completed", "retire", "copy", "{'task': ", "submission", "entry"):
        assert part in text


def test_every_law_has_a_mutant_that_it_notices_alone():
    noticed = {law for mutant in state.mutants() for law in mutant.made_for}
    assert noticed == {law.id for entry in state_suite() for law in entry.laws}
