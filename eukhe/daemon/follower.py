"""A client that follows the tree of a session. A machine without I/O: replies in, requests out.

Rules:

1. Between a subscription's request and its answer frames are passed over: on an ordered connection the answer covers
   them.
2. A frame of another tree than the client's own means that the own one is over: subscribe again.
3. A frame that ends at the client's cursor or before it is skipped. One that starts beyond it means that something was
   lost: subscribe again, from the own cursor. Of any other the records after the own cursor are applied.
4. When the tree has ended the client subscribes again. It says what it knows, and a worker with another tree answers
   with a snapshot, from which the client begins anew.

So it takes each record once, and never one of another tree. Source: seed S1, wire, 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET

from eukhe.daemon.protocol import Answer, Ended, Fault, Reply, Request, SessionArgs, Since, TreeArgs, Update, ask
from eukhe.tree.journal import Journal
from eukhe.tree.records import Put, Record, decode_record


class Follower:
    """Follows one session. `send` takes its requests; `changed(records)` hears of each change, None for a new tree."""

    def __init__(
        self,
        session: str,
        send: Callable[[Request], None],
        changed: Callable[[list[Record] | None], None] | None = None,
    ) -> None:
        self.session = session
        self.tree = ""
        self.cursor = 0
        self.journal = Journal()
        """The tree: the nodes of the snapshot put one by one, then each record."""
        self.refused: Fault | None = None
        """Why the last subscription was refused."""
        self._send = send
        self._changed = changed
        self._number = 0
        self._awaits: int | None = None
        self._following = False

    def subscribe(self) -> None:
        """Begin, or begin again from what is known."""
        since = Since(self.tree, self.cursor) if self.tree else UNSET
        self._following = True
        self._awaits = self._ask("subscribe_state_tree", TreeArgs(self.session, since))

    def unsubscribe(self) -> None:
        """End."""
        self._following, self._awaits = False, None
        self._ask("unsubscribe_state_tree", SessionArgs(self.session))

    def received(self, message: Reply) -> None:
        """A message has come."""
        if isinstance(message, Answer):
            if self._awaits is not None and message.id == self._awaits:
                self._awaits = None
                self._answered(message)
            return
        if message.session != self.session or not self._following:
            return
        if isinstance(message, Ended):
            self.subscribe()
        elif isinstance(message, Update) and self._awaits is None:
            self._update(message)

    def _answered(self, answer: Answer) -> None:
        if answer.error:
            if answer.error.code == "worker_lost":
                self.subscribe()
            else:
                self._following, self.refused = False, answer.error
            return
        told: dict[str, Any] = answer.ok
        if "records" in told and told["tree"] == self.tree and told["from"] <= self.cursor:
            self._apply(told["records"][self.cursor - told["from"] :])
            return
        self.tree, self.cursor, self.journal = told["tree"], told["cursor"], Journal()
        for node, parent, value in told["nodes"]:
            self.journal.push(Put(node, parent, value))
        if self._changed is not None:
            self._changed(None)

    def _update(self, frame: Update) -> None:
        if frame.tree != self.tree:
            self.subscribe()
        elif frame.cursor <= self.cursor:
            return
        elif frame.start > self.cursor:
            self.subscribe()
        else:
            self._apply(frame.records[self.cursor - frame.start :])

    def _apply(self, records: list[Any]) -> None:
        read = [decode_record(msgspec.json.encode(record)) for record in records]
        for record in read:
            self.journal.push(record)
        self.cursor += len(read)
        if read and self._changed is not None:
            self._changed(read)

    def _ask(self, op: str, args: TreeArgs | SessionArgs) -> int:
        self._number += 1
        self._send(ask(self._number, op, args))
        return self._number
