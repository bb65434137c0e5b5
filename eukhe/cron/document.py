"""The file as a value: its keys in their order, the jobs, the claims, and everything that we do not understand.

A file is a JSON object with the lists `jobs` and `dispatches`; other keys stay where they are, byte for byte, and so do
list items that are no readable record. Two readable records with one id are a puzzle: the first is the job, the others
are carried along as if they were not readable. Anything else is damage (`Damaged`): not JSON, a list missing, a key of
the file twice.

`Document` is changed in place by the rules; `render` writes it. A record that was not changed is written with the bytes
with which it was read, whatever its spacing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw

from eukhe.cron.records import Dispatch, Job, Unreadable, dispatch_of, job_of, record_of

INDENT = 4
"""How far a record of a list is indented."""

V = TypeVar("V", Job, Dispatch)

_read_file = msgspec.json.Decoder(dict[str, Raw]).decode
_read_list = msgspec.json.Decoder(list[Raw]).decode
_key = re.compile(rb'[ \t\n\r]*("(?:[^"\\]|\\.)*")[ \t\n\r]*:[ \t\n\r]*', re.DOTALL).match
_space = re.compile(rb"[ \t\n\r]*").match


class Damaged(ValueError):
    """The bytes are no file of jobs. The message says why."""


class Item(Generic[V]):
    """One item of a list: its bytes, and what they say if they can be read (`value`), or why not (`why`). Not changed
    once made."""

    __slots__ = ("raw", "value", "why")

    def __init__(self, raw: bytes, value: V | None, why: str = "") -> None:
        self.raw = raw
        self.value: V | None = value
        self.why = why


class Document:
    """Jobs and claims in the order of the file. `others` are the keys of the file with their bytes; those of the two
    lists hold None."""

    def __init__(
        self, others: list[tuple[bytes, bytes | None]], jobs: list[Item[Job]], dispatches: list[Item[Dispatch]]
    ) -> None:
        self.others = others
        self.jobs = jobs
        self.dispatches = dispatches
        self.changed = False

    @classmethod
    def empty(cls) -> Document:
        """No jobs: what a missing file says."""
        return cls([(b'"jobs"', None), (b'"dispatches"', None)], [], [])

    def copy(self) -> Document:
        """The same, to be changed by itself."""
        return Document(list(self.others), list(self.jobs), list(self.dispatches))

    def all_jobs(self) -> Iterator[tuple[int, Job]]:
        """The readable jobs, each with its place in the list."""
        return ((at, item.value) for at, item in enumerate(self.jobs) if item.value is not None)

    def all_dispatches(self) -> Iterator[Dispatch]:
        """The readable claims."""
        return (item.value for item in self.dispatches if item.value is not None)

    def job(self, job_id: str) -> tuple[int, Job] | None:
        """The readable job with this id, and its place."""
        return next(((at, job) for at, job in self.all_jobs() if job.id == job_id), None)

    def put_job(self, at: int, job: Job) -> None:
        """Write a job anew in its place; one that says the same as before is left as it is."""
        item = self.jobs[at]
        if item.value is not job and item.value != job:
            self.jobs[at] = Item(record_of(job, item.raw, INDENT), job)
            self.changed = True

    def add_job(self, job: Job) -> None:
        """A new job, behind all others."""
        self.jobs.append(Item(record_of(job, None, INDENT), job))
        self.changed = True

    def add_dispatch(self, dispatch: Dispatch) -> None:
        """A new claim, behind all others."""
        self.dispatches.append(Item(record_of(dispatch, None, INDENT), dispatch))
        self.changed = True

    def remove_dispatch(self, dispatch_id: str) -> Dispatch | None:
        """Take the claim with this id out; None if there is none."""
        for at, item in enumerate(self.dispatches):
            found = item.value
            if found is not None and found.id == dispatch_id:
                del self.dispatches[at]
                self.changed = True
                return found
        return None


def parse(data: bytes) -> Document:
    """The document that the bytes of a file say. Raises `Damaged`."""
    others = _keys(data)
    twice = _any_key_twice(data)
    lists: dict[str, list[bytes]] = {}
    found: list[tuple[bytes, bytes | None]] = []
    for key, raw in others:
        name = json.loads(key)
        if name in ("jobs", "dispatches"):
            lists[name] = _items(name, raw)
            found.append((key, None))
        else:
            found.append((key, raw))
    for name in ("jobs", "dispatches"):
        if name not in lists:
            raise Damaged(f"the list {name!r} is missing")
    return Document(found, _read(lists["jobs"], job_of, twice), _read(lists["dispatches"], dispatch_of, twice))


def render(document: Document) -> bytes:
    """The bytes of the file: two spaces of indentation, a newline at the end."""
    lists = {
        "jobs": [item.raw for item in document.jobs],
        "dispatches": [item.raw for item in document.dispatches],
    }
    parts = []
    for key, raw in document.others:
        if raw is None:
            raw = _list_of(lists[json.loads(key)])
        parts.append(b"  " + key + b": " + raw)
    return b"{\n" + b",\n".join(parts) + b"\n}\n"


def _list_of(items: list[bytes]) -> bytes:
    if not items:
        return b"[]"
    return b"[\n    " + b",\n    ".join(items) + b"\n  ]"


def _keys(data: bytes) -> list[tuple[bytes, bytes]]:
    """The keys of the file as they are written, each with the bytes of its value. Raises `Damaged`."""
    try:
        values = {key: bytes(raw) for key, raw in _read_file(data).items()}
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Damaged(f"this is no JSON object ({error})") from None
    at = _after_space(data, 0) + 1
    found: list[tuple[bytes, bytes]] = []
    seen: set[str] = set()
    while (key := _key(data, at)) is not None:
        name = json.loads(key[1])
        raw = values[name]
        if name in seen or not data.startswith(raw, key.end()):
            raise Damaged(f"the key {name!r} stands in the file twice")
        seen.add(name)
        found.append((key[1], raw))
        at = _after_space(data, key.end() + len(raw))
        if data[at : at + 1] not in (b",", b"}"):
            raise Damaged(f"the key {name!r} stands in the file twice")
        at += 1
    return found


def _after_space(data: bytes, at: int) -> int:
    space = _space(data, at)
    return at if space is None else space.end()


def _items(name: str, raw: bytes) -> list[bytes]:
    try:
        return [bytes(item) for item in _read_list(raw)]
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Damaged(f"{name!r} is no list ({error})") from None


def _read(items: list[bytes], read: Callable[[bytes], V], twice: bool) -> list[Item[V]]:
    found: list[Item[V]] = []
    ids: set[str] = set()
    for raw in items:
        try:
            value = read(raw)
            if twice and _any_key_twice(raw):
                raise Unreadable("a key stands in the record twice")
            if value.id in ids:
                raise Unreadable(f"a record before it has the id {value.id}")
        except Unreadable as error:
            found.append(Item(raw, None, str(error)))
        else:
            ids.add(value.id)
            found.append(Item(raw, value))
    return found


class _Twice(Exception):
    pass


def _any_key_twice(data: bytes) -> bool:
    """Whether some object in the bytes has a key twice, at any depth, or may have: this reader is a strict one."""
    try:
        json.loads(data, object_pairs_hook=_once)
    except (_Twice, ValueError, RecursionError):
        return True
    return False


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) != len(pairs):
        raise _Twice
