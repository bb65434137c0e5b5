"""The check `state_live`: the live state tree in every order of what may happen to it.

Five things happen: the background takes a step, a commit is published (two of them), a read is asked for (two of
them). Every order is tried, on histories of none to two commits. An unexpected error strikes in each step in turn. And
a real storage, on a machine, is asked for its history after each number of commits before and after it was opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import simfs
from eukhe.storage import Storage
from eukhe.storage.codec import Commit
from eukhe.tree.errors import StateTreeStopped
from eukhe.tree.live import LiveStateTree
from eukhe.tree.state import StateTree
from scenarios.checks import Case, Check, Question
from scenarios.laws import state_tree as laws
from scenarios.mutants.exchange import instead
from scenarios.suites import state_cases as cases
from simfs.machine.machine import Machine
from simfs.machine.process import Process

COMMITS = [Commit(number, [cases.conversation(number)]) for number in range(1, 5)]
EVENTS = {"step": 4, "commit": 2, "read": 2}
"""What may happen, and how often; when all has happened, the background steps on to its end."""


def orders(left: dict[str, int]) -> Iterator[tuple[str, ...]]:
    """Every order of so many events of each kind."""
    if not any(left.values()):
        yield ()
    for kind in left:
        if left[kind]:
            for rest in orders({**left, kind: left[kind] - 1}):
                yield (kind, *rest)


class Lived:
    """A live tree over a history of `past` commits, and what was seen of it."""

    def __init__(self, past: int) -> None:
        self.past = past
        self.frames: list[tuple[int, int]] = []
        self.logged: list[str] = []
        history = cases.history_of(COMMITS[:past])
        self.live = LiveStateTree("s", cases.TREE, history, self._added, self.logged.append)
        self.published = past
        self.reads: list[tuple[int, int]] = []
        """(ticket, commits that the read must show)."""

    def _added(self, before: int, records: Any) -> None:
        self.frames.append((before, len(records)))

    def known(self) -> int:
        """How many commits the tree has followed, seen from behind."""
        return self.live._state.last_commit

    def do(self, event: str) -> str | None:
        """Let an event happen; what is wrong with it."""
        before = self.known()
        if event == "step":
            self.live.step()
            return None
        if event == "read":
            self.reads.append((self.live.reading(), self.published))
            return None if self.known() == before else "asking for a read does the work of the background"
        took = self.live.publish(COMMITS[self.published])
        self.published += 1
        return None if took and self.known() == before else "a commit waits for the tree"

    def judge_reads(self) -> str | None:
        """A read waits until what was committed before it is there, and for nothing else."""
        for ticket, commits in self.reads:
            built = self.live._history is None
            ready = built and self.known() >= commits
            if self.live.done(ticket) != ready:
                return f"a read of {commits} commits {'waits' if ready else 'does not wait'} at {self.known()}"
            if ready and self.live.read(ticket).cursor < commits:
                return f"a read of {commits} commits shows fewer"
        return None


def never_blocks() -> Iterator[Case]:
    """Every order of events."""
    for past in range(3):
        for order in orders(EVENTS):
            lived, wrong = Lived(past), None
            if lived.known():
                wrong = "opening builds the tree"
            for event in order:
                wrong = wrong or lived.do(event) or lived.judge_reads()
            while lived.live.step():
                wrong = wrong or lived.judge_reads()
            if lived.known() != lived.published or lived.frames != [(past, 1), (past + 1, 1)]:
                wrong = wrong or f"in the end it knows {lived.known()} commits and told of {lived.frames}"
            yield f"{past} commits in the history, then {' '.join(order)}", wrong


class Unforeseen(Exception):
    """An error that nobody expects."""


def failure_stops() -> Iterator[Case]:
    """An unforeseen error in each piece of work, in every order of events."""
    for past in range(3):
        for strikes in range(past + 3):
            for order in orders(EVENTS):
                yield _stopped(past, strikes, order)


def _stopped(past: int, strikes: int, order: tuple[str, ...]) -> Case:
    lived, left = Lived(past), [strikes]

    def failing(real: Any) -> Any:
        def work(self: Any, given: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise Unforeseen
            return real(self, given)

        return work

    wrong: str | None = None
    with ExitStack() as stack:
        stack.enter_context(instead(StateTree, "record", failing))
        stack.enter_context(instead(StateTree, "learn_tasks", failing))
        for event in (*order, *("step",) * 6):
            failed = left[0] < 0
            if event == "commit" and failed:
                took = lived.live.publish(COMMITS[lived.published])
                wrong = wrong or ("it still takes commits after it failed" if took else None)
                continue
            lived.do(event)
    ticket = lived.live.reading()
    try:
        assert lived.live.done(ticket), "a read waits for ever"
        lived.live.read(ticket)
        wrong = wrong or (None if left[0] >= 0 else "a read answers after the failure")
    except StateTreeStopped as error:
        wrong = wrong or (None if isinstance(error.__cause__, Unforeseen) else f"the cause is {error.__cause__}")
    except AssertionError as error:
        wrong = wrong or (str(error) if left[0] < 0 else None)
    if left[0] < 0 and lived.live.step():
        wrong = wrong or "it goes on working after the failure"
    return f"{past} in the history, error at work {strikes}, {' '.join(order)}", wrong


def history_kept() -> Iterator[Case]:
    """A real storage keeps what it found and what was committed since, until the history is taken."""
    for before in range(4):
        for after in range(4):
            yield f"{before} commits found and {after} made since", _kept(before, after)


def _kept(before: int, after: int) -> str | None:
    machine = Machine(record_sites=False)
    process: Process = machine.spawn("worker")
    system = simfs.Handle(machine, process, ()).system
    lists = [[cases.conversation(number)] for number in range(1, before + after + 2)]
    with Storage.open("/home/one", system=system, home="/home") as storage:
        for changes in lists[:before]:
            storage.commit(changes)
    with Storage.open("/home/one", system=system, home="/home") as storage:
        for changes in lists[before:-1]:
            storage.commit(changes)
        history = storage.take_history()
        found = [commit.changes for commit in history]
        storage.commit(lists[-1])
        again = list(storage.take_history())
    if found != lists[:-1] or history.last != before + after:
        return f"it keeps {found} up to {history.last}"
    return f"after the history was taken it keeps {again}" if again else None


Cases = Callable[[], Iterator[Case]]

LIVE = Check(
    "state_live",
    "The live state tree never makes anybody wait but a reader, and stops for good after an unexpected error.",
    (
        Question(laws.STATE_HISTORY_KEPT, history_kept),
        Question(laws.STATE_NEVER_BLOCKS, never_blocks),
        Question(laws.STATE_FAILURE_STOPS, failure_stops),
    ),
)
