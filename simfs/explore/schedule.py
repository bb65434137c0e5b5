"""Running several processes on one machine: a greenlet each, giving way before each visible call.

Model. Exactly one process runs at a time. Before each visible call it comes back here, and a `Choices` says who goes on:
answer 0 is the process that ran last, if it can; the others follow in the order of the scenario. The call and all code
up to the process's next visible call then run without interruption. A process that waits (lock, sleep) may go on once
what it waits for is there; when all wait, time moves to the next deadline; if there is none, that is a deadlock.

Greenlets are pooled and never outlive their task. A killed process is thrown out of its code; the dead flag was set
before, so nothing that its `finally` blocks try has any effect.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

from greenlet import getcurrent, greenlet

from simfs.explore.choices import Choices
from simfs.machine import running
from simfs.machine.errors import Deadlock
from simfs.machine.machine import Machine
from simfs.machine.process import Process, ProcessKilled


@dataclass(slots=True, eq=False)
class Runner:
    """A process under the scheduler. `error` is what escaped from its code."""

    process: Process
    body: Callable[[], Any]
    greenlet: greenlet | None = None
    call: str = "start"
    ready: Callable[[], bool] | None = None
    """While it waits: whether it could go on now."""
    deadline_ns: int | None = None
    """While it waits: monotonic time at which it goes on anyhow."""
    why: str = ""
    error: BaseException | None = None
    done: bool = False


@dataclass(slots=True, eq=False)
class Scheduler:
    """Runs processes of `machine` until all are done. `order` is who made each step, by index into `runners`."""

    machine: Machine
    choices: Choices
    runners: list[Runner] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    _hub: Any = None
    _running: Runner | None = None

    def add(self, process: Process, body: Callable[[], Any]) -> Runner:
        runner = Runner(process, body)
        self.runners.append(runner)
        return runner

    def run(self) -> None:
        """Until every process has returned, raised or died. Raises Deadlock with the wait graph."""
        self._hub = getcurrent()
        machine = self.machine
        outer = running.active
        running.active = machine
        machine.gate, machine.block = self._gate, self._block
        try:
            for runner in self.runners:
                self._start(runner)
            last: Runner | None = None
            while True:
                enabled = self._enabled(last)
                if not enabled:
                    if all(runner.done for runner in self.runners):
                        return
                    self._pass_time()
                    continue
                at = 0 if len(enabled) == 1 else self.choices.draw(len(enabled), "who runs next")
                last = enabled[at]
                self.order.append(self.runners.index(last))
                self._resume(last)
        finally:
            machine.gate = machine.block = None
            machine.current = None
            running.active = outer
            self._abandon()

    def _enabled(self, last: Runner | None) -> list[Runner]:
        able = [r for r in self.runners if not r.done and self._can_go(r)]
        if last in able:
            able.remove(last)
            able.insert(0, last)
        return able

    def _can_go(self, runner: Runner) -> bool:
        if runner.ready is None and runner.deadline_ns is None:
            return True
        if runner.ready is not None and runner.ready():
            return True
        return runner.deadline_ns is not None and self.machine.mono_ns >= runner.deadline_ns

    def _pass_time(self) -> None:
        deadlines = [r.deadline_ns for r in self.runners if not r.done and r.deadline_ns is not None]
        if not deadlines:
            waits = "; ".join(f"{r.process.name} waits for {r.why}" for r in self.runners if not r.done)
            raise Deadlock(f"every process waits and no deadline is left: {waits}")
        self.machine.advance(min(deadlines) - self.machine.mono_ns)

    def _start(self, runner: Runner) -> None:
        def task() -> None:
            try:
                runner.body()
            except ProcessKilled:
                pass
            except BaseException as raised:
                runner.error = raised
            self.machine.current = runner.process
            if not runner.process.dead:
                self.machine.exit(runner.process)
            runner.done = True

        runner.greenlet = greenlet(task, parent=self._hub)
        runner.greenlet.gr_context = copy_context()
        self._resume(runner)

    def _resume(self, runner: Runner) -> None:
        runner.ready, runner.deadline_ns, runner.why = None, None, ""
        self.machine.current = runner.process
        self._running = runner
        assert runner.greenlet is not None
        runner.greenlet.switch()
        self.machine.current = None

    def _gate(self, process: Process, call: str) -> None:
        runner = self._running
        assert runner is not None and runner.process is process
        runner.call = call
        self._hub.switch()

    def _block(self, process: Process, ready: Callable[[], bool], deadline_ns: int | None, why: str) -> None:
        runner = self._running
        assert runner is not None and runner.process is process
        runner.ready, runner.deadline_ns, runner.why, runner.call = ready, deadline_ns, why, why
        self._hub.switch()

    def _abandon(self) -> None:
        """Throw processes that have not ended out of their code, without effect on the machine."""
        for runner in self.runners:
            if not runner.done and runner.greenlet is not None:
                runner.process.dead = True
                self._running = runner
                runner.greenlet.throw(ProcessKilled, ProcessKilled(runner.process.name), None)
