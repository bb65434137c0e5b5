"""The supervisor: between clients and the workers of their sessions. A machine without I/O.

It is told what came (`connected`, `received`, `closed`, `worker_said`, `worker_exited`, `drained`, `done`) and answers
with effects in order: messages to a connection or a worker, workers to start and to end, housework. Rules:

1. A subscriber is noted before its request goes to the worker, so no frame after the worker's reading can miss it.
2. A frame of a session goes to that session's subscribers, an event to those who attached, and to nobody else. A frame
   has no event sequence. Unsubscribing and closing end a subscription at once.
3. When a worker has gone, its session's subscribers are forgotten, and each is told `state_tree_ended`; who attached
   likewise, `session_ended`, since a commit may have been made of which no event was sent; what the worker had not
   answered is answered with `worker_lost`. A worker is started when a request needs one, each under a new number,
   and what a worker says after it was given up is not heard.
   After `STARTS_MAX` workers in a row that ended without a word the answer is `worker_failed`: who asks again at once
   would keep the machine busy with nothing.
4. A slow client never makes anybody wait: `outbox`. A client may wait for `REQUESTS_MAX` answers.
5. What concerns sessions as wholes, and the scheduled jobs, is done beside the machine (`Housework`) and answered when
   it is done. A session that is to be deleted gets no more requests; its worker ends first.

Source: seed S1, wire, 2 to 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from eukhe.daemon.arguments import HOUSE_ARGS, DeleteArgs
from eukhe.daemon.outbox import FRAMES_MAX, Outbox
from eukhe.daemon.protocol import (
    Answer,
    Detached,
    Ended,
    Event,
    Refused,
    Reply,
    Request,
    Update,
    decode_args,
    fault,
)

REQUESTS_MAX = 64
STARTS_MAX = 3


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


class EndWorker(NamedTuple):
    """Let a worker do what it was asked, and end it."""

    worker: int


class Housework(NamedTuple):
    """Do what a request says, beside everything else, and tell `done`."""

    number: int
    request: Request


Effect = ToClient | ToWorker | StartWorker | EndWorker | Housework


class _Connection:
    """One client: what it has subscribed to and attached to, how many answers it waits for, what is on its way."""

    def __init__(self, frames_max: int) -> None:
        self.trees: set[str] = set()
        self.sessions: set[str] = set()
        self.waiting = 0
        self.outbox = Outbox(frames_max)


class Supervisor:
    """`exists` says whether there is a session of a name; it is asked before a worker is started."""

    def __init__(self, exists: Callable[[str], bool], frames_max: int = FRAMES_MAX) -> None:
        self._exists = exists
        self._frames_max = frames_max
        self._connections: dict[int, _Connection] = {}
        self._workers: dict[str, int] = {}
        self._session_of: dict[int, str] = {}
        self._asked: dict[int, tuple[int, int, int]] = {}
        """Request number towards a worker (0: housework) -> (worker, connection, the client's own number)."""
        self._silent: dict[str, int] = {}
        """Session -> how many workers in a row ended without a word; one that runs and is silent still is among them.
        """
        self._deleting: dict[str, Housework] = {}
        """What is done for each session that is to be deleted, once it has no worker."""
        self._stopping = False
        self._next_worker = 1
        self._next_request = 1

    def connected(self, connection: int) -> None:
        """A client has come."""
        self._connections[connection] = _Connection(self._frames_max)

    def closed(self, connection: int) -> None:
        """A client has gone: its subscriptions end, its answers are no more wanted."""
        self._connections.pop(connection, None)

    def received(self, connection: int, request: Request) -> list[Effect]:
        """A client asks."""
        client = self._connections.get(connection)
        if client is None:
            return []
        try:
            if self._stopping:
                raise Refused("stopping", "the daemon ends; ask again when there is another")
            args = decode_args(request)
            if request.op == "unsubscribe_state_tree":
                client.trees.discard(args.session)
                client.outbox.forget(Update, args.session)
                return [ToClient(connection, Answer(request.id, ok={}))]
            if client.waiting >= REQUESTS_MAX:
                raise Refused("busy", f"{REQUESTS_MAX} requests wait for their answers; wait for one of them")
            if request.op in HOUSE_ARGS:
                return self._housework(connection, client, request, args)
            session = args.session
            effects = self._worker_for(session)
        except Refused as refused:
            return [ToClient(connection, fault(request.id, refused))]
        if request.op == "subscribe_state_tree":
            client.trees.add(session)
            client.outbox.forget(Update, session)
        elif request.op == "attach_session":
            client.sessions.add(session)
            client.outbox.forget(Event, session)
        worker = self._workers[session]
        number = self._note(worker, connection, client, request)
        return [*effects, ToWorker(worker, Request(number, request.op, request.args))]

    def done(self, answer: Answer) -> list[Effect]:
        """Housework has been done; the answer has the number that the effect had."""
        for session, work in [*self._deleting.items()]:
            if work.number == answer.id:
                del self._deleting[session]
        return self._answered(answer)

    def stop(self) -> None:
        """The daemon ends: nothing that is asked from now on is done."""
        self._stopping = True

    def worker_said(self, worker: int, message: Reply) -> list[Effect]:
        """A worker answers, or has a frame."""
        if worker not in self._session_of:
            return []
        self._silent.pop(self._session_of[worker], None)
        if isinstance(message, Answer):
            return self._answered(message)
        effects: list[Effect] = []
        for connection, client in self._connections.items():
            wants = client.trees if isinstance(message, Update) else client.sessions
            if message.session in wants:
                effects += [ToClient(connection, frame) for frame in client.outbox.offer(message)]
        return effects

    def worker_exited(self, worker: int) -> list[Effect]:
        """A worker has gone, however."""
        session = self._session_of.pop(worker, None)
        if session is None:
            return []
        del self._workers[session]
        effects: list[Effect] = []
        lost = Refused("worker_lost", "the session's worker went before it answered; look before asking again")
        if self._silent.get(session, 0) >= STARTS_MAX:
            del self._silent[session]
            why = f"{STARTS_MAX} workers of the session ended before they said anything; see what the daemon printed"
            lost = Refused("worker_failed", why)
        for number in [number for number, asked in self._asked.items() if asked[0] == worker]:
            effects += self._answered(fault(number, lost))
        for connection, client in self._connections.items():
            client.outbox.forget(Update, session)
            if session in client.trees:
                client.trees.discard(session)
                effects.append(ToClient(connection, Ended(session)))
            client.outbox.forget(Event, session)
            if session in client.sessions:
                client.sessions.discard(session)
                effects.append(ToClient(connection, Detached(session)))
        if session in self._deleting:
            effects.append(self._deleting[session])
        return effects

    def drained(self, connection: int) -> list[Effect]:
        """A client has read everything that was on its way to it: now it can be told what it lost."""
        client = self._connections.get(connection)
        if client is None:
            return []
        return [ToClient(connection, frame) for frame in client.outbox.drained()]

    def _note(self, worker: int, connection: int, client: _Connection, request: Request) -> int:
        number, self._next_request = self._next_request, self._next_request + 1
        self._asked[number] = (worker, connection, request.id)
        client.waiting += 1
        return number

    def _housework(self, connection: int, client: _Connection, request: Request, args: Any) -> list[Effect]:
        deleted = args.session if isinstance(args, DeleteArgs) else ""
        if deleted in self._deleting:
            raise Refused("busy", f"session {deleted!r} is being deleted already")
        number = self._note(0, connection, client, request)
        work = Housework(number, Request(number, request.op, request.args))
        if not deleted:
            return [work]
        self._deleting[deleted] = work
        worker = self._workers.get(deleted)
        return [work] if worker is None else [EndWorker(worker)]

    def _worker_for(self, session: str) -> list[Effect]:
        if session in self._deleting:
            raise Refused("unknown_session", f"session {session!r} is being deleted")
        if session in self._workers:
            return []
        if not self._exists(session):
            raise Refused("unknown_session", f"there is no session {session!r}")
        worker, self._next_worker = self._next_worker, self._next_worker + 1
        self._workers[session] = worker
        self._silent[session] = self._silent.get(session, 0) + 1
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
