"""The checks `tree_core` and `tree_core_four`: the indexed tree answers as the definition does, after every journal.

`tree_core` takes every journal of up to three records of the alphabet, and generated ones of thousands; then the
journal has kept several versions of its tree, so snapshots and plans between and behind them are asked too.
`tree_core_four` takes every journal of four records, and asks what is answered, held, shown and planned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from eukhe.tree import model
from eukhe.tree.journal import Journal
from eukhe.tree.model import Tree
from eukhe.tree.records import Delete, canonical
from scenarios.checks import Case, Check, Question
from scenarios.laws import tree as laws
from scenarios.suites import tree_cases as cases
from scenarios.suites.tree_cases import Told

Cases = Callable[[], Iterator[Told]]
LONG = ((1, 4000, 40), (2, 4000, 400), (3, 2500, 5))
"""(seed, records, ids) of the generated journals."""


def short_and_long() -> Iterator[Told]:
    """Every journal of up to three records, and the generated ones."""
    yield from cases.journals(3)
    yield from (cases.long_journal(*one) for one in LONG)


def four() -> Iterator[Told]:
    """Every journal of up to four records."""
    yield from cases.journals(4)


def trees(told_all: Cases) -> Iterator[Case]:
    """The live tree is the model's, and what the core keeps inside is whole."""
    for told in told_all():
        journal = told.journal()
        found = cases.tree_of(journal, journal.cursor)
        yield str(told), None if found == told.trees[-1] else f"it holds {found}, the model {told.trees[-1]}"


def answers(told_all: Cases) -> Iterator[Case]:
    """Each record is taken or not as the model says, and the same nodes go."""
    for told in told_all():
        journal, wrong = Journal(), None
        for record, outcome in zip(told.records, told.outcomes, strict=True):
            answer = journal.push(record)
            if answer != (outcome.taken, outcome.removed):
                wrong = wrong or f"to {record} it answers {answer}, the model {outcome.taken, outcome.removed}"
        yield str(told), wrong


def notes(told_all: Cases) -> Iterator[Case]:
    """One more record on a core that was asked things in between, and the same journal pushed in one go."""
    for told in told_all():
        live, at_once = Journal(), told.journal()
        for record in told.records:
            live.push(record)
            if len(told.records) < 10 or live.cursor % 500 == 0:
                live.snapshot_at(live.cursor // 2)
                live.rewind_plan(live.cursor // 2)
        wrong = None
        if live.records_since(0) != at_once.records_since(0) or live.cursor != len(told.records):
            wrong = "the records differ"
        elif live.records_since(0) != [*told.records]:
            wrong = f"it keeps the records as {live.records_since(0)}"
        elif any(cases.tree_of(live, n) != cases.tree_of(at_once, n) for n in _cursors(told)):
            wrong = "the trees differ"
        yield str(told), wrong


def plans(told_all: Cases) -> Iterator[Case]:
    """The plan to every cursor names the nodes in which the plain trees differ, in the order of the work."""
    for told in told_all():
        journal, wrong = told.journal(), None
        for cursor in _cursors(told):
            plan = journal.rewind_plan(cursor)
            found = (list(plan.stops), [_node(n) for n in plan.starts], [_node(n) for n in plan.restores])
            wanted = _work(told.trees[-1], told.trees[cursor])
            if found != wanted:
                wrong = wrong or f"to cursor {cursor} it plans {found}, and the trees differ in {wanted}"
        yield str(told), wrong


def snapshots(told_all: Cases) -> Iterator[Case]:
    """The snapshot at every cursor is the replay of so many records."""
    for told in told_all():
        journal, wrong = told.journal(), None
        for cursor in _cursors(told):
            found = cases.tree_of(journal, cursor)
            if found != told.trees[cursor]:
                wrong = wrong or f"at cursor {cursor} it shows {found}, the model {told.trees[cursor]}"
        yield str(told), wrong


def keeps(told_all: Cases, ask: Callable[[Journal, int], object]) -> Iterator[Case]:
    """After a question the core is as it was, and so are the answers that it gave before."""
    for told in told_all():
        journal = told.journal()
        before = journal.snapshot_at(journal.cursor), journal.records_since(0), journal.cursor
        shown = list(before[0])
        wrong = None
        for cursor in _cursors(told):
            ask(journal, cursor)
            if journal.cursor != before[2] or cases.tree_of(journal, journal.cursor) != told.trees[-1]:
                wrong = wrong or f"the question about cursor {cursor} changed it"
        if journal.records_since(0) != before[1] or list(before[0]) != shown:
            wrong = "the questions changed its records, or a snapshot taken before"
        after = model.apply(told.trees[-1], Delete(1))
        if journal.push(Delete(1)) != (after.taken, after.removed):
            wrong = "after the questions a delete removes other nodes"
        yield str(told), wrong


def _plan(journal: Journal, cursor: int) -> object:
    return journal.rewind_plan(cursor)


def _snapshot(journal: Journal, cursor: int) -> object:
    return list(journal.snapshot_at(cursor))


def _cursors(told: Told) -> range:
    """Every cursor of a short journal; of a long one, some of all along it."""
    length = len(told.records)
    return range(0, length + 1, 1 if length < 10 else 131)


def _node(node: tuple[int, int, object]) -> tuple[int, int, bytes]:
    return node[0], node[1], canonical(node[2])


def _work(live: Tree, target: Tree) -> tuple[list[int], list[tuple[int, int, bytes]], list[tuple[int, int, bytes]]]:
    found = model.differences(live, target)
    back = [(i, *to) for i, to in found.items() if to is not None]
    stops = sorted((i for i, to in found.items() if to is None), reverse=True)
    return stops, [node for node in back if node[0] not in live], [node for node in back if node[0] in live]


def _answering(told_all: Cases) -> tuple[Question, ...]:
    return (
        Question(laws.TREE_CORE_ANSWER, partial(answers, told_all)),
        Question(laws.TREE_CORE_TREE, partial(trees, told_all)),
        Question(laws.TREE_CORE_SNAP, partial(snapshots, told_all)),
        Question(laws.TREE_CORE_PLAN, partial(plans, told_all)),
    )


SHORT_AND_LONG = Check(
    "tree_core",
    "The indexed tree answers as the definition does: every journal of up to three records, and generated ones.",
    (
        *_answering(short_and_long),
        Question(laws.TREE_CORE_NOTE, partial(notes, short_and_long)),
        Question(laws.TREE_CORE_PLAN_KEEPS, partial(keeps, short_and_long, _plan)),
        Question(laws.TREE_CORE_SNAP_KEEPS, partial(keeps, short_and_long, _snapshot)),
    ),
)
FOUR = Check(
    "tree_core_four",
    "The indexed tree answers as the definition does after every journal of four records.",
    _answering(four),
)
