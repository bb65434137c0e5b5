"""Records of the session tree: the three ways to change it, their values, and their form in JSON.

| record   | JSON                                               | what it asks for                          |
|----------|----------------------------------------------------|-------------------------------------------|
| `Put`    | `{"put": [id, parent, value]}`                     | the node stands below the parent          |
| `Delete` | `{"del": id}`                                      | the node and all below it go              |
| `Rewind` | `{"rewind": [[id, null \\| [parent, value]], ...]}` | each node goes or is set; all of it or none |

A record is well formed or it is a `BadRecord`; whether the tree takes a well-formed one is the tree's business. Ids
and parents are integers of 64 bits. A value is JSON and nothing else: it is kept as its canonical text (compact, keys
sorted), so two values are equal exactly when their texts are, 1 and 1.0 and true are three values, and nothing that a
caller does to its own objects afterwards reaches the tree. What JSON cannot hold exactly (a NaN, a tuple, a date, a
key that is no string) is refused.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

ID_MAX = 2**63 - 1
"""The greatest id; the least number that a record can hold is `-ID_MAX - 1`."""

ROOT = 0
"""What the top nodes have as their parent. It is no node."""


class BadRecord(ValueError):
    """What was given is no record: a field is missing or of another type, or a value is not JSON."""


class Put(NamedTuple):
    """Set a node: its parent and its value, new or changed."""

    id: int
    parent: int
    value: Any


class Delete(NamedTuple):
    """Remove a node and everything below it."""

    id: int


class Rewind(NamedTuple):
    """Set several nodes at once: each to (parent, value), or to None, which removes that one node."""

    changes: tuple[tuple[int, tuple[int, Any] | None], ...]


Record: TypeAlias = Put | Delete | Rewind


class _RecordShape(Struct, forbid_unknown_fields=True):
    put: tuple[int, int, Raw] | UnsetType = UNSET
    delete: int | UnsetType = field(name="del", default=UNSET)
    rewind: list[tuple[int, tuple[int, Raw] | None]] | UnsetType = UNSET


_encode = msgspec.json.Encoder(order="sorted").encode
_decode_shape = msgspec.json.Decoder(_RecordShape).decode
decode_value = msgspec.json.Decoder().decode
"""A value from its canonical text."""


def canonical(value: object) -> bytes:
    """The canonical text of a value. Raises `BadRecord` where JSON has no exact form of it."""
    try:
        text = _encode(value)
        if type(value) not in _EXACT and decode_value(text) != value:
            raise BadRecord(f"{value!r} has no exact form in JSON")
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
        if isinstance(error, BadRecord):
            raise
        raise BadRecord(f"no JSON value: {error or type(error).__name__}") from None
    return text


_EXACT = frozenset({str, int, bool, type(None)})


def decode_record(text: bytes) -> Record:
    """Read one record. Raises `BadRecord` for anything but exactly one record."""
    try:
        shape = _decode_shape(text)
        given = [part for part in (shape.put, shape.delete, shape.rewind) if part is not UNSET]
        if len(given) != 1:
            raise BadRecord("a record is exactly one of put, del and rewind")
        record: Record
        if shape.put is not UNSET:
            record = Put(shape.put[0], shape.put[1], decode_value(shape.put[2]))
        elif shape.delete is not UNSET:
            record = Delete(shape.delete)
        else:
            assert shape.rewind is not UNSET
            record = Rewind(tuple((i, None if to is None else (to[0], decode_value(to[1]))) for i, to in shape.rewind))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        if isinstance(error, BadRecord):
            raise
        raise BadRecord(str(error)) from None
    return checked(record)


def encode_record(record: Record) -> bytes:
    """The JSON of a record, its values in canonical form. Raises `BadRecord`."""
    return _encode(plain(checked(record)))


def plain(record: Record) -> dict[str, Any]:
    """A record as the JSON object that stands for it."""
    if isinstance(record, Put):
        return {"put": [record.id, record.parent, record.value]}
    if isinstance(record, Delete):
        return {"del": record.id}
    return {"rewind": [[i, None if to is None else [to[0], to[1]]] for i, to in record.changes]}


def checked(record: Record) -> Record:
    """The record itself, if its numbers fit. Raises `BadRecord`."""
    if isinstance(record, Put):
        numbers: tuple[int, ...] = (record.id, record.parent)
    elif isinstance(record, Delete):
        numbers = (record.id,)
    else:
        numbers = tuple(n for i, to in record.changes for n in ((i,) if to is None else (i, to[0])))
    for number in numbers:
        if type(number) is not int or not -ID_MAX - 1 <= number <= ID_MAX:
            raise BadRecord(f"{number!r} is no id: ids are integers of 64 bits")
    return record
