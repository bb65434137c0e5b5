"""No mutant is killed without its token having broken the same law again, and no judge of mutants gets around that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import scenarios.mutants as package
import simfs
from reports.merge import merge
from scenarios.checks import Check, Question
from scenarios.entries import Family, One
from scenarios.histories import Histories
from scenarios.mutants import replaying
from scenarios.mutants.mutant import Mutant
from scenarios.mutants.replaying import NotReplayed, replayed
from scenarios.mutants.storage import mutants
from scenarios.mutants.table import STORES, Store, judge
from scenarios.publish import document_of
from scenarios.suites.log_sidecar_histories import histories
from scenarios.suites.storage import as_it_is
from simfs.explore.law import Law
from simfs.explore.verdict import Verdict
from tests.shrink_programs import RenameFirst

ROOT = Path(__file__).resolve().parents[1]


def calls(path: Path, method: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
            yield node


def test_only_one_place_breaks_a_store_and_it_replays() -> None:
    """A mutant works inside `with mutant.broken()` alone: whoever searches or replays one comes through `judge`."""
    paths = [path for top in ("scenarios", "tests", "reports") for path in (ROOT / top).rglob("*.py")]
    breaking = {path.relative_to(ROOT).as_posix() for path in paths for _ in calls(path, "broken") if _.args == []}
    assert breaking == {"scenarios/mutants/table.py", "scenarios/fuzz/planted.py"}, "planted.py replays what it breaks"
    (judging,) = [
        node
        for node in ast.parse((ROOT / "scenarios/mutants/table.py").read_text()).body
        if isinstance(node, ast.FunctionDef) and "broken()" in ast.unparse(node)
    ]
    assert judging.name == "judge"
    kills = [
        ast.unparse(node)
        for node in ast.walk(judging)
        if isinstance(node, ast.Return) and "law, entry" in ast.unparse(node)
    ]
    assert len(kills) == 1 and kills[0].endswith(", token, store.name)")
    assert "token = replayed(entry, verdict, law, only)" in ast.unparse(judging)
    assert "if only or not isinstance(entry, Check):\n" in ast.unparse(judging), (
        "an assertion of a store is a kill in a check only"
    )


def test_every_module_of_mutants_is_judged_and_tested() -> None:
    offering = {
        info.name
        for info in iter_modules(package.__path__)
        if hasattr(import_module(f"{package.__name__}.{info.name}"), "mutants")
    }
    assert {store.mutants.__module__.rpartition(".")[2] for store in STORES} == offering
    tests = (ROOT / "tests/test_scenarios_laws.py").read_text()
    assert "for store in STORES for mutant in store.mutants()" in tests
    assert "skip" not in tests and "xfail" not in tests


def test_a_killed_mutant_has_the_token_that_was_replayed() -> None:
    store = next(store for store in STORES if store.name == "log")
    mutant = next(one for one in mutants() if one.name == "no fsync of one/main.jsonl, 1st in commit")
    judged = judge(store, mutant)
    assert judged.killed
    assert judged.token.startswith(f"s1~{judged.scenario}~{judged.disk}~")


class Forgetful(One):
    """An entry whose scenario holds as soon as it is asked for again."""

    def scenario(self, member: str) -> type[simfs.Scenario]:
        class Holds(RenameFirst):
            @simfs.law
            def old_or_new(self, m: simfs.Handle) -> None:
                """Nothing."""

        return Holds


def test_a_token_that_does_not_break_its_law_again_is_an_error_and_no_kill() -> None:
    store = Store("planted", lambda wrap: (Forgetful(RenameFirst),), list)
    with pytest.raises(NotReplayed, match=r"broke law old_or_new, and its token .* does not: stale token"):
        judge(store, Mutant("as it is", "rule"))


def test_a_token_that_breaks_another_law_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaying, "law_broken_by", lambda entry, token, only: "another")
    with pytest.raises(NotReplayed, match="breaks another"):
        judge(Store("planted", lambda wrap: (One(RenameFirst),), list), Mutant("as it is", "rule"))


def test_mutants_of_one_name_are_told_apart_by_their_stores_in_an_artifact() -> None:
    name = "the last line is not written again"
    stores = [store for store in STORES if any(mutant.name == name for mutant in store.mutants())]
    assert len(stores) > 1
    judged = [judge(store, mutant) for store in stores for mutant in store.mutants() if mutant.name == name]
    document = document_of([], [], judged)
    assert len(merge([document, document])["mutants"]) == len(stores)


def test_a_verdict_without_a_token_is_an_error() -> None:
    verdict = Verdict("x", "violated", simfs.Searched())
    with pytest.raises(NotReplayed, match="is no replay token"):
        replayed(One(RenameFirst), verdict, "old_or_new")


def test_a_generated_history_is_replayed_by_its_choices() -> None:
    store = next(store for store in STORES if store.name == "log with sidecars")
    entry = histories()
    assert isinstance(entry, Histories)
    only = Store(store.name, lambda wrap: (histories(wrap),), store.mutants)
    mutant = next(one for one in store.mutants() if "fsync of one/main.jsonl, 1st in commit" in one.name)
    judged = judge(only, mutant)
    assert (judged.killed, judged.scenario) == (True, entry.name)
    assert judged.token.startswith(f"s1~{entry.name}~")


def test_only_a_check_of_rules_has_nothing_to_replay() -> None:
    law = Law("planted", "Nothing is ever wrong in this small world", "planted")
    check = Check("planted", "A check.", (Question(law, lambda: iter([("one", "it is wrong")])),))
    judged = judge(Store("planted", lambda wrap: (check,), list), Mutant("as it is", "rule"))
    assert (judged.law, judged.token) == ("planted", "")
    kinds = {type(entry) for store in STORES for entry in store.suite(as_it_is)}
    assert kinds == {Check, Family, Histories, One}, "a new kind of entry: can its tokens be replayed?"


def test_every_reported_fault_is_replayed_where_it_is_found() -> None:
    """The wrong twins are the mutants of the reported suite: each law that one breaks is broken by its token too."""
    for path in sorted((ROOT / "tests").glob("test_reported_*.py")):
        found = [
            ast.unparse(node) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)
        ]
        (breaking,) = [text for text in found if "def test_the_wrong_program_breaks_the_law" in text]
        assert breaking.rstrip().endswith("[name].wrong, law)") and "breaks_and_replays(" in breaking, path.name
