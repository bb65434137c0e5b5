"""Running several processes on one machine: a greenlet each, giving way before each visible call.

Model. Exactly one process runs at a time. Before each visible call it comes back here, and a `Policy` says who goes on:
the first of those offered is the process that ran last, if it can; the others follow in the order of the scenario, then
the clock. The call, and all code up to the process's next visible call, then run without interruption: a *step*. With
each step goes its footprint, the resources it touched.

A process that waits (lock, sleep) may go on once what it waits for is there, or its deadline has come. The clock is one
more actor, whose step moves time to the earliest deadline: it is the last to be offered, may be chosen early a bounded
number of times, and must be chosen when all wait. If nobody can go on and no deadline is left, that is a deadlock.

A kill is part of the plan of a run: "instead of its n-th call that could be noticed, this process dies". The step that
would have made the call kills the process instead. The dead flag is set first, then the process is thrown out of its
code, so nothing that its `finally` blocks try has any effect. A process with restarts left starts again after a kill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

from greenlet import getcurrent, greenlet

from simfs.explore.plan import Kill
from simfs.explore.step import CLOCK, JUMP, QUIET, Policy, Step, compact
from simfs.machine import running
from simfs.machine.errors import Deadlock
from simfs.machine.machine import Machine
from simfs.machine.ops import ContentOp, EntryOp, FailedFlush, Flush, FlushAll, Meta, Op
from simfs.machine.process import Process, ProcessKilled
from simfs.patch import end_of_process


@dataclass(slots=True, eq=False)
class Runner:
    """A process under the scheduler. `error` is what escaped from its code. `who` is place + generation * places."""

    who: int
    process: Process
    body: Callable[[], Any]
    restarts: int = 0
    greenlet: greenlet | None = None
    call: str = "start"
    ready: Callable[[], bool] | None = None
    """While it waits: whether it could go on now."""
    deadline_ns: int | None = None
    """While it waits: monotonic time at which it goes on anyhow."""
    waits: bool = False
    why: str = ""
    error: BaseException | None = None
    done: bool = False
    calls: int = 0
    """Noticeable calls so far."""
    call_number: int = -1
    """Which of them comes next, -1 when the next call is none."""
    doomed: bool = False
    """Its next step is its death."""
    torn: int = 0
    """Its next step is a write that it dies in, after so many bytes."""
    parent: int = CLOCK
    buried: bool = False


Spawn = Callable[[int, int], Runner]
"""(place, generation) -> a runner with a fresh process."""


@dataclass(slots=True, eq=False)
class Scheduler:
    """Runs processes of `machine` until all are done, one step after the other."""

    machine: Machine
    policy: Policy
    spawn: Spawn
    places: int
    kills: Sequence[Kill] = ()
    early_ticks: int = 0
    jump_ns: int | None = None
    """A jump of the wall clock that happens at some moment of the run; None when none is left."""
    flush_order: bool = False
    """Flushes conflict with what they may cover: for a disk model on which a flush that covers more loses more."""
    runners: dict[int, Runner] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    """The places of those chosen, wherever more than one was offered: the schedule as a list of choices."""
    ticked_out: bool = False
    """The clock was held back at least once because its early steps were used up."""
    killed: int = 0
    switched: Callable[[Process | None], None] | None = None
    """Told which process runs from here on, None for the explorer."""
    _hub: Any = None
    _signal: BaseException | None = None
    """What a process raised that is no failure of its program: the harness, or a person, ends the run."""
    _running: Runner | None = None
    _footprint: list[tuple[tuple[Any, ...], str]] = field(default_factory=list)

    def run(self) -> None:
        """Until every process has returned, raised or died. Raises Deadlock with the wait graph."""
        self._hub = getcurrent()
        machine = self.machine
        outer = running.active
        running.active = machine
        machine.gate, machine.block = self._gate, self._block
        try:
            for place in range(self.places):
                self._start(self.spawn(place, 0))
            last = CLOCK
            while True:
                enabled = self._enabled(last)
                if not enabled:
                    if all(runner.done for runner in self.runners.values()):
                        return
                    raise self._deadlock()
                last = self.policy.choose(enabled)
                if len(enabled) > 1:
                    self.answers.append(enabled.index(last))
                self._step(last)
        finally:
            machine.gate = machine.block = machine.footprint = None
            self._abandon()
            machine.current = None
            running.active = outer

    def _enabled(self, last: int) -> list[int]:
        able: list[int] = []
        deadline = False
        for who, runner in self.runners.items():
            if runner.done:
                continue
            if self._can_go(runner):
                if who == last:
                    able.insert(0, who)
                else:
                    able.append(who)
            if runner.waits and runner.deadline_ns is not None and runner.deadline_ns > self.machine.mono_ns:
                deadline = True
        all_wait = not able
        if self.jump_ns is not None:
            able.append(JUMP)
        if deadline:
            if all_wait or self.early_ticks > 0:
                able.append(CLOCK)
            else:
                self.ticked_out = True
        return able

    def _can_go(self, runner: Runner) -> bool:
        if not runner.waits or runner.doomed or (runner.ready is not None and runner.ready()):
            return True
        return runner.deadline_ns is not None and runner.deadline_ns <= self.machine.mono_ns

    def _step(self, who: int) -> None:
        machine = self.machine
        self._footprint = machine.footprint = []
        first = len(machine.journal.ops)
        waited, parent, call = False, CLOCK, -1
        if who == JUMP:
            machine.jump(self.jump_ns or 0)
            self.jump_ns = None
        elif who == CLOCK:
            if any(not runner.done and self._can_go(runner) for runner in self.runners.values()):
                self.early_ticks -= 1
            machine.advance(min(self._deadlines()) - machine.mono_ns)
        else:
            runner = self.runners[who]
            waited = runner.waits and not runner.doomed
            parent, call = runner.parent, runner.call_number
            if waited and runner.deadline_ns is not None:
                self._footprint.append((("clock",), "R"))
            if runner.doomed:
                machine.kill(runner.process)
            else:
                machine.kill_after, runner.torn = runner.torn or None, 0
                self._resume(runner)
                machine.kill_after = None
        machine.footprint = None
        if self.flush_order:
            self._footprint += flush_footprint(machine.journal.ops[first:])
        for runner in list(self.runners.values()):
            if runner.process.dead and not runner.process.exited and not runner.buried:
                self._bury(runner)
        step = Step(who, compact(self._footprint), first, len(machine.journal.ops), waited, call, parent)
        self.steps.append(step)
        self.policy.stepped(step)

    def _deadlines(self) -> list[int]:
        waiting = [r.deadline_ns for r in self.runners.values() if not r.done and r.waits and r.deadline_ns is not None]
        return [deadline for deadline in waiting if deadline > self.machine.mono_ns]

    def _deadlock(self) -> Deadlock:
        waits = "; ".join(f"{r.process.name} waits for {r.why}" for r in self.runners.values() if not r.done)
        return Deadlock(f"every process waits and no deadline is left: {waits}")

    def _start(self, runner: Runner) -> None:
        def task() -> None:
            try:
                runner.body()
            except (ProcessKilled, SystemExit):
                pass
            except Exception as raised:
                runner.error = raised
            except BaseException as signal:
                self._signal = signal
            if not runner.process.dead:
                try:
                    end_of_process()
                    if self.places > 1 or runner.restarts:
                        self._gate(runner.process, "exit")
                except ProcessKilled:
                    pass
                if not runner.process.dead:
                    self.machine.current = runner.process
                    self.machine.exit(runner.process)
            runner.done = True

        self.runners[runner.who] = runner
        runner.greenlet = greenlet(task, parent=self._hub)
        runner.greenlet.gr_context = copy_context()
        self._resume(runner)

    def _resume(self, runner: Runner) -> None:
        runner.ready, runner.deadline_ns, runner.waits = None, None, False
        self.machine.current = runner.process
        self._running = runner
        assert runner.greenlet is not None
        if self.switched is not None:
            self.switched(runner.process)
        runner.greenlet.switch()
        if self.switched is not None:
            self.switched(None)
        self.machine.current = None
        if self._signal is not None:
            raise self._signal

    def _gate(self, process: Process, call: str) -> None:
        runner = self._running
        assert runner is not None and runner.process is process, f"{call} by {process.name} out of turn"
        runner.call = call
        if call in QUIET:
            runner.call_number = -1
        else:
            self._count(runner)
        self._hub.switch()

    def _block(self, process: Process, ready: Callable[[], bool], deadline_ns: int | None, why: str) -> None:
        runner = self._running
        assert runner is not None and runner.process is process
        runner.ready, runner.deadline_ns, runner.why, runner.call, runner.waits = ready, deadline_ns, why, why, True
        if deadline_ns is not None:
            self._footprint.append((("clock",), "R"))
        self._count(runner)
        self._hub.switch()

    def _count(self, runner: Runner) -> None:
        """One more noticeable call; whether it is the one that a kill takes the place of."""
        for kill in self.kills:
            if kill.place == runner.who % self.places and kill.call == runner.calls and runner.who < self.places:
                runner.doomed = not kill.kept_bytes
                runner.torn = kill.kept_bytes
        runner.call_number = runner.calls
        runner.calls += 1

    def _bury(self, runner: Runner) -> None:
        """A process was killed, by plan or by another one: it leaves its code, and starts again if it may."""
        runner.buried = True
        self.killed += 1
        self.throw_out(runner)
        if runner.restarts > 0:
            place, generation = runner.who % self.places, runner.who // self.places + 1
            reborn = self.spawn(place, generation)
            reborn.restarts, reborn.parent = runner.restarts - 1, runner.who
            self._start(reborn)

    def throw_out(self, runner: Runner) -> None:
        """Throw a dead process out of its code, as often as it takes."""
        machine = self.machine
        self._running, machine.current = runner, runner.process
        for _ in range(100):
            if runner.done or runner.greenlet is None or runner.greenlet.dead:
                break
            runner.greenlet.throw(ProcessKilled, ProcessKilled(runner.process.name), None)
        runner.done = True
        machine.current = None

    def _abandon(self) -> None:
        """Processes that have not ended leave their code, without effect on the machine."""
        for runner in self.runners.values():
            if not runner.done:
                runner.process.dead = True
                self.throw_out(runner)


def flush_footprint(ops: Sequence[Op]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """What makes the order of flushes and of the changes they may cover matter."""
    for op in ops:
        if isinstance(op, Flush | FailedFlush):
            yield ("list" if op.is_dir else "data", op.ino), "R"
            yield ("meta", op.ino), "R"
        elif isinstance(op, FlushAll):
            yield ("anything",), "R"
        elif isinstance(op, ContentOp | EntryOp | Meta):
            yield ("anything",), "C"
