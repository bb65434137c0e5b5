"""Listing the sessions of a directory, without writing and without a lock.

The directory is read once, so the listing is that of one moment; each candidate is then looked at, and one that has
vanished by then is left out. Of a storage only the first line is read: the session's document stands in its first
commit. What could not be read is told, and hides nothing else.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import Any

from eukhe.sessions import rules
from eukhe.sessions.errors import SessionsFailed
from eukhe.sessions.legacy import HEADER_BYTES_MAX, decode_header
from eukhe.sessions.rules import Candidate, Facts, Row
from eukhe.staging.tree import names_in
from eukhe.storage.codec import LineError, decode_commit
from eukhe.storage.rules import MAIN_NAME
from eukhe.system import OsSystem, System

FIRST_BYTES = 4096


@dataclass(frozen=True)
class Skipped:
    """A candidate without a row that somebody may want to look at."""

    path: str
    why: str


@dataclass(frozen=True)
class Listing:
    """The rows, newest first, and what could not be read. A `place` is the name of the entry in the directory."""

    rows: list[Row]
    skipped: list[Skipped]


def list_sessions(directory: str, *, system: System | None = None) -> Listing:
    """The sessions of a directory; none where it is missing. It may be a symbolic link.

    Raises `SessionsFailed` where it cannot be read. Source: seed D2, listing.
    """
    used: System = OsSystem() if system is None else system
    try:
        fd = used.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return Listing([], [])
    except OSError as error:
        raise SessionsFailed(directory, "listing", error.strerror or str(error)) from error
    skipped: list[Skipped] = []
    facts: list[Facts] = []
    try:
        for candidate in rules.scan(names_in(used, fd)):
            try:
                facts.append(_look(used, fd, candidate))
            except FileNotFoundError:
                # A directory that is no storage, or an entry that has gone since the directory was read.
                pass
            except (OSError, ValueError) as error:
                why = (error.strerror if isinstance(error, OSError) else None) or str(error)
                skipped.append(Skipped(f"{directory}/{candidate.place}", why))
    except OSError as error:
        raise SessionsFailed(directory, "listing", error.strerror or str(error)) from error
    finally:
        used.close(fd)
    return Listing(rules.rows(facts), skipped)


def _look(system: System, directory: int, candidate: Candidate) -> Facts:
    """The facts of a candidate. Raises `OSError`, and `ValueError` where its first line says no working directory."""
    place = candidate.place if candidate.kind == "legacy" else f"{candidate.place}/{MAIN_NAME}"
    fd = system.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    try:
        found = system.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{place} is no regular file")
        line = _first_line(system, fd)
    finally:
        system.close(fd)
    cwd = decode_header(line).cwd if candidate.kind == "legacy" else cwd_of(line)
    return Facts(candidate.id, candidate.place, cwd, found.st_mtime_ns)


def cwd_of(line: bytes) -> str:
    """The working directory that the first commit of a storage names. Raises `ValueError`."""
    try:
        commit = decode_commit(line)
    except LineError as error:
        raise ValueError(f"its first line is no commit: {error}") from None
    for change in commit.changes:
        record: dict[str, Any] = change.get("put", {})
        if (record.get("type"), record.get("kind"), record.get("key")) == ("document", "session", "meta"):
            body = record.get("body")
            if isinstance(body, dict) and isinstance(body.get("cwd"), str):
                return str(body["cwd"])
    raise ValueError("its first commit names no working directory")


def _first_line(system: System, fd: int) -> bytes:
    data, size = b"", FIRST_BYTES
    while b"\n" not in data and len(data) < HEADER_BYTES_MAX and (block := system.pread(fd, size, len(data))):
        data, size = data + block, size * 2
    line, newline, _ = data.partition(b"\n")
    if not newline:
        raise ValueError("it has no complete first line")
    return line
