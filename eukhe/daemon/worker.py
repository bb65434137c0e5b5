"""The worker of one session: it owns the storage and the live tree. A machine without I/O of its own.

What it needs of the outside is its `Log`: the storage, which commits durably. It is told what came over a connection
(`received`) and lets the tree work (`step`); what it has to say is handed to `say(connection, message)` at once, in
order. Rules:

1. A commit is answered when it is durable. The tree only hears of it; the commit does not wait for it.
2. A question about the tree waits until what was committed before it is in the tree, and nothing else waits for it.
3. Each commit that adds records to the tree makes one `state_tree_update` frame, which goes to the supervisor, from the
   first subscription on, and to nobody else: a client that is connected to the worker itself gets events, and never a
   frame of the tree.
4. A frame is said when its records are in the tree. So on the ordered connection to the supervisor, frames before an
   answer are covered by that answer, and those after it go on from there.
5. Events are the commits, with the commit's number as sequence. Attaching answers those after a given one. A client of
   the worker itself that does not read them makes nobody wait: `outbox`. Where they are many, an answer has some of
   them, and live ones come when the client has asked for the last.

Source: seed S1, wire, 1, 2 and 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from eukhe.daemon.outbox import Outbox
from eukhe.daemon.protocol import (
    Answer,
    AttachArgs,
    CommitArgs,
    Event,
    PlanArgs,
    Refused,
    Reply,
    Request,
    SessionArgs,
    TreeArgs,
    Update,
    decode_args,
    fault,
)
from eukhe.errors import EukheError
from eukhe.storage.codec import Commit
from eukhe.storage.history import CommitHistory
from eukhe.tree.errors import StateTreeStopped
from eukhe.tree.live import LiveStateTree
from eukhe.tree.records import Record, plain
from eukhe.tree.state import StateTree

EVENTS_BYTES = 16 << 20
"""An answer takes events until they have so many bytes."""
SUPERVISOR = 0
"""The connection to the supervisor; every other one is a client's own."""


class Log(Protocol):
    """The storage, as a worker uses it."""

    def commit(self, changes: list[dict[str, Any]]) -> int: ...
    def take_history(self) -> CommitHistory: ...
    @property
    def commits(self) -> list[Commit]: ...


