"""The mutants of the daemon's machines: supervisor, worker and follower, each with a rule exchanged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import UNSET

from eukhe.daemon.follower import Follower
from eukhe.daemon.outbox import Outbox
from eukhe.daemon.protocol import Answer, Detached, Ended, Event, TreeArgs, Update
from eukhe.daemon.supervisor import Supervisor, ToClient
from eukhe.daemon.worker import SUPERVISOR, Worker
from scenarios.mutants.exchange import broken, instead
from scenarios.mutants.mutant import Mutant

__simfs_machinery__ = True

GAP, LOSS, ONLY, RESTART = (
    "wire_no_gap_no_repeat", "wire_loss_resubscribes", "wire_subscribers_only", "wire_restart_new_snapshot",
)  # fmt: skip


def mutants() -> list[Mutant]:
    """All of them."""
    return [*MUTANTS]


@contextmanager
def _noted_late() -> Iterator[None]:
    """A subscriber is noted when it has read the answer."""

    def answered(real: Any) -> Any:
        def keeping(self: Any, answer: Answer) -> Any:
            asked = self._asked.get(answer.id)
            if asked is not None and isinstance(answer.ok, dict) and "tree" in answer.ok:
                self._connections[asked[1]].late = True
            return real(self, answer)

        return keeping

    def drained(real: Any) -> Any:
        def noting(self: Any, connection: int) -> Any:
            client = self._connections.get(connection)
            if client is not None and client.__dict__.pop("late", False):
                client.trees.add("one")
            return real(self, connection)

        return noting

    with (
        instead(Supervisor, "received", _not_noted),
        instead(Supervisor, "_answered", answered),
        instead(Supervisor, "drained", drained),
    ):
        yield


def _not_noted(real: Any) -> Any:
    def received(self: Any, connection: int, request: Any) -> Any:
        effects = real(self, connection, request)
        if request.op == "subscribe_state_tree":
            self._connections[connection].trees.clear()
        return effects

    return received


def _answers_late(real: Any) -> Any:
    """What was read for a client goes out behind the frames of what came after the reading."""

    def answer_reads(self: Any) -> None:
        say, held = self._say, self.__dict__.pop("held", [])
        self._say = lambda connection, message: held.append((connection, message))
        try:
            real(self)
        finally:
            self._say = say
        if self._live._queue:
            self.held = held
            return
        for connection, message in held:
            say(connection, message)

    return answer_reads


def _off_by_one(real: Any) -> Any:
    return lambda self, before, records: real(self, before + 1, records)


def _cursor_short(real: Any) -> Any:
    def told(self: Any, state: Any, args: Any) -> Any:
        found = real(self, state, args)
        return {**found, "cursor": found["cursor"] - 1} if "nodes" in found else found

    return told


def _skipped_whole(real: Any) -> Any:
    return lambda self, frame: None if frame.start < self.cursor else real(self, frame)


def _repeats_applied(real: Any) -> Any:
    def update(self: Any, frame: Update) -> None:
        if frame.tree == self.tree and frame.start < self.cursor:
            self._apply(frame.records)
        else:
            real(self, frame)

    return update


def _loss_ignored(real: Any) -> Any:
    def update(self: Any, frame: Update) -> None:
        if frame.tree == self.tree and frame.start > self.cursor:
            self._apply(frame.records)
        else:
            real(self, frame)

    return update


def _old_cursor(real: Any) -> Any:
    """A cursor is taken for one of the live tree."""

    def told(self: Any, state: Any, args: Any) -> Any:
        known = args.since if isinstance(args, TreeArgs) else UNSET
        if known is not UNSET and known.cursor <= state.cursor:
            found = real(self, state, TreeArgs(args.session, type(known)(state.tree, known.cursor)))
            return {**found, "tree": known.tree}
        return real(self, state, args)

    return told


def _ends_untold(real: Any) -> Any:
    return lambda self, worker: [
        effect
        for effect in real(self, worker)
        if not (isinstance(effect, ToClient) and (isinstance(effect.message, Ended)))
    ]


def _events_end_untold(real: Any) -> Any:
    return lambda self, worker: [
        effect
        for effect in real(self, worker)
        if not (isinstance(effect, ToClient) and (isinstance(effect.message, Detached)))
    ]


def _dropped_silently(real: Any) -> Any:
    def offer(self: Any, frame: Any) -> Any:
        sent = real(self, frame)
        self._lost.clear()
        return sent

    return offer


def _unbounded(real: Any) -> Any:
    return lambda self, frame: [frame]


def _to_everyone(real: Any) -> Any:
    def said(self: Any, worker: int, message: Any) -> Any:
        if isinstance(message, Update):
            return [ToClient(connection, message) for connection in self._connections]
        return real(self, worker, message)

    return said


def _unsubscribe_forgotten(real: Any) -> Any:
    def received(self: Any, connection: int, request: Any) -> Any:
        client = self._connections.get(connection)
        trees = set(client.trees) if client else set()
        effects = real(self, connection, request)
        if request.op == "unsubscribe_state_tree" and client:
            client.trees |= trees
        return effects

    return received


def _close_forgotten(real: Any) -> Any:
    return lambda self, connection: None


def _frames_counted(real: Any) -> Any:
    """A frame takes a number of the events."""

    def added(self: Any, before: int, records: Any) -> None:
        real(self, before, records)
        self._say(SUPERVISOR, Event(self.session, len(self._log.commits) + 1, {"tree": True}))

    return added


def _direct_too(real: Any) -> Any:
    def added(self: Any, before: int, records: Any) -> None:
        real(self, before, records)
        for attached in [one for one in self._attached if one != SUPERVISOR]:
            self._say(attached, Update(self.session, self.tree, before, before + len(records), []))

    return added


def _wire(name: str, place: Any, attribute: str, made: Any, *laws: str) -> Mutant:
    return Mutant(name, "wire", broken=broken(place, attribute, made), made_for=laws)


MUTANTS = (
    _wire("a subscription is noted nowhere", Supervisor, "received", _not_noted, GAP),
    Mutant("a subscription is noted after the reading", "wire", broken=_noted_late, made_for=(GAP,)),
    _wire("a frame goes before the answer that it follows", Worker, "_answer_reads", _answers_late, GAP),
    _wire("a frame begins one record late", Worker, "_added", _off_by_one, GAP),
    _wire("a snapshot's cursor is one short", Worker, "_told", _cursor_short, GAP),
    _wire("a frame that overlaps is skipped whole", Follower, "_update", _skipped_whole, GAP),
    _wire("frames that repeat are applied again", Follower, "_update", _repeats_applied, GAP),
    _wire("a loss is ignored", Follower, "_update", _loss_ignored, LOSS),
    _wire("frames are dropped in silence", Outbox, "offer", _dropped_silently, LOSS),
    _wire("frames queue without bound", Outbox, "offer", _unbounded, LOSS),
    _wire("a cursor of an older tree is accepted", Worker, "_told", _old_cursor, RESTART),
    _wire("nobody is told that a tree has ended", Supervisor, "worker_exited", _ends_untold, RESTART),
    _wire("frames go to everybody", Supervisor, "worker_said", _to_everyone, ONLY),
    _wire("unsubscribing ends nothing", Supervisor, "received", _unsubscribe_forgotten, ONLY),
    _wire("closing ends nothing", Supervisor, "closed", _close_forgotten, ONLY),
    _wire("a frame takes an event's number", Worker, "_added", _frames_counted, ONLY),
    _wire("a client of the worker gets frames", Worker, "_added", _direct_too, ONLY),
    _wire("nobody is told that events have ended", Supervisor, "worker_exited", _events_end_untold, ONLY),
)
