"""The rules of the commit log, each plan step by step, and the model that the plans run."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eukhe.storage.rules import (
    LogState,
    OpenFacts,
    RuleRefused,
    SidecarFacts,
    SidecarShort,
    Step,
    complete_length,
    is_sidecar_name,
    plan_commit,
    plan_flush,
    plan_open,
    plan_put_back,
    sidecar_name,
)

C1, C2 = "c1.entries.jsonl", "c2.entries.jsonl"
SHORT = {
    "write_sidecar": "write", "flush_sidecar": "flush", "flush_directory": "flush dir", "write_marker": "marker",
    "flush_main": "flush main", "acknowledge": "ack", "cut_main": "cut main", "cut_sidecar": "cut",
    "rewrite_last_line": "rewrite", "flush_ancestor": "flush",
}  # fmt: skip


def words(steps):
    """A plan as a person would read it."""
    return ", ".join(
        " ".join([SHORT[step.kind], *([step.name.split(".")[0]] if step.name not in ("", "main.jsonl") else [])])
        for step in steps
    )


@settings(derandomize=True)
@given(st.binary(max_size=40).map(lambda data: data.replace(b"\x01", b"\n")))
def test_open_keeps_exactly_the_complete_lines(data):
    newline = data.rfind(b"\n")
    kept = complete_length(len(data), None if newline < 0 else newline)
    assert data[:kept].count(b"\n") == data.count(b"\n")
    assert b"\n" not in data[kept:]
    assert kept == 0 or data[kept - 1 : kept] == b"\n"


@pytest.mark.parametrize(("length", "last_newline"), [(-1, None), (0, 0), (5, 5), (5, 9), (5, -1), (-3, -4)])
def test_facts_that_no_file_can_have_are_refused(length, last_newline):
    with pytest.raises(RuleRefused):
        complete_length(length, last_newline)
    with pytest.raises(RuleRefused):
        plan_open(True, OpenFacts(length, last_newline))


OPEN_PLANS = [
    (OpenFacts(0, None), "ack"),
    (OpenFacts(7, None), "cut main, ack"),
    (OpenFacts(7, 6), "rewrite, flush main, flush dir, ack"),
    (OpenFacts(9, 6), "cut main, rewrite, flush main, flush dir, ack"),
    (OpenFacts(0, None, (SidecarFacts(C1, 5, 0),)), "flush main, cut c1, ack"),
    (OpenFacts(7, 6, (SidecarFacts(C1, 5, 5),)), "flush c1, rewrite, flush main, flush dir, ack"),
    (
        OpenFacts(7, 6, (SidecarFacts(C1, 9, 5), SidecarFacts(C2, 0, 0))),
        "flush c1, rewrite, flush main, cut c1, flush dir, ack",
    ),
    (OpenFacts(0, None, (), ("/", "/h")), "flush /, flush /h, ack"),
]


@pytest.mark.parametrize(("facts", "plan"), OPEN_PLANS)
def test_an_open_reads_cuts_makes_durable_what_it_found_and_flushes_its_ancestors(facts, plan):
    steps, state = plan_open(True, facts)
    assert words(steps) == plan
    present = {"main.jsonl", *(sidecar.name for sidecar in facts.sidecars)}
    assert state == LogState(True, frozenset(present), frozenset(present if facts.last_newline is not None else ()))


@pytest.mark.parametrize(("facts", "plan"), OPEN_PLANS)
def test_an_open_without_flushing_only_cuts(facts, plan):
    steps, state = plan_open(False, facts)
    assert words(steps) == ", ".join(part for part in plan.split(", ") if part.startswith("cut") or part == "ack")
    assert state.covered == frozenset()


def test_a_sidecar_shorter_than_confirmed_is_damage_before_any_step():
    with pytest.raises(SidecarShort, match="4 bytes, but the log confirms 5"):
        plan_open(True, OpenFacts(9, 6, (SidecarFacts(C1, 4, 5),)))


def test_an_open_refuses_sidecars_that_cannot_be():
    for sidecars in (
        (SidecarFacts("main.jsonl", 1, 1),), (SidecarFacts("../c1.entries.jsonl", 1, 1),), (SidecarFacts(C1, -1, -1),),
        (SidecarFacts(C1, 1, 1), SidecarFacts(C1, 1, 1)),
    ):  # fmt: skip
        with pytest.raises(RuleRefused):
            plan_open(True, OpenFacts(7, 6, sidecars))
    with pytest.raises(RuleRefused):
        plan_open(True, OpenFacts(0, None, (SidecarFacts(C1, 5, 5),)))


MAIN = frozenset({"main.jsonl"})
NONE = frozenset[str]()
COMMIT_PLANS = [
    # flushing, main.jsonl's entry covered: no sidecar, an old one, a new one, one of each
    (True, MAIN | {C1}, MAIN | {C1}, (), "marker, flush main, ack"),
    (True, MAIN | {C1}, MAIN | {C1}, (C1,), "write c1, flush c1, marker, flush main, ack"),
    (True, MAIN | {C1}, MAIN | {C1}, (C2,), "write c2, flush c2, flush dir, marker, flush main, ack"),
    (
        True,
        MAIN | {C1},
        MAIN | {C1},
        (C1, C2),
        "write c1, write c2, flush c1, flush c2, flush dir, marker, flush main, ack",
    ),
    # flushing, main.jsonl's entry new: so is every sidecar's, and one directory flush covers them all
    (True, MAIN, NONE, (), "marker, flush main, flush dir, ack"),
    (True, MAIN, NONE, (C1,), "write c1, flush c1, flush dir, marker, flush main, ack"),
    (True, MAIN | {C1}, NONE, (C1,), "write c1, flush c1, flush dir, marker, flush main, ack"),
    (True, MAIN | {C1}, NONE, (C1, C2), "write c1, write c2, flush c1, flush c2, flush dir, marker, flush main, ack"),
    # without flushing
    (False, MAIN, NONE, (), "marker, ack"),
    (False, MAIN, NONE, (C1,), "write c1, marker, ack"),
    (False, MAIN | {C1}, NONE, (C1,), "write c1, marker, ack"),
    (False, MAIN | {C1}, NONE, (C1, C2), "write c1, write c2, marker, ack"),
]


@pytest.mark.parametrize(("fsync", "present", "covered", "sidecars", "plan"), COMMIT_PLANS)
def test_a_commit_goes_records_flushes_directory_marker_flush_directory_acknowledgement(
    fsync, present, covered, sidecars, plan
):
    steps, after = plan_commit(LogState(fsync, present, covered), sidecars)
    assert words(steps) == plan
    assert after.present == present | set(sidecars)
    assert after.covered == (after.present if "flush dir" in plan else covered)


def test_the_second_commit_flushes_no_directory_for_the_first_ones_entries():
    _, state = plan_open(True, OpenFacts(0, None))
    first, state = plan_commit(state, (C1,))
    second, _ = plan_commit(state, (C1,))
    assert [step.kind for step in first].count("flush_directory") == 1
    assert [step.kind for step in second].count("flush_directory") == 0


def test_a_commit_refuses_names_that_are_no_sidecars_or_come_twice():
    state = LogState(True, MAIN, MAIN)
    for names in ((C1, C1), ("main.jsonl",), ("c0.entries.jsonl",), ("x",), ("",), ("c1.entries.jsonl/..",)):
        with pytest.raises(RuleRefused):
            plan_commit(state, names)
        with pytest.raises(RuleRefused):
            plan_flush(state, names)


def test_a_late_flush_covers_every_file_and_entry():
    steps, state = plan_flush(LogState(False, MAIN | {C1}, NONE), (C1,))
    assert words(steps) == "flush c1, flush main, flush dir, ack"
    assert state.covered == state.present


def test_after_a_failure_each_file_that_was_begun_goes_back_to_its_acknowledged_length():
    state = LogState(True, MAIN | {C1}, MAIN | {C1})
    begun = (Step("write_sidecar", C1), Step("write_sidecar", C2))
    assert plan_put_back(state, begun, 70, {C1: 5}) == (Step("cut_sidecar", C1, 5), Step("cut_sidecar", C2, 0))
    begun = (*begun, Step("write_marker"))
    assert plan_put_back(state, begun, 70, {C1: 5})[:2] == (Step("cut_main", "main.jsonl", 70), Step("flush_main"))
    assert Step("flush_main") not in plan_put_back(state._replace(fsync=False), begun, 70, {C1: 5})


def test_after_a_failed_directory_flush_the_uncovered_entries_that_hold_nothing_acknowledged_are_removed():
    begun = (Step("write_sidecar", C2), Step("flush_sidecar", C2), Step("flush_directory"))
    removed = [
        step.name for step in plan_put_back(LogState(True, MAIN | {C1}, NONE), begun, 0, {}) if "remove" in step.kind
    ]
    assert removed == [C1, C2, "main.jsonl"]
    removed = [
        step.name
        for step in plan_put_back(LogState(True, MAIN | {C1}, MAIN | {C1}), begun, 70, {C1: 5})
        if "remove" in step.kind
    ]
    assert removed == [C2]
    late = plan_put_back(LogState(False, MAIN | {C1}, NONE), (Step("flush_directory"),), 70, {C1: 5})
    assert late == (), "a build without flushing keeps what it holds"


def test_names_of_sidecars_are_those_that_the_rules_mint():
    assert is_sidecar_name(sidecar_name(1)) and is_sidecar_name(sidecar_name(10**18))
    for name in (
        "c.entries.jsonl",
        "c01.entries.jsonl",
        "c-1.entries.jsonl",
        "xc1.entries.jsonl",
        "c1.entries.jsonl\n",
    ):
        assert not is_sidecar_name(name)


def survivors(steps):
    """The numbers of commits that a power loss after these steps may leave, by the model of the seed: flushed bytes
    and flushed entries stay, a prefix of the others may."""
    written = flushed = 0
    entry = False
    for step in steps:
        written += step.kind == "write_marker"
        flushed = written if step.kind == "flush_main" else flushed
        entry = entry or step.kind == "flush_directory"
    return set(range(flushed, written + 1)) | (set() if entry else {0})


def test_the_plan_of_an_open_and_three_commits_cut_after_any_step_keeps_what_was_acknowledged():
    state, steps = plan_open(True, OpenFacts(0, None))[1], []
    for sidecars in ((), (C1,), (C1, C2)):
        plan, state = plan_commit(state, sidecars)
        steps += plan
    for cut in range(len(steps) + 1):
        acknowledged = [step.kind for step in steps[:cut]].count("acknowledge")
        assert min(survivors(steps[:cut])) >= acknowledged
        assert max(survivors(steps[:cut])) <= acknowledged + 1
    assert len(steps) == 4 + 6 + 8


def test_each_flush_of_the_plan_is_needed_by_the_model():
    state, steps = plan_open(True, OpenFacts(0, None))[1], []
    for _ in range(2):
        plan, state = plan_commit(state, ())
        steps += plan
    for index, step in enumerate(steps):
        if step.kind.startswith("flush"):
            rest = steps[:index] + steps[index + 1 :]
            lost = [
                cut
                for cut in range(len(rest) + 1)
                if min(survivors(rest[:cut])) < [s.kind for s in rest[:cut]].count("acknowledge")
            ]
            assert lost, f"nothing is lost without step {index}, {step.kind}"
