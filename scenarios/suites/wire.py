"""The check `wire`: the daemon's machines under every interleaving of messages, commits, a kill and a slow client.

Every state that a world can come into is visited once, whatever way led to it; in each of them, and where nothing more
can happen, the laws are judged. Bounds: two commits of two records each, two clients, one worker killed at any
moment and started again, one frame that repeats a record, and room for one frame on the way to a slow client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from hashlib import blake2b

from eukhe.tree.journal import Journal
from scenarios.checks import Case, Check, Question
from scenarios.laws import wire as laws
from scenarios.suites.wire_world import World

Judge = Callable[[World, bool], str | None]
"""Says what is wrong with a world; the flag says that nothing more can happen in it."""

BOTH = (("subscribe", "commit", "commit"), ("subscribe",))
WORLDS: dict[str, Callable[[], World]] = {
    "two clients, two commits": partial(World, BOTH),
    "a frame that repeats": partial(World, (("commit", "commit"), ("subscribe",)), repeats=1),
    "a killed worker": partial(World, (("commit", "commit"), ("subscribe",)), kills=1),
    "a slow client": partial(World, (("commit", "commit", "commit"), ("subscribe",)), room=1),
    "an unsubscribe": partial(World, (("commit", "commit"), ("subscribe", "unsubscribe"))),
    "a close": partial(World, (("commit", "commit"), ("subscribe", "close"))),
    "events": partial(World, (("attach", "commit", "commit"), ("subscribe",))),
    "events of a killed worker": partial(World, (("attach",), ("commit", "commit")), kills=1),
    "two followers and a killed worker": partial(World, (("commit", "commit", "subscribe"), ("subscribe",)), kills=1),
    "two followers that commit and a killed worker": partial(World, (("commit", "subscribe"),) * 2, kills=1),
    "two killed workers": partial(World, (("commit", "commit"), ("subscribe",)), kills=2),
    "a slow client and a killed worker": partial(World, (("commit", "commit"), ("subscribe",)), kills=1, room=1),
}


def visit(make: Callable[[], World], judge: Judge) -> Iterator[Case]:
    """Every state of a world. Visited ones are known by a digest of 128 bits."""
    first = make().frozen()
    seen, waiting = {_digest(first)}, [(first, "")]
    while waiting:
        state, path = waiting.pop()
        world = World.thawed(state)
        moves = world.moves()
        yield path, judge(world, not moves)
        for at, move in enumerate(moves):
            after = World.thawed(state) if at < len(moves) - 1 else world
            told = f"{path} {move[0]}{move[1]}"
            try:
                after.move(move)
            except Exception as error:
                yield told, f"a machine raises {type(error).__name__}: {error}"
                continue
            frozen = after.frozen()
            digest = _digest(frozen)
            if digest not in seen:
                seen.add(digest)
                waiting.append((frozen, told))


def _digest(frozen: bytes) -> bytes:
    return blake2b(frozen, digest_size=16).digest()


def _nodes(journal: Journal) -> list[tuple[int, int, bytes]]:
    return list(journal.snapshot_at(journal.cursor).texts())


def own_tree(world: World) -> str | None:
    """What a client holds is the tree that it names, at its cursor."""
    for client in world.clients:
        follower = client.follower
        if follower.tree:
            if follower.cursor > world.trees[follower.tree].cursor:
                return f"client {client.number} is at cursor {follower.cursor}, which has not been"
            wanted = list(world.trees[follower.tree].snapshot_at(follower.cursor).texts())
            if _nodes(follower.journal) != wanted:
                return (
                    f"client {client.number} at cursor {follower.cursor} holds {_nodes(follower.journal)}, not {wanted}"
                )
    return None


def arrived(world: World) -> str | None:
    """In the end a follower is where the live tree is."""
    for client in world.clients:
        follower = client.follower
        if not follower._following:
            continue
        if world.worker is None or follower.tree != world.worker.tree:
            return f"client {client.number} ends with a tree that is not the live one"
        live = world.trees[follower.tree].cursor
        if follower.cursor != live or follower._awaits is not None:
            return f"client {client.number} ends at cursor {follower.cursor}, and the live tree is at {live}"
    return None


def no_gap_no_repeat(world: World, over: bool) -> str | None:
    """Each record once."""
    return own_tree(world) or (arrived(world) if over else None)


def loss_resubscribes(world: World, over: bool) -> str | None:
    """Frames are bounded, and what was lost is made up for."""
    return world.broken or own_tree(world) or (arrived(world) if over else None)


def subscribers_only(world: World, over: bool) -> str | None:
    """Frames for subscribers, events for who attached, each event once."""
    if world.broken:
        return world.broken
    for client in world.clients:
        if over and client.events is not None and client.events != len(world.log.commits):
            return f"client {client.number} saw events up to {client.events} of {len(world.log.commits)}"
    return None


def new_snapshot(world: World, over: bool) -> str | None:
    """No tree is made of records of two workers."""
    return own_tree(world) or (arrived(world) if over else None)


def _cases(judge: Judge, *names: str) -> Callable[[], Iterator[Case]]:
    def cases() -> Iterator[Case]:
        for name in names:
            for path, wrong in visit(WORLDS[name], judge):
                yield f"{name}:{path}", wrong

    return cases


WIRE = Check(
    "wire",
    "Supervisor, worker and clients keep the wire's laws in every state that they can come into.",
    (
        Question(
            laws.WIRE_SUBSCRIBERS_ONLY,
            _cases(subscribers_only, "a close", "an unsubscribe", "events", "events of a killed worker"),
        ),
        Question(
            laws.WIRE_NO_GAP_NO_REPEAT, _cases(no_gap_no_repeat, "two clients, two commits", "a frame that repeats")
        ),
        Question(laws.WIRE_LOSS_RESUBSCRIBES, _cases(loss_resubscribes, "a slow client")),
        Question(laws.WIRE_RESTART_NEW_SNAPSHOT, _cases(new_snapshot, "a killed worker")),
    ),
)

LARGER = Check(
    "wire_larger",
    "The same with more at once: two followers and a killed worker, two killed workers, a slow client with one.",
    (
        Question(laws.WIRE_LOSS_RESUBSCRIBES, _cases(loss_resubscribes, "a slow client and a killed worker")),
        Question(laws.WIRE_NO_GAP_NO_REPEAT, _cases(no_gap_no_repeat, "two killed workers")),
        Question(
            laws.WIRE_RESTART_NEW_SNAPSHOT,
            _cases(new_snapshot, "two followers and a killed worker", "two followers that commit and a killed worker"),
        ),
    ),
)
