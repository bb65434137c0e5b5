"""What is wrong with a store in a directory, in a few words that two directories may have in common.

A `Damage` is the typed error with which the real code answers, and the state of each kind of file that matters: empty,
torn, ending in NULs, and so on (`image_states`). Two directories with the same damage need not have one byte in common;
what they share is how they came to be refused, or cut, or read short.

| store | a directory holds one when | the files that states speak of |
|---|---|---|
| `log` | `main.jsonl` or a sidecar is there | `main.jsonl` |
| `epochs` | a numbered log or baseline is there | the newest log; the others must have ended; baselines need logs |
| `cron` | `cron-jobs.json` or what its writers leave is there | that file, its records, what is left beside it |
| `staging` | sessions, legacy files, or what dead builds left are there | each log, each legacy file, leftovers |
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from eukhe.cron import CronStore
from eukhe.doctor import CRON_NAME, kind_of
from eukhe.epochs import examine as examine_session
from eukhe.errors import EukheError
from eukhe.sessions import list_sessions
from eukhe.staging.rules import is_session_name
from eukhe.storage import read_storage
from scenarios.image_states import STATES
from simfs.errors import UsageError

STORES = tuple(STATES)


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
    return Damage(store, error_of(READERS[store], directory), tuple(STATES[store](directory)))


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


def _read_cron(directory: str) -> None:
    CronStore(f"{directory}/{CRON_NAME}").list()


def _read_sessions(directory: str) -> None:
    list_sessions(directory)
    for name in sorted(os.listdir(directory)):
        if is_session_name(name) and os.path.isdir(f"{directory}/{name}"):
            read_storage(f"{directory}/{name}")


READERS: dict[str, Callable[[str], None]] = {
    "log": _read_log,
    "epochs": _read_epochs,
    "cron": _read_cron,
    "staging": _read_sessions,
}


def store_in(directory: str) -> str:
    """Which store a directory holds. Raises UsageError where it holds none, or several."""
    try:
        kind = kind_of(directory)
    except EukheError as error:
        raise UsageError(f"{error}; say which with --store") from None
    if kind == "home":
        raise UsageError(
            f"{directory} is a whole home: give its sessions directory, one session, or --store cron for its jobs"
        )
    return kind
