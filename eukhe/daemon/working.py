"""The process of a worker: `python -m eukhe.daemon.working HOME SESSION`.

It has the session's storage open for as long as it lives. Requests come on standard input and replies go to standard
output, a line each; the end of the input ends it. Between requests the tree works, one commit at a time, so a request
waits for one commit's worth of the tree's work at most.

When the storage cannot be opened, what was asked so far is refused with the reason and the process ends; when a commit
has failed it ends too, since the storage must be opened again. The supervisor starts a new one at the next request. A
kill at any moment loses nothing that was answered: the storage promises that.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from typing import Any

from eukhe.daemon.places import session_of
from eukhe.daemon.protocol import Refused, Reply, decode_request, encode, fault
from eukhe.daemon.worker import SUPERVISOR, Worker
from eukhe.errors import EukheError, StorageFailed
from eukhe.storage import Commit, CommitHistory, Storage
from eukhe.system import OsSystem

READ_BYTES = 1 << 16


class _Log:
    """The storage, which notes that it has failed."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.failed = False

    def commit(self, changes: list[dict[str, Any]]) -> int:
        try:
            return self.storage.commit(changes)
        except StorageFailed:
            self.failed = True
            raise

    def take_history(self) -> CommitHistory:
        return self.storage.take_history()

    @property
    def commits(self) -> list[Commit]:
        return self.storage.commits


class _Lines:
    """Standard input as lines, as far as they have come."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.ended = False
        self._rest = b""

    def take(self, wait: bool) -> list[bytes]:
        """The lines that have come; with `wait` at least one, unless the input ends."""
        while not self.ended:
            if not select.select([self.fd], [], [], None if wait else 0)[0]:
                return []
            data = os.read(self.fd, READ_BYTES)
            self.ended = not data
            *lines, self._rest = (self._rest + data).split(b"\n")
            if lines or not wait:
                return lines
        return []


def work(home: str, session: str, source: int, sink: int) -> int:
    """Serve a session until the input ends; the exit code."""

    def say(connection: int, message: Reply) -> None:
        data = memoryview(encode(message))
        while data:
            data = data[os.write(sink, data) :]

    lines = _Lines(source)
    try:
        storage = Storage.open(session_of(home, session), home=home)
    except EukheError as error:
        for line in lines.take(wait=True):
            say(SUPERVISOR, fault(decode_request(line).id, Refused("refused", str(error))))
        return 1
    with storage:
        log = _Log(storage)
        tree = OsSystem().urandom(16).hex()
        worker = Worker(session, log, tree, say, lambda line: print(f"eukhe: {line}", file=sys.stderr, flush=True))
        worked = True
        while not (lines.ended or log.failed):
            for line in lines.take(wait=not worked):
                worker.received(SUPERVISOR, decode_request(line))
            worked = worker.step()
    return 1 if log.failed else 0


def main() -> None:
    """Serve; an interrupt from the terminal is for the supervisor, which ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = work(sys.argv[1], sys.argv[2], sys.stdin.fileno(), sys.stdout.fileno())
    except BrokenPipeError:
        code = 1
    sys.exit(code)


if __name__ == "__main__":
    main()
