"""The process of a worker: `python -m eukhe.daemon.working HOME SESSION NUMBER`.

It has the session's storage open for as long as it lives. The supervisor's requests come on standard input and replies
go to standard output, a line each; the end of the input ends it. Clients of its own come over its socket. After each
request the tree works for one commit, and between requests until it has nothing to do; so a request waits for one
commit's worth of the tree's work at most, and the tree keeps up with whoever commits.

A session that is a legacy file still is imported first. When the storage cannot be opened, what was asked so far is
refused with the reason and the process ends; when a commit has failed it ends too, since the storage must be opened
again. The supervisor starts a new one at the next request. A kill at any moment loses nothing that was answered: the
storage promises that.
"""

from __future__ import annotations

import selectors
import signal
import socket
import sys
from typing import Any

from eukhe.daemon.links import Lines, LineTooLong, Sending
from eukhe.daemon.places import is_imported, legacy_of, private_sockets, session_of, worker_socket_of
from eukhe.daemon.protocol import MESSAGE_BYTES_MAX, Refused, Reply, decode_request, fault, fitting
from eukhe.daemon.worker import SUPERVISOR, Worker
from eukhe.errors import EukheError, StorageFailed
from eukhe.sessions import import_session
from eukhe.sessions.places import sessions_of
from eukhe.storage import Commit, CommitHistory, Storage
from eukhe.system import OsSystem

ANSWERS_TOGETHER = 8
"""So many requests that came together are answered together: an answer costs a system call and wakes somebody."""
UNSENT_BYTES_MAX = 1 << 20
"""A client that has so much to read is not listened to."""


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


class _Client:
    """A connection of the worker's own."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.socket = connection
        self.lines = Lines(connection.fileno(), MESSAGE_BYTES_MAX)
        self.out = Sending(connection.fileno())


class Server:
    """The loop of a worker: who is ready is listened to, in turn."""

    def __init__(self, source: int, sink: int, listener: socket.socket) -> None:
        self._lines = Lines(source, MESSAGE_BYTES_MAX)
        self._out = Sending(sink)
        self._listener = listener
        self._clients: dict[int, _Client] = {}
        self._next_client = SUPERVISOR + 1
        self._selector = selectors.DefaultSelector()
        self._selector.register(source, selectors.EVENT_READ, SUPERVISOR)
        self._selector.register(listener, selectors.EVENT_READ, None)

    def say(self, connection: int, message: Reply) -> None:
        """Put a message on its way; it goes out with the next `_flush`."""
        if connection == SUPERVISOR:
            self._out.add(fitting(message))
        elif connection in self._clients:
            self._clients[connection].out.add(fitting(message))

    def refuse(self, error: EukheError) -> None:
        """There is no storage: everything that the supervisor asked so far gets that answer."""
        for line in self._lines.take():
            self.say(SUPERVISOR, fault(decode_request(line).id, Refused("refused", str(error))))
        self._out.flush()

    def serve(self, worker: Worker, log: _Log) -> None:
        """Serve until the supervisor's input ends or the log has failed."""
        worked = True
        while not (self._lines.ended or log.failed):
            for key, events in self._selector.select(0 if worked else None):
                if key.data is None:
                    self._accept()
                elif key.data == SUPERVISOR:
                    self._listen(worker, log, SUPERVISOR, self._lines)
                elif key.data in self._clients:
                    if events & selectors.EVENT_READ:
                        self._hear(worker, log, key.data)
                    self._flush(worker)
            worked = worker.step()
            self._flush(worker)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        number, self._next_client = self._next_client, self._next_client + 1
        self._clients[number] = _Client(connection)
        self._selector.register(connection, selectors.EVENT_READ, number)

    def _hear(self, worker: Worker, log: _Log, number: int) -> None:
        client = self._clients[number]
        try:
            self._listen(worker, log, number, client.lines)
        except LineTooLong:
            client.lines.ended = True
        if client.lines.ended:
            self._close(worker, number)

    def _listen(self, worker: Worker, log: _Log, connection: int, lines: Lines) -> None:
        for number, line in enumerate(lines.take(), 1):
            if log.failed or (connection != SUPERVISOR and connection not in self._clients):
                return
            try:
                worker.received(connection, decode_request(line))
            except Refused as refused:
                self.say(connection, fault(None, refused))
            worker.step()
            if number % ANSWERS_TOGETHER == 0:
                self._flush(worker)
        self._flush(worker)

    def _flush(self, worker: Worker) -> None:
        self._out.flush()
        for number, client in [*self._clients.items()]:
            try:
                if client.out.waiting and client.out.flush():
                    worker.drained(number)
                    client.out.flush()
            except ConnectionError:
                self._close(worker, number)
                continue
            wanted = selectors.EVENT_WRITE if client.out.waiting else 0
            if len(client.out.waiting) < UNSENT_BYTES_MAX:
                wanted |= selectors.EVENT_READ
            if self._selector.get_key(client.socket).events != wanted:
                self._selector.modify(client.socket, wanted, number)

    def _close(self, worker: Worker, number: int) -> None:
        client = self._clients.pop(number, None)
        if client is None:
            return
        self._selector.unregister(client.socket)
        client.socket.close()
        worker.closed(number)


def work(home: str, session: str, path: str, source: int, sink: int) -> int:
    """Serve a session until the input ends; the exit code. `path` is for the worker's own socket."""
    with socket.socket(socket.AF_UNIX) as listener:
        with private_sockets():
            listener.bind(path)
        listener.listen()
        listener.setblocking(False)
        server = Server(source, sink, listener)
        try:
            if not is_imported(home, session):
                import_session(legacy_of(home, session), sessions_of(home), session, home=home)
            storage = Storage.open(session_of(home, session), home=home)
        except EukheError as error:
            server.refuse(error)
            return 1
        with storage:
            log = _Log(storage)
            tree = OsSystem().urandom(16).hex()
            server.serve(Worker(session, log, tree, server.say, _tell, path), log)
        return 1 if log.failed else 0


def _tell(line: str) -> None:
    print(f"eukhe: {line}", file=sys.stderr, flush=True)


def main() -> None:
    """Serve; an interrupt from the terminal is for the supervisor, which ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    home, session, number = sys.argv[1:]
    path = worker_socket_of(home, int(number))
    try:
        code = work(home, session, path, sys.stdin.fileno(), sys.stdout.fileno())
    except BrokenPipeError:
        code = 1
    sys.exit(code)


if __name__ == "__main__":
    main()
