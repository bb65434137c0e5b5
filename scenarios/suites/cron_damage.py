"""The check `cron_damage`: one damaged byte at every place of a file of three jobs, then `list`, an update and an add.

What must be true is decided from the bytes alone, by the standard library and not by the store. A damaged file is JSON
with its two lists, or it is not. If it is, every item of its lists and every other key must be in the file afterwards,
in its place, byte for byte, except for the job that the update changes. If it is not, reading says so, and the add
keeps the very bytes under another name; a file that was kept before keeps its name and its bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import simfs
from eukhe.cron import CronError, CronFileDamaged, CronStore
from scenarios.checks import Case, Check, Question
from scenarios.laws import cron
from scenarios.suites.cron import HOME, PATH, START_MS, as_file
from scenarios.suites.cron_model import Model
from scenarios.suites.storage import Wrap, as_it_is
from simfs.machine.machine import Machine

KEPT_BEFORE = f"{PATH}.corrupt-{START_MS}-00000000"
"""A damaged file that was kept earlier."""
UNKNOWN = {"version": 3, "notes": {"é": ["雪", 1.50, None]}}
STRANGE = {"id": "strange", "status": "from the future", "prompt": "naïve"}
VALUES = (0x00, 0xFF, ord('"'), None)
"""What a byte becomes; None: its lowest bit is turned over."""


def three_jobs() -> bytes:
    """A file of three jobs, with a record that nobody can read, and keys that nobody knows."""
    model = Model()
    for kind, expression, length in (("once", "in 1h", 3_600_000), ("interval", "every 10s", 10_000)):
        model.create(START_MS, kind, kind, expression, length)
    model.create(START_MS, "cron", "cron", "* * * * *", 60_000)
    whole: dict[str, Any] = json.loads(model.bytes() or b"")
    whole["jobs"].insert(1, STRANGE)
    return as_file({"version": UNKNOWN["version"], **whole, "notes": UNKNOWN["notes"]})


def damaged_files() -> Iterator[tuple[str, bytes]]:
    """Each byte of the file damaged in several ways; and files cut short, empty, doubled, and of another kind."""
    whole = three_jobs()
    yield "nothing", whole
    for at, byte in enumerate(whole):
        for value in VALUES:
            new = byte ^ 1 if value is None else value
            if new != byte:
                yield f"byte {at} is {new:#04x}", whole[:at] + bytes([new]) + whole[at + 1 :]
    for length in range(0, len(whole), 37):
        yield f"cut to {length} bytes", whole[:length]
    for other in (b"[]\n", b"null", b"{}\n", b'{"jobs": [], "jobs": [], "dispatches": []}', whole + whole):
        yield f"the file is {other[:40]!r}...", other


def cases(wrap: Wrap = as_it_is) -> Iterator[Case]:
    """Every damaged file, listed, updated and added to."""
    for how, data in damaged_files():
        yield how, _wrong(data, wrap)


class _Disk:
    """A machine with the file on it, and a store of one process."""

    def __init__(self, data: bytes, wrap: Wrap) -> None:
        self.machine = Machine(record_sites=False)
        process = self.machine.spawn("user")
        self.handle = simfs.Handle(self.machine, process, ())
        self.machine.current = process
        system = self.handle.system
        for path in ("/home", "/home/me", HOME):
            system.mkdir(path)
        for path, content in ((PATH, data), (KEPT_BEFORE, b"kept before")):
            fd = system.open(path, 0o102, 0o600)
            system.write(fd, content)
            system.close(fd)
        self.store = CronStore(PATH, system=wrap(system, "user"), lock_wait_s=0, notice=lambda text: None)

    def files(self) -> dict[str, bytes]:
        """The files of the home, by name."""
        tree = self.machine.freeze().tree()
        return {
            name.rpartition("/")[2]: data
            for name, data in tree.items()
            if isinstance(data, bytes) and name.startswith(HOME[1:])
        }


def _wrong(data: bytes, wrap: Wrap) -> str | None:
    disk = _Disk(data, wrap)
    sound = _sound(data)
    before = disk.files()
    try:
        listed = disk.store.list()
        if sound is None:
            return f"it was listed with {len(listed.jobs)} jobs, and it is no file of jobs"
    except CronFileDamaged as damage:
        if sound is not None:
            return f"it is a file of jobs, and reading says: {damage}"
    if disk.files() != before:
        return "listing changed the disk"
    for change in ("pause", "add"):
        try:
            if change == "pause":
                disk.store.pause("interval")
            else:
                disk.store.create("in 1h", "run", job_id="added")
        except CronError:
            pass
        wrong = _lost(sound, data, disk.files())
        if wrong:
            return wrong
    return None


def _lost(sound: list[bytes] | None, data: bytes, now: dict[str, bytes]) -> str | None:
    """What is gone of a file, in words."""
    if now.get(KEPT_BEFORE.rpartition("/")[2]) != b"kept before":
        return "a damaged file that was kept before is gone"
    current = now.get("cron-jobs.json", b"")
    if sound is None:
        kept = [held for name, held in now.items() if ".corrupt-" in name]
        return None if current == data or data in kept else "the damaged file was written over and not kept"
    at = 0
    for piece in sound:
        if b'"id": "interval"' in piece:
            continue
        found = current.find(piece, at)
        if found < 0:
            return f"{piece.decode(errors='replace')[:60]!r}... is gone from the file, or from its place"
        at = found + len(piece)
    return None


def _sound(data: bytes) -> list[bytes] | None:
    """The bytes of each record and of each unknown key, in their order; None for what is no file of jobs."""
    try:
        text = data.decode("utf-8", errors="surrogateescape")
        pairs: list[tuple[str, str]] = list(_members(text))
    except ValueError:
        return None
    names = [json.loads(name) for name, _ in pairs]
    if len(set(names)) != len(names) or not {"jobs", "dispatches"} <= set(names):
        return None
    pieces: list[bytes] = []
    for name, value in zip(names, (value for _, value in pairs), strict=True):
        if name in ("jobs", "dispatches"):
            if not value.startswith("["):
                return None
            pieces += [item.encode("utf-8", errors="surrogateescape") for item in _items(value)]
        else:
            pieces.append(f'"{name}": {value}'.encode("utf-8", errors="surrogateescape"))
    return pieces


_scan = json.JSONDecoder(strict=True).raw_decode


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\n\r":
        at += 1
    return at


def _value(text: str, at: int) -> tuple[str, int]:
    at = _skip(text, at)
    value, end = _scan(text, at)
    if not _is_json(value):
        raise ValueError("NaN and Infinity are no JSON")
    return text[at:end], _skip(text, end)


def _is_json(value: object) -> bool:
    return not (isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))))


def _members(text: str) -> Iterator[tuple[str, str]]:
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        raise ValueError("no object")
    at = _skip(text, at + 1)
    closed = text[at : at + 1] == "}"
    while not closed:
        name, at = _value(text, at)
        if not name.startswith('"') or text[at : at + 1] != ":":
            raise ValueError("no key")
        json.loads(name.encode("utf-8", errors="surrogateescape"))
        value, at = _value(text, at + 1)
        yield name, value
        closed = text[at : at + 1] == "}"
        if not closed and text[at : at + 1] != ",":
            raise ValueError("no comma")
        at = at if closed else _skip(text, at + 1)
    if _skip(text, at + 1) != len(text):
        raise ValueError("more than one value")


def _items(text: str) -> Iterator[str]:
    at = _skip(text, 1)
    while text[at] != "]":
        value, at = _value(text, at)
        yield value
        if text[at] == ",":
            at = _skip(text, at + 1)


def damage(wrap: Wrap = as_it_is) -> Check:
    """The check; `wrap` is what a mutant puts between the machine and the store."""
    return Check(
        "cron_damage",
        "Whatever byte of the file is damaged, what is not understood stays, in its place or under another name.",
        (Question(cron.CRON_NEVER_DROPS, lambda: cases(wrap)),),
    )
