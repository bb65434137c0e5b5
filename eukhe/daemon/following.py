"""Asking the daemon from the command line, and following a session's tree.

The calls wait as a terminal's user does: there is nothing else to do meanwhile.
"""

from __future__ import annotations

import os
import socket
from types import TracebackType
from typing import Any

import msgspec
from rich.console import Console

from eukhe.daemon.errors import DaemonRefused, NoDaemon
from eukhe.daemon.follower import Follower
from eukhe.daemon.places import check_socket, socket_of
from eukhe.daemon.protocol import Answer, Reply, Request, decode_reply, encode
from eukhe.tree.drawing import describe_record, draw_tree
from eukhe.tree.records import Record, plain


class DaemonConnection:
    """A connection to the daemon of a home, or to the worker whose socket is `path`. Raises `NoDaemon` where there is
    none, and when it goes."""

    def __init__(self, home: str, path: str | None = None) -> None:
        self.path = path or socket_of(home)
        check_socket(self.path)
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(self.path)
        except OSError as error:
            self._socket.close()
            raise NoDaemon(self.path, error.strerror or str(error)) from error
        self._lines = self._socket.makefile("rb")

    def send(self, request: Request) -> None:
        """Send a request."""
        try:
            self._socket.sendall(encode(request))
        except OSError as error:
            raise NoDaemon(self.path, error.strerror or str(error)) from error

    def receive(self) -> Reply:
        """Wait for the next message."""
        try:
            line = self._lines.readline()
        except OSError as error:
            raise NoDaemon(self.path, error.strerror or str(error)) from error
        if not line.endswith(b"\n"):
            raise NoDaemon(self.path, "it has ended")
        return decode_reply(line)

    def call(self, request: Request) -> Any:
        """Ask, and wait for the answer; frames before it are passed over. Raises `DaemonRefused`."""
        self.send(request)
        while True:
            reply = self.receive()
            if isinstance(reply, Answer) and reply.id in (request.id, None):
                if reply.error:
                    raise DaemonRefused(self.path, reply.error.code, reply.error.message)
                return reply.ok

    def close(self) -> None:
        """Close it."""
        self._lines.close()
        self._socket.close()

    def __enter__(self) -> DaemonConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def follow_session(home: str, session: str, json: bool) -> None:
    """Show a session's tree, then each change, until the daemon goes or the user has seen enough."""
    session = os.path.basename(os.path.normpath(session))
    console = Console(soft_wrap=True, highlight=False)

    def changed(records: list[Record] | None) -> None:
        if json:
            told: dict[str, Any] = {"tree": follower.tree, "cursor": follower.cursor}
            if records is None:
                told["nodes"] = list(follower.journal.snapshot_at(follower.journal.cursor))
            else:
                told["records"] = [plain(record) for record in records]
            print(msgspec.json.encode(told).decode(), flush=True)
        elif records is None:
            nodes = follower.journal.snapshot_at(follower.journal.cursor)
            console.print(draw_tree(f"{session}  cursor {follower.cursor}", nodes))
        else:
            for record in records:
                print(f"{follower.cursor}  {describe_record(record)}", flush=True)

    with DaemonConnection(home) as connection:
        follower = Follower(session, connection.send, changed)
        follower.subscribe()
        try:
            while True:
                follower.received(connection.receive())
                if follower.refused is not None:
                    raise DaemonRefused(connection.path, follower.refused.code, follower.refused.message)
        except KeyboardInterrupt:
            return
