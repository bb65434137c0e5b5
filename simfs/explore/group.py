"""One exploration for several disk models: a run is made once, and its crash points are judged on each.

The search of schedules knows no disk model, so the models share its runs; what a crash may leave, what recovers and
what is broken is each model's own. Models that make the system answer differently (`refusals`) cannot share: they are
grouped by what they refuse. A model whose law is broken drops out, the others go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from simfs.disk.model import DiskModel
from simfs.disk.options import faults_of, refusals_of
from simfs.explore.boot import run_boot
from simfs.explore.choices import Replayed
from simfs.explore.cuts import Known
from simfs.explore.dpor import Diverged
from simfs.explore.jobs import Pool, share_out
from simfs.explore.judge import Inconclusive
from simfs.explore.ready import Ready
from simfs.explore.retrace import Retraced, Retracer
from simfs.explore.search import Found, OutOfBudget, Search, Violation
from simfs.explore.shrink import shrink
from simfs.explore.spec import Spec
from simfs.explore.strategy import Runs
from simfs.explore.token import Token, difference, fingerprint, op_text
from simfs.explore.verdict import Counterexample, Path, Searched, Verdict
from simfs.explore.worker import Answer, Worker
from simfs.machine.ops import Op

Progress = Callable[[Searched], None]
Met = Callable[[frozenset[int]], None]
"""Told, once for each model, the digests of all images that were met."""


@dataclass(slots=True)
class Lane:
    """The search on one model of the group, and how it ended; `violation` or a status, or neither while it runs."""

    search: Search
    known: Known = field(default_factory=Known)
    violation: Violation | None = None
    status: str = ""
    reason: str = ""

    @property
    def runs(self) -> bool:
        return self.violation is None and not self.status


def for_model(spec: Spec, model: DiskModel) -> Spec:
    """The scenario on a system that refuses what this model says, with the faults that it brings along."""
    order = getattr(model, "flush_order", False)
    return replace(spec, refusals=refusals_of(model), faults=faults_of(model), flush_order=order)


def shared(spec: Spec) -> tuple[object, ...]:
    """What must be equal for two models to share runs."""
    return (spec.refusals, spec.faults, spec.flush_order and len(spec.processes) > 1)


def groups(spec: Spec, models: Sequence[DiskModel]) -> list[tuple[Spec, list[DiskModel]]]:
    """The models that can share runs, with the scenario as it is on them."""
    found: list[tuple[Spec, list[DiskModel]]] = []
    for model in models:
        wanted = for_model(spec, model)
        for known, members in found:
            if shared(known) == shared(wanted):
                members.append(model)
                break
        else:
            found.append((wanted, [model]))
    return found


def explore_group(
    ready: Ready,
    models: Sequence[DiskModel],
    progress: Progress | None,
    pool: Pool | None = None,
    met: Met | None = None,
) -> list[Verdict]:
    """Search a prepared scenario on models that share runs, shared out to a pool where there is one; one verdict for
    each model."""
    started = time.monotonic()
    spec = ready.spec
    budget = spec.options["budget"]
    deadline = None if budget is None else started + budget
    lanes = [Lane(Search(spec, model, ready.attributes, ready.base, deadline, progress)) for model in models]
    runs = Runs(spec, spec.processes, ready.attributes, ready.base)
    try:
        compare_twice(ready, ())
        if pool is not None:
            _gather(runs, lanes, Worker(ready, models), pool)
        else:
            _share(runs, lanes)
    except Diverged as diverged:
        _end(lanes, "inconclusive", _name_difference(ready, runs.answers(), str(diverged)))
    except OutOfBudget:
        _end(lanes, *_ended_early(spec, runs))
    except Inconclusive as reason:
        _end(lanes, "inconclusive", str(reason))
    if runs.sampled:
        _end(lanes, "sampled", f"{runs.made:,} runs drawn at random, {len(runs.classes):,} distinct classes")
    for lane in lanes:
        lane.search.close(runs, lane.known)
        lane.search.finish()
        if met is not None:
            met(lane.search.take_digests())
    return [_verdict(ready, lane, started) for lane in lanes]


def _gather(runs: Runs, lanes: Sequence[Lane], worker: Worker, pool: Pool) -> None:
    """Take the answers of workers until every lane has ended or there are no more."""
    with pool.hands(worker, lanes[0].search.deadline) as hands, closing(share_out(runs.spec, hands)) as answers:
        _take_all(runs, lanes, worker, answers)


def _take_all(runs: Runs, lanes: Sequence[Lane], worker: Worker, answers: Iterable[Answer]) -> None:
    for answer in answers:
        runs.made += answer.made
        runs.classes |= answer.classes
        for lane, part in zip(lanes, answer.parts, strict=True):
            if not lane.runs:
                continue
            lane.search.include(part.searched, part.digests, part.ledger)
            lane.violation = part.violation
            if part.status == "inconclusive":
                lane.status, lane.reason = part.status, part.reason
        if any(part.status == "out of budget" for part in answer.parts):
            raise OutOfBudget
        if any(part.status == "diverged" for part in answer.parts):
            _end(lanes, "inconclusive", _name_difference(worker.ready, answer.answers, answer.parts[0].reason))
        lanes[0].search.tell()
        if not any(lane.runs for lane in lanes):
            return


def _share(runs: Runs, lanes: Sequence[Lane]) -> None:
    depth = lanes[0].search.depth
    for run, order in runs:
        for lane in [lane for lane in lanes if lane.runs]:
            try:
                lane.search.take(run, order, depth, (), lane.known)
                lane.search.check_time(runs)
            except Found as found:
                lane.violation = found.violation
            except Inconclusive as reason:
                lane.status, lane.reason = "inconclusive", str(reason)
        if not any(lane.runs for lane in lanes):
            return


def _end(lanes: Sequence[Lane], status: str, reason: str) -> None:
    for lane in lanes:
        if lane.runs:
            lane.status, lane.reason = status, reason


def _ended_early(spec: Spec, runs: Runs) -> tuple[str, str]:
    budget = spec.options["budget"]
    if not runs.sampled:
        guess = runs.estimate()
        rest = "" if guess is None else f"; about {guess:,.0f} runs in all were expected"
        return "inconclusive", f"the budget of {budget:g} s ended before the search did{rest}"
    return "sampled", f"{runs.made:,} runs drawn at random in {budget:g} s, {len(runs.classes):,} distinct classes"


def _verdict(ready: Ready, lane: Lane, started: float) -> Verdict:
    search = lane.search
    verdict = Verdict(ready.spec.name, lane.status or "proved", search.searched, None, lane.reason, search.model.name)
    if lane.violation is not None:
        try:
            small = lane.violation
            if ready.spec.options["shrink"]:
                small = shrink(ready.spec, search.model, ready.attributes, ready.base, small)
            verdict.counterexample = counterexample(ready, search.model, small, search.searched)
            verdict.status, verdict.reason = "violated", f"law {verdict.counterexample.law} is broken"
        except Inconclusive as reason:
            verdict.status, verdict.reason = "inconclusive", str(reason)
    elif verdict.status == "proved" and search.searched.bounds:
        verdict.status, verdict.reason = "bounded", "; ".join(search.searched.bounds)
    search.searched.seconds = time.monotonic() - started
    return verdict


def _name_difference(ready: Ready, answers: Sequence[int], diverged: str) -> str:
    """Run the schedule that diverged twice more: the first op that differs says where the difference comes from."""
    try:
        compare_twice(ready, answers)
    except Inconclusive as named:
        return str(named)
    return f"not deterministic: {diverged}. Common causes: set order, id(), state kept in a module or on a class."


def compare_twice(ready: Ready, answers: Sequence[int]) -> None:
    """Run a schedule twice. Raises Inconclusive naming the first op that differs, with its call site."""
    runs = [
        run_boot(ready.spec, ready.spec.processes, ready.attributes, ready.base, Replayed(answers), sites=True)
        for _ in range(2)
    ]
    first, second = (run.ops for run in runs)
    for one, other in zip(first, second, strict=False):
        if op_text(one) != op_text(other):
            raise Inconclusive(
                f"not deterministic: run twice, op {one.index} at {one.site} was {difference(one, other)}."
                " Common causes: set order, id(), state kept in a module or on a class."
            )
    if len(first) != len(second):
        longer: list[Op] = max(first, second, key=len)
        extra = longer[min(len(first), len(second))]
        raise Inconclusive(
            f"not deterministic: only one of two runs of the same choices made op {op_text(extra)} at {extra.site}"
        )


def counterexample(ready: Ready, model: DiskModel, violation: Violation, searched: Searched) -> Counterexample:
    """Retrace the path twice; both must break the law that was found broken. Raises Inconclusive otherwise."""
    walks = [walk(ready, model, violation.path) for _ in range(2)]
    law = violation.finding.law.id
    for walked in walks:
        if law not in [found.law.id for found in walked.findings]:
            raise Inconclusive(
                f"not deterministic: law {law} was broken once ({violation.finding.message}) and holds when the same"
                " path is run again. Common causes: set order, id(), state kept in a module or on a class."
            )
    first = walks[0]
    token = Token(ready.spec.reference, model.name, fingerprint(first.first_ops), violation.path)
    found = next(f for f in first.findings if f.law.id == law)
    return Counterexample(
        scenario=ready.spec.name,
        statement=ready.spec.statement,
        disk=model.name,
        finding=found,
        promised=first.promised,
        boots=first.boots,
        recovered=first.recovered,
        path=violation.path,
        token=str(token),
        searched=searched,
        reads=first.reads,
        image=first.image,
        replays=len(walks),
    )


def walk(ready: Ready, model: DiskModel, path: Path) -> Retraced:
    """Retrace one path of a prepared scenario. Raises StaleToken where it does not fit this code."""
    return Retracer(ready.spec, model, ready.attributes, ready.base).walk(path)
