"""The live state tree: built in the background from a storage's history, then following its commits.

It is a machine without threads. Whoever commits hands the commit to `publish`, which only puts it into a queue; the
background calls `step` until it answers False; whoever reads asks `reading` for a ticket, and may read once `done`
says that the ticket's commits are in the tree. So opening, attaching and committing never wait for the tree, and a
read waits for what was committed before it and for nothing else.

A commit that the tree cannot follow (`StateError`) is told to `log`, and the tree goes on. Any other error stops the
tree: the queue is dropped, `publish` answers False from then on, which ends the subscription, and every read raises
`StateTreeStopped`.

Source: seed S1, second list, 4 and 7. `publish` may be called from another thread than `step`; reads belong to the
thread that steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from eukhe.storage.codec import Commit
from eukhe.storage.history import CommitHistory
from eukhe.tree.errors import StateError, StateTreeStopped
from eukhe.tree.records import Record
from eukhe.tree.state import StateTree

Added = Callable[[int, list[Record]], None]
"""Told of the records that a commit added: (the cursor before, the records)."""


class LiveStateTree:
    """One session's live tree. `added` hears of each live commit's records, `log` of each `StateError`; without
    `added` nobody does, and the records need not be gathered, until `listen`."""

    def __init__(
        self, path: str, tree: str, history: CommitHistory, added: Added | None, log: Callable[[str], None]
    ) -> None:
        self._state = StateTree(path, tree)
        self._history: CommitHistory | None = history
        self._place = -1
        """How far the building is in the history; -1 before its tasks are learned."""
        self._queue: deque[Commit] = deque()
        self._published = 0
        self._recorded = 0
        self._failure: BaseException | None = None
        self._added = added
        self._log = log

    @property
    def stopped(self) -> bool:
        """Whether an unexpected error has ended it."""
        return self._failure is not None

    def publish(self, commit: Commit) -> bool:
        """Take note of a live commit. False once the tree has stopped: nobody needs to tell it anything more."""
        if self._failure is not None:
            return False
        self._published += 1
        self._queue.append(commit)
        return True

    def listen(self, added: Added) -> None:
        """From now on `added` hears of the records of each live commit."""
        self._added = added

    def step(self) -> bool:
        """Do one commit's worth of work; False when there is none."""
        if self._failure is not None or (self._history is None and not self._queue):
            return False
        try:
            self._work()
        except Exception as error:
            self._failure = error
            self._history = None
            self._queue.clear()
        return True

    def reading(self) -> int:
        """A ticket for a read that is asked for now."""
        return self._published

    def done(self, ticket: int) -> bool:
        """Whether a read with this ticket need not wait any more."""
        return self._failure is not None or (self._history is None and self._recorded >= ticket)

    def read(self, ticket: int) -> StateTree:
        """The tree, for reading only. Raises `StateTreeStopped`; asked too early it is a mistake of the caller."""
        if self._failure is not None:
            why = f"{type(self._failure).__name__}: {self._failure}"
            raise StateTreeStopped(self._state.path, why) from self._failure
        assert self.done(ticket), "read before the tree is there"
        return self._state

    def _work(self) -> None:
        if self._history is None:
            commit = self._queue.popleft()
            before = self._state.cursor
            if self._follow(commit) and self._added is not None:
                self._added(before, self._state.records_since(before))
            self._recorded += 1
        elif self._place < 0:
            self._state.learn_tasks(self._history)
            self._place = 0
        elif self._place < self._history.places:
            old = self._history.at(self._place)
            self._place += 1
            if old is not None:
                self._follow(old)
        else:
            self._state.last_commit = max(self._state.last_commit, self._history.last)
            self._history = None

    def _follow(self, commit: Commit) -> int:
        try:
            return self._state.record(commit)
        except StateError as error:
            self._log(str(error))
            return 0
