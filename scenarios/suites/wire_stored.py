"""The wire over the real commit log: the worker of a world opens and commits to a storage on a machine that crashes.

The worlds are those of `wire_world`, and so are the machines; only the list that stood for the storage is the storage
itself. Two clients follow and commit, once each. The storage is at work when a worker starts and when it commits, so
every state of the world in which it is about to start or to commit is found first, without a crash, and each is one
member: the world is led there, and goes on to its end in a fixed order.

| family | what happens |
|---|---|
| `wire_stored` | nothing, and the power goes at any moment: daemon, worker and clients are gone |
| `wire_killed` | the worker dies at each changing call of that start or commit; then the power goes |

It dies before the call, or in the middle of a write; the supervisor and the clients go on with a new worker.

After the power has gone a new worker opens what is left. Judged is that what a client was told is there, that what it
was shown is in the new tree, and that it goes on from what it knows to the new tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import simfs
from eukhe.daemon.follower import Follower
from eukhe.daemon.protocol import Answer, CommitArgs, Reply, Request, Update, ask, decode_args
from eukhe.daemon.supervisor import ToClient
from eukhe.daemon.worker import SUPERVISOR, Log, Worker
from eukhe.storage import Storage
from eukhe.system import System
from eukhe.tree.journal import Journal, Snapshot
from eukhe.tree.records import Put, decode_value
from eukhe.tree.state import StateTree
from scenarios.laws import log, state_tree, wire
from scenarios.suites import state_cases
from scenarios.suites.interrupted import Died, Interrupted
from scenarios.suites.storage import CLAIMED, Wrap, as_it_is
from scenarios.suites.wire import arrived, own_tree
from scenarios.suites.wire_client import SESSION
from scenarios.suites.wire_world import Move, World
from simfs.machine.machine import Machine

HOME = "/home"
PATH = f"{HOME}/sessions/{SESSION}"
SCRIPTS = (("subscribe", "commit"), ("commit", "subscribe"))
Path = tuple[Move, ...]
Nodes = list[tuple[int, int, bytes]]


def nodes_of(journal: Journal) -> Nodes:
    """The nodes of a client's tree."""
    return list(journal.snapshot_at(journal.cursor).texts())


def told_apart(nodes: Nodes) -> Counter[tuple[bytes, bytes]]:
    """Nodes as (value, value of the parent): ids belong to one worker."""
    values = {0: b"", **{node: text for node, _, text in nodes}}
    return Counter((text, values[parent]) for _, parent, text in nodes)


class StoredWorld(World):
    """A world whose worker has a storage. `acked(number, changes)` is told of each commit that a client is told of."""

    def __init__(self, opener: Callable[[], Storage], acked: Callable[[int, Any], None]) -> None:
        super().__init__(SCRIPTS)
        self._opener = opener
        self._acked = acked
        self._changes: dict[tuple[int, int], Any] = {}
        self.storage: Storage | None = None

    def opened(self) -> Log:
        """The storage, opened again."""
        self.storage = self._opener()
        return self.storage

    def go(self, move: Move) -> None:
        """Let it happen; a worker that dies of it is gone."""
        try:
            self.move(move)
        except Died:
            self.worker = None
            self.from_worker.close()

    def _up(self, n: int) -> None:
        request: Request = self.up[n].messages[0]
        args = decode_args(request)
        if isinstance(args, CommitArgs):
            self._changes[n, request.id] = args.changes
        super()._up(n)

    def _to_client(self, effect: ToClient) -> None:
        message: Reply = effect.message
        if isinstance(message, Answer) and (effect.connection, message.id) in self._changes and not message.error:
            self._acked(message.ok["commit"], self._changes[effect.connection, message.id or 0])
        super()._to_client(effect)


