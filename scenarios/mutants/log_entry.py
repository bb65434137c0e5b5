"""The mutants of the log's entry: it lets something through, or forgets where it was."""

from __future__ import annotations

import json
from typing import Any

from eukhe.entry import EntryError
from eukhe.storage.entry import LogEntry
from scenarios.mutants.mutant import Mutant, exchanged

__simfs_machinery__ = True


def _default(answer: Any) -> Any:
    """A request that is refused gets an empty plan."""

    def instead(entry: LogEntry, op: str, args: bytes) -> Any:
        try:
            return answer(entry, op, args)
        except EntryError:
            return {"steps": []}

    return instead


def _forgets(answer: Any) -> Any:
    """A request that is refused closes the stepper."""

    def instead(entry: LogEntry, op: str, args: bytes) -> Any:
        try:
            return answer(entry, op, args)
        except EntryError:
            entry.state = None
            raise

    return instead


def _fails(answer: Any) -> Any:
    """A request that is refused leaves the stepper as after a failure."""

    def instead(entry: LogEntry, op: str, args: bytes) -> Any:
        try:
            return answer(entry, op, args)
        except EntryError:
            entry.failed = entry.state is not None
            raise

    return instead


def _more_fields(answer: Any) -> Any:
    """Fields of the arguments that nobody knows are passed over."""

    def instead(entry: LogEntry, op: str, args: bytes) -> Any:
        given = json.loads(args)
        if isinstance(given, dict):
            given.pop("more", None)
        return answer(entry, op, json.dumps(given).encode())

    return instead


def _any_time(answer: Any) -> Any:
    """An open is taken at any time."""

    def instead(entry: LogEntry, op: str, args: bytes) -> Any:
        if op == "open":
            entry.state = None
        return answer(entry, op, args)

    return instead


def _mutant(name: str, instead: Any, *made_for: str) -> Mutant:
    return Mutant(name, "entry", broken=lambda: exchanged(LogEntry, "answer", instead), made_for=made_for)


def mutants() -> list[Mutant]:
    """All of them."""
    return [
        _mutant("a refusal is answered by an empty plan", _default, "log_ffi_answers"),
        _mutant("unknown arguments are passed over", _more_fields, "log_ffi_answers"),
        _mutant("an open is taken at any time", _any_time, "log_ffi_answers"),
        _mutant("a refusal closes the stepper", _forgets, "log_stepper_keeps"),
        _mutant("a refusal counts as a failure", _fails, "log_stepper_keeps"),
    ]
