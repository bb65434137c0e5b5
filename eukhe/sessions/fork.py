"""Forking a storage that another process may be writing.

The log is copied first, complete lines only, and each sidecar after it, up to the length that the copied lines
confirm: a writer puts a body down before the line that speaks of it, so what is confirmed is there. Bytes that no
copied line confirms are dropped. The copy may hold a commit that its writer has not acknowledged yet; in the fork it
is as good as any.

A writer whose flush failed takes its last line back, so a damaged line is read again before it is believed. All files
are reached from one descriptor of the source's directory: they belong together even where the name changes hands.

A fork starts at the latest entry (everything), at a given entry (up to the commit that put it, and of that one without
the later entries of the same conversation), or empty (the working directory of the source, and nothing else).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from eukhe.errors import StorageDamaged, StorageFailed, StorageUnusable
from eukhe.sessions.errors import ForkPointUnknown, SessionNotFound, SessionNotImported, SessionsFailed
from eukhe.sessions.listing import cwd_of
from eukhe.sessions.rules import LEGACY_SUFFIX
from eukhe.staging import Build, check_free
from eukhe.staging.rules import is_session_name
from eukhe.storage import Commit, Storage, session_meta
from eukhe.storage.codec import encode_commit
from eukhe.storage.reading import read_main
from eukhe.storage.rules import MAIN_NAME, sidecar_name
from eukhe.storage.view import READS_MAX
from eukhe.system import OsSystem, System

ForkPoint = Literal["latest", "empty"] | int
"""Where a fork starts; a number is the id of an entry."""

COPY_BYTES = 1 << 20


@dataclass(frozen=True)
class Forked:
    """Where the new storage is, and how many commits it holds."""

    path: str
    commits: int


class _Reached(Exception):
    """The entry at which the fork starts has been copied."""


def fork_session(
    directory: str,
    source: str,
    target: str,
    at: ForkPoint = "latest",
    *,
    system: System | None = None,
    home: str | None = None,
) -> Forked:
    """Make the session `target` from the session `source` of the same directory, which nobody has to close.

    Raises `SessionNotFound`, `SessionNotImported`, `ForkPointUnknown`, `StorageDamaged` where the source is,
    `StorageExists` where the target's name is taken, `StorageUnusable`, `StorageFailed` and `SessionsFailed`. Nothing
    stands under the target's name then. Source: seed D2, staging.
    """
    used: System = OsSystem() if system is None else system
    place = f"{directory}/{source}"
    if not is_session_name(source):
        raise SessionNotFound(place)
    check_free(used, directory, target)
    fd = _open_source(used, place)
    try:
        with Build.begin(used, directory, target, "fork", directory if home is None else home) as build:
            try:
                commits = _copy(used, fd, place, build.path, at)
            except OSError as error:
                raise SessionsFailed(build.target, "fork", error.strerror or str(error)) from error
            except StorageFailed as error:
                raise SessionsFailed(build.target, "fork", error.why) from error
            build.publish()
        return Forked(build.target, commits)
    finally:
        used.close(fd)


def _open_source(system: System, place: str) -> int:
    try:
        return system.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        try:
            system.lstat(place + LEGACY_SUFFIX)
        except OSError:
            raise SessionNotFound(place) from None
        raise SessionNotImported(place + LEGACY_SUFFIX) from None
    except NotADirectoryError:
        raise SessionNotFound(place) from None
    except OSError as error:
        raise StorageUnusable(place, error.strerror or str(error)) from error


def _copy(system: System, source: int, place: str, path: str, at: ForkPoint) -> int:
    """Fill the staging directory; answers how many commits it holds. Raises `OSError` too."""
    seen: tuple[str, int, str] | None = None
    for _ in range(READS_MAX):
        copier = _Copier(system, source, place, path)
        try:
            return copier.copy_empty() if at == "empty" else copier.copy(at)
        except StorageDamaged as damage:
            if seen == (damage.path, damage.line, damage.why):
                raise
            seen = (damage.path, damage.line, damage.why)
        except FileNotFoundError:
            raise SessionNotFound(place) from None
    raise StorageFailed(place, "reading", f"it changed under each of {READS_MAX} readings")


class _Copier:
    """One attempt to copy a storage, from the directory open as `source` to the directory `path`."""

    def __init__(self, system: System, source: int, place: str, path: str) -> None:
        self._system = system
        self._source = source
        self._place = place
        self._path = path
        self._confirmed: dict[str, int] = {}
        self._commits = 0
        self._pieces: list[bytes] = []
        self._pieces_bytes = 0
        self._out = -1
        self._entry = 0

    def copy(self, at: ForkPoint) -> int:
        """Everything, or everything up to an entry."""
        self._entry = at if isinstance(at, int) else 0
        main = self._open(MAIN_NAME)
        try:
            self._out = self._make(MAIN_NAME)
            try:
                read_main(self._system, main, f"{self._place}/{MAIN_NAME}", self._keep)
                if isinstance(at, int):
                    raise ForkPointUnknown(self._place, at)
            except _Reached:
                pass
            self._put_down()
        finally:
            self._system.close(main)
            if self._out >= 0:
                self._system.close(self._out)
        for name, length in sorted(self._confirmed.items()):
            self._copy_sidecar(name, length)
        return self._commits

    def copy_empty(self) -> int:
        """A first commit with the working directory of the source."""
        main = self._open(MAIN_NAME)
        lines: list[bytes] = []

        def first(line: bytes, commit: Commit) -> None:
            lines.append(line)
            raise _Reached

        try:
            read_main(self._system, main, f"{self._place}/{MAIN_NAME}", first)
        except _Reached:
            pass
        finally:
            self._system.close(main)
        try:
            cwd = cwd_of(lines[0] if lines else b"")
        except ValueError as error:
            raise StorageDamaged(f"{self._place}/{MAIN_NAME}", 1, str(error)) from None
        seconds = self._system.time_ns() / 1e9
        created = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        above = os.path.dirname(self._path)
        with Storage.open(self._path, system=self._system, fsync=False, home=above) as storage:
            storage.commit([session_meta(cwd, created)])
        return 1

    def _keep(self, line: bytes, commit: Commit) -> None:
        reached = self._entry > 0 and any(_puts_entry(change, self._entry) for change in commit.changes)
        if reached:
            commit = _up_to(commit, self._entry, self._confirmed)
            line = encode_commit(commit)[:-1]
        self._confirmed.update(commit.sidecars)
        self._commits += 1
        self._pieces += (line, b"\n")
        self._pieces_bytes += len(line) + 1
        if self._pieces_bytes >= COPY_BYTES:
            self._put_down()
        if reached:
            raise _Reached

    def _put_down(self) -> None:
        data, self._pieces, self._pieces_bytes = b"".join(self._pieces), [], 0
        _write(self._system, self._out, data)

    def _copy_sidecar(self, name: str, length: int) -> None:
        try:
            fd = self._open(name)
        except FileNotFoundError:
            self._say_short(name, 0, length)
        try:
            out = self._make(name)
            try:
                left = length
                while left and (block := self._system.pread(fd, min(COPY_BYTES, left), length - left)):
                    _write(self._system, out, block)
                    left -= len(block)
            finally:
                self._system.close(out)
        finally:
            self._system.close(fd)
        if left:
            self._say_short(name, length - left, length)

    def _say_short(self, name: str, length: int, confirmed: int) -> None:
        """A sidecar lacks confirmed bytes: damage, unless the whole storage is just being deleted."""
        self._system.lstat(MAIN_NAME, dir_fd=self._source)
        raise StorageDamaged(f"{self._place}/{name}", 0, f"{length} bytes, but the log confirms {confirmed}")

    def _open(self, name: str) -> int:
        return self._system.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=self._source)

    def _make(self, name: str) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        return self._system.open(f"{self._path}/{name}", flags, 0o600)


def _write(system: System, fd: int, data: bytes) -> None:
    while data:
        written = system.write(fd, data)
        if written <= 0:
            raise OSError(5, "a write put no byte down")
        data = data[written:]


def _puts_entry(change: dict[str, Any], entry: int) -> bool:
    record = change.get("put")
    return record is not None and record["type"] == "entry" and record["id"] == entry


def _up_to(commit: Commit, entry: int, confirmed: dict[str, int]) -> Commit:
    """A commit without the entries of the same conversation that come after `entry`."""
    conversation = next(c["put"]["conversation"] for c in commit.changes if _puts_entry(c, entry))
    kept: list[dict[str, Any]] = []
    ends: dict[str, int] = {}
    for change in commit.changes:
        record = change.get("put", {})
        if record.get("type") == "entry":
            if record["conversation"] == conversation and record["id"] > entry:
                continue
            body = record.get("sidecar_body")
            if body is not None:
                name = sidecar_name(record["conversation"])
                ends[name] = max(ends.get(name, 0), body["offset"] + body["length"])
        kept.append(change)
    sidecars = {name: end for name, end in ends.items() if end > confirmed.get(name, 0)}
    return Commit(commit.number, kept, sidecars)
