"""What a commit may hold: records, document keys and the three kinds of change.

A record is a JSON object with a `type`. Conversations, entries, tasks and submissions have an integer `id` from 1
that is unique within the type; a document has `kind`, `key` and `scope` instead, and those three are its key.
Beyond the fields named here a record may carry any others: they are kept as they are.

| type         | must have                              | scope or parent                                          |
|--------------|----------------------------------------|----------------------------------------------------------|
| conversation | `id`                                   | `owner_task`, `fork_source` {conversation, entry?}        |
| entry        | `id`, `conversation`                   | its conversation                                         |
| task         | `id`, `conversation`                   | its conversation; `state`                                |
| submission   | `id`, `conversation`                   | its conversation; `state`                                |
| document     | `kind`, `key`, `scope`                 | `"session"`, `{"conversation": id}` or `{"task": id}`     |

A change is `{"put": record}`, `{"retire": document key}` or `{"copy": {"from": key, "record": document}}`, and
exactly one of them. Whether a parent or an earlier record exists is not asked here: the log keeps what it is given,
and the state tree says what it makes of it.

The shapes are checked by decoding into the structs below; their values are thrown away, and the plain JSON is what
is kept.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

TERMINAL_STATES = frozenset({"completed", "failed", "cancelled"})
"""States of a task or submission after which it changes no more."""

Id = Annotated[int, Meta(ge=1)]
Length = Annotated[int, Meta(ge=0)]
State = Literal["pending", "running", "completed", "failed", "cancelled"]


class Scope(Struct, forbid_unknown_fields=True):
    """`{"conversation": id}` or `{"task": id}`; that exactly one is there is checked by the codec."""

    conversation: Id | UnsetType = UNSET
    task: Id | UnsetType = UNSET


class DocumentKey(Struct, forbid_unknown_fields=True):
    """What tells a document from every other one."""

    kind: str
    key: str
    scope: Literal["session"] | Scope


class ForkSource(Struct, forbid_unknown_fields=True):
    """Where a conversation was forked from: a conversation, and an entry of it."""

    conversation: Id
    entry: Id | None = None


class SidecarBody(Struct, forbid_unknown_fields=True):
    """Where an entry's body stands in its conversation's sidecar: one line, its newline included."""

    offset: Length
    length: Id


class Conversation(Struct, tag_field="type", tag="conversation"):
    """A conversation: under the one of its owning task, else of its fork source, else nothing."""

    id: Id
    kind: str | UnsetType = UNSET
    owner_task: Id | None = None
    fork_source: ForkSource | None = None


class Entry(Struct, tag_field="type", tag="entry"):
    """One entry of a conversation."""

    id: Id
    conversation: Id
    kind: str | UnsetType = UNSET
    head: Id | None = None
    task: Id | None = None
    sidecar_body: SidecarBody | UnsetType = UNSET


class Task(Struct, tag_field="type", tag="task"):
    """A task of a conversation, and how far it is."""

    id: Id
    conversation: Id
    kind: str | UnsetType = UNSET
    state: State | UnsetType = UNSET


class Submission(Struct, tag_field="type", tag="submission"):
    """A submission to a conversation, and how far it is."""

    id: Id
    conversation: Id
    kind: str | UnsetType = UNSET
    task: Id | None = None
    state: State | UnsetType = UNSET


class Document(Struct, tag_field="type", tag="document"):
    """A document: its key, and whatever else it holds."""

    kind: str
    key: str
    scope: Literal["session"] | Scope


class CopyOf(Struct, rename={"source": "from"}, forbid_unknown_fields=True):
    """A document made from another."""

    source: DocumentKey
    record: Document


class ChangeShape(Struct, forbid_unknown_fields=True):
    """One change; that it is exactly one of the three is checked by the codec."""

    put: Conversation | Entry | Task | Submission | Document | UnsetType = UNSET
    retire: DocumentKey | UnsetType = UNSET
    copy: CopyOf | UnsetType = UNSET


class CommitShape(Struct, forbid_unknown_fields=True):
    """A whole commit line."""

    commit: Id
    changes: list[ChangeShape]
    sidecars: dict[str, Length] | UnsetType = UNSET


def put(record: dict[str, Any]) -> dict[str, Any]:
    """The change that stores a record, new or changed."""
    return {"put": record}


def retire(kind: str, key: str, scope: str | dict[str, int] = "session") -> dict[str, Any]:
    """The change that ends a document."""
    return {"retire": {"kind": kind, "key": key, "scope": scope}}


def copy(source: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    """The change that stores a document made from another, whose key is `source`."""
    return {"copy": {"from": source, "record": record}}


def session_meta(cwd: str, created: str) -> dict[str, Any]:
    """The change that a session's first commit holds: where it works and since when (ISO 8601, UTC)."""
    body = {"cwd": cwd, "created": created}
    return put({"type": "document", "kind": "session", "key": "meta", "scope": "session", "body": body})
