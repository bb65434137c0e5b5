"""The catalogue of laws: complete, each judged somewhere, each broken by a mutant."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.catalog import catalogue, where_judged
from scenarios.laws import corpus, laws
from scenarios.mutants.mutant import Mutant
from scenarios.mutants.storage import mutants
from scenarios.mutants.table import STORES, Store, judge
from simfs.explore.law import COMPLETES, RECOVERS

LISTED = (Path(__file__).parent / "golden" / "laws.txt").read_text().split()
BUILT = [law for law in laws().values() if not law.planned]


def test_the_catalogue_holds_exactly_the_listed_laws_and_those_of_the_corpus() -> None:
    assert sorted(laws()) == sorted([*LISTED, *(law.id for law in corpus.LAWS)])


def test_every_law_says_in_a_sentence_of_its_own_what_must_be_true() -> None:
    alike = ("staging_entry_answers", "log_ffi_answers")
    statements = [law.statement for law in laws().values() if law.id not in alike]
    assert len(set(statements)) == len(statements)
    assert all(20 < len(statement) < 300 and not statement.endswith(".") for statement in statements)


def test_every_law_of_a_store_that_is_built_is_judged_somewhere() -> None:
    judged = where_judged(catalogue())
    assert [law.id for law in BUILT if not judged[law.id]] == []


def test_no_law_of_a_store_that_is_not_built_is_shown_as_judged() -> None:
    judged = where_judged(catalogue())
    assert [law.id for law in laws().values() if law.planned and judged[law.id]] == []


def test_every_judged_law_is_in_the_catalogue_or_is_the_engines_own() -> None:
    assert set(where_judged(catalogue())) - {COMPLETES.id, RECOVERS.id} == set(laws())


MADE = [(store, mutant) for store in STORES for mutant in store.mutants()]
OTHERS = [one for one in MADE if not one[1].made_for and not one[1].accepted]


def named(one: object) -> str:
    return getattr(one, "name", "")


@pytest.mark.parametrize(("store", "mutant"), OTHERS, ids=named)
def test_every_mutant_made_for_no_law_is_killed(store: Store, mutant: Mutant) -> None:
    assert judge(store, mutant).killed


def test_few_mutants_are_accepted_and_each_with_a_reason() -> None:
    """`simfs mutants` tries them on the whole suite, which takes long."""
    accepted = [mutant for _, mutant in MADE if mutant.accepted]
    assert len(accepted) <= 2
    assert all(len(mutant.accepted.split()) >= 8 for mutant in accepted)


@pytest.mark.parametrize(("store", "mutant"), [one for one in MADE if one[1].made_for], ids=named)
def test_each_law_alone_notices_the_mutants_made_for_it(store: Store, mutant: Mutant) -> None:
    """What a law notices alone is killed by the whole suite too: no mutant is judged a second time for that."""
    assert [law for law in mutant.made_for if judge(store, mutant, (law,)).law != law] == []


def test_every_law_has_a_mutant_that_it_notices_alone() -> None:
    noticed = {law for _, mutant in MADE for law in mutant.made_for}
    assert {law.id for law in BUILT} <= noticed


def test_mutants_are_told_apart_by_their_names() -> None:
    names = [(store.name, mutant.name) for store, mutant in MADE]
    assert len(set(names)) == len(names)


def test_every_flush_of_a_writer_is_among_the_mutants() -> None:
    flushes = {mutant.name for mutant in mutants() if mutant.kind == "flush"}
    for wanted in (
        "no fsync of one/main.jsonl, 1st in commit",
        "no fsync of one/main.jsonl, 2nd in commit",
        "no fsync of sessions/one, 1st in commit",
        "no fsync of one/main.jsonl, 1st in open",
        "no fsync of sessions/one, 1st in open",
        "no fsync of .eukhe/sessions, 1st in open",
        "no fsync of one/main.jsonl, 1st in flush",
    ):
        assert wanted in flushes
