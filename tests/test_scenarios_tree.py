"""The suite `tree`: proved in every small case, with exact counts, and every law is broken by a mutant made for it."""

from __future__ import annotations

import pytest

from scenarios.entries import Ask
from scenarios.mutants import tree, tree_entry
from scenarios.suites import tree_cases, tree_core
from scenarios.suites.tree import entry_suite, tree_suite

MADE = (*tree.mutants(), *tree_entry.mutants())
ENTRIES = (*tree_suite(), *entry_suite())


@pytest.mark.parametrize(
    ("name", "cases"),
    [("tree_model", 301_492), ("tree_core", 50_701), ("tree_entry", 52_229)],
)
def test_every_small_case_is_proved(name, cases):
    """`tree_core_four` (550,244 cases) is left to `simfs run`."""
    (entry,) = (entry for entry in ENTRIES if entry.name == name)
    verdict = entry.run(Ask())
    assert verdict.status == "proved", verdict.reason
    assert verdict.searched.executions == cases


def test_every_tree_of_up_to_five_nodes_is_among_the_cases():
    assert len(tree_cases.trees()) == 326
    assert len(tree_cases.SMALL) == 326 + 79
    assert len(tree_cases.LETTERS) ** 4 == 130_321


def test_the_generated_journals_keep_versions_of_their_trees():
    kept = [len(tree_cases.long_journal(*one).journal()._index._kept_at) for one in tree_core.LONG]
    assert max(kept) > 2


def test_every_law_has_a_mutant_that_it_notices_alone():
    noticed = {law for mutant in MADE for law in mutant.made_for}
    assert noticed == {law.id for entry in ENTRIES for law in entry.laws}
