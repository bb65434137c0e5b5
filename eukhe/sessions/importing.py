"""Importing a legacy file: a new storage with all its messages, published whole or not at all.

The first commit says where the session works and since when, and keeps the legacy header as it was; then come one
conversation and its messages, in order, some to a commit. The file is read only, and stays: the storage hides it from
the listing. Memory does not grow with the file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import msgspec

from eukhe.errors import ChangeRefused, StorageFailed
from eukhe.sessions.errors import LegacyDamaged, SessionNotFound, SessionsFailed
from eukhe.sessions.legacy import Header, LegacyReader
from eukhe.sessions.rules import LEGACY_SUFFIX
from eukhe.staging import Build, check_free
from eukhe.storage import Storage, put, session_meta
from eukhe.system import OsSystem, System

BATCH_BYTES = 64 * 1024
"""A commit takes messages until their lines have so many bytes."""

CONVERSATION = 1
"""The conversation that holds the messages of an import."""


@dataclass(frozen=True)
class Imported:
    """What an import has done: where the storage is, how many messages it holds, and how many bytes of a torn last line
    were left out."""

    path: str
    messages: int
    torn_bytes: int


def import_session(
    file: str, directory: str, name: str | None = None, *, system: System | None = None, home: str | None = None
) -> Imported:
    """Import a legacy file as the session `name` (by default the file's stem) of a sessions directory.

    Raises `LegacyDamaged` for a bad complete line, `SessionNotFound` where there is no file, `StorageExists` where the
    name is taken, `StorageUnusable` for a name that cannot be one, `StorageFailed` and `SessionsFailed` where a call
    fails. Nothing stands under the name then. Source: seed D2, staging.
    """
    used: System = OsSystem() if system is None else system
    wanted = name if name is not None else os.path.basename(file).removesuffix(LEGACY_SUFFIX)
    check_free(used, directory, wanted)
    with Build.begin(used, directory, wanted, "import", directory if home is None else home) as build:
        try:
            with Storage.open(build.path, system=used, fsync=False, home=directory) as storage:
                storage.take_history()
                reader = LegacyReader(used, file)
                writer = _Writer(storage, file)
                reader.read(writer.header, writer.message)
                writer.end()
        except StorageFailed as error:
            raise SessionsFailed(build.target, "import", error.why) from error
        except FileNotFoundError:
            raise SessionNotFound(file) from None
        except OSError as error:
            raise SessionsFailed(file, "reading", error.strerror or str(error)) from error
        build.publish()
    return Imported(build.target, writer.messages, reader.torn_bytes)


class _Writer:
    """Turns the lines of a legacy file into commits."""

    def __init__(self, storage: Storage, file: str) -> None:
        self._storage = storage
        self._file = file
        self._pending: list[dict[str, Any]] = []
        self._pending_bytes = 0
        self.messages = 0

    def header(self, header: Header, line: bytes) -> None:
        """The first commit, and the conversation."""
        kept = {"type": "document", "kind": "session", "key": "legacy", "scope": "session"}
        body = {"header": msgspec.json.decode(line)}
        self._commit([session_meta(header.cwd, header.timestamp), put({**kept, "body": body})])
        self._pending.append(put({"type": "conversation", "id": CONVERSATION}))

    def message(self, message: dict[str, Any], size: int) -> None:
        """One more entry of the conversation."""
        self.messages += 1
        entry = {"type": "entry", "id": self.messages, "conversation": CONVERSATION, "kind": "message"}
        self._pending.append(put(entry | {"body": message}))
        self._pending_bytes += size
        if self._pending_bytes >= BATCH_BYTES:
            self.end()

    def end(self) -> None:
        """Commit what is pending."""
        self._commit(self._pending)
        self._pending, self._pending_bytes = [], 0

    def _commit(self, changes: list[dict[str, Any]]) -> None:
        if not changes:
            return
        try:
            self._storage.commit(changes)
        except ChangeRefused as error:
            line = self.messages + 1 if error.index < 0 else self.messages + 2 - len(changes) + error.index
            raise LegacyDamaged(self._file, line, error.why) from None
