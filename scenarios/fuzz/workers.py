"""Who does units: processes of this host, or the workers of a cluster (`cluster`).

Both keep the units that wait here, and give a worker one unit at a time. So when a worker dies it is known which unit
it was doing: that one is done again, and given up when it has killed `DEATHS_MAX` workers, for then it is the unit
that kills them. Results that came before the death are kept.
"""

from __future__ import annotations

import gc
import multiprocessing
from collections import deque
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pickle import UnpicklingError
from typing import Protocol

from scenarios.fuzz.unit import Result, Unit, run_unit
from simfs.explore.jobs import leave_ctrl_c

DEATHS_MAX = 3
"""A unit that was being done at so many deaths of a worker is given up."""


class Workers(Protocol):
    """Several workers. `room` is how many more units they want to have; `died` counts workers that were lost."""

    died: int

    @property
    def room(self) -> int: ...
    def give(self, unit: Unit, seconds: float) -> None:
        """Hand out a unit, which ends early after so many seconds."""
        ...

    def take(self, seconds: float) -> list[Result]:
        """Results that have come; waits at most so long for the first. Raises ConnectionError when no worker is left
        to do anything."""
        ...

    def close(self) -> None:
        """Let go of everything that is still being done."""
        ...


@dataclass(slots=True)
class Task:
    """A unit that was handed out, how long it may take, and the workers that died over it."""

    unit: Unit
    seconds: float
    deaths: int = 0

    def died(self) -> Result | None:
        """One more death: None while it is to be done again, else the result that says that it is given up."""
        self.deaths += 1
        if self.deaths < DEATHS_MAX:
            return None
        unit = self.unit
        what = "a replay" if unit.replay else f"histories {unit.first} to {unit.first + unit.count - 1}"
        why = f"given up, for it killed its worker {self.deaths} times"
        return Result(unit, trouble=f"{unit.target} on {unit.disk}: {what} of seed {unit.seed!r}: {why}")


@dataclass(slots=True)
class _Process:
    """One process of this host, and what it is doing."""

    process: BaseProcess
    pipe: Connection
    task: Task | None = None

    def end(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join(5)


@dataclass(slots=True)
class LocalWorkers:
    """`jobs` processes of this host, started when there is something to do."""

    jobs: int
    died: int = 0
    _waiting: deque[Task] = field(default_factory=deque)
    _processes: list[_Process] = field(default_factory=list)
    _come: list[Result] = field(default_factory=list)
    """Results that nobody has taken yet: Ctrl-C loses none."""

    @property
    def room(self) -> int:
        """One unit waits for each that is being done."""
        return 2 * self.jobs - len(self._waiting) - sum(one.task is not None for one in self._processes)

    def give(self, unit: Unit, seconds: float) -> None:
        """Hand out a unit."""
        self._waiting.append(Task(unit, seconds))
        self._hand_out()

    def take(self, seconds: float) -> list[Result]:
        """Results that have come."""
        busy = {one.pipe: one for one in self._processes if one.task is not None}
        for pipe in wait(list(busy), 0.0 if self._come else seconds):
            assert isinstance(pipe, Connection)
            self._receive(busy[pipe])
        self._hand_out()
        come, self._come = self._come, []
        return come

    def close(self) -> None:
        """End the processes."""
        self._waiting.clear()
        while self._processes:
            self._processes.pop().end()

    def _receive(self, one: _Process) -> None:
        """The result of a process; or it has died."""
        task = one.task
        assert task is not None
        try:
            result: Result = one.pipe.recv()
        except (EOFError, OSError, UnpicklingError):
            self._lost(one, task)
            return
        one.task = None
        self._come.append(result)

    def _lost(self, one: _Process, task: Task) -> None:
        self.died += 1
        self._processes.remove(one)
        one.end()
        given_up = task.died()
        if given_up is None:
            self._waiting.appendleft(task)
        else:
            self._come.append(given_up)

    def _hand_out(self) -> None:
        """A unit for each process that has none, from those that wait."""
        while self._waiting:
            idle = next((one for one in self._processes if one.task is None), None)
            if idle is None:
                if len(self._processes) == self.jobs:
                    return
                idle = self._start()
            task = idle.task = self._waiting.popleft()
            try:
                idle.pipe.send((task.unit, task.seconds))
            except OSError:
                self._lost(idle, task)

    def _start(self) -> _Process:
        """One more process; it holds no end of the others' pipes, so each sees at once when the other side is gone."""
        context = multiprocessing.get_context("fork")
        here, there = context.Pipe()
        ours = [here, *(one.pipe for one in self._processes)]
        process = context.Process(target=_serve, args=(there, ours), daemon=True)
        process.start()
        there.close()
        self._processes.append(_Process(process, here))
        return self._processes[-1]


def _serve(pipe: Connection, others: list[Connection]) -> None:
    """The work of a process: units until the other side is gone. Callbacks of the garbage collector, as dask has one,
    would run in the middle of simulated processes."""
    leave_ctrl_c()
    gc.callbacks.clear()
    for other in others:
        other.close()
    while True:
        try:
            unit, seconds = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(run_unit(unit, seconds))
