"""The histories on which the state tree is judged, and what must come of them, said by names and not by ids.

`Model` follows commits as S1's rules put it: a commit is possible when its changes can be brought into some order in
which each finds its parent (every order is tried), and otherwise it changes nothing. It knows nodes by their keys.

Commits are made of `CHANGES`, in which parents and nodes may be missing. `drawn_history` draws a longer history of
commits that are all possible, their changes shuffled.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

from eukhe.storage.codec import Commit, encode_changes
from eukhe.storage.history import CommitHistory, HistoryKeeper
from eukhe.storage.records import TERMINAL_STATES, copy, put, retire
from eukhe.tree.state import StateTree
from simfs.explore.choices import Sampled

Key = tuple[Any, ...]
Change = dict[str, Any]
Nodes = dict[Key, tuple[Key | None, Any]]
"""By key: (the parent's key, None for the root; the value)."""

TREE = "0" * 32
IN_ONE, IN_TWO, OF_TASK = {"conversation": 1}, {"conversation": 2}, {"task": 1}


def conversation(number: int, **more: Any) -> Change:
    """A change that puts a conversation."""
    return put({"type": "conversation", "id": number, **more})


def task(number: int, within: int, state: str) -> Change:
    """A change that puts a task."""
    return put({"type": "task", "id": number, "conversation": within, "state": state})


def document(key: str, scope: Any) -> Change:
    """A change that puts a document."""
    return put({"type": "document", "kind": "note", "key": key, "scope": scope, "body": "not in the tree"})


CHANGES: tuple[Change, ...] = (
    conversation(1), conversation(2, fork_source={"conversation": 1}), conversation(2, owner_task=1),
    conversation(1, fork_source={"conversation": 2}), conversation(1, title="changed"),
    put({"type": "entry", "id": 1, "conversation": 1, "kind": "text", "head": None, "body": "long"}),
    put({"type": "entry", "id": 2, "conversation": 2, "task": 1}),
    task(1, 1, "running"), task(1, 1, "completed"), task(1, 2, "failed"),
    put({"type": "submission", "id": 1, "conversation": 1, "state": "pending"}),
    document("s", "session"), document("c", IN_ONE), document("t", OF_TASK),
    retire("note", "s"), retire("note", "t", OF_TASK),
    copy({"kind": "note", "key": "c", "scope": IN_ONE}, document("c", IN_TWO)["put"]),
)  # fmt: skip
"""What commits are made of, so that every short sequence holds good ones and ones without a parent or node."""


class Missing(Exception):
    """The commit is not possible."""


class Model:
    """The nodes by their keys, and everything that was ever seen, in order."""

    def __init__(self) -> None:
        self.nodes: Nodes = {}
        self.tasks: dict[int, int] = {}
        self.seen: list[Key] = []
        self.last = 0

    def follow(self, commit: Commit) -> bool:
        """Whether the commit is possible; it is followed if so."""
        if commit.number <= self.last:
            return True
        self.last = commit.number
        for order in permutations(without_early(commit.changes)):
            try:
                found = self._in_order(commit.number, list(order))
            except Missing:
                continue
            self.nodes, self.tasks = found
            self.seen += [key for key in self.nodes if key not in self.seen]
            return True
        return False

    def _in_order(self, number: int, changes: list[Change]) -> tuple[Nodes, dict[int, int]]:
        nodes, tasks = dict(self.nodes), dict(self.tasks)
        for change in changes:
            record = change.get("put")
            if (
                record
                and record["type"] == "task"
                and tasks.setdefault(record["id"], record["conversation"]) != (record["conversation"])
            ):
                raise Missing
        for change in changes:
            if "retire" in change:
                if nodes.pop(name(change["retire"]), None) is None:
                    raise Missing
                continue
            record = change["put"] if "put" in change else change["copy"]["record"]
            key, above = name(record), parent(record, tasks)
            if above is not None and (above not in nodes or (key in self.seen and not self._before(above, key))):
                raise Missing
            old = nodes.get(key)
            nodes[key] = (above, value(record, old[1].get("created") if old else None, number))
        return nodes, tasks

    def _before(self, above: Key, key: Key) -> bool:
        return above in self.seen and self.seen.index(above) < self.seen.index(key)


def without_early(changes: list[Change]) -> list[Change]:
    """Of a task that ends in a commit, only the end."""
    ended = {r["id"] for c in changes if (r := c.get("put")) and r["type"] == "task" and r["state"] in TERMINAL_STATES}
    return [
        c
        for c in changes
        if not ((r := c.get("put")) and r["type"] == "task" and r["id"] in ended and r["state"] not in TERMINAL_STATES)
    ]


def name(record: Any) -> Key:
    """What tells a record from every other."""
    if record.get("type", "document") != "document":
        return (record["type"], record["id"])
    scope = record["scope"]
    words = scope if scope == "session" else " ".join(f"{kind} {number}" for kind, number in scope.items())
    return ("document", record["kind"], record["key"], words)


def parent(record: Any, tasks: dict[int, int]) -> Key | None:
    """The parent's key; None is the root."""
    scope = record.get("scope") if record["type"] == "document" else None
    of_task = record.get("owner_task") if record["type"] == "conversation" else None
    if isinstance(scope, dict) and "task" in scope:
        of_task = scope["task"]
    if of_task is not None:
        if of_task not in tasks:
            raise Missing
        return ("conversation", tasks[of_task])
    if record["type"] == "conversation":
        source = record.get("fork_source")
        return ("conversation", source["conversation"]) if source else None
    if record["type"] == "document":
        return None if scope == "session" else ("conversation", record["scope"]["conversation"])
    return ("conversation", record["conversation"])


def value(record: Any, created: int | None, number: int) -> Any:
    """The value, by S1's rule."""
    if record["type"] == "document":
        kept = {field: record[field] for field in ("kind", "key", "scope")}
        return {**kept, "created": created or number, "changed": number}
    if record["type"] == "entry":
        return {field: record.get(field) for field in ("kind", "conversation", "head", "task")}
    return record


def shown(state: StateTree, keys: list[Key]) -> Nodes:
    """What a state tree holds, by keys. Every node is among `keys`, or the answer says so."""
    by_id = {state.id_of(key): key for key in keys}
    found: Nodes = {}
    for node in state.snapshot_at(state.cursor):
        key = by_id.get(node.id, ("unknown", node.id))
        found[key] = (by_id.get(node.parent, ("unknown", node.parent)) if node.parent else None, node.value)
    return found


def history_of(commits: list[Commit]) -> CommitHistory:
    """The history that a storage keeps of these commits."""
    keeper = HistoryKeeper()
    for commit in commits:
        line, _ = encode_changes(commit.number, commit.changes)
        keeper.add(line[:-1], commit)
    return CommitHistory(keeper.lines, len(commits))


def drawn_history(seed: int, length: int) -> list[Commit]:
    """A history in which every commit is possible: conversations, tasks that run and end, documents that go and come
    back, several new records a commit, parent and child among them, in any order."""
    drawer = _Drawer(seed)
    return [drawer.commit(number) for number in range(1, length + 1)]


def drawn(count: int = 60, length: int = 40) -> Iterator[tuple[str, list[Commit]]]:
    """Several of them."""
    return ((f"the history of seed {seed}", drawn_history(seed, length)) for seed in range(count))


class _Drawer:
    def __init__(self, seed: int) -> None:
        self.draw = Sampled(f"state {seed}").draw
        self.conversations = 0
        self.tasks: list[tuple[int, int]] = []
        self.running: list[tuple[int, int]] = []
        self.documents: list[Any] = []
        self.number = 0

    def commit(self, number: int) -> Commit:
        changes = [self._conversation()] if self.conversations == 0 else []
        for _ in range(1 + self.draw(3, "changes")):
            changes.append(self._change())
        single: dict[Key, Change] = {}
        for change in changes:
            single.setdefault(name(change.get("put") or change.get("retire") or change["copy"]["record"]), change)
        for change in single.values():
            record = change.get("put") or change.get("copy", {}).get("record", {"type": ""})
            if "retire" in change:
                self.documents = [one for one in self.documents if name(one) != name(change["retire"])]
            elif record["type"] == "document" and record not in self.documents:
                self.documents.append(record)
        rest, shuffled = list(single.values()), []
        while rest:
            shuffled.append(rest.pop(self.draw(len(rest), "order")))
        return Commit(number, shuffled)

    def _change(self) -> Change:
        kind = self.draw(8, "change")
        within = 1 + self.draw(self.conversations, "conversation")
        self.number += 1
        if kind == 0:
            return self._conversation()
        if kind == 1:
            self.tasks.append((self.number, within))
            self.running.append((self.number, within))
            return task(self.number, within, "running")
        if kind == 2 and self.running:
            at = self.draw(len(self.running), "task")
            if self.draw(2, "ends"):
                return task(*self.running.pop(at), "completed")
            return task(*self.running[at], "pending")
        if kind in (3, 4):
            scopes: list[Any] = ["session", {"conversation": within}]
            scopes += [{"task": one[0]} for one in self.tasks[-1:]]
            made = document(f"d{self.draw(3, 'key')}", scopes[self.draw(len(scopes), "scope")])
            known = self.documents or [made["put"]]
            source = known[self.draw(len(known), "source")]
            from_key = {field: source[field] for field in ("kind", "key", "scope")}
            return copy(from_key, made["put"]) if kind == 4 else made
        if kind == 5 and self.documents and self.draw(2, "retire"):
            gone = self.documents[self.draw(len(self.documents), "document")]
            return retire(gone["kind"], gone["key"], gone["scope"])
        if kind == 6:
            return put({"type": "submission", "id": self.number, "conversation": within, "state": "pending"})
        return put({"type": "entry", "id": self.number, "conversation": within, "kind": "text", "body": "b"})

    def _conversation(self) -> Change:
        self.conversations += 1
        if self.tasks and self.draw(2, "owned"):
            return conversation(self.conversations, owner_task=self.tasks[-1][0])
        if self.conversations > 1 and self.draw(2, "forked"):
            return conversation(self.conversations, fork_source={"conversation": self.conversations - 1})
        return conversation(self.conversations)
