"""The mutants of the commit log: every flush, lock and truncation removed, and the rules broken by hand.

The runs from which calls are taken cover what a writer does: a new storage, one that is there, one with a torn tail,
and a build that flushes once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import simfs
from eukhe.errors import StorageDamaged
from eukhe.storage import hands, rules, shell
from scenarios.mutants.calls import removals
from scenarios.mutants.mutant import Mutant, Wrapped, exchanged
from scenarios.suites.storage import MAIN, TRIED, StorageBuild, StorageScenario, Wrap, as_it_is
from simfs.machine.machine import Machine

__simfs_machinery__ = True

MADE_FOR = {"lock": ("log_one_writer",), "truncation": ("log_open_cuts_the_torn_tail",)}
"""By the kind of call that is removed, the laws that must notice it alone; a flush may need several scenarios."""


def mutants() -> list[Mutant]:
    """All of them, those made by machine first."""
    made = removals((_new_and_again, _torn, _build))
    return [*(replace(one, made_for=MADE_FOR.get(one.kind, ())) for one in made), *BY_HAND]


def _handle(scenario: StorageScenario, wrap: Wrap) -> simfs.Handle:
    machine = Machine(record_sites=False)
    handle = simfs.Handle(machine, machine.spawn("noted"), ())
    scenario.setup(handle)
    scenario.wrap = wrap
    return handle


def _new_and_again(wrap: Wrap) -> None:
    scenario = StorageScenario()
    m = _handle(scenario, wrap)
    scenario.write_three(m)
    scenario.reopen(m)


def _torn(wrap: Wrap) -> None:
    scenario = StorageScenario()
    m = _handle(scenario, as_it_is)
    scenario.write_three(m)
    fd = m.system.open(MAIN, 0o2001)
    m.system.write(fd, b'{"commit":')
    m.system.close(fd)
    scenario.wrap = wrap
    scenario.reopen(m)


def _build(wrap: Wrap) -> None:
    scenario = StorageBuild()
    m = _handle(scenario, wrap)
    with scenario.open(m, fsync=False) as storage:
        storage.commit(TRIED[0])
        storage.flush()


class LateFlush(Wrapped):
    """A flush is put off until the next call: what was acknowledged in between was acknowledged too early."""

    def __init__(self, system: Any) -> None:
        super().__init__(system)
        self.owed: list[int] = []

    def fsync(self, fd: int) -> None:
        """Later."""
        self.owed.append(fd)

    def __getattr__(self, name: str) -> Any:
        while self.owed:
            self.system.fsync(self.owed.pop(0))
        return getattr(self.system, name)


class FillsUpTornTails(Wrapped):
    """A read of main.jsonl that ends in a torn tail which looks like a commit gives it the newline it lacks."""

    def pread(self, fd: int, n: int, offset: int) -> bytes:
        data: bytes = self.system.pread(fd, n, offset)
        tail = data[data.rfind(b"\n") + 1 :]
        try:
            json.loads(tail.decode())
        except ValueError:
            return data
        return data + b"\n"


class ChangesWords(Wrapped):
    """What reaches the file is not what was committed."""

    def pwrite(self, fd: int, data: bytes, offset: int) -> int:
        written: int = self.system.pwrite(fd, data.replace(b"text", b"TEXT"), offset)
        return written


def _rule(name: str, instead: Callable[[Any], Any]) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: exchanged(rules, name, instead)


def _deaf(actions: dict[str, Any]) -> dict[str, Any]:
    """A flush of main.jsonl that fails, and nobody hears of it."""

    def flush(owner: Any, step: Any) -> None:
        try:
            actions["flush_main"](owner, step)
        except OSError:
            pass

    return {**actions, "flush_main": flush}


def _reading(instead: Callable[[Any], Any]) -> AbstractContextManager[Any]:
    return exchanged(shell, "read_main", instead)


def _without(kind: str) -> Callable[[Any], Any]:
    """A planning rule that leaves out every step of a kind."""

    def instead(plan: Any) -> Any:
        def planned(*facts: Any) -> Any:
            steps, state = plan(*facts)
            return tuple(step for step in steps if step.kind != kind), state

        return planned

    return instead


def _early(plan: Any) -> Any:
    """Acknowledges before anything is flushed."""

    def planned(*facts: Any) -> Any:
        steps, state = plan(*facts)
        last = max(at for at, step in enumerate(steps) if step.kind.startswith("write"))
        return (*steps[: last + 1], steps[-1], *steps[last + 1 : -1]), state

    return planned


def marker_first(plan: Any) -> Any:
    """The line in main.jsonl before the sidecars that it speaks of."""

    def planned(*facts: Any) -> Any:
        steps, state = plan(*facts)
        marker = [step for step in steps if step.kind in ("write_marker", "flush_main")]
        return (*marker, *(step for step in steps if step not in marker)), state

    return planned


def _stops_at_damage(read: Any) -> Any:
    """Takes the first damaged line for the torn tail, so that the open cuts all that follows."""

    def instead(system: Any, fd: int, path: str, keep: Any) -> Any:
        try:
            return read(system, fd, path, keep)
        except StorageDamaged as damage:
            lines = system.pread(fd, 1 << 20, 0).split(b"\n")[: damage.line - 1]
            whole = Cut(system, sum(len(line) + 1 for line in lines))
            return read(whole, fd, path, lambda line, commit: None)._replace(length=1 << 20)

    return instead


class Cut(Wrapped):
    """A system whose files are read as if they ended at `size`."""

    def __init__(self, system: Any, size: int) -> None:
        super().__init__(system)
        self.size = size

    def pread(self, fd: int, n: int, offset: int) -> bytes:
        data: bytes = self.system.pread(fd, max(0, min(n, self.size - offset)), offset)
        return data


BY_HAND = (
    Mutant(
        "acknowledged before the flush",
        "order",
        lambda system, process: LateFlush(system),
        made_for=("log_ack_durable",),
    ),
    Mutant(
        "the plan acknowledges before its flushes",
        "rule",
        broken=_rule("plan_commit", _early),
        made_for=("log_commit_plan", "log_plan_runs_the_model", "log_plan_ack_durable"),
    ),
    Mutant(
        "the marker before the sidecars",
        "rule",
        broken=_rule("plan_commit", marker_first),
        made_for=("log_commit_plan", "log_plan_ack_durable"),
    ),
    Mutant(
        "a torn tail is read as a commit",
        "reading",
        lambda system, process: FillsUpTornTails(system),
        made_for=("log_reads_lines",),
    ),
    Mutant(
        "a torn tail is not cut",
        "rule",
        broken=_rule("plan_open", _without("cut_main")),
        made_for=("log_open_cuts_the_torn_tail", "log_open_plan", "log_plan_only_commits"),
    ),
    Mutant(
        "the last newline is cut too",
        "rule",
        broken=_rule("complete_length", lambda real: _one_less(real)),
        made_for=("log_open_keeps_the_complete_lines", "log_opens_after_crash"),
    ),
    Mutant(
        "impossible facts are taken",
        "rule",
        broken=_rule("complete_length", lambda real: _takes_all),
        made_for=("log_open_refuses_odd_facts",),
    ),
    Mutant("the last line is not written again", "rule", broken=_rule("plan_open", _without("rewrite_last_line"))),
    Mutant("an open flushes no ancestor", "rule", broken=_rule("plan_open", _without("flush_ancestor"))),
    Mutant("a commit's plan writes no marker", "rule", broken=_rule("plan_commit", _without("write_marker"))),
    Mutant(
        "a failed flush goes unheard",
        "failure",
        broken=lambda: exchanged(hands, "_ACTIONS", _deaf),
        made_for=("log_failed_flush_never_acked",),
    ),
    Mutant(
        "what is written is not what was committed",
        "writing",
        lambda system, process: ChangesWords(system),
        made_for=("log_only_commits",),
    ),
    Mutant(
        "damage is taken for a torn tail",
        "reading",
        broken=lambda: _reading(_stops_at_damage),
        made_for=("log_damage_untouched",),
    ),
)


def _one_less(real: Any) -> Any:
    return lambda length, newline: max(0, real(length, newline) - 1)


def _takes_all(length: int, newline: int | None) -> int:
    return 0 if newline is None else newline + 1
