"""Reading a storage without opening it: no lock, no write, at any time, also while another process commits.

The view is the complete lines of main.jsonl at the moment of reading, with long bodies fetched from their sidecars;
a marker stands in main.jsonl only after the bodies it confirms, so they are there. It may show a commit that its
writer has not acknowledged yet. What a view shows is visible, and not promised to be durable: only a writer's open
and commit promise that.

A writer whose flush failed takes its last line back, and a reader in the middle of it could then see pieces of two
lines. So a damaged line is read again before it is believed, and only what is found twice alike is reported.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from eukhe.errors import StorageDamaged, StorageFailed, StorageNotFound
from eukhe.storage.codec import Change, Commit
from eukhe.storage.reading import open_main, read_body, read_main, read_sidecar_facts
from eukhe.storage.rules import complete_length, sidecar_name
from eukhe.system import OsSystem, System

READS_MAX = 8
"""How often a reader looks again when each look shows another damage."""


@dataclass(frozen=True)
class StorageView:
    """What a storage held when it was read: its commits in order, and how many bytes stood after the last newline."""

    path: str
    commits: list[Commit]
    torn_bytes: int


def read_storage(path: str | os.PathLike[str], *, system: System | None = None) -> StorageView:
    """Read a whole storage. Raises `StorageNotFound`, `StorageDamaged`, and `StorageFailed` where reading fails."""
    place = os.fspath(path)
    used: System = OsSystem() if system is None else system
    seen: tuple[str, int, str] | None = None
    for _ in range(READS_MAX):
        try:
            return _read_once(used, place)
        except StorageDamaged as damage:
            if seen == (damage.path, damage.line, damage.why):
                raise
            seen = (damage.path, damage.line, damage.why)
        except FileNotFoundError:
            raise StorageNotFound(place) from None
        except NotADirectoryError:
            raise StorageNotFound(place) from None
        except OSError as error:
            raise StorageFailed(place, "reading", error.strerror or str(error)) from error
    raise StorageFailed(place, "reading", f"it changed under each of {READS_MAX} readings")


def _read_once(system: System, path: str) -> StorageView:
    commits: list[Commit] = []
    long_bodies: list[int] = []

    def keep(line: bytes, commit: Commit) -> None:
        if b'"sidecar_body"' in line:
            long_bodies.append(len(commits))
        commits.append(commit)

    fd = open_main(system, path, os.O_RDONLY)
    try:
        facts = read_main(system, fd, f"{path}/main.jsonl", keep)
    finally:
        system.close(fd)
    if facts.confirmed:
        for sidecar in read_sidecar_facts(system, path, facts.confirmed):
            if sidecar.length < sidecar.confirmed:
                why = f"{sidecar.length} bytes, but the log confirms {sidecar.confirmed}"
                raise StorageDamaged(f"{path}/{sidecar.name}", 0, why)
    if long_bodies:
        fetch_bodies(system, path, commits, long_bodies)
    return StorageView(path, commits, facts.length - complete_length(facts.length, facts.last_newline))


def fetch_bodies(system: System, path: str, commits: list[Commit], indexes: list[int]) -> None:
    """Put the long bodies of these commits in the place of what refers to them."""
    descriptors: dict[str, int] = {}
    try:
        for index in indexes:
            commit = commits[index]
            changes = [_with_body(system, path, descriptors, commit.number, change) for change in commit.changes]
            commits[index] = Commit(commit.number, changes, commit.sidecars)
    finally:
        for fd in descriptors.values():
            system.close(fd)


def _with_body(system: System, path: str, descriptors: dict[str, int], number: int, change: Change) -> Change:
    record: dict[str, Any] | None = change.get("put")
    if record is None or record["type"] != "entry" or "sidecar_body" not in record:
        return change
    name = sidecar_name(record["conversation"])
    if name not in descriptors:
        descriptors[name] = system.open(f"{path}/{name}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    body = read_body(system, descriptors[name], f"{path}/{name}", number, record)
    whole = {("body" if key == "sidecar_body" else key): value for key, value in record.items()}
    return {"put": whole | {"body": body}}
