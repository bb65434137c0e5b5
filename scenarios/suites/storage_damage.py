"""The check `storage_damage`: damage of every kind and at every place of a small log is refused, and nothing changes.

Damaged is a log that no crash can leave: a complete line that is no commit, or not the next one; a sidecar shorter
than confirmed. A log of three commits, with a sidecar, is spoilt in every way listed here, and a real open is run on
it on a simulated machine. What is damage is decided by the model, from the bytes alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import simfs
from eukhe.errors import StorageDamaged
from eukhe.storage import Storage
from scenarios.checks import Case, Check, Question
from scenarios.laws import log
from scenarios.suites import log_model
from scenarios.suites.storage import HOME, MAIN, PATH, TRIED, StorageScenario, Wrap, as_it_is
from simfs.machine.machine import Machine
from simfs.machine.ops import Create, Link, Meta, Rename, Truncate, Unlink, Write

SIDECAR = f"{PATH}/c1.entries.jsonl"
LONG = log_model.entry(2, "long " * 4000)
"""A commit whose body goes to a sidecar."""


@dataclass(frozen=True, slots=True)
class Spoilt:
    """A storage on disk, how it was spoilt, and the damaged line (0: the sidecar, None: it is whole)."""

    how: str
    main: bytes
    sidecar: bytes
    line: int | None


def cases(wrap: Wrap = as_it_is) -> Iterator[Case]:
    """Every spoilt storage, opened."""
    for spoilt in spoilt_storages():
        yield spoilt.how, _wrong(spoilt, wrap)


def spoilt_storages() -> Iterator[Spoilt]:
    """Each byte exchanged for NUL and for 0xFF, each line lost, doubled, swapped, emptied, glued; the sidecar cut."""
    main, sidecar = _written()
    lines = main.splitlines(keepends=True)

    def spoil(how: str, raw: bytes) -> Iterator[Spoilt]:
        if raw != main:
            yield Spoilt(how, raw, sidecar, damaged_line(raw))

    for at in range(len(main)):
        yield from spoil(f"byte {at} is NUL", main[:at] + b"\0" + main[at + 1 :])
        yield from spoil(f"byte {at} is 0xFF", main[:at] + b"\xff" + main[at + 1 :])
    for at, line in enumerate(lines):
        before, after = b"".join(lines[:at]), b"".join(lines[at + 1 :])
        yield from spoil(f"line {at + 1} is lost", before + after)
        yield from spoil(f"line {at + 1} stands twice", before + line + line + after)
        yield from spoil(f"line {at + 1} is empty", before + b"\n" + after)
        yield from spoil(f"line {at + 1} is NUL", before + b"\0" * (len(line) - 1) + b"\n" + after)
        yield from spoil(f"line {at + 1} has lost its newline", before + line[:-1] + after)
        yield from spoil(f"line {at + 1} is half there", before + line[: len(line) // 2] + b"\n" + after)
        yield from spoil(f"line {at + 1} is first", line + before + after)
    for length in (0, 1, len(sidecar) // 2, len(sidecar) - 1):
        yield Spoilt(f"the sidecar has {length} of {len(sidecar)} bytes", main, sidecar[:length], 0)


def damaged_line(raw: bytes) -> int | None:
    """The first complete line that is not the next commit, from 1; None when each is. Bytes after the last newline
    are a torn tail and no damage."""
    for number, line in enumerate(log_model.complete(raw).split(b"\n")[:-1], 1):
        try:
            commit = json.loads(line.decode())
        except ValueError:
            return number
        if not isinstance(commit, dict) or commit.get("commit") != number:
            return number
    return None


def _written() -> tuple[bytes, bytes]:
    """main.jsonl and the sidecar of a whole storage, as the store writes them."""
    machine, m = _machine()
    with Storage.open(PATH, system=m.system, home=HOME) as storage:
        for changes in (TRIED[0], LONG, TRIED[2]):
            storage.commit(changes)
    tree = machine.freeze().tree()
    main, sidecar = tree[MAIN[1:]], tree[SIDECAR[1:]]
    assert isinstance(main, bytes) and isinstance(sidecar, bytes)
    return main, sidecar


def _machine() -> tuple[Machine, simfs.Handle]:
    machine = Machine(record_sites=False)
    handle = simfs.Handle(machine, machine.spawn("opener"), ())
    StorageScenario().setup(handle)
    return machine, handle


def _wrong(spoilt: Spoilt, wrap: Wrap) -> str | None:
    """What a real open of a spoilt storage does wrong, or None."""
    machine, m = _machine()
    for place in (HOME, f"{HOME}/sessions", PATH):
        m.system.mkdir(place)
    for path, content in ((MAIN, spoilt.main), (SIDECAR, spoilt.sidecar)):
        fd = m.system.open(path, 0o102, 0o600)
        m.system.write(fd, content)
        m.system.close(fd)
    before, start = machine.freeze().tree(), len(machine.journal)
    try:
        with Storage.open(PATH, system=wrap(m.system, m.process), home=HOME):
            pass
    except StorageDamaged as damage:
        if spoilt.line is None:
            return f"refused, though a crash may leave it: {damage}"
        place = SIDECAR if spoilt.line == 0 else MAIN
        if (damage.path, damage.line) != (place, spoilt.line):
            return f"the error names {damage.path}:{damage.line}, the damage is at {place}:{spoilt.line}"
    else:
        return None if spoilt.line is None else "it opened"
    changing = [op for op in machine.journal[start:] if isinstance(op, CHANGES)]
    if changing or machine.freeze().tree() != before:
        return f"refused, but {len(changing)} calls changed the disk"
    return None


CHANGES = (Create, Link, Meta, Rename, Truncate, Unlink, Write)


def damage(wrap: Wrap = as_it_is) -> Check:
    """The check; `wrap` is what a mutant puts between the machine and the store."""
    return Check(
        "storage_damage",
        "A storage that no crash can have left is refused by name and line, and stays as it is to the byte.",
        (Question(log.LOG_DAMAGE_UNTOUCHED, lambda: cases(wrap)),),
    )
