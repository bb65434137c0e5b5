"""The check `state_tree`: commits make the tree that S1's rules say, in every small case and in drawn histories.

Small: every sequence of two commits of one or two changes each, on top of nothing and on top of a conversation, a task
and a document; most of them miss a parent or a node somewhere. Orders: commits of four changes that belong together, in
every order. Drawn: histories of forty commits, all possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from eukhe.storage.codec import Commit, encode_changes
from eukhe.tree.errors import StateError
from eukhe.tree.state import StateTree
from scenarios.checks import Case, Check, Question
from scenarios.laws import state_tree as laws
from scenarios.suites import state_cases as cases
from scenarios.suites.state_cases import CHANGES, TREE, Model

Told = tuple[str, list[Commit]]

BEFORE = [cases.conversation(1), cases.task(1, 1, "running"), cases.document("s", "session")]
TOGETHER = (
    [CHANGES[0], CHANGES[7], CHANGES[2], CHANGES[6]],
    [CHANGES[0], CHANGES[1], CHANGES[12], CHANGES[16]],
    [CHANGES[0], CHANGES[7], CHANGES[8], CHANGES[13]],
    [CHANGES[11], CHANGES[5], CHANGES[10], CHANGES[0]],
)
"""Changes of one commit that belong together: parents with children, a task's end with what hangs on the task."""


def small() -> Iterator[Told]:
    """Every small sequence."""
    ones = [[change] for change in CHANGES]
    twos = [list(two) for two in permutations(CHANGES, 2) if not _same(*two)]
    for first in (*ones, *twos):
        for second in ones:
            yield _told([first, second])
            yield _told([BEFORE, first, second])
    for first in ones:
        for second in twos:
            yield _told([BEFORE, first, second])


def _same(one: cases.Change, other: cases.Change) -> bool:
    keys = [cases.name(c.get("put") or c.get("retire") or c["copy"]["record"]) for c in (one, other)]
    return keys[0] == keys[1] and not (keys[0][0] == "task" and one["put"]["state"] != other["put"]["state"])


def _told(lists: list[list[cases.Change]]) -> Told:
    return (f"commits {lists}", [Commit(number, changes) for number, changes in enumerate(lists, 1)])


def parents() -> Iterator[Case]:
    """After each commit every node stands where its type belongs, with its value."""
    for text, commits in (*small(), *cases.drawn()):
        state, model, wrong = StateTree("s", TREE), Model(), None
        for commit in commits:
            _record(state, commit)
            model.follow(commit)
            found = cases.shown(state, model.seen)
            if found != model.nodes:
                wrong = wrong or f"after commit {commit.number} it is {found}, and the rules say {model.nodes}"
            odd = [above for above, _ in found.values() if above is not None and above[0] != "conversation"]
            wrong = wrong or (f"{odd} is no conversation" if odd else None)
        yield text, wrong


def unordered() -> Iterator[Case]:
    """What belongs together, in every order."""
    for changes in TOGETHER:
        wanted = None
        for order in permutations(changes):
            state, model = StateTree("s", TREE), Model()
            model.follow(Commit(1, changes))
            good = _record(state, Commit(1, list(order)))
            found = cases.shown(state, model.seen)
            wanted = wanted or found
            same = good and found == wanted == model.nodes
            yield f"{list(order)}", None if same else f"it becomes {found}, in another order {model.nodes}"


def errors() -> Iterator[Case]:
    """An impossible commit is an error, told once, and the tree goes on as if it had not been."""
    for text, commits in small():
        state, model, wrong = StateTree("s", TREE), Model(), None
        without = StateTree("s", TREE)
        for commit in commits:
            before = state.cursor, list(state.snapshot_at(state.cursor))
            possible, good = model.follow(commit), _record(state, commit)
            if possible != good:
                wrong = wrong or f"commit {commit.number} is {'' if possible else 'not '}possible, and it was {good}"
            if good:
                _record(without, commit)
            elif (state.cursor, list(state.snapshot_at(state.cursor))) != before:
                wrong = wrong or f"commit {commit.number} is an error and left something"
            if state.last_commit != commit.number:
                wrong = wrong or f"commit {commit.number} does not count as seen"
        if state.records_since(0) != without.records_since(0):
            wrong = wrong or "a commit after an error is followed in another way"
        yield text, wrong