class Worker:
    """One session's worker. `tree` is the new tree's id; `log_line` is told what the tree could not follow; `socket` is
    where the worker's own clients connect."""

    def __init__(
        self,
        session: str,
        log: Log,
        tree: str,
        say: Callable[[int, Reply], None],
        log_line: Callable[[str], None],
        socket: str = "",
    ) -> None:
        self.session = session
        self._socket = socket
        self.tree = tree
        self._log = log
        self._say = say
        self._live = LiveStateTree(session, tree, log.take_history(), None, log_line)
        self._reads: list[tuple[int, int, Request]] = []
        """(ticket, connection, request) of the questions that wait for the tree."""
        self._attached: dict[int, Outbox | None] = {}
        """Who gets events. The supervisor does from the first time that it asks for somebody, and hands them on; it
        always reads, so it has no outbox."""

    def received(self, connection: int, request: Request) -> None:
        """A request has come."""
        try:
            args = decode_args(request)
            if getattr(args, "session", None) != self.session:
                raise Refused("out_of_place", f"this is the worker of session {self.session!r}; ask the daemon")
            if request.op == "subscribe_state_tree" and connection != SUPERVISOR:
                raise Refused("out_of_place", "a worker sends no frames to its clients; subscribe at the daemon")
            if isinstance(args, CommitArgs):
                self._commit(connection, request.id, args)
            elif isinstance(args, AttachArgs):
                self._attach(connection, request.id, args)
            elif isinstance(args, TreeArgs | PlanArgs):
                if request.op == "subscribe_state_tree":
                    self._live.listen(self._added)
                self._reads.append((self._live.reading(), connection, request))
                self._answer_reads()
            elif isinstance(args, SessionArgs) and request.op == "get_worker_socket":
                self._say(connection, Answer(request.id, ok={"socket": self._socket}))
            else:
                raise Refused("out_of_place", f"{request.op} is for the daemon")
        except Refused as refused:
            self._say(connection, fault(request.id, refused))
        except EukheError as error:
            self._say(connection, fault(request.id, Refused("refused", str(error))))

    def closed(self, connection: int) -> None:
        """A connection has ended."""
        self._attached.pop(connection, None)
        self._reads = [read for read in self._reads if read[1] != connection]

    def drained(self, connection: int) -> None:
        """A client of the worker itself has read everything that was on its way to it."""
        outbox = self._attached.get(connection)
        for frame in outbox.drained() if outbox is not None else ():
            self._say(connection, frame)

    def step(self) -> bool:
        """Let the tree work for one commit; False when there is nothing to do."""
        worked = self._live.step()
        self._answer_reads()
        return worked

    def _commit(self, connection: int, number: int, args: CommitArgs) -> None:
        commit = Commit(self._log.commit(args.changes), args.changes)
        self._live.publish(commit)
        event = Event(self.session, commit.number, {"changes": commit.changes})
        for attached, outbox in self._attached.items():
            for frame in [event] if outbox is None else outbox.offer(event):
                self._say(attached, frame)
        self._say(connection, Answer(number, ok={"commit": commit.number}))

    def _attach(self, connection: int, number: int, args: AttachArgs) -> None:
        commits = self._log.commits
        if not 0 <= args.after <= len(commits):
            raise Refused("refused", f"there are {len(commits)} events, and none after {args.after}")
        events: list[Any] = []
        size = 0
        for commit in commits[args.after :]:
            events.append([commit.number, {"changes": commit.changes}])
            size += len(msgspec.json.encode(commit.changes))
            if size >= EVENTS_BYTES:
                break
        reached = args.after + len(events)
        if reached < len(commits):
            self._say(connection, Answer(number, ok={"sequence": reached, "events": events, "more": True}))
            return
        outbox = self._attached.setdefault(connection, None if connection == SUPERVISOR else Outbox())
        if outbox is not None:
            outbox.forget(Event, self.session)
        self._say(connection, Answer(number, ok={"sequence": reached, "events": events}))

    def _answer_reads(self) -> None:
        ready = [read for read in self._reads if self._live.done(read[0])]
        self._reads = [read for read in self._reads if read not in ready]
        for ticket, connection, request in ready:
            try:
                answer = Answer(request.id, ok=self._told(self._live.read(ticket), decode_args(request)))
            except StateTreeStopped as error:
                answer = fault(request.id, Refused("stopped", str(error)))
            except Refused as refused:
                answer = fault(request.id, refused)
            self._say(connection, answer)

    def _told(self, state: StateTree, args: TreeArgs | PlanArgs) -> dict[str, Any]:
        if isinstance(args, PlanArgs):
            if args.tree != state.tree:
                raise Refused("stale_tree", "the cursor belongs to another tree; read the tree again")
            if not 0 <= args.cursor <= state.cursor:
                raise Refused("refused", f"the tree has had {state.cursor} records")
            return {"tree": state.tree, **state.rewind_plan(args.cursor).plain()}
        known = args.since or None
        if known is not None and known.tree == state.tree and 0 <= known.cursor <= state.cursor:
            records = [plain(record) for record in state.records_since(known.cursor)]
            return {"tree": state.tree, "cursor": state.cursor, "from": known.cursor, "records": records}
        nodes = [list(node) for node in state.snapshot_at(state.cursor)]
        return {"tree": state.tree, "cursor": state.cursor, "nodes": nodes}

    def _added(self, before: int, records: list[Record]) -> None:
        told = [plain(record) for record in records]
        self._say(SUPERVISOR, Update(self.session, self.tree, before, before + len(told), told))
