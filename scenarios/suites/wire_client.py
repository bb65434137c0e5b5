"""A client of a world of the wire: the daemon's own `Follower`, a script, and a count of the events it was sent.

It follows a tree with the machine that real clients use, and acts by a script whose steps come when they like. Of
events it keeps the newest number; where one is missing, or the worker has gone, it attaches again.
"""

from __future__ import annotations

from typing import Any

from eukhe.daemon.follower import Follower
from eukhe.daemon.protocol import Answer, AttachArgs, Detached, Event, Reply, Request, ask

SESSION = "one"
"""The session that all worlds are about."""


class Client:
    """A client and its script: "subscribe", "unsubscribe", "commit", "attach", "close"; each step when it likes."""

    def __init__(self, number: int, script: tuple[str, ...]) -> None:
        self.number = number
        self.script = list(script)
        self.out: list[Request] = []
        self.follower = Follower(SESSION, self.out.append)
        self.requests = 1000
        self.commits: list[int] = []
        """Numbers of the requests to commit."""
        self.events: int | None = None
        """The sequence number of the last event; None before the answer to attaching."""
        self.subscribed = self.subscriptions = 0
        self.wrong = ""

    def ask(self, op: str, args: Any) -> None:
        """A request beside the follower's own."""
        self.requests += 1
        self.out.append(ask(self.requests, op, args))

    def received(self, message: Reply) -> None:
        """Follow the tree and the events."""
        if isinstance(message, Detached):
            self.events = None
            self.ask("attach_session", AttachArgs(SESSION, 0))
        elif isinstance(message, Event):
            if message.event is None or (self.events is not None and message.sequence > self.events + 1):
                self.events = None
                self.ask("attach_session", AttachArgs(SESSION, 0))
            elif self.events is not None and message.sequence == self.events + 1:
                self.events = message.sequence
        elif isinstance(message, Answer) and isinstance(message.ok, dict) and "events" in message.ok:
            self.events = message.ok["sequence"]
        self.follower.received(message)
