"""The commits that a storage keeps in memory until someone takes them.

Opening reads every line once, so the history is gathered on the way, and live commits are added to it until
`take_history` hands it over; from then on nothing is kept. It is held as the log's own bytes, and commits are made
from them one at a time while it is read. Early states of a task that has reached a terminal state are dropped as
soon as that state comes: a long run of progress costs nothing once it is over. Everything else is kept as it stands
in the log; long bodies stay in their sidecars.
"""

from __future__ import annotations

from collections.abc import Iterator

from eukhe.storage.codec import Change, Commit, decode_commit, encode_commit
from eukhe.storage.records import TERMINAL_STATES


class CommitHistory:
    """Commits in order, with early states of ended tasks left out. Iterating makes each commit anew.

    `last` is the number of the storage's last commit when the history was taken, 0 for none. A commit of which
    nothing is left is not in it.
    """

    def __init__(self, lines: list[bytes], last: int) -> None:
        self._lines = lines
        self.last = last

    def __iter__(self) -> Iterator[Commit]:
        return (decode_commit(line) for line in self._lines if line)

    @property
    def places(self) -> int:
        """How many places `at` may be asked for: one a commit of the log, from 0."""
        return len(self._lines)

    def at(self, place: int) -> Commit | None:
        """The commit at a place; None where nothing is left of it."""
        return decode_commit(self._lines[place]) if self._lines[place] else None

    def __len__(self) -> int:
        return sum(1 for line in self._lines if line)


class HistoryKeeper:
    """Gathers lines for a `CommitHistory`."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self._early: dict[int, list[int]] = {}
        """Task -> where its early states are; for a commit that holds nothing else, its index as a negative number
        (from -1), so that it can be dropped unread."""

    def add(self, line: bytes, commit: Commit) -> None:
        """Keep one commit, given as its line without the newline and as its value."""
        index = len(self.lines)
        self.lines.append(line)
        tasks = [
            record
            for change in commit.changes
            if (record := change.get("put")) is not None and record["type"] == "task"
        ]
        if tasks:
            self._note_tasks(tasks, -1 - index if len(commit.changes) == 1 else index)

    def _note_tasks(self, tasks: list[Change], index: int) -> None:
        """The changes of one commit come in any order, so a terminal state among them ends every other one there."""
        ended = {record["id"] for record in tasks if record.get("state") in TERMINAL_STATES}
        for task in {record["id"]: None for record in tasks if record.get("state") not in TERMINAL_STATES}:
            self._early.setdefault(task, []).append(index)
        for task in sorted(ended):
            for early in self._early.pop(task, ()):
                self._drop_early_states(task, early)

    def _drop_early_states(self, task: int, index: int) -> None:
        if index < 0:
            self.lines[-1 - index] = b""
            return
        commit = decode_commit(self.lines[index])
        kept = [change for change in commit.changes if not _is_early_state(change, task)]
        self.lines[index] = encode_commit(Commit(commit.number, kept, commit.sidecars))[:-1] if kept else b""


def _is_early_state(change: Change, task: int) -> bool:
    record = change.get("put")
    return (
        record is not None
        and record["type"] == "task"
        and record["id"] == task
        and record.get("state") not in TERMINAL_STATES
    )
