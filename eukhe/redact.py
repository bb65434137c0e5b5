"""A copy of a store without its texts: for showing damage to somebody who must not read what was said.

Every byte of text becomes an `x`, and nothing else changes: each file keeps its length, each line its place, and what
is damaged stays damaged. Kept are numbers, `true`, `false`, `null`, the brackets and commas, the names of fields that
the stores give a meaning to, the few words that the stores choose themselves (types, states), and what has to be read
for the copy to say the same: times, the schedules of jobs, the starts of processes. NUL bytes and bytes that are no
UTF-8 are damage, and stay.

Two things that differ must differ in the copy, and what is one thing must stay one: an id that a person chose becomes
`xx1`, `xx2` and so on, and so does the name of a session in a directory of sessions (`session-1`); ids that the stores
drew at random are kept.

It works on bytes and not on values, since what is damaged cannot be read. A line is gone through once: inside quotes a
byte is text, and a string with a colon behind it is the name of a field. Only files that a store gives a name are
copied, at every depth, and lock files without their content.
"""

from __future__ import annotations

import os
import re

from eukhe.doctor import CRON_NAME
from eukhe.errors import StorageExists, StorageFailed
from eukhe.staging.rules import LOCK_SUFFIX, is_leftover_name, leftover_of_lock
from eukhe.system import OsSystem, System

FIELDS = frozenset({
    b"commit", b"changes", b"sidecars", b"put", b"retire", b"copy", b"from", b"record", b"type", b"id", b"conversation",
    b"entry", b"task", b"kind", b"key", b"scope", b"head", b"owner_task", b"fork_source", b"state", b"body",
    b"sidecar_body", b"offset", b"length", b"slot", b"text", b"call", b"untrusted", b"output", b"next", b"summary",
    b"cwd", b"created", b"timestamp",
    b"jobs", b"dispatches", b"status", b"source", b"runtimeKind", b"deliveryMode", b"activeSessionId", b"sessionId",
    b"sessionFile", b"label", b"prompt", b"schedule", b"expression", b"intervalMs", b"createdAt", b"updatedAt",
    b"nextRunAt", b"lastRunAt", b"lastSkippedAt", b"lastError", b"runCount", b"failures", b"environment", b"timeoutMs",
    b"lastOutput", b"jobId", b"scheduledFor", b"claimedAt", b"owner", b"pid", b"start",
})  # fmt: skip
"""Names of fields that are kept."""
WORDS = frozenset({
    b"conversation", b"entry", b"task", b"submission", b"document", b"session", b"pending", b"running", b"completed",
    b"failed", b"cancelled", b"session_start", b"user", b"assistant", b"tool_result", b"epoch_end", b"active",
    b"paused", b"once", b"interval", b"cron", b"shell", b"python", b"cli", b"none", b"meta",
})  # fmt: skip
"""Values that are kept in the fields of `CHOSEN`: the stores chose them, and a copy must still say what it is."""
CHOSEN = frozenset(
    {b"type", b"state", b"scope", b"status", b"source", b"runtimeKind", b"deliveryMode", b"kind", b"key"}
)

_TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_DAY = rb"(?:[-0-9*/,#?L]|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)+"
_SCHEDULE = re.compile(
    rb"(?:in|every) [0-9smhdw]+|at [-0-9T:.Z+]+|(?:CRON_TZ=[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)? )?"
    + rb" ".join([_DAY] * 5),
    re.IGNORECASE,
)
FORMS = {
    b"expression": _SCHEDULE,
    b"start": re.compile(rb"[0-9a-f-]{1,36}:[0-9]+"),
    **dict.fromkeys(
        (b"createdAt", b"updatedAt", b"nextRunAt", b"lastRunAt", b"lastSkippedAt", b"scheduledFor", b"claimedAt"), _TIME
    ),
}
"""Values that are kept in a field, by their form."""
IDS = frozenset({b"id", b"jobId"})

_FILES = re.compile(
    r"main\.jsonl|c[0-9]+\.entries\.jsonl|[0-9]+\.(jsonl|baseline\.json)(\.cut-[0-9]+)?|"
    rf"{re.escape(CRON_NAME)}(\.corrupt-.*)?|\.{re.escape(CRON_NAME)}\.tmp-.*",
    re.DOTALL,
)
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"?|true|false|null|[A-Za-z]+|[^"A-Za-z]+', re.DOTALL)
_SIDECAR_NAME = re.compile(rb"c[0-9]+\.entries\.jsonl")
_KEPT_NAMES = frozenset({"sessions", "epochs", "session-artifacts"})
_DRAWN = re.compile(rb"[0-9a-f]{8}|[0-9a-f]{32}")
_DIGITS = b"123456789abcdefghijklmnopqrstuvwyz"
_NO_TEXT = frozenset(chr(number) for number in range(128))
_COLON = re.compile(rb"\s*:")


class Names:
    """What the ids and names of one copy are called instead, in the order in which they are met."""

    def __init__(self) -> None:
        self._ids: dict[bytes, bytes] = {}
        self._counts: dict[int, int] = {}
        self._sessions: dict[str, str] = {}

    def id(self, given: bytes) -> bytes:
        """Another id, of the same length and of its own."""
        if _DRAWN.fullmatch(given) or not given:
            return given
        if given not in self._ids:
            count = self._counts[len(given)] = self._counts.get(len(given), 0) + 1
            self._ids[given] = _numeral(count).rjust(len(given), b"x")[-len(given) :]
        return self._ids[given]

    def entry(self, name: str) -> str:
        """Another name for an entry of a directory of sessions. What a dead build left stays that build's."""
        lock = LOCK_SUFFIX if leftover_of_lock(name) is not None else ""
        leftover = name.removesuffix(lock)
        if is_leftover_name(leftover):
            session, _, purpose = leftover[1:].rpartition(".")
            return f".{self._session(session)}.{purpose}{lock}"
        if name.endswith(".jsonl"):
            return f"{self._session(name.removesuffix('.jsonl'))}.jsonl"
        return self._session(name)

    def _session(self, name: str) -> str:
        return self._sessions.setdefault(name, f"session-{len(self._sessions) + 1}")