def once() -> Iterator[Case]:
    """Every commit again after every later one."""
    for text, commits in (*small(), *cases.drawn(20)):
        state, wrong = StateTree("s", TREE), None
        for at, commit in enumerate(commits):
            _record(state, commit)
            for again in commits[max(0, at - 3) : at + 1]:
                before = state.cursor
                if state.record(again) or state.cursor != before:
                    wrong = wrong or f"commit {again.number} counts again after commit {commit.number}"
        yield text, wrong


def writes() -> Iterator[Case]:
    """The lines of the log and the commits as they are published."""
    for text, commits in (*small(), *cases.drawn()):
        published, written = StateTree("s", TREE), StateTree("s", TREE)
        for commit in commits:
            _record(published, commit)
            line, _ = encode_changes(commit.number, commit.changes)
            try:
                written.record_writes(line[:-1])
            except StateError:
                pass
        same = published.records_since(0) == written.records_since(0)
        yield text, None if same else "the journals differ"


def from_history() -> Iterator[Case]:
    """A tree that saw each commit, and one that was built from what the storage keeps of them."""
    for text, commits in (*cases.drawn(200), *(_told([changes]) for changes in TOGETHER)):
        live, model = StateTree("s", TREE), Model()
        for commit in commits:
            live.record(commit)
            model.follow(commit)
        built, told = StateTree.from_history("s", TREE, cases.history_of(commits))
        found, wanted = cases.shown(built, model.seen), cases.shown(live, model.seen)
        wrong = f"it is {found}, and live {wanted}" if found != wanted else None
        yield text, f"errors {[str(one) for one in told]}" if told else wrong


def first_seen() -> Iterator[Case]:
    """Ids count up without a gap as nodes appear, and nothing has another id later."""
    for text, commits in (*small(), *cases.drawn()):
        state, model, wrong = StateTree("s", TREE), Model(), None
        given: dict[cases.Key, int | None] = {}
        for commit in commits:
            _record(state, commit)
            known = len(model.seen)
            model.follow(commit)
            new = {state.id_of(key) for key in model.seen[known:]}
            if new != set(range(known + 1, len(model.seen) + 1)):
                wrong = wrong or f"commit {commit.number} gives the ids {new} after {known} nodes"
            given = {**{key: state.id_of(key) for key in model.seen}, **given}
            if any(state.id_of(key) != node for key, node in given.items()):
                wrong = wrong or f"at commit {commit.number} a node gets another id"
        yield text, wrong


def conversations_stay() -> Iterator[Case]:
    """A conversation that is there stays."""
    for text, commits in (*small(), *cases.drawn()):
        state, wrong = StateTree("s", TREE), None
        there: set[int] = set()
        for commit in commits:
            _record(state, commit)
            snapshot = state.snapshot_at(state.cursor)
            found = {node.id for node in snapshot if node.value.get("type") == "conversation"}
            if there - found:
                wrong = wrong or f"commit {commit.number} removes {there - found}"
            there = found
        yield text, wrong


def _record(state: StateTree, commit: Commit) -> bool:
    """Whether the commit was followed."""
    try:
        state.record(commit)
    except StateError as error:
        assert error.commit == commit.number
        return False
    return True


STATE = Check(
    "state_tree",
    "The commits of a storage make the tree that the rules say, in every small case and in drawn histories.",
    (
        Question(laws.STATE_UNORDERED_CHANGES, unordered),
        Question(laws.STATE_HISTORY_TREE, from_history),
        Question(laws.STATE_PARENTS, parents),
        Question(laws.STATE_ERROR_KEEPS_TREE, errors),
        Question(laws.STATE_COMMIT_ONCE, once),
        Question(laws.STATE_WRITES_EQUAL_PUBLICATIONS, writes),
        Question(laws.STATE_IDS_FIRST_SEEN, first_seen),
        Question(laws.STATE_CONVERSATIONS_STAY, conversations_stay),
    ),
)
