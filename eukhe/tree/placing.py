"""Where a stored record stands in the state tree, and what its node shows.

| record       | stands below                                                     | value          |
|--------------|------------------------------------------------------------------|----------------|
| conversation | its owning task's conversation, else its fork source's, else root | the record     |
| entry        | its conversation                                                 | kind, conversation, head, task |
| task         | its conversation                                                 | the record     |
| submission   | its conversation                                                 | the record     |
| document     | root, its conversation, or its task's conversation, by its scope | kind, key, scope, created, changed |

So a parent is the root or a conversation. `created` and `changed` are the numbers of the commits that made the
document and last changed it.

Source: seed S1, second list, 1 and 5. A task keeps its conversation for life.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

NodeKey: TypeAlias = tuple[str, ...] | tuple[str, int]
"""What a node is: (type, id), or ("document", kind, key, scope)."""

Record: TypeAlias = dict[str, Any]


class Place(NamedTuple):
    """Where a record stands: below a conversation, below a task's conversation, or (both None) below the root."""

    conversation: int | None = None
    task: int | None = None


def key_of(record: Record) -> NodeKey:
    """The key of a stored record, or of a document's key."""
    kind = record.get("type", "document")
    if kind == "document":
        return ("document", record["kind"], record["key"], scope_text(record["scope"]))
    return (kind, record["id"])


def place_of(record: Record) -> Place:
    """Where a stored record stands."""
    kind = record["type"]
    if kind == "conversation":
        if record.get("owner_task") is not None:
            return Place(task=record["owner_task"])
        source = record.get("fork_source")
        return Place() if source is None else Place(conversation=source["conversation"])
    if kind == "document":
        scope = record["scope"]
        return Place() if scope == "session" else Place(scope.get("conversation"), scope.get("task"))
    return Place(conversation=record["conversation"])


def value_of(record: Record, created: int, changed: int) -> Record:
    """What the node of a record shows; the commits are told of documents only."""
    kind = record["type"]
    if kind == "entry":
        return {name: record.get(name) for name in ("kind", "conversation", "head", "task")}
    if kind == "document":
        names = {name: record[name] for name in ("kind", "key", "scope")}
        return {**names, "created": created, "changed": changed}
    return record


def scope_text(scope: str | dict[str, int]) -> str:
    """A document's scope as one word."""
    if isinstance(scope, str):
        return scope
    ((kind, number),) = scope.items()
    return f"{kind} {number}"
