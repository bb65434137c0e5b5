"""The rules of staging and of the listing behind the entry protocol (`eukhe rules staging`).

| op               | args                                                | ok                                       |
|------------------|-----------------------------------------------------|------------------------------------------|
| `mint`           | name, purpose, hex                                  | `{"name"}`                               |
| `meet`           | name, kind                                          | `{"meeting"}`                            |
| `judge_leftover` | lock, directory_there, touched_ns (or null), now_ns | `{"steps", "why"}`                       |
| `judge_lock`     | the same                                            | the same                                 |
| `settle`         | errno (or null)                                     | `{"settled"}`                            |
| `scan`           | entries [[name, kind]]                              | `{"candidates": [[id, place, kind]]}`    |
| `import_name`    | entries [[name, kind]], file                        | `{"id"}`, null for none                  |
| `rows`           | candidates [[id, place, cwd, modified_ns]]          | `{"rows": [[id, place, cwd, modified_ns]]}` |

A candidate's cwd is null where it could not be read, its modified_ns null where there is no file.
Nothing is kept from one request to the next. Names here are texts: one that is not UTF-8 cannot be asked about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from eukhe.entry import EntryError
from eukhe.sessions import rules as listing
from eukhe.sessions.rules import Facts
from eukhe.staging import rules
from eukhe.staging.rules import EntryKind, JudgeFacts, Judgement, Probe, Purpose, RuleRefused


class _MintArgs(Struct, forbid_unknown_fields=True):
    name: str
    purpose: Purpose
    hex: str


class _MeetArgs(Struct, forbid_unknown_fields=True):
    name: str
    kind: EntryKind


class _JudgeArgs(Struct, forbid_unknown_fields=True):
    lock: Probe
    directory_there: bool
    touched_ns: int | None
    now_ns: int


class _SettleArgs(Struct, forbid_unknown_fields=True):
    errno: int | None


class _ScanArgs(Struct, forbid_unknown_fields=True):
    entries: list[tuple[str, EntryKind]]


class _ImportNameArgs(Struct, forbid_unknown_fields=True):
    entries: list[tuple[str, EntryKind]]
    file: str


class _RowsArgs(Struct, forbid_unknown_fields=True):
    candidates: list[Facts]


Answer = dict[str, Any]
Args = TypeVar("Args", bound=Struct)


class StagingEntry:
    """The rules, asked one at a time."""

    def answer(self, op: str, args: bytes) -> Answer:
        """Answer one request. Raises `EntryError` for anything that is none."""
        operation = _OPERATIONS.get(op)
        if operation is None:
            raise EntryError("unknown_op", f"no operation {op!r}; there are {', '.join(_OPERATIONS)}")
        try:
            return operation(args)
        except RuleRefused as error:
            raise EntryError("refused", str(error)) from None


def _mint(args: bytes) -> Answer:
    given = _read(_MintArgs, args)
    return {"name": rules.mint(given.name, given.purpose, given.hex)}


def _meet(args: bytes) -> Answer:
    given = _read(_MeetArgs, args)
    return {"meeting": rules.meet(_entry_name(given.name), given.kind)}


def _judge_leftover(args: bytes) -> Answer:
    return _judged(rules.judge_leftover(_facts(args)))


def _judge_lock(args: bytes) -> Answer:
    return _judged(rules.judge_lock(_facts(args)))


def _settle(args: bytes) -> Answer:
    return {"settled": rules.settle(_read(_SettleArgs, args).errno)}


def _scan(args: bytes) -> Answer:
    given = _read(_ScanArgs, args)
    return {"candidates": [list(candidate) for candidate in listing.scan(_entries(given.entries))]}


def _import_name(args: bytes) -> Answer:
    given = _read(_ImportNameArgs, args)
    return {"id": listing.import_name(_entries(given.entries), given.file)}


def _rows(args: bytes) -> Answer:
    return {"rows": [list(row) for row in listing.rows(_read(_RowsArgs, args).candidates)]}


_OPERATIONS: dict[str, Callable[[bytes], Answer]] = {
    "mint": _mint,
    "meet": _meet,
    "judge_leftover": _judge_leftover,
    "judge_lock": _judge_lock,
    "settle": _settle,
    "scan": _scan,
    "import_name": _import_name,
    "rows": _rows,
}


def _facts(args: bytes) -> JudgeFacts:
    given = _read(_JudgeArgs, args)
    return JudgeFacts(given.lock, given.directory_there, given.touched_ns, given.now_ns)


def _judged(judgement: Judgement) -> Answer:
    return {"steps": list(judgement.steps), "why": judgement.why}


def _entries(entries: list[tuple[str, EntryKind]]) -> list[tuple[str, EntryKind]]:
    names = [_entry_name(name) for name, _ in entries]
    if len(set(names)) != len(names):
        raise RuleRefused("a directory has each name once")
    return entries


def _entry_name(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise RuleRefused("an entry's name is one piece of a path")
    return name


def _read(kind: type[Args], args: bytes) -> Args:
    try:
        return msgspec.json.decode(args, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise EntryError("bad_args", str(error)) from None
