"""The corpus: lists of choices that showed something new, and lists that broke a law, kept between nights on disk.

A file holds one entry, and its name is the digest of its bytes, so whoever adds the same entry adds the same file:
several workers share a corpus without a lock, and nothing is in it twice. A file appears whole or not at all: written
and flushed under a name of its own, renamed, and its entry flushed. An entry that is there is put there again, for
nobody knows whether the flush of whoever did it before has failed. `add` answers when all of it is durable. Reading
never changes anything: an entry of another version, or one whose bytes are not what its name says, is skipped, said by
name, and kept.

All calls go through a `System`, so that simfs crash-tests this too: the scenarios `corpus_*`.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from hashlib import blake2b

from eukhe.system import OsSystem, System
from simfs.disk.models import models_named
from simfs.errors import UsageError

VERSION = 1
KIND = "simfs-corpus"
SUFFIX = ".json"
READ_BYTES = 1 << 20
TARGET_MAX = 80
"""Characters of the target in a file's name, its last ones."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One list of choices of a target on a disk model; `law` is the one that it broke, "" for none."""

    target: str
    disk: str
    choices: tuple[int, ...]
    law: str = ""

    def as_bytes(self) -> bytes:
        """What the file holds: one line of JSON, the same for equal entries."""
        value = {
            KIND: VERSION, "target": self.target, "disk": self.disk, "law": self.law, "choices": list(self.choices),
        }  # fmt: skip
        return json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"

    @property
    def name(self) -> str:
        """The file's name: the target, with what no name may hold as "-", and the digest of the bytes."""
        target = re.sub(r"[^A-Za-z0-9_.-]", "-", self.target)[-TARGET_MAX:].lstrip(".-")
        return f"{target}.{digest(self.as_bytes())}{SUFFIX}"


@dataclass(slots=True)
class Corpus:
    """The corpus in a directory, which is made when the first entry is added. Raises OSError where a call fails."""

    directory: str
    system: System = field(default_factory=OsSystem)
    _ready: bool = False

    def add(self, entry: Entry) -> bool:
        """Put an entry there, durably; whether it was new."""
        self._make_ready()
        path = f"{self.directory}/{entry.name}"
        new = not self._exists(path)
        self._place(path, entry.as_bytes())
        self._flush(self.directory)
        return new

    def entries(self) -> tuple[list[Entry], list[str]]:
        """Every entry, in the order of names; and what was skipped, each said by name and with the reason."""
        found: list[Entry] = []
        skipped: list[str] = []
        try:
            with self.system.scandir(self.directory) as listed:
                names = sorted(one.name for one in listed)
        except FileNotFoundError:
            return [], []
        for name in names:
            if name.startswith(".") or not name.endswith(SUFFIX):
                continue
            try:
                found.append(decoded(name, self._read(f"{self.directory}/{name}")))
            except (Skipped, OSError) as why:
                skipped.append(f"{self.directory}/{name}: {why}")
        return found, skipped

    def remove(self, entry: Entry) -> None:
        """Take an entry away; it may come back after a power loss, and does no harm then."""
        try:
            self.system.unlink(f"{self.directory}/{entry.name}")
        except FileNotFoundError:
            return

    def _make_ready(self) -> None:
        """The directory and all above it, with their entries durable, whoever made them; those above that may not be
        opened were there before, and are none of ours."""
        if self._ready:
            return
        parts = self.directory.rstrip("/").split("/")
        for depth in range(1, len(parts) + 1):
            above = "/".join(parts[: depth - 1]) or ("/" if self.directory.startswith("/") else ".")
            try:
                self.system.mkdir("/".join(parts[:depth]) or "/", 0o777)
            except (FileExistsError, IsADirectoryError):
                try:
                    self._flush(above)
                except PermissionError:
                    continue
            else:
                self._flush_new(above, "/".join(parts[:depth]))
        self._ready = True

    def _flush_new(self, above: str, made: str) -> None:
        """Flush the entry of a directory that was made. Where that fails it is removed: a later flush would not cover
        an entry whose flush has failed, and made anew it is covered."""
        try:
            self._flush(above)
        except OSError:
            self.system.rmdir(made)
            raise

    def _place(self, path: str, data: bytes) -> None:
        """Make a file appear whole."""
        above, name = path.rsplit("/", 1)
        fresh = f"{above}/.{name}.{self.system.urandom(8).hex()}"
        fd = self.system.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            try:
                offset = 0
                while offset < len(data):
                    offset += self.system.pwrite(fd, data[offset:], offset)
                self.system.fsync(fd)
            finally:
                self.system.close(fd)
            self.system.rename(fresh, path)
        except OSError:
            try:
                self.system.unlink(fresh)
            except OSError:
                pass
            raise

    def _exists(self, path: str) -> bool:
        try:
            self.system.lstat(path)
        except FileNotFoundError:
            return False
        return True

    def _flush(self, directory: str) -> None:
        fd = self.system.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.system.fsync(fd)
        finally:
            self.system.close(fd)

    def _read(self, path: str) -> bytes:
        fd = self.system.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            pieces: list[bytes] = []
            offset = 0
            while piece := self.system.pread(fd, READ_BYTES, offset):
                pieces.append(piece)
                offset += len(piece)
            return b"".join(pieces)
        finally:
            self.system.close(fd)


class Skipped(Exception):
    """An entry that cannot be used; the text says why."""


def digest(data: bytes) -> str:
    """Sixteen hexadecimal digits for some bytes."""
    return blake2b(data, digest_size=8).hexdigest()


def decoded(name: str, data: bytes) -> Entry:
    """The entry in a file. Raises Skipped."""
    try:
        value = json.loads(data)
    except ValueError:
        raise Skipped("damaged: it is no JSON") from None
    if not isinstance(value, dict) or KIND not in value:
        raise Skipped("no entry of a corpus")
    if value[KIND] != VERSION:
        raise Skipped(f"of version {value[KIND]}, this program reads {VERSION}")
    if not name.endswith(f".{digest(data)}{SUFFIX}"):
        raise Skipped("damaged: its bytes are not those that its name says")
    try:
        entry = Entry(value["target"], value["disk"], tuple(map(int, value["choices"])), value["law"])
        models_named(entry.disk)
    except (KeyError, TypeError, ValueError, UsageError) as error:
        raise Skipped(f"damaged: {error}") from None
    texts = all(isinstance(text, str) for text in (entry.target, entry.disk, entry.law))
    if not texts or min(entry.choices, default=0) < 0:
        raise Skipped("damaged: names are texts, and choices are counted from 0")
    return entry
