"""The supervisor: between clients and the workers of their sessions. A machine without I/O.

It is told what came (`connected`, `received`, `closed`, `worker_said`, `worker_exited`, `drained`) and answers with
effects in order: messages to a connection or a worker, and workers to start. Rules:

1. A subscriber is noted before its request goes to the worker, so no frame after the worker's reading can miss it.
2. A frame of a session goes to that session's subscribers, an event to those who attached, and to nobody else. A frame
   has no event sequence. Unsubscribing and closing end a subscription at once.
3. When a worker has gone, its session's subscribers are forgotten, and each is told `state_tree_ended`; what it had
   not answered is answered with `worker_lost`. A worker is started when a request needs one, each under a new number,
   and what a worker says after it was given up is not heard.
4. A slow client never makes anybody wait. A connection has room for `FRAMES_MAX` frames that it has not read; beyond
   that its frames are dropped, and noted. When it has room again it gets an empty frame that starts at the newest
   cursor: beyond its own, so it knows of the loss and subscribes again. Of lost events it learns by a null event with
   the newest sequence number. Answers are never dropped; a client may wait for `REQUESTS_MAX` of them.

Source: seed S1, wire, 2 to 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from eukhe.daemon.protocol import (
    Answer,
    Ended,
    Event,
    Frame,
    Refused,
    Reply,
    Request,
    Update,
    decode_args,
    fault,
)

FRAMES_MAX = 256
REQUESTS_MAX = 64


class ToClient(NamedTuple):
    """Send a message over a connection."""

    connection: int
    message: Reply


class ToWorker(NamedTuple):
    """Send a request to a worker."""

    worker: int
    message: Request


class StartWorker(NamedTuple):
    """Start a worker under a new number for a session."""

    worker: int
    session: str


Effect = ToClient | ToWorker | StartWorker


class _Connection:
    """One client: what it has subscribed to and attached to, how much is on its way to it, and what it lost."""

    def __init__(self) -> None:
        self.trees: set[str] = set()
        self.sessions: set[str] = set()
        self.waiting = 0
        self.unread = 0
        self.lost: dict[tuple[type[Frame], str], Frame] = {}


class Supervisor:
    """`exists` says whether there is a session of a name; it is asked before a worker is started."""

    def __init__(self, exists: Callable[[str], bool], frames_max: int = FRAMES_MAX) -> None:
        self._exists = exists
        self._frames_max = frames_max
        self._connections: dict[int, _Connection] = {}
        self._workers: dict[str, int] = {}
        self._session_of: dict[int, str] = {}
        self._asked: dict[int, tuple[int, int, int]] = {}
        """Request number towards a worker -> (worker, connection, the client's own number)."""
        self._next_worker = 1
        self._next_request = 1

    def connected(self, connection: int) -> None:
        """A client has come."""
        self._connections[connection] = _Connection()

    def closed(self, connection: int) -> None:
        """A client has gone: its subscriptions end, its answers are no more wanted."""
        self._connections.pop(connection, None)

    def received(self, connection: int, request: Request) -> list[Effect]:
        """A client asks."""
        client = self._connections.get(connection)
        if client is None:
            return []
        try:
            args = decode_args(request)
            session = args.session
            if request.op == "unsubscribe_state_tree":
                client.trees.discard(session)
                client.lost.pop((Update, session), None)
                return [ToClient(connection, Answer(request.id, ok={}))]
            if client.waiting >= REQUESTS_MAX:
                raise Refused("busy", f"{REQUESTS_MAX} requests wait for their answers; wait for one of them")
            effects = self._worker_for(session)
        except Refused as refused:
            return [ToClient(connection, fault(request.id, refused))]
        if request.op == "subscribe_state_tree":
            client.trees.add(session)
            client.lost.pop((Update, session), None)
        elif request.op == "attach_session":
            client.sessions.add(session)
            client.lost.pop((Event, session), None)
        number, self._next_request = self._next_request, self._next_request + 1
        worker = self._workers[session]
        self._asked[number] = (worker, connection, request.id)
        client.waiting += 1
        return [*effects, ToWorker(worker, Request(number, request.op, request.args))]

    def worker_said(self, worker: int, message: Reply) -> list[Effect]:
        """A worker answers, or has a frame."""
        if worker not in self._session_of:
            return []
        if isinstance(message, Answer):
            return self._answered(message)
        effects: list[Effect] = []
        for connection, client in self._connections.items():
            wants = client.trees if isinstance(message, Update) else client.sessions
            if message.session in wants:
                effects += self._frame(connection, client, message)
        return effects

    def worker_exited(self, worker: int) -> list[Effect]:
        """A worker has gone, however."""
        session = self._session_of.pop(worker, None)
        if session is None:
            return []
        del self._workers[session]
        effects: list[Effect] = []
        for number in [number for number, asked in self._asked.items() if asked[0] == worker]:
            lost = Refused("worker_lost", "the session's worker went before it answered; look before asking again")
            effects += self._answered(fault(number, lost))
        for connection, client in self._connections.items():
            client.lost.pop((Update, session), None)
            if session in client.trees:
                client.trees.discard(session)
                effects.append(ToClient(connection, Ended(session)))
        return effects

    def drained(self, connection: int) -> list[Effect]:
        """A client has read everything that was on its way to it: now it can be told what it lost."""
        client = self._connections.get(connection)
        if client is None:
            return []
        client.unread = 0
        lost, client.lost = client.lost, {}
        effects: list[Effect] = []
        for frame in lost.values():
            effects += self._frame(connection, client, frame)
        return effects

    def _worker_for(self, session: str) -> list[Effect]:
        if session in self._workers:
            return []
        if not self._exists(session):
            raise Refused("unknown_session", f"there is no session {session!r}")
        worker, self._next_worker = self._next_worker, self._next_worker + 1
        self._workers[session] = worker
        self._session_of[worker] = session
        return [StartWorker(worker, session)]

    def _answered(self, answer: Answer) -> list[Effect]:
        assert answer.id is not None
        asked = self._asked.pop(answer.id, None)
        if asked is None:
            return []
        _, connection, number = asked
        client = self._connections.get(connection)
        if client is None:
            return []
        client.waiting -= 1
        return [ToClient(connection, Answer(number, answer.ok, answer.error))]

    def _frame(self, connection: int, client: _Connection, frame: Frame) -> list[Effect]:
        if client.unread < self._frames_max:
            client.unread += 1
            return [ToClient(connection, frame)]
        if isinstance(frame, Update):
            client.lost[Update, frame.session] = Update(frame.session, frame.tree, frame.cursor, frame.cursor, [])
        elif isinstance(frame, Event):
            client.lost[Event, frame.session] = Event(frame.session, frame.sequence, None)
        return []
