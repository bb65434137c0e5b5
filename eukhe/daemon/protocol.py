"""What goes over the wire: requests, answers and frames, one JSON object a line.

A client sends requests, each with an id of its own, and gets one answer to each, in any order, with frames between:

| request                    | args                        | answer                                                  |
|----------------------------|-----------------------------|---------------------------------------------------------|
| `get_state_tree`           | session, since?             | a tree: snapshot, or records after `since`              |
| `subscribe_state_tree`     | session, since?             | the same; frames follow                                 |
| `unsubscribe_state_tree`   | session                     | `{}`                                                    |
| `get_state_rewind_plan`    | session, tree, cursor       | the plan                                                |
| `attach_session`           | session, after              | `{"sequence", "events"}`; `session_event` frames follow |
|                            |                             | (with `"more": true`: ask again after `sequence`)       |
| `commit`                   | session, changes            | `{"commit"}` when it is durable                         |
| `get_worker_socket`        | session                     | `{"socket"}`: where the session's worker itself answers |
| `list_sessions`            |                             | `{"sessions", "skipped"}`                               |
| `fork_session`             | session, name, at?          | `{"path", "commits"}`                                   |
| `import_session`           | file, name?                 | `{"path", "messages", "torn_bytes"}`                    |
| `delete_session`           | session                     | `{"left"}`: what a sweep will remove                    |
| `list_cron_jobs`           |                             | `{"jobs", "running", "unreadable"}`                     |
| `add_cron_job`             | schedule, prompt, ...       | `{"job"}`                                               |
| `pause_cron_job`, `resume_cron_job`, `cancel_cron_job` | job | `{"job"}`                                           |

A worker answers the first six of them and `get_worker_socket`, over its own socket too; there nobody can subscribe.

`since` is `{"tree", "cursor"}`. A tree in an answer is `{"tree", "cursor", "nodes"}` or `{"tree", "cursor", "from",
"records"}`; which of both is the worker's choice, and a snapshot where `since` names another tree.

| frame               | fields                               | goes to                                  |
|---------------------|--------------------------------------|------------------------------------------|
| `state_tree_update` | session, tree, from, cursor, records | the session's tree subscribers           |
| `state_tree_ended`  | session                              | them, when the worker has gone           |
| `session_event`     | session, sequence, event             | who has attached                         |
| `session_ended`     | session                              | them, when the worker has gone           |

Error codes beyond those of the entry protocol:

| code              | what it says                                                              |
|-------------------|---------------------------------------------------------------------------|
| `unknown_session` | there is none, or it is being deleted                                     |
| `refused`         | the store says no                                                         |
| `worker_lost`     | the worker went before it answered: a commit may have been made or not    |
| `worker_failed`   | workers of the session end as soon as they begin                          |
| `stopped`         | the state tree has failed                                                 |
| `busy`            | too many requests without an answer                                       |
| `stale_tree`      | the cursor belongs to another tree                                        |
| `too_long`        | the answer has more bytes than anybody may send                           |
| `out_of_place`    | ask elsewhere                                                             |
| `stopping`        | the daemon ends                                                           |

Reading is strict: unknown fields, other types and trailing bytes are refused. Source: seed S1, wire.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from eukhe.daemon.arguments import HOUSE_ARGS

MESSAGE_BYTES_MAX = 64 << 20
"""A request that is longer ends its connection."""
REPLY_BYTES_MAX = 1 << 30
"""Nobody sends a reply that is longer: `fitting` says what is sent in its place."""


class Since(Struct, frozen=True, forbid_unknown_fields=True):
    """Up to where a client knows a tree."""

    tree: str
    cursor: int


class TreeArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """Of `get_state_tree` and `subscribe_state_tree`."""

    session: str
    since: Since | UnsetType = UNSET


class SessionArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """Of `unsubscribe_state_tree` and `get_worker_socket`."""

    session: str


class PlanArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """Of `get_state_rewind_plan`."""

    session: str
    tree: str
    cursor: int


class AttachArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """Of `attach_session`: events after this sequence number."""

    session: str
    after: int


class CommitArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """Of `commit`."""

    session: str
    changes: list[dict[str, Any]]


ARGS: dict[str, type[Struct]] = {
    "get_state_tree": TreeArgs,
    "subscribe_state_tree": TreeArgs,
    "unsubscribe_state_tree": SessionArgs,
    "get_state_rewind_plan": PlanArgs,
    "attach_session": AttachArgs,
    "commit": CommitArgs,
    "get_worker_socket": SessionArgs,
    **HOUSE_ARGS,
}
"""Every operation and its arguments."""


class Request(Struct, frozen=True, forbid_unknown_fields=True):
    """What a client asks. `args` stays as bytes until the operation is known."""

    id: int
    op: str
    args: Raw


class Fault(Struct, frozen=True, forbid_unknown_fields=True):
    """Why there is no answer."""

    code: str
    message: str


class Answer(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The answer to the request with this id: `ok` or `error`."""

    id: int | None
    ok: Any = UNSET
    error: Fault | UnsetType = UNSET


