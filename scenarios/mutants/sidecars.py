"""The mutants of the commit log's sidecars: each of their flushes and cuts removed, and the rules broken by hand.

The runs from which calls are taken: three commits with two sidecars in a new storage and an open of it, an open that
finds unconfirmed bytes, and a build that flushes once. What is there already among the mutants of `storage` comes
again under another name, since here it meets storages with sidecars; what concerns the directories above does not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import simfs
from eukhe.storage import rules, shell, view
from eukhe.storage.codec import encode_commit
from scenarios.mutants.calls import call_of_store, removals
from scenarios.mutants.mutant import Mutant, Wrapped, exchanged
from scenarios.mutants.storage import LateFlush, marker_first
from scenarios.suites.log_sidecars import SidecarsBuild, SidecarScenario
from scenarios.suites.storage import PATH, Wrap, as_it_is
from simfs.machine.machine import Machine

__simfs_machinery__ = True

O_CREAT = 0o100


def mutants() -> list[Mutant]:
    """All of them, those made by machine first."""
    made = [one for one in removals((_new_and_again, _unconfirmed, _build)) if "/one" in one.name or "one/" in one.name]
    first = {
        "lock": ("sidecars_second_opener",),
        "flush": ("sidecars_after_build", "sidecars_build"),
        "truncation": ("sidecars_histories",),
    }
    named = [replace(one, name=f"{one.name} (sidecars)", first=first.get(one.kind, ())) for one in made]
    return [*(replace(one, accepted=ACCEPTED.get(one.name, "")) for one in named), *BY_HAND]


ACCEPTED: dict[str, str] = {}
"""Of the calls removed by machine, those that may go, and why."""


def _handle(scenario: SidecarScenario, wrap: Wrap) -> simfs.Handle:
    machine = Machine(record_sites=False)
    handle = simfs.Handle(machine, machine.spawn("noted"), ())
    scenario.setup(handle)
    scenario.wrap = wrap
    return handle


def _new_and_again(wrap: Wrap) -> None:
    scenario = SidecarScenario()
    m = _handle(scenario, wrap)
    scenario.write_three(m)
    scenario.reopen(m)


def _unconfirmed(wrap: Wrap) -> None:
    scenario = SidecarScenario()
    m = _handle(scenario, as_it_is)
    scenario.write_three(m)
    for name in ("c1.entries.jsonl", "main.jsonl"):
        fd = m.system.open(f"{PATH}/{name}", 0o2001)
        m.system.write(fd, b'{"com')
        m.system.close(fd)
    scenario.wrap = wrap
    scenario.reopen(m)


def _build(wrap: Wrap) -> None:
    scenario = SidecarsBuild()
    scenario.builder(_handle(scenario, wrap))


class MadeByThisOpen(Wrapped):
    """Takes an entry for new only if this very open made it: whatever another process left is trusted."""

    def __init__(self, system: Any) -> None:
        super().__init__(system)
        self.made = False
        self.directories: set[int] = set()

    def open(self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """As the system's, noting whether it made a file."""
        if flags & O_CREAT:
            try:
                self.system.lstat(path)
            except FileNotFoundError:
                self.made = True
        fd: int = self.system.open(path, flags, mode, dir_fd=dir_fd)
        self.directories.discard(fd)
        if path == PATH:
            self.directories.add(fd)
        return fd

    def fsync(self, fd: int) -> None:
        """A commit's flush of the directory happens only where this open made something."""
        if fd in self.directories and call_of_store(sys._getframe(1)) == "commit":
            if not self.made:
                return
            self.made = False
        self.system.fsync(fd)


def _confirms(more: int) -> Callable[[Any], Any]:
    """A marker confirms its last sidecar one line too few (-1) or too many (+1)."""

    def instead(move: Any) -> Any:
        def moved(line: bytes, commit: Any, lengths: dict[str, int], inline_bytes: int) -> Any:
            line, commit, parts = move(line, commit, lengths, inline_bytes)
            for name, data in parts.items():
                commit.sidecars[name] += more * len(data.splitlines(keepends=True)[-1])
            return encode_commit(commit) if parts else line, commit, parts

        return moved

    return instead


def _swapped(read: Any) -> Any:
    """A body is fetched from where the first one of its sidecar stands."""

    def instead(system: Any, fd: int, path: str, commit: int, record: Any) -> Any:
        return read(system, fd, path, commit, record | {"sidecar_body": record["sidecar_body"] | {"offset": 0}})

    return instead


def _late_sidecar_flush(plan: Any) -> Any:
    """The flushes of sidecars come after the marker's."""

    def planned(*facts: Any) -> Any:
        steps, state = plan(*facts)
        late = [step for step in steps if step.kind == "flush_sidecar"]
        rest = [step for step in steps if step not in late]
        return (*rest[:-1], *late, rest[-1]), state

    return planned


def _covers_all(plan: Any) -> Any:
    """An open takes every entry that it finds for covered, also where it flushed nothing."""

    def planned(*facts: Any) -> Any:
        steps, state = plan(*facts)
        return steps, state._replace(covered=state.present)

    return planned


def _cuts_early(plan: Any) -> Any:
    """An open cuts sidecars before the length of main.jsonl is durable."""

    def planned(*facts: Any) -> Any:
        steps, state = plan(*facts)
        cuts = [step for step in steps if step.kind == "cut_sidecar"]
        rest = [step for step in steps if step not in cuts]
        at = next((n + 1 for n, step in enumerate(rest) if step.kind == "cut_main"), 0)
        return (*rest[:at], *cuts, *rest[at:]), state

    return planned


def _cuts_nothing(plan: Any) -> Any:
    def planned(*facts: Any) -> Any:
        steps, state = plan(*facts)
        return tuple(step for step in steps if step.kind != "cut_sidecar"), state

    return planned


def _mutant(name: str, kind: str, module: Any, rule: str, instead: Callable[[Any], Any]) -> Mutant:
    return Mutant(name, kind, broken=lambda: exchanged(module, rule, instead))


BY_HAND = (
    _mutant("the marker before its sidecars", "order", rules, "plan_commit", marker_first),
    _mutant("sidecars flushed behind the marker", "order", rules, "plan_commit", _late_sidecar_flush),
    _mutant("a confirmed length one line short", "rule", shell, "move_long_bodies", _confirms(-1)),
    _mutant("a confirmed length one line long", "rule", shell, "move_long_bodies", _confirms(1)),
    _mutant("an open takes all entries for covered", "rule", rules, "plan_open", _covers_all),
    _mutant("unconfirmed bytes of a sidecar are not cut", "rule", rules, "plan_open", _cuts_nothing),
    replace(
        _mutant("sidecars cut before main.jsonl is durable", "order", rules, "plan_open", _cuts_early),
        first=("sidecars_dies_of_failure",),
    ),
    _mutant("a body is read from the wrong place", "reading", view, "read_body", _swapped),
    Mutant("a commit with sidecars acknowledged early", "order", lambda system, _: LateFlush(system)),
    Mutant(
        "new taken for made by this open", "rule", lambda system, _: MadeByThisOpen(system), first=("sidecars_fault",)
    ),
)
