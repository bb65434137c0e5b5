"""A world of clients, a supervisor and workers over simulated channels, in which anything may happen next.

The machines are the ones that the daemon runs. A `World` holds them and the channels between them; `moves` says what
may happen next, `move` lets it happen, and `broken` says whether a law is broken now. What may happen: a message
arrives (the oldest of any channel), the worker's tree takes a step, the worker is killed, at rest or when it has
committed and has not said so, a client takes the next step of its script, or an adversary sends a frame on with records
that were sent before (a frame may repeat, the rules say).

The storage below is a list that survives its worker: a commit is in it from the moment it was made. What trees were
given to whom is judged against the workers' own trees, those of dead workers included.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

from eukhe.daemon.protocol import Answer, AttachArgs, CommitArgs, Detached, Ended, Reply, Request, Update, ask
from eukhe.daemon.supervisor import StartWorker, Supervisor, ToClient, ToWorker
from eukhe.daemon.worker import SUPERVISOR, Log, Worker
from eukhe.storage.codec import Commit
from eukhe.storage.history import CommitHistory
from eukhe.tree.journal import Journal
from eukhe.tree.records import decode_record, encode_record, plain
from scenarios.suites import state_cases
from scenarios.suites.wire_client import SESSION, Client
from simfs.machine.channels import Channel

DIRECT = 99
"""The connection of a client that talks to the worker itself."""
ROOMY = 9
"""Room for so many frames is more than any of these worlds needs."""
Move = tuple[str, int]


def exists(session: str) -> bool:
    """Whether there is such a session."""
    return session == SESSION


class MemoryLog:
    """The storage: what was committed stays. One commit was made before the world began."""

    def __init__(self) -> None:
        self.commits = [Commit(1, [state_cases.conversation(1)])]

    def commit(self, changes: list[dict[str, Any]]) -> int:
        """Durable at once."""
        self.commits.append(Commit(len(self.commits) + 1, changes))
        return len(self.commits)

    def take_history(self) -> CommitHistory:
        """All that is there."""
        return state_cases.history_of(self.commits)


class World:
    """Everything, at one moment. `frozen` makes bytes of it, alike for worlds that are alike; `thawed` undoes that."""

    def __init__(
        self, scripts: tuple[tuple[str, ...], ...], kills: int = 0, repeats: int = 0, room: int = ROOMY
    ) -> None:
        self.room = room
        self.kills = kills
        self.repeats = repeats
        self.log = MemoryLog()
        self.supervisor = Supervisor(exists, room)
        self.clients = [Client(number, script) for number, script in enumerate(scripts)]
        self.up: list[Channel[Request]] = [Channel() for _ in scripts]
        self.down: list[Channel[Reply]] = [Channel() for _ in scripts]
        self.worker: Worker | None = None
        self.number = 0
        self.to_worker: Channel[Request] = Channel()
        self.from_worker: Channel[Reply] = Channel()
        self.trees: dict[str, Any] = {}
        """The state tree of every worker that ever was, by its id."""
        self.noted: set[int] = set()
        """Who is subscribed, by what the supervisor was told."""
        self.broken = ""
        self.listening = False
        """Whether the worker's tree has a listener; kept while the world is frozen."""
        for client in self.clients:
            self.supervisor.connected(client.number)

    def frozen(self) -> bytes:
        """The world as bytes, without what refers from one machine to another: a tree then has no cycles, and no two
        worlds differ by who shares what with whom."""
        self._detach()
        out = io.BytesIO()
        pickler = pickle.Pickler(out, pickle.HIGHEST_PROTOCOL)
        pickler.fast = True
        pickler.dispatch_table = {Journal: _reduced}
        pickler.dump(self)
        self._attach()
        return out.getvalue()

    @staticmethod
    def thawed(data: bytes) -> World:
        """A world of its own, as it was when it was frozen."""
        world: World = pickle.loads(data)
        world._attach()
        return world

    def _detach(self) -> None:
        for client in self.clients:
            client.follower._send = _nobody
        self.listening = False
        if self.worker is not None:
            self.worker._log, self.worker._say = None, None  # type: ignore[assignment]
            self.listening = self.worker._live._added is not None
            self.worker._live._added = None
            self.trees[self.worker.tree] = None

    def _attach(self) -> None:
        for client in self.clients:
            client.follower._send = client.out.append
        if self.worker is not None:
            self.worker._log, self.worker._say = self.log, self.say
            self.worker._live._added = self.worker._added if self.listening else None
            self.trees[self.worker.tree] = self.worker._live._state

    def moves(self) -> list[Move]:
        """What may happen next."""
        found: list[Move] = []
        for client in self.clients:
            n = client.number
            if self.down[n].messages and not (client.script or self.repeats or self.room < ROOMY):
                # What a client does with a message depends on what it has received and on its script; nobody else
                # notices when it does it, since what it sends may be late on its way. So no other order adds anything.
                return [("down", n)]
            found += [("script", n)] if client.script else []
            found += [("up", n)] if self.up[n].messages else []
            found += [("end", n)] if self.up[n].ended and n in self.supervisor._connections else []
            found += [("down", n)] if self.down[n].messages else []
            if self.repeats and self.down[n].messages and isinstance(self.down[n].messages[0], Update):
                found.append(("repeat", n))
        if self.worker is not None:
            found += [("work", 0)] if self.to_worker.messages else []
            found += [("step", 0)] if self.busy() else []
            found += [("kill", 0)] if self.kills else []
            found += [("strike", 0)] if self.kills and self.to_worker.messages else []
        found += [("said", 0)] if self.from_worker.messages else []
        found += [("exit", 0)] if self.from_worker.ended else []
        return found

    def busy(self) -> bool:
        """Whether the worker's tree has something to do."""
        assert self.worker is not None
        live = self.worker._live
        return live._history is not None or bool(live._queue)

    def move(self, move: Move) -> None:
        """Let it happen."""
        kind, n = move
        late = kind != "script" or self.clients[n].script[0] in ("unsubscribe", "close") or bool(self.up[n].messages)
        getattr(self, f"_{kind}")(n)
        for client in self.clients:
            while client.out:
                self.up[client.number].send(client.out.pop(0))
        if not late:
            # The script may be late with any step, so a request that is late on its way too adds nothing.
            self._up(n)

    def _script(self, n: int) -> None:
        client = self.clients[n]
        step = client.script.pop(0)
        if step == "subscribe":
            client.follower.subscribe()
        elif step == "unsubscribe":
            client.follower.unsubscribe()
        elif step == "attach":
            client.ask("attach_session", AttachArgs(SESSION, 0))
        elif step == "commit":
            entry = {"type": "entry", "id": 10 * n + len(client.script) + 1, "conversation": 1}
            client.commits.append(client.requests + 1)
            client.ask("commit", CommitArgs(SESSION, [{"put": entry}, {"put": {**entry, "type": "submission"}}]))
        else:
            client.follower._following = False
            self.up[n].close()
            self.down[n].close()
            self.down[n].messages.clear()

    def _up(self, n: int) -> None:
        request = self.up[n].receive()
        if request.op == "subscribe_state_tree":
            self.noted.add(n)
            self.clients[n].subscriptions += 1
        elif request.op == "unsubscribe_state_tree":
            self.noted.discard(n)
        self._carry_out(self.supervisor.received(n, request))

    def _end(self, n: int) -> None:
        self.noted.discard(n)
        self.supervisor.closed(n)

    def _down(self, n: int) -> None:
        self.clients[n].received(self.down[n].receive())
        if not any(not isinstance(message, Answer) for message in self.down[n].messages):
            self._carry_out(self.supervisor.drained(n))

    def _repeat(self, n: int) -> None:
        """The oldest frame on its way begins one record earlier."""
        frame = self.down[n].messages[0]
        assert isinstance(frame, Update)
        self.repeats -= 1
        start = max(0, frame.start - 1)
        records = [plain(one) for one in self.trees[frame.tree].records_since(start)[: frame.cursor - start]]
        self.down[n].messages[0] = Update(frame.session, frame.tree, start, frame.cursor, records)

    def _work(self, n: int) -> None:
        assert self.worker is not None
        self.worker.received(SUPERVISOR, self.to_worker.receive())

    def _step(self, n: int) -> None:
        assert self.worker is not None
        self.worker.step()

    def _kill(self, n: int) -> None:
        self.kills -= 1
        self.worker = None
        self.from_worker.close()

    def _strike(self, n: int) -> None:
        """The worker dies when it has done what it was asked, and before it says so: a commit is made."""
        assert self.worker is not None
        self.worker._say = _unheard
        self._work(n)
        self._kill(n)

    def _said(self, n: int) -> None:
        self._carry_out(self.supervisor.worker_said(self.number, self.from_worker.receive()))

    def _exit(self, n: int) -> None:
        self.from_worker = Channel()
        self.noted.clear()
        self._carry_out(self.supervisor.worker_exited(self.number))

    def opened(self) -> Log:
        """The log of a worker that starts now."""
        return self.log

    def say(self, connection: int, message: Reply) -> None:
        """What the worker says."""
        if connection == SUPERVISOR:
            self.from_worker.send(message)
        elif isinstance(message, Update | Ended):
            self.broken = self.broken or "a client of the worker itself gets a frame of the tree"

    def _carry_out(self, effects: list[Any]) -> None:
        for effect in effects:
            if isinstance(effect, StartWorker):
                self.number = effect.worker
                self.to_worker, self.from_worker = Channel(), Channel()
                self.worker = Worker(SESSION, self.opened(), f"{effect.worker:032x}", self.say, _silent)
                self.trees[self.worker.tree] = self.worker._live._state
                self.worker.received(DIRECT, ask(1, "attach_session", AttachArgs(SESSION, 0)))
            elif isinstance(effect, ToWorker):
                self.to_worker.send(effect.message)
            else:
                self._to_client(effect)

    def _to_client(self, effect: ToClient) -> None:
        n, message = effect
        if isinstance(message, Update) and n not in self.noted:
            self.broken = self.broken or f"client {n} gets a frame and is no subscriber"
        if isinstance(message, Answer) and message.id in self.clients[n].commits:
            # No client of these does anything with the answer to a commit, so when it arrives makes no difference.
            return
        self.down[n].send(message)
        if sum(not isinstance(one, Answer | Ended | Detached) for one in self.down[n].messages) > self.room:
            self.broken = self.broken or f"more than {self.room} frames are on their way to client {n}"


def _reduced(journal: Journal) -> tuple[Any, ...]:
    return _journal_of, (b"\n".join(map(encode_record, journal.records_since(0))),)


def _journal_of(lines: bytes) -> Journal:
    """A journal is its records."""
    journal = Journal()
    for line in lines.split(b"\n") if lines else ():
        journal.push(decode_record(line))
    return journal


def _nobody(request: Request) -> None:
    raise AssertionError(request)


def _unheard(connection: int, message: Reply) -> None:
    """Nobody hears it any more."""


def _silent(line: str) -> None:
    raise AssertionError(line)
