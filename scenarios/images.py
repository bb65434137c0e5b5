"""What is wrong with a store in a directory, in a few words that two directories may have in common.

A `Damage` is the typed error with which the real code answers, and the state of each kind of file that matters: empty,
torn, ending in NULs, and so on. Two directories with the same damage need not have one byte in common; what they share
is how they came to be refused, or cut, or read short. `examine` works with plain calls, so it reads a real directory
and, inside a scenario, a simulated one.

| store | a directory holds one when | the file that states speak of |
|---|---|---|
| `log` | `main.jsonl` or a sidecar is there | `main.jsonl` |
| `epochs` | a numbered log or baseline is there | the newest log; the others must have ended; baselines need logs |
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from eukhe.epochs import examine as examine_session
from eukhe.errors import EukheError
from eukhe.storage import read_storage
from simfs.errors import UsageError

STORES = ("log", "epochs")
_LOG, _BASELINE = re.compile(r"^(\d+)\.jsonl$"), re.compile(r"^(\d+)\.baseline\.json$")


@dataclass(frozen=True, slots=True)
class Damage:
    """`error` is the name of an error's type, "" for none; `states` are in order, empty when all is whole."""

    store: str
    error: str
    states: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Nothing is wrong with it."""
        return not self.error and not self.states

    @property
    def slug(self) -> str:
        """The damage as a name, from which `parse_slug` makes it again."""
        return "__".join((self.store, self.error or "reads", *(state.replace("-", "_") for state in self.states)))

    def __str__(self) -> str:
        how = f"refused with {self.error}" if self.error else "read without an error"
        return f"{how}; {', '.join(self.states) or 'every file is whole'}"


def parse_slug(slug: str) -> Damage:
    """The damage that a slug stands for. Raises UsageError."""
    store, *rest = slug.split("__")
    if store not in STORES or not rest:
        raise UsageError(f"{slug!r} is no damage of a store")
    error, *states = rest
    return Damage(store, "" if error == "reads" else error, tuple(state.replace("_", "-") for state in states))


def examine(store: str, directory: str) -> Damage:
    """What is wrong with the store in a directory."""
    files = _files(directory)
    states = _log_states(files) if store == "log" else _epochs_states(files)
    return Damage(store, error_of(READERS[store], directory), tuple(states))


def error_of(read: Callable[[str], object], directory: str) -> str:
    """The type of the error with which real code answers, "" for none."""
    try:
        read(directory)
    except EukheError as error:
        return type(error).__name__
    return ""


def _read_log(directory: str) -> None:
    read_storage(directory)


def _read_epochs(directory: str) -> None:
    for error in examine_session(directory):
        raise error


READERS: dict[str, Callable[[str], None]] = {"log": _read_log, "epochs": _read_epochs}


def store_in(directory: str) -> str:
    """Which store a directory holds. Raises UsageError where it holds none."""
    try:
        names = os.listdir(directory)
    except OSError as error:
        raise UsageError(f"{directory}: {error.strerror}") from None
    if any(_LOG.match(name) or _BASELINE.match(name) for name in names):
        return "epochs"
    if any(name.endswith(".jsonl") for name in names):
        return "log"
    raise UsageError(f"{directory} holds no store: neither main.jsonl nor logs of epochs; say which with --store")


def _files(directory: str) -> dict[str, bytes]:
    found = {}
    for name in sorted(os.listdir(directory)):
        path = f"{directory}/{name}"
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found[name] = file.read()
    return found


def _log_states(files: dict[str, bytes]) -> list[str]:
    if "main.jsonl" not in files:
        return ["missing"]
    state = state_of(files["main.jsonl"])
    return [state] if state != "whole" else []


def _epochs_states(files: dict[str, bytes]) -> list[str]:
    logs = {int(match[1]): data for name, data in files.items() if (match := _LOG.match(name))}
    baselines = {int(match[1]) for name in files if (match := _BASELINE.match(name))}
    if not logs:
        return ["baseline-alone"] if baselines else ["missing"]
    newest = max(logs)
    states = [state] if (state := state_of(logs[newest])) != "whole" else []
    if any(b'"epoch_end"' not in data for epoch, data in logs.items() if epoch < newest):
        states.append("no-epoch-end")
    if max(baselines, default=newest) > newest:
        states.append("baseline-alone")
    return states


def state_of(data: bytes) -> str:
    """How a file of JSON lines stands there, in a word."""
    if not data:
        return "empty"
    if data.endswith(b"\0"):
        return "nul-tail"
    if b"\0" in data:
        return "nul-inside"
    lines = data.split(b"\n")
    if lines.pop():
        return "torn"
    for line in lines:
        try:
            json.loads(line)
        except json.JSONDecodeError as error:
            return "glued" if error.msg == "Extra data" else "garbled"
        except UnicodeDecodeError:
            return "garbled"
    return "duplicate" if len(set(lines)) < len(lines) else "whole"
