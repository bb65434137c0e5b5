"""The session tree behind the entry protocol (`eukhe rules tree`).

| op         | args                | ok                                                                             |
|------------|---------------------|--------------------------------------------------------------------------------|
| `open`     | bits                | `{"cursor": 0, "nodes": []}`: an empty journal for ids of so many bits |
| `push`     | record              | `{"taken", "removed"}`                                                         |
| `snapshot` | cursor              | `{"cursor", "nodes": [[id, parent, value], ...]}`, ids ascending               |
| `plan`     | cursor              | `{"cursor", "stops", "starts", "restores"}`                                    |
| `close`    | (none)              | `{}`                                                                           |

A record is as in `eukhe.tree.records`. `bits` is 1 to 63: it says how large ids may become, so that an implementation
that splits the range of keys knows what to split; a record that sets a node outside the range is refused. `open`
needs the entry closed, everything else needs it open. A cursor beyond the journal is refused. A refused request
changes nothing, and counts as no record; a record that the tree rejects is a record, and its answer is `"taken":
false`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from eukhe.entry import EntryError
from eukhe.tree.journal import Journal
from eukhe.tree.records import BadRecord, Put, Record, Rewind, decode_record

BITS_MAX = 63


class _OpenArgs(Struct, forbid_unknown_fields=True):
    bits: int


class _PushArgs(Struct, forbid_unknown_fields=True):
    record: Raw


class _CursorArgs(Struct, forbid_unknown_fields=True):
    cursor: int


class _NoArgs(Struct, forbid_unknown_fields=True):
    pass


Answer = dict[str, Any]
Args = TypeVar("Args", bound=Struct)


class TreeEntry:
    """The stepper. `journal` is None while closed."""

    def __init__(self) -> None:
        self.journal: Journal | None = None
        self.bits = 0

    def answer(self, op: str, args: bytes) -> Answer:
        """Answer one request. Raises `EntryError` and keeps the journal for anything but a request in its place."""
        operation = _OPERATIONS.get(op)
        if operation is None:
            raise EntryError("unknown_op", f"no operation {op!r}; there are {', '.join(_OPERATIONS)}")
        return operation(self, args)

    def _open(self, args: bytes) -> Answer:
        bits = _read(_OpenArgs, args).bits
        if not 1 <= bits <= BITS_MAX:
            raise EntryError("bad_args", f"bits is from 1 to {BITS_MAX}")
        if self.journal is not None:
            raise EntryError("out_of_place", "it is open already")
        self.journal, self.bits = Journal(), bits
        return {"cursor": 0, "nodes": []}

    def _push(self, args: bytes) -> Answer:
        try:
            record = decode_record(bytes(_read(_PushArgs, args).record))
        except BadRecord as error:
            raise EntryError("bad_args", str(error)) from None
        journal = self._open_journal()
        if any(node >= 1 << self.bits for node in _sets(record)):
            raise EntryError("refused", f"ids are below {1 << self.bits} here")
        answer = journal.push(record)
        return {"taken": answer.taken, "removed": list(answer.removed)}

    def _snapshot(self, args: bytes) -> Answer:
        cursor = _read(_CursorArgs, args).cursor
        nodes = [[node.id, node.parent, node.value] for node in self._at(cursor).snapshot_at(cursor)]
        return {"cursor": cursor, "nodes": nodes}

    def _plan(self, args: bytes) -> Answer:
        cursor = _read(_CursorArgs, args).cursor
        return self._at(cursor).rewind_plan(cursor).plain()

    def _close(self, args: bytes) -> Answer:
        _read(_NoArgs, args)
        self._open_journal()
        self.journal = None
        return {}

    def _open_journal(self) -> Journal:
        if self.journal is None:
            raise EntryError("out_of_place", "it is not open")
        return self.journal

    def _at(self, cursor: int) -> Journal:
        journal = self._open_journal()
        if not 0 <= cursor <= journal.cursor:
            raise EntryError("refused", f"there are {journal.cursor} records")
        return journal


_OPERATIONS: dict[str, Callable[[TreeEntry, bytes], Answer]] = {
    "open": TreeEntry._open,
    "push": TreeEntry._push,
    "snapshot": TreeEntry._snapshot,
    "plan": TreeEntry._plan,
    "close": TreeEntry._close,
}


def _sets(record: Record) -> list[int]:
    if isinstance(record, Put):
        return [record.id]
    return [node for node, to in record.changes if to is not None] if isinstance(record, Rewind) else []


def _read(kind: type[Args], args: bytes) -> Args:
    try:
        return msgspec.json.decode(args, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise EntryError("bad_args", str(error)) from None
