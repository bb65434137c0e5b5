"""The state tree and `eukhe state` on a storage that nobody serves."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from eukhe.storage import Commit, Storage, copy, put, retire
from eukhe.tree import StateError, StateTree

ONE = put({"type": "conversation", "id": 1, "title": "first"})
ENTRY = put({"type": "entry", "id": 1, "conversation": 1, "kind": "text", "body": "long"})
NOTE = put({"type": "document", "kind": "note", "key": "k", "scope": {"conversation": 1}, "body": 1})


def tree_of(*lists):
    state = StateTree("here", "0" * 32)
    for number, changes in enumerate(lists, 1):
        state.record(Commit(number, list(changes)))
    return state


def nodes(state):
    return [tuple(node) for node in state.snapshot_at(state.cursor)]


def test_a_child_may_stand_before_its_parent_in_a_commit():
    assert [node[:2] for node in nodes(tree_of([ENTRY, NOTE, ONE]))] == [(1, 0), (2, 1), (3, 1)]


def test_a_document_shows_which_commits_made_and_changed_it_and_keeps_its_id():
    state = tree_of([ONE, NOTE], [NOTE], [retire("note", "k", {"conversation": 1})], [NOTE])
    assert nodes(state)[1][0] == 2
    assert [node.value for node in state.snapshot_at(3)][1]["changed"] == 2
    assert nodes(state)[1][2] == {
        "kind": "note", "key": "k", "scope": {"conversation": 1}, "created": 4, "changed": 4,
    }  # fmt: skip


def test_a_copy_stands_where_its_own_scope_says():
    source = {"kind": "note", "key": "k", "scope": {"conversation": 1}}
    state = tree_of([ONE, NOTE], [copy(source, {**NOTE["put"], "scope": "session"})])
    assert [node[:2] for node in nodes(state)] == [(1, 0), (2, 1), (3, 0)]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (put({"type": "entry", "id": 2, "conversation": 7}), "entry 2 stands below conversation 7, which is not there"),
        (put({"type": "conversation", "id": 2, "owner_task": 9}), "belongs to task 9, which is not there"),
        (retire("note", "other"), "document note other session is not there to be retired"),
        (put({"type": "conversation", "id": 1, "fork_source": {"conversation": 2}}), "which came later"),
    ],
)
def test_a_state_error_names_the_commit_and_the_change_and_leaves_the_tree(change, why):
    state = tree_of([ONE], [put({"type": "conversation", "id": 2})])
    with pytest.raises(StateError, match=why) as caught:
        state.record(Commit(3, [ENTRY, change]))
    assert (caught.value.commit, caught.value.change) == (3, 1)
    assert state.cursor == 2
    state.record(Commit(4, [ENTRY]))
    assert [node[:2] for node in nodes(state)] == [(1, 0), (2, 0), (3, 1)]


@pytest.fixture
def home(tmp_path):
    with Storage.open(tmp_path / "sessions" / "one", home=tmp_path) as storage:
        storage.commit([ONE])
        storage.commit([ENTRY])
    return str(tmp_path)


def run(home, *words):
    command = [sys.executable, "-c", "from eukhe.cli import main; main()", "state", "one", "--home", home, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_tree_is_drawn_and_told_as_json_without_a_daemon(home):
    assert run(home).stdout == "one  cursor 2 of 2\n└── 1  conversation 1  first\n    └── 2  entry text\n"
    told = json.loads(run(home, "--json", "--at", "1").stdout)
    assert (told["cursor"], told["nodes"]) == (1, [[1, 0, ONE["put"]]])
    assert run(home, "rewind-plan", "--to", "1").stdout == "stop     2\n"


def test_a_cursor_that_has_not_been_is_wrong_usage_and_following_needs_a_daemon(home):
    assert run(home, "--at", "3").returncode == 2
    done = run(home, "--follow")
    assert (done.returncode, "start one with `eukhe daemon`" in done.stderr) == (1, True)
