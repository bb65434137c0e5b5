"""A strict protocol by which another program can ask a store's rules: one JSON object a line.

`{"id": 1, "op": "commit", "args": {...}}` is answered by `{"id": 1, "ok": ...}` or by `{"id": 1, "error": {"code":
"...", "message": "..."}}`, in the order of the requests. A request has exactly these three fields. Anything else
gets the error form and changes nothing: unknown or missing fields, a line that is not JSON, bytes after the object,
a last line without its newline, an operation that is unknown, out of place or refused. `id` in an answer is null
where the request's could not be read. An answer is compact JSON in a fixed order of fields, so two implementations
can be compared byte for byte.

Codes: `malformed` (no request), `unknown_op`, `bad_args`, `out_of_place` (not now), `refused` (the rule says no),
`trailing` (input ended inside a line).
"""

from __future__ import annotations

from typing import Any, BinaryIO, Protocol

import msgspec
from msgspec import Raw, Struct


class Request(Struct, frozen=True, forbid_unknown_fields=True):
    """One request. `args` stays as bytes until the operation is known."""

    id: int
    op: str
    args: Raw


class EntryError(Exception):
    """An answer in the error form. The state of the entry is as before."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Entry(Protocol):
    """A store's rules behind the protocol. `answer` raises `EntryError`, and then has changed nothing."""

    def answer(self, op: str, args: bytes) -> object: ...


class _Ok(Struct):
    id: int
    ok: Any


class _ErrorBody(Struct):
    code: str
    message: str


class _Error(Struct):
    id: int | None
    error: _ErrorBody


_decode_request = msgspec.json.Decoder(Request).decode
_decode_anything = msgspec.json.Decoder().decode


def answer_line(entry: Entry, line: bytes) -> bytes:
    """The answer to one line of input, both with their newline."""
    request_id: int | None = None
    try:
        if not line.endswith(b"\n"):
            raise EntryError("trailing", "the input ends inside a line")
        request_id, op, args = _read_request(line)
        answer: Struct = _Ok(request_id, entry.answer(op, args))
    except EntryError as error:
        answer = _Error(request_id, _ErrorBody(error.code, str(error)))
    return msgspec.json.encode(answer) + b"\n"


def serve(entry: Entry, source: BinaryIO, sink: BinaryIO) -> None:
    """Answer each line of `source` on `sink` until the input ends."""
    while line := source.readline():
        sink.write(answer_line(entry, line))
        sink.flush()


def _read_request(line: bytes) -> tuple[int, str, bytes]:
    try:
        _decode_anything(line)
        request = _decode_request(line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise EntryError("malformed", str(error)) from None
    return request.id, request.op, bytes(request.args)
