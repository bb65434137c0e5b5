"""One exploration over several processes, of this host or of many, with the answer of one.

Model. Units (`worker.py`) are handed to `Hands`, and their answers are taken in the order of the units, never in the
order of arrival. So the branches and plans that follow, the first broken law, and with it the shrunk counterexample are
those of one process alone; and so are the counts, because what two workers both asked is counted once (`ledger.py`).
Only how many recoveries and laws were really run may be more.

`Forked` are processes of this host, forked after setup, so they share the scenario as it stands. A worker that dies
loses nothing: its unit is done again, by fresh ones, unless `DEATHS_MAX` have died.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from simfs.explore.judge import Inconclusive
from simfs.explore.plan import Plan
from simfs.explore.spec import Spec
from simfs.explore.splitting import Branch, Splitting
from simfs.explore.strategy import BATCH, SAMPLES, Plans, Seen
from simfs.explore.worker import Answer, Unit, Worker

DEATHS_MAX = 3
"""So many times workers are replaced by fresh ones."""
AHEAD = 3
"""Units that are handed out for each worker."""


class Hands(Protocol):
    """Who does units. `width` is how many are done at a time."""

    @property
    def width(self) -> int: ...
    def give(self, unit: Unit) -> int:
        """Hand out a unit; the number by which its answer is asked for."""
        ...

    def take(self, number: int) -> Answer:
        """The answer, when it is there. Raises Inconclusive when it will never be."""
        ...


class Pool(Protocol):
    """Where hands come from: `simfs.explore(..., jobs=pool)`."""

    def hands(self, worker: Worker, deadline: float | None) -> AbstractContextManager[Hands]:
        """Hands for one prepared scenario on some models, until that monotonic time."""
        ...


@dataclass(frozen=True, slots=True)
class Here:
    """So many processes of this host."""

    jobs: int

    def hands(self, worker: Worker, deadline: float | None) -> AbstractContextManager[Hands]:
        """Forked ones."""
        return Forked.of(worker, deadline, self.jobs)


def leave_ctrl_c() -> None:
    """Ctrl-C reaches every process of a terminal: what to do about it is for the one that shares out the work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _start(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), leave_ctrl_c)


def _stop(pool: ProcessPoolExecutor) -> None:
    """End a pool with what it is doing."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(5)


@contextmanager
def forked(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of forked workers; what they are still doing at its end is given up."""
    pool = _start(jobs)
    try:
        yield pool
    finally:
        _stop(pool)


_worker: Worker | None = None
_deadline: float | None = None


def _do(unit: Unit) -> Answer:
    """What a forked process does."""
    assert _worker is not None
    return _worker.do(unit, _deadline)


@dataclass(slots=True)
class Forked:
    """Processes of this host that were forked from this one as it stands."""

    width: int
    _pool: ProcessPoolExecutor | None = None
    _given: dict[int, tuple[Unit, Future[Answer]]] = field(default_factory=dict)
    _count: int = 0
    _died: int = 0

    @classmethod
    @contextmanager
    def of(cls, worker: Worker, deadline: float | None, jobs: int) -> Iterator[Forked]:
        """So many processes, each with a copy of the worker; they are ended at the end."""
        global _worker, _deadline
        hands = cls(jobs)
        _worker, _deadline = worker, deadline
        try:
            yield hands
        finally:
            hands._end()
            _worker = _deadline = None

    def give(self, unit: Unit) -> int:
        """Hand out a unit."""
        self._count += 1
        self._submit(self._count, unit)
        return self._count

    def take(self, number: int) -> Answer:
        """The answer of a unit."""
        while True:
            try:
                answer = self._given[number][1].result()
            except BrokenProcessPool:
                self._renew()
                continue
            del self._given[number]
            return answer

    def _submit(self, number: int, unit: Unit) -> None:
        if self._pool is None:
            self._pool = _start(self.width)
        try:
            future = self._pool.submit(_do, unit)
        except BrokenProcessPool as broken:
            future = Future()
            future.set_exception(broken)
        self._given[number] = (unit, future)

    def _renew(self) -> None:
        """Fresh processes, for what the dead ones had."""
        self._died += 1
        if self._died > DEATHS_MAX:
            raise Inconclusive(f"worker processes were killed from outside {self._died} times; nothing replaces them")
        self._end()
        for number, (unit, future) in list(self._given.items()):
            if not future.done() or future.exception() is not None:
                self._submit(number, unit)

    def _end(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            _stop(pool)


@dataclass(slots=True)
class _Tree:
    """A plan whose branches are handed out; `out` are those that are not answered yet."""

    plan: Plan
    parts: Splitting
    out: deque[tuple[Branch, int]] = field(default_factory=deque)
    seen: Seen = field(default_factory=Seen)


def share_out(spec: Spec, hands: Hands) -> Generator[Answer, None, None]:
    """The answers of all units, in the order of the units. Stops when the caller does."""
    if spec.options["strategy"] in ("exhaustive", "naive"):
        yield from _branches(spec, hands)
    else:
        yield from _batches(spec, hands)


def _branches(spec: Spec, hands: Hands) -> Generator[Answer, None, None]:
    plans = Plans(spec, len(spec.processes))
    trees: deque[_Tree] = deque()
    handed = 0
    while True:
        while handed < AHEAD * hands.width:
            following = _next_branch(trees, plans, spec)
            if following is None:
                break
            tree, branch = following
            tree.out.append((branch, hands.give((tree.plan, branch))))
            handed += 1
        if not trees:
            return
        tree = trees[0]
        if not tree.out:
            trees.popleft()
            plans.done(tree.plan, tree.seen)
            continue
        branch, number = tree.out.popleft()
        answer = hands.take(number)
        handed -= 1
        tree.parts.take(branch, answer.left)
        tree.seen.include(answer.seen)
        yield answer


def _next_branch(trees: deque[_Tree], plans: Plans, spec: Spec) -> tuple[_Tree, Branch] | None:
    """A branch of the first tree that has one, else of the next plan."""
    for tree in trees:
        branch = tree.parts.next()
        if branch is not None:
            return tree, branch
    plan = plans.next()
    if plan is None:
        return None
    tree = _Tree(plan, Splitting(spec.options["preemptions"]))
    trees.append(tree)
    branch = tree.parts.next()
    assert branch is not None
    return tree, branch


def _batches(spec: Spec, hands: Hands) -> Generator[Answer, None, None]:
    endless = spec.options["budget"] is not None
    waiting: deque[int] = deque()
    first = 0
    while True:
        while len(waiting) < AHEAD * hands.width and (endless or first < SAMPLES):
            waiting.append(hands.give(first))
            first += BATCH
        if not waiting:
            return
        yield hands.take(waiting.popleft())