def redact(path: str | os.PathLike[str], target: str | os.PathLike[str], *, system: System | None = None) -> list[str]:
    """Copy the store at `path` (a directory, or a file of jobs) to a new directory, without texts.

    Returns the names of the files in the copy, below `target`, sorted. Raises `StorageExists` where `target` is taken,
    `StorageFailed` where a call fails. `path` is only read.
    """
    used: System = OsSystem() if system is None else system
    place, out = os.fspath(path), os.fspath(target)
    copier = _Copier(used)
    try:
        used.mkdir(out, 0o700)
        if os.path.isfile(place):
            copier.jobs(place, out)
        else:
            copier.directory(place, out, "")
    except FileExistsError:
        raise StorageExists(out) from None
    except OSError as error:
        raise StorageFailed(place, "copying it without texts", error.strerror or str(error)) from error
    return sorted(copier.copied)


class _Copier:
    def __init__(self, system: System) -> None:
        self.system = system
        self.names = Names()
        self.copied: list[str] = []

    def directory(self, place: str, out: str, below: str) -> None:
        """Copy what a store gives a name; other entries stay behind. Raises `OSError`."""
        with self.system.scandir(place) as entries:
            found = sorted((entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink()) for entry in entries)
        of_a_store = any(_FILES.fullmatch(name) for name, _, _ in found)
        for name, is_directory, is_link in found:
            if is_link:
                continue
            if is_directory:
                new = name if name in _KEPT_NAMES and not below else self.names.entry(name)
                self.system.mkdir(f"{out}/{new}", 0o700)
                self.directory(f"{place}/{name}", f"{out}/{new}", f"{below}{new}/")
            elif _FILES.fullmatch(name):
                self.file(f"{place}/{name}", out, name, below)
            elif leftover_of_lock(name) is not None:
                new = self.names.entry(name)
                self._write(f"{out}/{new}", b"")
                self.copied.append(f"{below}{new}")
            elif name.endswith(".jsonl") and not of_a_store:
                self.file(f"{place}/{name}", out, self.names.entry(name), below)

    def jobs(self, place: str, out: str) -> None:
        """Copy a file of jobs, whatever its name, and what its writers left beside it. Raises `OSError`."""
        holder, own = os.path.split(place)
        with self.system.scandir(holder or ".") as entries:
            names = sorted(entry.name for entry in entries if not entry.is_symlink())
        for name in names:
            new = name.replace(own, CRON_NAME)
            if name.strip(".").startswith(own) and _FILES.fullmatch(new):
                self.file(os.path.join(holder, name), out, new)

    def file(self, source: str, out: str, name: str, below: str = "") -> None:
        """Copy one file. Raises `OSError`."""
        self._write(f"{out}/{name}", scrubbed(self._read(source), self.names))
        self.copied.append(f"{below}{name}")

    def _read(self, source: str) -> bytes:
        fd = self.system.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            pieces: list[bytes] = []
            offset = 0
            while piece := self.system.pread(fd, 1 << 20, offset):
                pieces.append(piece)
                offset += len(piece)
            return b"".join(pieces)
        finally:
            self.system.close(fd)

    def _write(self, target: str, data: bytes) -> None:
        offset = 0
        fd = self.system.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            while data:
                written = self.system.pwrite(fd, data, offset)
                data, offset = data[written:], offset + written
        finally:
            self.system.close(fd)


def scrubbed(data: bytes, names: Names | None = None) -> bytes:
    """The bytes of a file without texts; as many as before, and the newlines where they were."""
    used = Names() if names is None else names
    return b"\n".join(_line(line, used) for line in data.split(b"\n"))


def _line(line: bytes, names: Names) -> bytes:
    pieces: list[bytes] = []
    field = b""
    for match in _TOKEN.finditer(line):
        token = match[0]
        if token.startswith(b'"'):
            whole = token.endswith(b'"') and len(token) > 1
            inside = token[1:-1] if whole else token[1:]
            named = whole and _COLON.match(line, match.end()) is not None
            if whole and not named and field in IDS and inside.isascii() and b"\\" not in inside:
                pieces.append(b'"' + names.id(inside) + b'"')
            elif whole and _is_kept(inside, field, named):
                pieces.append(token)
            else:
                pieces.append(b'"' + _without_text(inside) + (b'"' if whole else b""))
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
    if field in FORMS:
        return FORMS[field].fullmatch(inside) is not None
    return field in CHOSEN and inside in WORDS


def _numeral(number: int) -> bytes:
    digits = b""
    while number:
        number, digit = divmod(number - 1, len(_DIGITS))
        digits = _DIGITS[digit : digit + 1] + digits
    return digits


def _without_text(inside: bytes, but: frozenset[str] = frozenset()) -> bytes:
    """`x` for each byte of text; bytes that are no text at all stay, for they are the damage."""
    text = inside.decode("utf-8", "surrogateescape")
    return b"".join(character.encode() if character in but else _bytes_of(character) for character in text)


def _bytes_of(character: str) -> bytes:
    raw = character.encode("utf-8", "surrogateescape")
    return raw if character < " " or "\udc80" <= character <= "\udcff" or character == "\x7f" else b"x" * len(raw)
