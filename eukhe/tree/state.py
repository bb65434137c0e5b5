"""The state tree: the session tree that the commits of a storage make.

Each stored record is a node (`placing`). Each change of a commit is one record of the journal: a new or changed record
and a copied document a put, a retired document a delete. The rules:

1. *The order of changes.* The changes of a commit come in any order, so a put waits until its parent is there, and a
   retire until its document is. A task that ends in a commit has ended, wherever its earlier states stand in it.
2. *All or nothing.* A change whose parent or node does not come is a `StateError`: the commit adds no record at all,
   and counts as seen. So does one that would move a node below a later one, or a task to another conversation.
3. *Once.* A commit with a number at or below the last one that was seen adds nothing.
4. *Ids* go in the order in which nodes first appear, from 1, and a document that comes back has its old one.
5. *History.* A storage's history leaves out early states of ended tasks, so the commits of a history may name a task
   before it appears. `from_history` therefore first learns each task's conversation, then records. Records, parents and
   values are those of a tree that saw every commit; ids and cursor may differ.

No commit removes a conversation, so no node loses its parent. A tree has a random id, `tree`: ids and cursors mean
something only together with it.

Source: seed S1, second list. Not for several threads at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eukhe.storage.codec import Commit, decode_commit
from eukhe.storage.records import TERMINAL_STATES
from eukhe.tree.errors import StateError
from eukhe.tree.journal import Journal, Snapshot
from eukhe.tree.placing import NodeKey, Place, Record, key_of, place_of, value_of
from eukhe.tree.plan import RewindPlan
from eukhe.tree.records import ROOT, Delete, Put
from eukhe.tree.records import Record as TreeRecord


class StateTree:
    """The tree of one storage. `path` names the session in errors; `tree` is its id, 32 hex digits."""

    def __init__(self, path: str, tree: str) -> None:
        self.path = path
        self.tree = tree
        self.last_commit = 0
        self._journal = Journal()
        self._ids: dict[NodeKey, int] = {}
        """Every node that ever was."""
        self._tasks: dict[int, int] = {}
        """The conversation of each task."""
        self._created: dict[NodeKey, int] = {}
        """The documents that are there, and the commit that made each."""

    @classmethod
    def from_history(cls, path: str, tree: str, history: Iterable[Commit]) -> tuple[StateTree, list[StateError]]:
        """The tree of a history, and what could not be followed in it. The history is gone through twice."""
        made = cls(path, tree)
        made.learn_tasks(history)
        errors = []
        for commit in history:
            try:
                made.record(commit)
            except StateError as error:
                errors.append(error)
        return made, errors

    @property
    def cursor(self) -> int:
        """How many records the tree has had."""
        return self._journal.cursor

    def learn_tasks(self, history: Iterable[Commit]) -> None:
        """Learn the conversation of each task in a history, before its commits are recorded."""
        for commit in history:
            for _, task in _puts(commit, "task"):
                self._tasks.setdefault(task["id"], task["conversation"])

    def record(self, commit: Commit) -> int:
        """Follow one commit; how many records it added. Raises `StateError`, and then has added none."""
        if commit.number <= self.last_commit:
            return 0
        self.last_commit = commit.number
        draft = _Draft(self, commit)
        records = draft.settle()
        for record in records:
            answer = self._journal.push(record)
            assert answer.taken, f"{self.path}: commit {commit.number}: the tree rejects {record}"
        self._ids.update(draft.ids)
        self._tasks.update(draft.tasks)
        for key, created in draft.created.items():
            if created:
                self._created[key] = created
            else:
                del self._created[key]
        return len(records)

    def record_writes(self, line: bytes) -> int:
        """Follow one commit as it is written: its line in the log, without the newline. As `record`."""
        return self.record(decode_commit(line))

    def records_since(self, cursor: int) -> list[TreeRecord]:
        """The records after a cursor. Raises `IndexError` for a cursor that has not been."""
        return self._journal.records_since(cursor)

    def snapshot_at(self, cursor: int) -> Snapshot:
        """The tree at a cursor. Raises `IndexError` for a cursor that has not been."""
        return self._journal.snapshot_at(cursor)

    def rewind_plan(self, cursor: int) -> RewindPlan:
        """What leads back to a cursor. Raises `IndexError` for a cursor that has not been."""
        return self._journal.rewind_plan(cursor)

    def id_of(self, key: NodeKey) -> int | None:
        """The id that a record's node has or had; None where it never was."""
        return self._ids.get(key)