class Update(Struct, frozen=True, forbid_unknown_fields=True, tag_field="frame", tag="state_tree_update"):
    """Records of a tree: those after the first `start`, up to `cursor`."""

    session: str
    tree: str
    start: int = field(name="from")
    cursor: int
    records: list[Any]


class Ended(Struct, frozen=True, forbid_unknown_fields=True, tag_field="frame", tag="state_tree_ended"):
    """The tree of the session has ended, and the subscription with it."""

    session: str


class Event(Struct, frozen=True, forbid_unknown_fields=True, tag_field="frame", tag="session_event"):
    """Something that happened in a session: a commit. `sequence` counts from 1 without a gap."""

    session: str
    sequence: int
    event: Any


class Detached(Struct, frozen=True, forbid_unknown_fields=True, tag_field="frame", tag="session_ended"):
    """No more events of the session come; who wants more attaches again, after the last that it has."""

    session: str


Frame = Update | Ended | Event | Detached
Reply = Answer | Frame


class Refused(Exception):
    """A request that gets the error form."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


_decode_request = msgspec.json.Decoder(Request).decode
_decode_frame = msgspec.json.Decoder(Frame).decode
_decode_answer = msgspec.json.Decoder(Answer).decode
_encode = msgspec.json.Encoder().encode


def decode_request(line: bytes) -> Request:
    """Read a request. Raises `Refused`."""
    try:
        return _decode_request(line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Refused("malformed", str(error)) from None


def decode_args(request: Request) -> Any:
    """The arguments of a request. Raises `Refused`."""
    kind = ARGS.get(request.op)
    if kind is None:
        raise Refused("unknown_op", f"no operation {request.op!r}; there are {', '.join(ARGS)}")
    try:
        return msgspec.json.decode(request.args, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Refused("bad_args", str(error)) from None


def decode_reply(line: bytes) -> Reply:
    """Read what a server sent. Raises `Refused`."""
    try:
        return _decode_frame(line) if line.startswith(b'{"frame":') else _decode_answer(line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Refused("malformed", str(error)) from None


def encode(message: Request | Reply) -> bytes:
    """A message as its line, with the newline."""
    return _encode(message) + b"\n"


def fitting(message: Reply) -> bytes:
    """A reply as its line; of one that is too long a refusal, or the frame that says that something was lost."""
    line = encode(message)
    if len(line) <= REPLY_BYTES_MAX:
        return line
    if isinstance(message, Answer):
        why = f"the answer has {len(line)} bytes, and {REPLY_BYTES_MAX} is the most; read the session's files instead"
        return encode(fault(message.id, Refused("too_long", why)))
    return encode(lost(message))


def lost(frame: Frame) -> Frame:
    """What tells a client that it lost a frame and all before it: an empty one beyond its cursor, or a null event."""
    if isinstance(frame, Update):
        return Update(frame.session, frame.tree, frame.cursor, frame.cursor, [])
    return Event(frame.session, frame.sequence, None) if isinstance(frame, Event) else frame


def ask(number: int, op: str, args: Struct) -> Request:
    """A request."""
    return Request(number, op, Raw(_encode(args)))


def fault(number: int | None, refused: Refused) -> Answer:
    """The error form."""
    return Answer(number, error=Fault(refused.code, str(refused)))
