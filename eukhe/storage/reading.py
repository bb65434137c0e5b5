"""Reading a storage's files without changing them: what open, the read-only view and the doctor have in common.

`read_main` goes once through main.jsonl in blocks, hands over each complete line with its commit, and ends with the
facts that the rules ask for. Memory is one block and the longest line, whatever the file's size. The bytes after
the last newline are counted and otherwise left alone. The first complete line that is no commit, or not the next
one, is `StorageDamaged`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import NamedTuple

from eukhe.errors import StorageDamaged
from eukhe.storage.codec import Change, Commit, LineError, decode_commit, decode_sidecar_line
from eukhe.storage.rules import MAIN_NAME, SidecarFacts, is_sidecar_name
from eukhe.system import System

READ_BYTES = 1 << 20


class MainFacts(NamedTuple):
    """What one pass through main.jsonl found: the file's length, the offset of its last newline (None without one),
    how many commits, the last line with its newline, and the confirmed length of each sidecar."""

    length: int
    last_newline: int | None
    commits: int
    last_line: bytes
    confirmed: dict[str, int]


def read_main(system: System, fd: int, path: str, keep: Callable[[bytes, Commit], None]) -> MainFacts:
    """Go through main.jsonl. `keep` gets each line without its newline, and its commit. Raises `StorageDamaged`."""
    confirmed: dict[str, int] = {}
    number = 0
    offset = complete = 0
    line = b""
    pieces: list[bytes] = []
    while block := system.pread(fd, READ_BYTES, offset):
        offset += len(block)
        end = block.rfind(b"\n") + 1
        if not end:
            pieces.append(block)
            continue
        complete = offset - len(block) + end
        whole = block[: end - 1]
        lines = (b"".join([*pieces, whole]) if pieces else whole).split(b"\n")
        pieces = [block[end:]] if end < len(block) else []
        for line in lines:
            number += 1
            try:
                commit = decode_commit(line)
            except LineError as error:
                raise StorageDamaged(path, number, str(error)) from None
            if commit.number != number or commit.sidecars:
                _check_order(path, number, commit, confirmed)
            keep(line, commit)
    return MainFacts(offset, complete - 1 if complete else None, number, line + b"\n" if number else b"", confirmed)


def read_sidecar_facts(system: System, path: str, confirmed: dict[str, int]) -> tuple[SidecarFacts, ...]:
    """The sidecars of a storage directory, found or confirmed, in the order of their names. One that is confirmed and
    not there counts as empty."""
    lengths: dict[str, int] = {}
    with system.scandir(path) as entries:
        for entry in entries:
            if is_sidecar_name(entry.name):
                found = entry.stat(follow_symlinks=False)
                if not stat.S_ISREG(found.st_mode):
                    raise StorageDamaged(f"{path}/{entry.name}", 0, "a sidecar is a regular file, and this is none")
                lengths[entry.name] = found.st_size
    return tuple(
        SidecarFacts(name, lengths.get(name, 0), confirmed.get(name, 0)) for name in sorted({*lengths, *confirmed})
    )


def read_body(system: System, fd: int, path: str, commit: int, record: Change) -> object:
    """The body of an entry that stands in a sidecar open as `fd`. Raises `StorageDamaged` naming its byte offset."""
    offset, length = record["sidecar_body"]["offset"], record["sidecar_body"]["length"]
    pieces: list[bytes] = []
    at = offset
    while at < offset + length and (piece := system.pread(fd, offset + length - at, at)):
        pieces.append(piece)
        at += len(piece)
    line = b"".join(pieces)
    place = f"the body of entry {record['id']} at byte {offset}"
    if len(line) != length or not line.endswith(b"\n"):
        raise StorageDamaged(path, 0, f"{place} is not the whole line that commit {commit} confirms")
    try:
        found = decode_sidecar_line(line[:-1])
    except LineError as error:
        raise StorageDamaged(path, 0, f"{place}: {error}") from None
    if (found.commit, found.entry) != (commit, record["id"]):
        raise StorageDamaged(path, 0, f"{place} belongs to entry {found.entry} of commit {found.commit}")
    return found.body


def open_main(system: System, path: str, flags: int) -> int:
    """Open a storage's main.jsonl, never through a symbolic link."""
    return system.open(f"{path}/{MAIN_NAME}", flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _check_order(path: str, number: int, commit: Commit, confirmed: dict[str, int]) -> None:
    if commit.number < number:
        raise StorageDamaged(path, number, f"commit {commit.number} comes again, where commit {number} is due")
    if commit.number > number:
        raise StorageDamaged(path, number, f"commit {commit.number} follows commit {number - 1}: a gap")
    for name, length in commit.sidecars.items():
        if length <= confirmed.get(name, 0):
            raise StorageDamaged(path, number, f"the confirmed length of {name} does not grow")
        confirmed[name] = length
