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
from simfs.explore.boot import Run, names_of, run_boot
from simfs.explore.choices import Replayed
from simfs.explore.cuts import stamp
from simfs.explore.handle import Event, events_of
from simfs.explore.judge import Judge, finding
from simfs.explore.law import COMPLETES
from simfs.explore.reads import Read, reads_of
from simfs.explore.search import add
from simfs.explore.spec import Spec
from simfs.explore.stage import Before, Solo
from simfs.explore.verdict import BootRecord, Crash, Finding, Leg, Path, Searched
from simfs.machine.calls import Footprint
from simfs.machine.errors import Deadlock
from simfs.machine.inode import Image
from simfs.machine.ops import Op


@dataclass(slots=True)
class Retraced:
    """One path walked: its boots, what was promised, and every broken law at its end, in the scenario's order."""

    boots: list[BootRecord] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    promised: list[Event] = field(default_factory=list)
    recovered: dict[str, str | bytes] = field(default_factory=dict)
    reads: list[Read] = field(default_factory=list)
    """What the recovery after the last crash looked at, then the first broken law."""
    image: Image | None = None
    """The disk that the last crash left; where none was, the one that the processes left."""

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
            run = run_boot(self.spec, parts, self.attributes, before, choices, sites=True, plan=leg.plan)
            if len(choices.taken) < len(leg.schedule):
                raise StaleToken(
                    f"stale token: boot {before.boot} makes {len(choices.taken)} scheduling choices,"
                    f" the token has {len(leg.schedule)}"
                )
            if leg.crash is None:
                self._end(out, judge, run)
                return out
            lanes = stamp(run) if len(leg.crash.cut) > 1 else None
            if not leg.crash.pick:
                self._instant(out, judge, run, leg.crash, lanes)
                return out
            before = self._crash(out, run.ops, run.names, before, leg, "run", lanes)
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
            looks: Footprint = []
            solo = judge.recovery(before, sites=True, looks=looks)
            out.image = before.image
            out.reads = reads_of(self.spec.recover.name, looks, before.image) if self.spec.recover is not None else []
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
            names = names_of(solo.machine)
            before = self._crash(out, solo.machine.journal.ops, names, before, legs.pop(0), "recovery")

    def _note_recovery(self, out: Retraced, solo: Solo, before: Before) -> None:
        tree = solo.machine.freeze().tree()
        names = names_of(solo.machine)
        ops = solo.machine.journal.ops
        out.boots.append(
            BootRecord(before.boot, "recovery", list(names.values()), ops, None, ops, {}, tree, tree, before.image)
        )

    def _crash(
        self,
        out: Retraced,
        ops: list[Op],
        names: dict[int, str],
        before: Before,
        leg: Leg,
        kind: str,
        lanes: list[list[Op]] | None = None,
    ) -> Before:
        """Issue the ops of the cut and take the image that was picked."""
        crash = leg.crash
        assert crash is not None
        issued, following = issued_at(crash, ops, lanes)
        # No pick: an instant at which every process stood still, and no power was lost, so every model keeps all.
        pick, disk = crash.pick or (0,), self.model.start(before.image) if crash.pick else SccDisk(before.image)
        for op in issued:
            add(disk, op) if lanes is not None else disk.add(op)
        try:
            image = disk.image(pick, following)
        except ValueError as error:
            raise StaleToken(f"stale token: {error}") from None
        fates = {**{op.index: "durable" for op in issued}, **disk.fates(pick, following)}
        seen = seen_after(issued, before)
        left = image.tree()
        out.boots.append(
            BootRecord(before.boot, kind, list(names.values()), ops, crash, issued, fates, seen, left, before.image)
        )
        events = (*before.past, *events_of(issued, names, before.boot))
        wall_ns = issued[-1].time_ns if issued else before.wall_ns
        return Before(image, events, before.boot + 1, wall_ns)

    def _instant(self, out: Retraced, judge: Judge, run: Run, crash: Crash, lanes: list[list[Op]] | None) -> None:
        """Stop everybody at the cut, and judge what readers see by the laws that hold at any time."""
        issued, _ = issued_at(crash, run.ops, lanes)
        disk = SccDisk(run.before.image)
        for op in issued:
            disk.add(op)
        image = disk.image((0,))
        tree, start, boot = image.tree(), run.before.image, run.before.boot
        names = list(run.names.values())
        out.boots.append(BootRecord(boot, "run", names, run.ops, crash, issued, {}, tree, tree, start))
        out.image = image
        wall_ns = issued[-1].time_ns if issued else run.before.wall_ns
        events = (*run.before.past, *events_of(issued, run.names, boot))
        self._judge(out, judge, Before(image, events, boot, wall_ns), anytime=True)

    def _end(self, out: Retraced, judge: Judge, run: Run) -> None:
        image = run.machine.freeze()
        tree = image.tree()
        names = list(run.names.values())
        start = run.before.image
        out.boots.append(BootRecord(run.before.boot, "run", names, run.ops, None, run.ops, {}, tree, tree, start))
        out.image = image
        events = (*run.before.past, *events_of(run.ops, run.names, run.before.boot))
        if isinstance(run.stuck, Deadlock):
            out.findings.append(Finding(COMPLETES, str(run.stuck), "Deadlock", None, "the machine"))
        elif run.stuck is not None:
            raise run.stuck
        for runner in run.runners:
            part = run.part_of(runner)
            if runner.error is not None and not isinstance(runner.error, part.raises):
                out.findings.append(finding(COMPLETES, runner.error, part))
        if out.findings:
            out.promised, out.recovered = list(events), tree
            return
        self._judge(out, judge, Before(image, events, run.before.boot, run.machine.wall_ns))

    def _judge(self, out: Retraced, judge: Judge, at: Before, anytime: bool = False) -> None:
        out.promised = list(at.past)
        out.recovered = at.image.tree()
        for bound in self.spec.laws:
            if anytime and not bound.anytime:
                continue
            looks: Footprint = []
            found = judge.broken(bound, at, looks)
            if found is not None:
                if not out.findings:
                    out.reads += reads_of(bound.part.name, looks, at.image)
                out.findings.append(found)


def issued_at(crash: Crash, ops: list[Op], lanes: list[list[Op]] | None) -> tuple[list[Op], Op | None]:
    """The ops made by the time of the crash, and the one in progress. Raises StaleToken where there are not so many."""
    if lanes is None:
        if len(crash.cut) != 1 or crash.cut[0] > len(ops):
            raise StaleToken(f"stale token: it crashes after {crash.cut} ops, but the boot has {len(ops)}")
        point = crash.cut[0]
        return ops[:point], ops[point] if point < len(ops) else None
    if len(crash.cut) != len(lanes) or any(n > len(lane) for n, lane in zip(crash.cut, lanes, strict=True)):
        made_by_each = [len(lane) for lane in lanes]
        raise StaleToken(f"stale token: it crashes at {crash.cut}, but the processes made {made_by_each} ops")
    made = [op for lane, count in zip(lanes, crash.cut, strict=True) for op in lane[:count]]
    made.sort(key=lambda op: op.index)
    if crash.during < 0:
        return made, None
    if crash.during >= len(lanes) or crash.cut[crash.during] == len(lanes[crash.during]):
        raise StaleToken(f"stale token: process {crash.during} has no op in progress there")
    return made, lanes[crash.during][crash.cut[crash.during]]


def seen_after(ops: list[Op], before: Before) -> dict[str, str | bytes]:
    """What a reader saw after these ops: everything issued, whole."""
    disk = SccDisk(before.image)
    for op in ops:
        disk.add(op)
    return disk.image((0,)).tree()
