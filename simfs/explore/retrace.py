"""Walking one path again, with everything recorded that a person may want to see.

A path is a list of legs: the schedule of a boot, and the power loss that ended it. Retracing runs exactly that, with
call sites on, and judges what is left at the end. It is how a counterexample is built, checked and replayed; it shares
no state with the search that found the path, so that agreeing with it means something.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simfs.disk.model import DiskModel
from simfs.disk.scc import SccDisk
from simfs.errors import StaleToken
from simfs.explore.boot import Run, events_of, run_boot
from simfs.explore.choices import Replayed
from simfs.explore.handle import Event
from simfs.explore.judge import Judge, finding
from simfs.explore.law import COMPLETES
from simfs.explore.scenario import Spec
from simfs.explore.stage import Before, Solo
from simfs.explore.verdict import BootRecord, Finding, Leg, Path, Searched
from simfs.machine.ops import Op


@dataclass(slots=True)
class Retraced:
    """One path walked: its boots, what was promised, and every broken law at its end, in the scenario's order."""

    boots: list[BootRecord] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    promised: list[Event] = field(default_factory=list)
    recovered: dict[str, str | bytes] = field(default_factory=dict)

    @property
    def first_ops(self) -> list[Op]:
        return self.boots[0].ops


@dataclass(slots=True)
class Retracer:
    """Walks paths of one scenario on one model."""

    spec: Spec
    model: DiskModel
    attributes: dict[str, Any]
    base: Before

    def walk(self, path: Path) -> Retraced:
        """Run `path`. Raises StaleToken where it does not fit this code."""
        out = Retraced()
        judge = Judge(self.spec, self.attributes, Searched())
        before, parts = self.base, self.spec.processes
        legs = list(path)
        while True:
            leg = legs.pop(0)
            choices = Replayed(leg.schedule)
            run = run_boot(self.spec, parts, self.attributes, before, choices, sites=True)
            if len(choices.taken) < len(leg.schedule):
                raise StaleToken(
                    f"stale token: boot {before.boot} makes {len(choices.taken)} scheduling choices,"
                    f" the token has {len(leg.schedule)}"
                )
            if leg.crash is None:
                self._end(out, judge, run)
                return out
            before = self._crash(out, run.ops, run.names, before, leg, "run")
            recovered = self._recover(out, judge, before, legs)
            if recovered is None:
                return out
            if not legs:
                self._judge(out, judge, recovered)
                return out
            parts = [part for part in parts if part.restart >= run.before.boot]
            if not parts:
                raise StaleToken("stale token: it has another boot, but no process of this scenario restarts")
            before = recovered

    def _recover(self, out: Retraced, judge: Judge, before: Before, legs: list[Leg]) -> Before | None:
        """Run recovery, crashing it as often as the path says; None when it failed, with the finding noted."""
        while True:
            solo = judge.recovery(before, sites=True)
            if solo is not None and solo.error is not None and not (legs and legs[0].recovery):
                failed = judge.recovery_failed(solo)
                assert failed is not None
                out.findings.append(failed)
                out.promised = list(solo.handle.history)
                self._note_recovery(out, solo, before)
                out.recovered = solo.machine.freeze().tree()
                return None
            if not (legs and legs[0].recovery):
                recovered = judge.after_recovery(before, solo)
                if solo is not None:
                    self._note_recovery(out, solo, before)
                return recovered
            if solo is None:
                raise StaleToken("stale token: it crashes recovery, but this scenario has none")
            names = [process.name for process in solo.machine.processes]
            before = self._crash(out, solo.machine.journal.ops, names, before, legs.pop(0), "recovery")

    def _note_recovery(self, out: Retraced, solo: Solo, before: Before) -> None:
        tree = solo.machine.freeze().tree()
        names = [process.name for process in solo.machine.processes]
        ops = solo.machine.journal.ops
        out.boots.append(BootRecord(before.boot, "recovery", names, ops, None, {}, tree, tree))

    def _crash(self, out: Retraced, ops: list[Op], names: list[str], before: Before, leg: Leg, kind: str) -> Before:
        """Issue the ops up to the crash and take the image that was picked."""
        crash = leg.crash
        assert crash is not None
        if crash.point > len(ops):
            raise StaleToken(f"stale token: it crashes after op {crash.point}, but boot {before.boot} has {len(ops)} ops")
        disk = self.model.start(before.image)
        for op in ops[: crash.point]:
            disk.add(op)
        following = ops[crash.point] if crash.point < len(ops) else None
        try:
            image = disk.image(crash.pick, following)
        except ValueError as error:
            raise StaleToken(f"stale token: {error}") from None
        fates = {**{op.index: "durable" for op in ops[: crash.point]}, **disk.fates(crash.pick, following)}
        seen = seen_after(ops[: crash.point], before)
        out.boots.append(BootRecord(before.boot, kind, names, ops, crash, fates, seen, image.tree()))
        events = (*before.past, *events_of(ops[: crash.point], names, before.boot))
        wall_ns = ops[crash.point - 1].time_ns if crash.point else before.wall_ns
        return Before(image, events, before.boot + 1, wall_ns)

    def _end(self, out: Retraced, judge: Judge, run: Run) -> None:
        image = run.machine.freeze()
        tree = image.tree()
        out.boots.append(BootRecord(run.before.boot, "run", run.names, run.ops, None, {}, tree, tree))
        events = (*run.before.past, *events_of(run.ops, run.names, run.before.boot))
        if run.stuck is not None:
            raise run.stuck
        for runner, part in zip(run.runners, run.parts, strict=True):
            if runner.error is not None and not isinstance(runner.error, part.raises):
                out.findings.append(finding(COMPLETES, runner.error, part))
        if out.findings:
            out.promised, out.recovered = list(events), tree
            return
        self._judge(out, judge, Before(image, events, run.before.boot, run.machine.wall_ns))

    def _judge(self, out: Retraced, judge: Judge, at: Before) -> None:
        out.promised = list(at.past)
        out.recovered = at.image.tree()
        for bound in self.spec.laws:
            found = judge.broken(bound, at)
            if found is not None:
                out.findings.append(found)


def seen_after(ops: list[Op], before: Before) -> dict[str, str | bytes]:
    """What a reader saw after these ops: everything issued, whole."""
    disk = SccDisk(before.image)
    for op in ops:
        disk.add(op)
    return disk.image((0,)).tree()