class WireStored(simfs.Scenario):
    """A world is led along `path` and goes on to its end."""

    interpose = False
    disk: str | Sequence[str] = CLAIMED

    def __init__(self, path: Path, strike: int = 0, kept: int = 0, wrap: Wrap = as_it_is) -> None:
        self.path = path
        self.struck = strike
        """The number of the changing call at which the worker dies, among those of the path's last move; 0: none."""
        self.kept = kept
        self.wrap = wrap
        self.counted: list[int] | None = None
        """Where to note how many bytes each changing call of the last move writes, 0 for other calls."""

    def setup(self, m: simfs.Handle) -> None:
        """The session, with its first commit."""
        with self.open(m.system) as storage:
            storage.commit([state_cases.conversation(1)])

    def open(self, system: System) -> Storage:
        """A real open."""
        return Storage.open(PATH, system=system, home=HOME)

    @simfs.process
    def daemon(self, m: simfs.Handle) -> None:
        """Supervisor, worker and clients, a message at a time."""
        told: dict[int, tuple[str, int]] = {}
        at_last_move = [False]
        calls = [0]

        def strike(system: Interrupted, _count: int, call: str, arguments: tuple[Any, ...]) -> None:
            calls[0] += at_last_move[0]
            if at_last_move[0] and self.counted is not None:
                self.counted.append(len(arguments[1]) if call == "pwrite" else 0)
            if at_last_move[0] and calls[0] == self.struck:
                if self.kept:
                    fd, data, offset = arguments
                    system.system.pwrite(fd, data[: self.kept], offset)
                system.die()

        def opener() -> Storage:
            interrupted: Any = Interrupted(self.wrap(m.system, m.process), strike)
            return self.open(interrupted)

        def go(move: Move) -> None:
            world.go(move)
            wrong = own_tree(world)
            if wrong:
                m.effect("wrong", wrong)
            for client in world.clients:
                known = (client.follower.tree, client.follower.cursor)
                if told.get(client.number, ("", 0)) != known:
                    told[client.number] = known
                    m.effect("shown", (*known, nodes_of(client.follower.journal)))

        world = StoredWorld(opener, lambda number, changes: m.ack("commit", (number, changes)))
        for at, move in enumerate(self.path, 1):
            at_last_move[0] = at == len(self.path)
            go(move)
        at_last_move[0] = False
        while moves := world.moves():
            go(moves[0])
        wrong = arrived(world)
        if wrong or world.broken:
            m.effect("wrong", wrong or world.broken)
        if world.worker is not None and world.storage is not None:
            world.storage.close()

    @simfs.recover(log.LOG_OPENS_AFTER_CRASH)
    def recovery(self, m: simfs.Handle) -> None:
        """A new worker opens."""
        self.open(m.system).close()

    @simfs.law(log.LOG_ACK_DURABLE)
    def what_a_client_was_told_is_there(self, m: simfs.Handle) -> None:
        with self.open(m.system) as storage:
            found = {commit.number: commit.changes for commit in storage.commits}
        for _, (number, changes) in m.acks:
            assert found.get(number) == changes, f"commit {number} was answered, and the log has {found.get(number)}"

    @simfs.law(wire.WIRE_NO_GAP_NO_REPEAT)
    def each_record_comes_once(self, m: simfs.Handle) -> None:
        wrong = [event.value for event in m.history if event.label == "wrong"]
        assert not wrong, wrong[0]

    @simfs.law(state_tree.STATE_HISTORY_TREE)
    def what_a_client_was_shown_is_in_the_tree_of_the_log(self, m: simfs.Handle) -> None:
        with self.open(m.system) as storage:
            state, errors = StateTree.from_history(PATH, "f" * 32, list(storage.take_history()))
        assert not errors, str(errors[0])
        found = told_apart(list(state.snapshot_at(state.cursor).texts()))
        for event in m.history:
            if event.label == "shown":
                lost = told_apart(event.value[2]) - found
                assert not lost, f"a client was shown {list(lost)}, which is not in the tree of the log"

    @simfs.law(wire.WIRE_RESTART_NEW_SNAPSHOT)
    def a_client_goes_on_with_the_new_tree(self, m: simfs.Handle) -> None:
        for tree, cursor, nodes in {("", 0, ()): None, **_last_shown(m)}:
            follower, live = self.resumed(m, tree, cursor, list(nodes))
            assert follower.tree == "f" * 32, f"it goes on with tree {follower.tree}"
            assert nodes_of(follower.journal) == list(live.texts()), "it holds another tree than the worker's"

    def resumed(self, m: simfs.Handle, tree: str, cursor: int, nodes: Nodes) -> tuple[Follower, Snapshot]:
        """A client that knows a tree subscribes at a new worker, which commits once more: what both have then."""
        asked: list[Request] = []
        follower = Follower(SESSION, asked.append)
        follower.tree, follower.cursor = tree, cursor
        for node, parent, text in nodes:
            follower.journal.push(Put(node, parent, decode_value(text)))
        with self.open(m.system) as storage:

            def say(connection: int, message: Reply) -> None:
                if isinstance(message, Answer | Update):
                    follower.received(message)

            worker = Worker(SESSION, storage, "f" * 32, say, _silent)
            follower.subscribe()
            while asked or worker.step():
                while asked:
                    worker.received(SUPERVISOR, asked.pop(0))
            worker.received(SUPERVISOR, ask(77, "commit", CommitArgs(SESSION, [state_cases.conversation(9)])))
            while worker.step():
                pass
            state = worker._live._state
            return follower, state.snapshot_at(state.cursor)


def _silent(line: str) -> None:
    raise AssertionError(line)


def _last_shown(m: simfs.Handle) -> dict[tuple[str, int, tuple[Any, ...]], None]:
    shown = [event.value for event in m.history if event.label == "shown"]
    return {(tree, cursor, tuple(nodes)): None for tree, cursor, nodes in shown[-2:]}


def starts(world: World, move: Move) -> bool:
    """Let a move happen; whether it starts a worker."""
    before = world.number
    world.move(move)
    return world.number != before


def paths() -> Iterator[Path]:
    """A way to each state in which the storage is about to be opened or to commit, with the move that lets it."""
    first = World(SCRIPTS).frozen()
    seen = {first}
    waiting: list[tuple[bytes, Path]] = [(first, ())]
    while waiting:
        state, path = waiting.pop()
        for move in World.thawed(state).moves():
            world = World.thawed(state)
            commits = move[0] == "work" and world.to_worker.messages[0].op == "commit"
            if starts(world, move) or commits:
                yield (*path, move)
            after = world.frozen()
            if after not in seen:
                seen.add(after)
                waiting.append((after, (*path, move)))


def spots(path: Path) -> list[int]:
    """The changing calls of a path's last move: how many bytes each writes, 0 for what is no write."""
    machine = Machine(record_sites=False)
    handle = simfs.Handle(machine, machine.spawn("counted out"), ())
    scenario = WireStored(path)
    scenario.setup(handle)
    scenario.counted = []
    scenario.daemon(handle)
    return scenario.counted


def stored(wrap: Wrap = as_it_is) -> Iterator[WireStored]:
    """A member for each way."""
    for at, path in enumerate(paths()):
        member = WireStored(path, wrap=wrap)
        member.name = f"wire_stored[{at}]"
        yield member


def killed(wrap: Wrap = as_it_is) -> Iterator[WireStored]:
    """A member for each way and each changing call of its end; in a write also after half its bytes."""
    for at, path in enumerate(paths()):
        for number, size in enumerate(spots(path), 1):
            for kept in (0, size // 2) if size else (0,):
                member = WireStored(path, number, kept, wrap)
                member.name = f"wire_killed[{at}.{number}{'+' if kept else ''}]"
                yield member
