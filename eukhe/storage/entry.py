"""The rules of the commit log behind the entry protocol (`eukhe rules log`).

| op                | args                                                           | ok |
|-------------------|----------------------------------------------------------------|------------------------------------|
| `complete_length` | length, last_newline (or null)                                 | `{"length"}` | |
`directories`     | fsync, storage, home, missing                                  | `{"steps", "owed"}` | | `open`
| fsync, length, last_newline, sidecars [{name, length, confirmed}], ancestors | `{"steps"}` | | `commit`          |
sidecars [name]                                                | `{"steps"}` | | `flush`           | sidecars [name]
| `{"steps"}` | | `fail`            | begun [step], main_length, sidecar_lengths {name: length}      | `{"steps"}`,
to put the files back | | `close`           | (none)                                                         | `{}`
|

A step is `{"kind", "name", "length"}`, for directories `{"kind", "path"}`. The stepper is closed, open or failed:
`open` needs it closed, `commit`, `flush` and `fail` need it open, and a failed one can only be closed. A refused
request keeps the state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from eukhe import directories
from eukhe.directories import PathRefused
from eukhe.entry import EntryError
from eukhe.storage import rules
from eukhe.storage.rules import LogState, OpenFacts, RuleRefused, SidecarFacts, SidecarShort, Step, StepKind


class _LengthArgs(Struct, forbid_unknown_fields=True):
    length: int
    last_newline: int | None


class _DirectoriesArgs(Struct, forbid_unknown_fields=True):
    fsync: bool
    storage: str
    home: str
    missing: tuple[str, ...]


class _SidecarArgs(Struct, forbid_unknown_fields=True):
    name: str
    length: int
    confirmed: int


class _OpenArgs(Struct, forbid_unknown_fields=True):
    fsync: bool
    length: int
    last_newline: int | None
    sidecars: tuple[_SidecarArgs, ...]
    ancestors: tuple[str, ...]


class _NamesArgs(Struct, forbid_unknown_fields=True):
    sidecars: tuple[str, ...]


class _StepArgs(Struct, forbid_unknown_fields=True):
    kind: StepKind
    name: str
    length: int


class _FailArgs(Struct, forbid_unknown_fields=True):
    begun: tuple[_StepArgs, ...]
    main_length: int
    sidecar_lengths: dict[str, int]


class _NoArgs(Struct, forbid_unknown_fields=True):
    pass


Answer = dict[str, Any]
Args = TypeVar("Args", bound=Struct)


class LogEntry:
    """The stepper. `state` is None while closed; `failed` says that only `close` is left."""

    def __init__(self) -> None:
        self.state: LogState | None = None
        self.failed = False

    def answer(self, op: str, args: bytes) -> Answer:
        """Answer one request. Raises `EntryError` and keeps the state for anything but a request in its place."""
        operation = _OPERATIONS.get(op)
        if operation is None:
            raise EntryError("unknown_op", f"no operation {op!r}; there are {', '.join(_OPERATIONS)}")
        try:
            return operation(self, args)
        except (RuleRefused, PathRefused) as error:
            raise EntryError("refused", str(error)) from None
        except SidecarShort as error:
            raise EntryError("refused", f"{error.facts.name}: {error}") from None

    def _complete_length(self, args: bytes) -> Answer:
        given = _read(_LengthArgs, args)
        return {"length": rules.complete_length(given.length, given.last_newline)}

    def _directories(self, args: bytes) -> Answer:
        given = _read(_DirectoriesArgs, args)
        steps, owed = directories.plan_directories(given.fsync, given.storage, given.home, given.missing)
        return {"steps": [{"kind": step.kind, "path": step.path} for step in steps], "owed": list(owed)}

    def _open(self, args: bytes) -> Answer:
        given = _read(_OpenArgs, args)
        if self.state is not None:
            raise EntryError("out_of_place", "it is open already")
        sidecars = tuple(SidecarFacts(item.name, item.length, item.confirmed) for item in given.sidecars)
        facts = OpenFacts(given.length, given.last_newline, sidecars, given.ancestors)
        steps, self.state = rules.plan_open(given.fsync, facts)
        return {"steps": _write(steps)}

    def _commit(self, args: bytes) -> Answer:
        given = _read(_NamesArgs, args)
        steps, self.state = rules.plan_commit(self._open_state(), given.sidecars)
        return {"steps": _write(steps)}

    def _flush(self, args: bytes) -> Answer:
        given = _read(_NamesArgs, args)
        steps, self.state = rules.plan_flush(self._open_state(), given.sidecars)
        return {"steps": _write(steps)}

    def _fail(self, args: bytes) -> Answer:
        given = _read(_FailArgs, args)
        state = self._open_state()
        begun = tuple(Step(item.kind, item.name, item.length) for item in given.begun)
        steps = rules.plan_put_back(state, begun, given.main_length, given.sidecar_lengths)
        self.failed = True
        return {"steps": _write(steps)}

    def _close(self, args: bytes) -> Answer:
        _read(_NoArgs, args)
        if self.state is None:
            raise EntryError("out_of_place", "it is not open")
        self.state, self.failed = None, False
        return {}

    def _open_state(self) -> LogState:
        if self.state is None:
            raise EntryError("out_of_place", "it is not open")
        if self.failed:
            raise EntryError("out_of_place", "it has failed; close it")
        return self.state


_OPERATIONS: dict[str, Callable[[LogEntry, bytes], Answer]] = {
    "complete_length": LogEntry._complete_length,
    "directories": LogEntry._directories,
    "open": LogEntry._open,
    "commit": LogEntry._commit,
    "flush": LogEntry._flush,
    "fail": LogEntry._fail,
    "close": LogEntry._close,
}


def _read(kind: type[Args], args: bytes) -> Args:
    try:
        return msgspec.json.decode(args, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise EntryError("bad_args", str(error)) from None


def _write(steps: tuple[Step, ...]) -> list[dict[str, str | int]]:
    return [{"kind": step.kind, "name": step.name, "length": step.length} for step in steps]