class _Draft:
    """The changes of one commit on their way into the tree; the tree is left alone until all are settled."""

    def __init__(self, state: StateTree, commit: Commit) -> None:
        self.state = state
        self.commit = commit
        self.ids: dict[NodeKey, int] = {}
        self.tasks: dict[int, int] = {}
        self.created: dict[NodeKey, int] = {}
        """Documents made (their creating commit) and retired (0) here."""
        self.records: list[TreeRecord] = []

    def settle(self) -> list[TreeRecord]:
        """The records of the commit, in an order in which each finds its parent. Raises `StateError`."""
        tasks = _puts(self.commit, "task")
        for place, task in tasks:
            known = self.tasks.setdefault(task["id"], self._task(task["id"]) or task["conversation"])
            if known != task["conversation"]:
                self._fail(place, f"task {task['id']} belongs to conversation {known} and cannot move")
        waiting = [*enumerate(self.commit.changes)]
        if tasks:
            early = _early_states(tasks)
            waiting = [(place, change) for place, change in waiting if place not in early]
        while waiting:
            still = [(place, change) for place, change in waiting if not self._apply(place, change)]
            if len(still) == len(waiting):
                self._fail(still[0][0], self._why(still[0][1]))
            waiting = still
        return self.records

    def _apply(self, place: int, change: dict[str, Any]) -> bool:
        """Whether the change could be made; otherwise it waits."""
        if "retire" in change:
            key = key_of(change["retire"])
            if not self._made(key):
                return False
            self.created[key] = 0
            self.records.append(Delete(self._id(key) or 0))
            return True
        record: Record = change["put"] if "put" in change else change["copy"]["record"]
        parent = self._parent(place_of(record))
        if parent is None:
            return False
        key = key_of(record)
        node = self._id(key)
        if node is None:
            node = self.ids[key] = len(self.state._ids) + len(self.ids) + 1
        elif node <= parent:
            self._fail(place, f"{_words(key)} cannot move below {_words(self._key(parent))}, which came later")
        number = self.commit.number
        if key[0] == "document":
            self.created[key] = self._made(key) or number
        self.records.append(Put(node, parent, value_of(record, self.created.get(key, number), number)))
        return True

    def _parent(self, place: Place) -> int | None:
        conversation = place.conversation
        if place.task is not None:
            conversation = self._task(place.task)
            if conversation is None:
                return None
        return ROOT if conversation is None else self._id(("conversation", conversation))

    def _id(self, key: NodeKey) -> int | None:
        return self.ids.get(key) or self.state._ids.get(key)

    def _key(self, node: int) -> NodeKey:
        return next(key for key in (*self.ids, *self.state._ids) if self._id(key) == node)

    def _task(self, task: int) -> int | None:
        return self.tasks.get(task) or self.state._tasks.get(task)

    def _made(self, key: NodeKey) -> int:
        """The commit that made a document which is there; 0 for one that is not."""
        return self.created[key] if key in self.created else self.state._created.get(key, 0)

    def _why(self, change: dict[str, Any]) -> str:
        if "retire" in change:
            return f"{_words(key_of(change['retire']))} is not there to be retired"
        record = change["put"] if "put" in change else change["copy"]["record"]
        place = place_of(record)
        if place.task is not None and self._task(place.task) is None:
            return f"{_words(key_of(record))} belongs to task {place.task}, which is not there"
        conversation = place.conversation if place.task is None else self._task(place.task)
        return f"{_words(key_of(record))} stands below conversation {conversation}, which is not there"

    def _fail(self, place: int, why: str) -> None:
        raise StateError(self.state.path, self.commit.number, place, why)


def _puts(commit: Commit, kind: str) -> list[tuple[int, Record]]:
    """(place, record) of each put of a type."""
    return [
        (place, change["put"])
        for place, change in enumerate(commit.changes)
        if "put" in change and change["put"]["type"] == kind
    ]


def _early_states(tasks: list[tuple[int, Record]]) -> set[int]:
    """Of tasks that end in a commit, the places of the states in which they have not ended."""
    ended = {task["id"] for _, task in tasks if task.get("state") in TERMINAL_STATES}
    return {place for place, task in tasks if task["id"] in ended and task.get("state") not in TERMINAL_STATES}


def _words(key: NodeKey) -> str:
    return " ".join(str(part) for part in key)
