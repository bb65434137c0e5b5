"""The bytes of a commit line and of a sidecar line.

A commit line is one JSON object, UTF-8, without a raw newline, and a newline after it: `{"commit": 7, "changes":
[...], "sidecars": {"c1.entries.jsonl": 4096}}`. `sidecars` is left out when no sidecar was touched. A sidecar line
is `{"commit": 7, "entry": 12, "body": ...}`.

Reading is strict: a line that is not exactly this is an error that says why, never a default. Writing promises more
than reading: `encode_changes` gives only bytes that read back as exactly the value that was passed in. So a value
that JSON would bend (a NaN, a tuple, a key that is no string, a date) is refused before anything is written, and
every line that this package writes is a line that it opens.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from eukhe.storage.records import CommitShape
from eukhe.storage.rules import is_sidecar_name

BODY_INLINE_BYTES = 16 * 1024
"""An entry's body whose JSON is longer than this goes to its conversation's sidecar."""

Change = dict[str, Any]


class Commit(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One commit as it stands in the log: its number from 1, its changes, and the confirmed length of each sidecar it
    touched, in bytes."""

    number: int = field(name="commit")
    changes: list[Change]
    sidecars: dict[str, int] = field(default_factory=dict)


class SidecarLine(Struct, frozen=True, forbid_unknown_fields=True):
    """One body in a sidecar, and the commit and entry that it belongs to."""

    commit: int
    entry: int
    body: Any


class LineError(Exception):
    """Why a line is no commit. The caller knows the file and the line."""


_encode = msgspec.json.Encoder().encode
_decode_shape = msgspec.json.Decoder(CommitShape).decode
_decode_commit = msgspec.json.Decoder(Commit).decode
_decode_sidecar = msgspec.json.Decoder(SidecarLine).decode


def decode_commit(line: bytes) -> Commit:
    """Read one complete line, without its newline. Raises `LineError`."""
    try:
        _decode_shape(line)
        commit = _decode_commit(line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise LineError(_explain(line, error)) from None
    for change in commit.changes:
        if len(change) != 1:
            raise LineError("a change is exactly one of put, retire and copy")
    if b'"scope"' in line and not _scopes_are_whole(commit):
        raise LineError("a scope is exactly one of conversation and task")
    if commit.sidecars:
        for name in commit.sidecars:
            if not is_sidecar_name(name):
                raise LineError(f"{name!r} is no name of a sidecar")
    return commit


def encode_commit(commit: Commit) -> bytes:
    """The line of a commit, with its newline. The changes must have come from `encode_changes`."""
    return _encode(commit) + b"\n"


def encode_changes(number: int, changes: list[Change]) -> tuple[bytes, Commit]:
    """The line, with its newline, and the commit that it reads back as. Raises `LineError` where that differs from
    `changes`, so a caller's later changes to its objects do not reach the log either."""
    try:
        line = _encode({"commit": number, "changes": changes})
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError, OverflowError) as error:
        raise LineError(str(error) or type(error).__name__) from None
    commit = decode_commit(line)
    if commit.changes != changes:
        raise LineError("a value has no exact form in JSON (NaN, tuple, a key that is no string, a date, ...)")
    return line + b"\n", commit


def encode_sidecar_line(commit: int, entry: int, body: object) -> bytes:
    """The line of one body, with its newline."""
    return _encode(SidecarLine(commit, entry, body)) + b"\n"


def decode_sidecar_line(line: bytes) -> SidecarLine:
    """Read one complete line of a sidecar, without its newline. Raises `LineError`."""
    try:
        return _decode_sidecar(line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise LineError(_explain(line, error)) from None


def body_length(body: object) -> int:
    """How many bytes of JSON a body takes."""
    return len(_encode(body))


def _scopes_are_whole(commit: Commit) -> bool:
    """A scope that is an object names a conversation or a task, not both and not neither. Only documents have scopes:
    in another record the word is a field like any other."""
    keys: list[Any] = []
    for change in commit.changes:
        if "retire" in change:
            keys.append(change["retire"])
        elif "copy" in change:
            keys += [change["copy"]["from"], change["copy"]["record"]]
        elif change["put"]["type"] == "document":
            keys.append(change["put"])
    return all(key["scope"] == "session" or len(key["scope"]) == 1 for key in keys)


def _explain(line: bytes, error: Exception) -> str:
    if b"\0" in line:
        return f"{line.count(0)} NUL bytes stand in the line, from its byte {line.index(0)} on"
    if not line:
        return "the line is empty"
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as bad:
        return f"not UTF-8 at the line's byte {bad.start}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error)
