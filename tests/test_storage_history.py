"""The history is kept until it is taken, and early states of an ended task are not in it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eukhe.storage import Storage, put
from eukhe.storage.codec import encode_changes
from eukhe.storage.history import CommitHistory, HistoryKeeper
from eukhe.storage.records import TERMINAL_STATES


def task(id, state, note=0):
    return put({"type": "task", "id": id, "conversation": 1, "state": state, "note": note})


def history_of(commits):
    keeper = HistoryKeeper()
    for number, changes in enumerate(commits, 1):
        line, commit = encode_changes(number, changes)
        keeper.add(line[:-1], commit)
    return CommitHistory(keeper.lines, len(commits))


def shown(history):
    return [
        (commit.number, [(c["put"]["id"], c["put"].get("state")) for c in commit.changes]) for commit in history
    ]  # fmt: skip


def test_replayed_and_later_commits_are_kept_until_the_history_is_taken(tmp_path):
    with Storage.open(tmp_path / "s") as storage:
        storage.commit([task(1, "pending")])
    with Storage.open(tmp_path / "s") as storage:
        storage.commit([task(2, "pending")])
        history = storage.take_history()
        storage.commit([task(3, "pending")])
        assert history.last == 2
        assert shown(history) == [(1, [(1, "pending")]), (2, [(2, "pending")])]
        later = storage.take_history()
        assert (later.last, list(later)) == (3, [])
        assert len(storage.commits) == 3


def test_early_states_of_an_ended_task_are_dropped_and_nothing_else():
    conversation = put({"type": "conversation", "id": 1})
    history = history_of(
        [
            [conversation, task(1, "pending"), task(2, "pending")],
            [task(1, "running")],
            [task(1, "running"), task(1, "completed"), task(2, "running")],
            [task(1, "failed")],
        ]
    )
    assert shown(history) == [
        (1, [(1, None), (2, "pending")]),
        (3, [(1, "completed"), (2, "running")]),
        (4, [(1, "failed")]),
    ]
    assert (len(history), history.last) == (3, 4)


def test_a_task_that_starts_again_keeps_its_new_early_states_until_it_ends():
    history = history_of([[task(1, "failed")], [task(1, "running")]])
    assert shown(history) == [(1, [(1, "failed")]), (2, [(1, "running")])]


def test_a_long_run_of_progress_costs_nothing_once_it_is_over():
    keeper = HistoryKeeper()
    for number in range(1, 1001):
        line, commit = encode_changes(number, [task(1, "completed" if number == 1000 else "running", number)])
        keeper.add(line[:-1], commit)
    assert sum(map(len, keeper.lines)) == len(line) - 1


def test_the_history_can_be_read_twice():
    history = history_of([[task(1, "pending")]])
    assert list(history) == list(history) != []


STATES = st.sampled_from(["pending", "running", "completed", "failed", "cancelled", None])
COMMITS = st.lists(st.lists(st.tuples(st.integers(1, 3), STATES), min_size=1, max_size=3), max_size=8)


@settings(derandomize=True)
@given(COMMITS)
def test_what_is_kept_is_every_change_but_the_early_states_before_a_terminal_one(drawn):
    def change(id, state):
        return put({"type": "task", "id": id, "conversation": 1} | ({} if state is None else {"state": state}))

    flat = [(number, id, state) for number, commit in enumerate(drawn, 1) for id, state in commit]
    ends = {id: number for number, id, state in flat if state in TERMINAL_STATES}
    expected = [one for one in flat if one[2] in TERMINAL_STATES or ends.get(one[1], 0) < one[0]]
    history = history_of([[change(*one) for one in commit] for commit in drawn])
    assert [(number, id, state) for number, changes in shown(history) for id, state in changes] == expected


def test_taking_from_a_new_storage_gives_an_empty_history(tmp_path):
    with Storage.open(tmp_path / "s") as storage:
        history = storage.take_history()
    assert (list(history), len(history), history.last) == ([], 0, 0)


@pytest.mark.parametrize("fsync", [True, False])
def test_long_bodies_stay_in_their_sidecars(tmp_path, fsync):
    with Storage.open(tmp_path / "s", fsync=fsync) as storage:
        storage.commit([put({"type": "entry", "id": 1, "conversation": 1, "body": "x" * 20_000})])
        (commit,) = storage.take_history()
    assert commit.changes[0]["put"]["sidecar_body"] == {"offset": 0, "length": 20_033}
