"""A copy of a store without its texts: for showing damage to somebody who must not read what was said.

Every byte of text becomes an `x`, and nothing else changes: each file keeps its length, each line its place, and what
is damaged stays damaged. Kept are numbers, `true`, `false`, `null`, the brackets and commas, the names of fields that
the stores give a meaning to, and the few words that the stores choose themselves (types, states). NUL bytes and bytes
that are no UTF-8 are damage, and stay.

It works on bytes and not on values, since what is damaged cannot be read. A line is gone through once: inside quotes a
byte is text, and a string with a colon behind it is the name of a field. Only the files of a store are copied; their
names hold no texts.
"""

from __future__ import annotations

import os
import re

from eukhe.errors import StorageExists, StorageFailed
from eukhe.system import OsSystem, System

FIELDS = frozenset({
    b"commit", b"changes", b"sidecars", b"put", b"retire", b"copy", b"from", b"record", b"type", b"id", b"conversation",
    b"entry", b"task", b"kind", b"key", b"scope", b"head", b"owner_task", b"fork_source", b"state", b"body",
    b"sidecar_body", b"offset", b"length", b"slot", b"text", b"call", b"untrusted", b"output", b"next", b"summary",
})  # fmt: skip
"""Names of fields that are kept."""
WORDS = frozenset({
    b"conversation", b"entry", b"task", b"submission", b"document", b"session", b"pending", b"running", b"completed",
    b"failed", b"cancelled", b"session_start", b"user", b"assistant", b"tool_result", b"epoch_end",
})  # fmt: skip
"""Values that are kept in the fields of `CHOSEN`: the stores chose them, and a copy must still say what it is."""
CHOSEN = frozenset({b"type", b"state", b"scope"})

_FILES = re.compile(r"main\.jsonl|c[0-9]+\.entries\.jsonl|[0-9]+\.(jsonl|baseline\.json)(\.cut-[0-9]+)?")
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"?|true|false|null|[A-Za-z]+|[^"A-Za-z]+', re.DOTALL)
_SIDECAR_NAME = re.compile(rb"c[0-9]+\.entries\.jsonl")
_NO_TEXT = frozenset(chr(number) for number in range(128))
_COLON = re.compile(rb"\s*:")


def redact(path: str | os.PathLike[str], target: str | os.PathLike[str], *, system: System | None = None) -> list[str]:
    """Copy the files of the store at `path` to a new directory, without texts. Returns their names.

    Raises `StorageExists` where `target` is taken, `StorageFailed` where a call fails. `path` is only read.
    """
    used: System = OsSystem() if system is None else system
    place, out = os.fspath(path), os.fspath(target)
    try:
        with used.scandir(place) as entries:
            names = sorted(entry.name for entry in entries if _FILES.fullmatch(entry.name) and not entry.is_symlink())
        used.mkdir(out, 0o700)
        for name in names:
            _copy(used, f"{place}/{name}", f"{out}/{name}")
    except FileExistsError:
        raise StorageExists(out) from None
    except OSError as error:
        raise StorageFailed(place, "copying it without texts", error.strerror or str(error)) from error
    return names


def scrubbed(data: bytes) -> bytes:
    """The bytes of a file without texts; as many as before, and the newlines where they were."""
    return b"\n".join(_line(line) for line in data.split(b"\n"))


def _line(line: bytes) -> bytes:
    pieces: list[bytes] = []
    field = b""
    for match in _TOKEN.finditer(line):
        token = match[0]
        if token.startswith(b'"'):
            whole = token.endswith(b'"') and len(token) > 1
            inside = token[1:-1] if whole else token[1:]
            named = whole and _COLON.match(line, match.end()) is not None
            keep = _is_kept(inside, field, named) if whole else False
            pieces.append(token if keep else b'"' + _without_text(inside) + (b'"' if whole else b""))
            field = inside if named else b""
        elif token.isalpha() and token not in (b"true", b"false", b"null"):
            pieces.append(token if token in (b"e", b"E") else b"x" * len(token))
        else:
            pieces.append(_without_text(token, but=_NO_TEXT))
            if b":" not in token:
                field = b""
    return b"".join(pieces)


def _is_kept(inside: bytes, field: bytes, named: bool) -> bool:
    if named:
        return inside in FIELDS or _SIDECAR_NAME.fullmatch(inside) is not None
    return field in CHOSEN and inside in WORDS


def _without_text(inside: bytes, but: frozenset[str] = frozenset()) -> bytes:
    """`x` for each byte of text; bytes that are no text at all stay, for they are the damage."""
    text = inside.decode("utf-8", "surrogateescape")
    return b"".join(character.encode() if character in but else _bytes_of(character) for character in text)


def _bytes_of(character: str) -> bytes:
    raw = character.encode("utf-8", "surrogateescape")
    return raw if character < " " or "\udc80" <= character <= "\udcff" or character == "\x7f" else b"x" * len(raw)


def _copy(system: System, source: str, target: str) -> None:
    fd = system.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        pieces = []
        offset = 0
        while piece := system.pread(fd, 1 << 20, offset):
            pieces.append(piece)
            offset += len(piece)
    finally:
        system.close(fd)
    data, offset = scrubbed(b"".join(pieces)), 0
    fd = system.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        while data:
            written = system.pwrite(fd, data, offset)
            data, offset = data[written:], offset + written
    finally:
        system.close(fd)
