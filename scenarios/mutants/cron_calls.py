"""The mutants of the cron store made by machine: each flush, lock, rename and link that a store makes, removed in turn.

Nobody lists the calls: stores are run once under a system that notes them. A call is known by what it is, of which
file, in which public call of the store; temporary names are all one, and so are equal calls of one public call. What a
store does once, before its first update, is one thing in whichever call that is. A removed call succeeds and does
nothing, in every process.

The runs cover what a store does: the first job of a new home, claim, result, recovery, what a person does, and a
damaged file that is kept aside.
"""

from __future__ import annotations

import fcntl
import os
import re
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import simfs
from scenarios.mutants.calls import call_of_store
from scenarios.mutants.mutant import Mutant, Wrapped
from scenarios.suites.cron import DUE_MS, HOME, PATH, CronScenario
from scenarios.suites.cron_updates import CronFirst
from scenarios.suites.storage import Wrap, as_it_is
from simfs.machine.machine import Machine

__simfs_machinery__ = True

MADE_FOR = {"rename": ("cron_update_durable",)}
"""By the kind of call that is removed, the laws that must notice it alone."""
KINDS = {"fsync": "flush", "lock": "lock", "unlock": "lock", "rename": "rename", "link": "rename"}


FIRST = {
    "link": ("cron_kept_aside",),
    "unlock": ("cron_child_copies",),
    "create": ("cron_first",),
    "pause": ("cron_paused_again",),
}
"""Where the mutants of a call, or of a public call, are tried first."""


def made_by_machine() -> list[Mutant]:
    """A mutant for each call, in the order in which they were first seen."""
    seen: dict[Call, None] = {}
    for run in (_first, _pass, _by_hand, _damaged):
        run(lambda system, process: Without(system, lambda call: bool(seen.setdefault(call))))
    return [_removal(call) for call in seen]


class Call(NamedTuple):
    """A call of the store as a person would name it: temporary names are all one, and so are equal calls."""

    call: str
    path: str
    public: str


class Without(Wrapped):
    """A system without the calls for which `gone` answers True; they succeed and do nothing."""

    def __init__(self, system: Any, gone: Callable[[Call], bool]) -> None:
        super().__init__(system)
        self.gone = gone
        self.paths: dict[int, str] = {}

    def open(self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """As the system's, remembering which path a descriptor stands for."""
        fd: int = self.system.open(path, flags, mode, dir_fd=dir_fd)
        self.paths[fd] = path
        return fd

    def fsync(self, fd: int) -> None:
        """A flush, or none."""
        if not self._is_gone("fsync", self.paths[fd]):
            self.system.fsync(fd)

    def flock(self, fd: int, operation: int) -> None:
        """A lock, or none."""
        if not self._is_gone("unlock" if operation == fcntl.LOCK_UN else "lock", self.paths[fd]):
            self.system.flock(fd, operation)

    def rename(self, src: str, dst: str) -> None:
        """A rename, or none."""
        if not self._is_gone("rename", src):
            self.system.rename(src, dst)

    def link(self, src: str, dst: str) -> None:
        """A second name, or none."""
        if not self._is_gone("link", src):
            self.system.link(src, dst)

    def _is_gone(self, call: str, path: str) -> bool:
        public = call_of_store(sys._getframe(2))
        if call == "fsync" and not path.startswith(HOME):
            public = "a first update"
        return self.gone(Call(call, re.sub("tmp-[0-9a-f]+", "tmp", path), public))


def _removal(gone: Call) -> Mutant:
    name = f"no {gone.call} of {'/'.join(gone.path.rsplit('/', 2)[-2:])} in {gone.public}"
    return Mutant(
        name,
        KINDS[gone.call],
        lambda system, process: Without(system, lambda call: call == gone),
        made_for=MADE_FOR.get(gone.call, ()) if gone.public == "create" else (),
        first=FIRST.get(gone.call, FIRST.get(gone.public, ())),
    )


def _handle(scenario: CronScenario, wrap: Wrap) -> simfs.Handle:
    machine = Machine(record_sites=False)
    handle = simfs.Handle(machine, machine.spawn("noted"), ())
    machine.current = handle._process
    scenario.setup(handle)
    scenario.wrap = wrap
    return handle


def _first(wrap: Wrap) -> None:
    scenario = CronFirst()
    m = _handle(scenario, wrap)
    scenario.adder(m)


def _pass(wrap: Wrap) -> None:
    scenario = CronScenario()
    m = _handle(scenario, wrap)
    scenario.pass_through(m, scenario.store(m))
    late = scenario.store(m)
    late.claim_due(2 * DUE_MS, 2 * DUE_MS)
    late.recover_interrupted((), 2 * DUE_MS)


def _by_hand(wrap: Wrap) -> None:
    scenario = CronScenario()
    m = _handle(scenario, wrap)
    opened = scenario.store(m)
    opened.pause("interval")


def _damaged(wrap: Wrap) -> None:
    scenario = CronScenario()
    m = _handle(scenario, as_it_is)
    fd = m.system.open(PATH, os.O_WRONLY | os.O_TRUNC)
    m.system.write(fd, b"{")
    m.system.close(fd)
    scenario.wrap = wrap
    scenario.store(m, notice=lambda text: None).create("in 1h", "run", job_id="added")
