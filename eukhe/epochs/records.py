"""The lines of a session's log and its baseline, as values and as bytes.

A line is one JSON object with a `type`: `session_start` {slot}, `user` {text}, `assistant` {text}, `tool_result`
{call, untrusted, output}, `epoch_end` {next, summary}. Other fields are left alone on disk and not read. A baseline
is any JSON object. Slots and epochs are unsigned 32-bit numbers, calls unsigned 64-bit ones.

What is written reads back as the same value, or is refused before a byte is written.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

U32_MAX = 2**32 - 1
Slot = Annotated[int, Meta(ge=0, le=U32_MAX)]
Epoch = Annotated[int, Meta(ge=0, le=U32_MAX)]
Call = Annotated[int, Meta(ge=0)]


class SessionStart(Struct, frozen=True, tag_field="type", tag="session_start"):
    """The first line of each epoch's log: the session's slot."""

    slot: Slot


class User(Struct, frozen=True, tag_field="type", tag="user"):
    """What the user said; one of these is one turn."""

    text: str


class Assistant(Struct, frozen=True, tag_field="type", tag="assistant"):
    """What the assistant said."""

    text: str


class ToolResult(Struct, frozen=True, tag_field="type", tag="tool_result"):
    """What a call gave, and whether it came from an untrusted place. `output` is any JSON."""

    call: Call
    untrusted: bool
    output: Any


class EpochEnd(Struct, frozen=True, tag_field="type", tag="epoch_end"):
    """The end of an epoch: the number of the next, and the summary that is carried into it."""

    next: Epoch
    summary: str


Record = SessionStart | User | Assistant | ToolResult | EpochEnd
BaselineObject = dict[str, Any]


class LineError(Exception):
    """Why bytes are no record, or a value has no bytes."""


_READ_ERRORS = (msgspec.MsgspecError, ValueError, RecursionError)
_WRITE_ERRORS = (*_READ_ERRORS, TypeError, OverflowError)
_decode_record = msgspec.json.Decoder(Record).decode
_decode_object = msgspec.json.Decoder(BaselineObject).decode


def decode_record(line: bytes) -> Record:
    """Read one line without its newline. Raises `LineError`."""
    try:
        _decode_object(line)
        return _decode_record(line)
    except _READ_ERRORS as error:
        if b"\0" in line:
            raise LineError(f"{line.count(0)} NUL bytes from the line's byte {line.index(0)} on") from None
        raise LineError(str(error)) from None


def encode_record(record: Record) -> bytes:
    """The line of a record, with its newline. Raises `LineError`."""
    try:
        line = msgspec.json.encode(record)
    except _WRITE_ERRORS as error:
        raise LineError(str(error)) from None
    if decode_record(line) != record:
        raise LineError("the record has no exact form in JSON")
    return line + b"\n"


def decode_baseline(data: bytes) -> BaselineObject:
    """Read a baseline. Raises `LineError`."""
    try:
        return _decode_object(data)
    except _READ_ERRORS as error:
        raise LineError(str(error)) from None


def encode_baseline(baseline: BaselineObject) -> bytes:
    """The bytes of a baseline. Raises `LineError`."""
    try:
        data = msgspec.json.encode(baseline)
    except _WRITE_ERRORS as error:
        raise LineError(str(error)) from None
    if decode_baseline(data) != baseline:
        raise LineError("the baseline has no exact form in JSON")
    return data + b"\n"
