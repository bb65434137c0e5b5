"""Judging one image: recovery in a fresh process, then every law on its own copy of the recovered machine.

Each distinct question is asked once. An image is the same question as another when the disk, what was promised and
done, the boot, the clock and the losses that may still come are the same; a recovered machine likewise. Most torn
tails recover to the same disk, so most laws are decided by look-up; the counts say how many were really run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from simfs.disk.model import Disk
from simfs.disk.worlds import WorldDisk
from simfs.explore.law import Law
from simfs.explore.spec import BoundLaw, Part, Spec
from simfs.explore.stage import LAW_STREAM, RECOVERY_STREAM, Before, Solo, run_alone
from simfs.explore.verdict import Finding, Searched
from simfs.machine.calls import Footprint
from simfs.machine.errors import Deadlock, StepLimit
from simfs.machine.site import Site, is_machinery

EventKey = tuple[tuple[str, str, str, str], ...]


@dataclass(slots=True)
class Judge:
    """Asks recovery and laws. `attributes` are those that setup left on the scenario."""

    spec: Spec
    attributes: dict[str, Any]
    searched: Searched
    _judged: set[tuple[int, int, int, EventKey, bool]] = field(default_factory=set)
    _events: dict[int, EventKey] = field(default_factory=dict)

    def recovery(self, before: Before, sites: bool = False, looks: Footprint | None = None) -> Solo | None:
        """Run recovery on an image; None when the scenario has none. Raises what the harness signals.

        `looks` is given all that it touches.
        """
        self.searched.recoveries += 1
        if self.spec.recover is None:
            return None
        return run_alone(self.spec, self.spec.recover, self.attributes, before, sites, RECOVERY_STREAM, looks)

    def after_recovery(self, before: Before, solo: Solo | None) -> Before:
        """What the laws see: the machine after recovery, in the same boot."""
        if solo is None:
            return before
        events = tuple(solo.handle.history)
        return Before(solo.machine.freeze(), events, before.boot, solo.machine.wall_ns)

    def findings(self, at: Before, anytime: bool = False) -> Iterator[Finding]:
        """Broken laws on a recovered machine; nothing when the same question was answered before.

        `anytime`: only those laws that hold at every instant.
        """
        key = (at.image.digest, at.boot, at.wall_ns, event_key(at.past), anytime)
        if key in self._judged:
            return
        self._judged.add(key)
        for bound in self.spec.laws:
            if anytime and not bound.anytime:
                continue
            found = self.broken(bound, at)
            if found is not None:
                yield found

    def broken(self, bound: BoundLaw, at: Before, looks: Footprint | None = None) -> Finding | None:
        """Judge one law, in a fresh process on its own copy of the machine. `looks` is given all that it touches."""
        self.searched.laws_judged += 1
        solo = run_alone(self.spec, bound.part, self.attributes, at, stream=LAW_STREAM, looks=looks)
        return None if solo.error is None else finding(bound.law, solo.error, bound.part)

    def recovery_failed(self, solo: Solo) -> Finding | None:
        only = self.spec.options["only"]
        if solo.error is None or (only and self.spec.recovers.id not in only):
            return None
        assert self.spec.recover is not None
        return finding(self.spec.recovers, solo.error, self.spec.recover)


class Inconclusive(Exception):
    """A run could not be judged; the text says why."""


def finding(law: Law, error: BaseException, part: Part) -> Finding:
    """A broken law from what was raised. Who waits for ever breaks it too; other signals of the harness are no
    findings: an endless loop is Inconclusive, the rest is raised again."""
    if isinstance(error, StepLimit):
        raise Inconclusive(f"{part.name}: {error}")
    if not isinstance(error, Exception | Deadlock):
        raise error
    text = without_explanation(str(error)).strip() or "(no message)"
    return Finding(law, text, type(error).__name__, raise_site(error), part.name)


def without_explanation(message: str) -> str:
    """A message without what pytest adds to that of an assertion: the assertion again, and where its values came from.

    Those hold addresses of objects, which differ from run to run, and a law says the same with pytest and without.
    """
    lines = [line for line in message.split("\n") if not line.startswith(" + ")]
    added = next((at for at, line in enumerate(lines) if at and line.startswith("assert ")), len(lines))
    return "\n".join(lines[:added])


def raise_site(error: BaseException) -> Site | None:
    """The innermost line outside machinery that the error passed through."""
    site, trace = None, error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_machinery(code.co_filename):
            site = Site(code.co_filename, trace.tb_lineno, code.co_name)
        trace = trace.tb_next
    return site


def point_key(disk: Disk, at: Before, rest: object) -> object | None:
    """Equal for crash points that leave the same images with the same past; None where the disk model does not say."""
    situation = disk.situation() if isinstance(disk, WorldDisk) else None
    return None if situation is None else (at.image.digest, situation, rest)


def event_key(past: tuple[Any, ...]) -> EventKey:
    """What of the past a law can tell apart."""
    return tuple(event.key() for event in past)
