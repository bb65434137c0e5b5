"""`explore`, `check` and `replay`: from a scenario to a verdict.

For each disk model asked for: run setup once; run the first execution twice and compare (nondeterminism is a finding of
its own); search; on a broken law make the path smaller, retrace it twice, and build the counterexample. Time is the
only thing taken from the real world here, and only to end a search early.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from simfs.disk.model import DiskModel
from simfs.disk.models import models_named
from simfs.errors import SetupFailed, StaleToken, UsageError
from simfs.explore.boot import run_boot
from simfs.explore.choices import Replayed
from simfs.explore.judge import raise_site
from simfs.explore.retrace import Retraced, Retracer
from simfs.explore.scenario import Spec, spec_of
from simfs.explore.search import Found, Inconclusive, OutOfBudget, Search, Violation
from simfs.explore.shrink import shrink
from simfs.explore.stage import Before, run_alone
from simfs.explore.token import Token, fingerprint, op_text, parse
from simfs.explore.verdict import Counterexample, Path, Searched, Verdict, together
from simfs.machine.inode import Image
from simfs.machine.ops import Op
from simfs.patch import interposed, tripwire

Progress = Callable[[Searched], None]


@dataclass(slots=True)
class Ready:
    """A scenario after its setup: what every exploration and every replay of it starts from."""

    spec: Spec
    attributes: dict[str, Any]
    base: Before


@contextmanager
def stage_set(spec: Spec) -> Iterator[None]:
    """Calls of simulated processes reach the machine (`interpose`), and nothing reaches the host."""
    with interposed() if spec.options["interpose"] else tripwire():
        yield


def prepare(spec: Spec) -> Ready:
    """Run setup, alone; what it did is durable. Raises SetupFailed with its error and call site."""
    solo = run_alone(spec, spec.setup, {}, Before(Image.empty(), boot=0), sites=True)
    if solo.error is not None:
        if not isinstance(solo.error, Exception):
            raise solo.error
        site = raise_site(solo.error)
        raise SetupFailed(
            f"setup of {spec.name} raised {type(solo.error).__name__} at {site}: {solo.error}"
        ) from solo.error
    return Ready(spec, dict(spec.kept), Before(solo.machine.freeze(), (), 1, solo.machine.wall_ns))


def explore(scenario: Any, *, progress: Progress | None = None, **options: Any) -> Verdict:
    """Search a scenario and answer what was found; never raises on a broken law.

    Options are those of a `Scenario`'s attributes, and override them: `disk` (a name, a list of names, or "all"),
    `power`, `power_depth` (power losses in a row), `kills`, `faults`, `max_faults`, `clock_jumps`, `preemptions`,
    `strategy`, `budget` (seconds, real time, for each model), `seed`, `interpose`, `isolate`, `steps_max`.

    Raises UsageError for a scenario or option that is not one, SetupFailed when setup raises, and
    `simfs.machine.errors.NotSimulated` when the code under test left what is simulated.
    """
    spec = spec_of(scenario, **options)
    models = models_named(spec.options["disk"])
    with stage_set(spec):
        ready = prepare(spec)
        return together([_explore_on(ready, model, progress) for model in models])


def check(scenario: Any, **options: Any) -> Verdict:
    """Explore, and raise AssertionError with the counterexample's text when a law is broken.

    Also raises AssertionError when the verdict is inconclusive: a search that did not end is no success.
    """
    __tracebackhide__ = True
    verdict = explore(scenario, **options)
    if verdict.counterexample is not None:
        raise AssertionError("\n" + verdict.counterexample.text())
    if not verdict.ok:
        raise AssertionError(f"{verdict.scenario}: inconclusive on {verdict.disk}: {verdict.reason}")
    return verdict


def _explore_on(ready: Ready, model: DiskModel, progress: Progress | None) -> Verdict:
    started = time.monotonic()
    spec = ready.spec
    budget = spec.options["budget"]
    deadline = None if budget is None else started + budget
    search = Search(spec, model, ready.attributes, ready.base, deadline, progress)
    verdict = Verdict(spec.name, "proved", search.searched, disk=model.name)
    violation: Violation | None = None
    try:
        compare_twice(ready)
        search.run()
    except Found as found:
        violation = found.violation
    except OutOfBudget:
        verdict.status, verdict.reason = _ended_early(spec, budget)
    except Inconclusive as reason:
        verdict.status, verdict.reason = "inconclusive", str(reason)
    search.finish()
    if violation is not None:
        verdict.status = "violated"
        small = shrink(ready.spec, model, ready.attributes, ready.base, violation)
        verdict.counterexample = counterexample(ready, model, small, search.searched)
        verdict.reason = f"law {verdict.counterexample.law} is broken"
    elif verdict.status == "proved" and search.searched.bounds:
        verdict.status, verdict.reason = "bounded", "; ".join(search.searched.bounds)
    search.searched.seconds = time.monotonic() - started
    return verdict


def _ended_early(spec: Spec, budget: float | None) -> tuple[str, str]:
    if spec.options["strategy"] == "exhaustive":
        return "inconclusive", f"the budget of {budget:g} s ended before the search did"
    return "sampled", f"runs drawn at random for {budget:g} s"


def compare_twice(ready: Ready) -> None:
    """Run the first execution twice. Raises Inconclusive naming the first op that differs, with its call site."""
    runs = [
        run_boot(ready.spec, ready.spec.processes, ready.attributes, ready.base, Replayed(()), sites=True)
        for _ in range(2)
    ]
    first, second = (run.ops for run in runs)
    for one, other in zip(first, second, strict=False):
        if op_text(one) != op_text(other):
            raise Inconclusive(
                f"not deterministic: run twice, op {one.index} at {one.site} was\n  {op_text(one)}\nand then"
                f"\n  {op_text(other)}\nCommon causes: set order, id(), state kept in a module or on a class."
            )
    if len(first) != len(second):
        longer: list[Op] = max(first, second, key=len)
        extra = longer[min(len(first), len(second))]
        raise Inconclusive(
            f"not deterministic: only one of two runs of the same choices made op {op_text(extra)} at {extra.site}"
        )


def counterexample(ready: Ready, model: DiskModel, violation: Violation, searched: Searched) -> Counterexample:
    """Retrace the path twice; both must break the law that was found broken. Raises Inconclusive otherwise."""
    walks = [_walk(ready, model, violation.path) for _ in range(2)]
    law = violation.finding.law.id
    for walk in walks:
        if law not in [found.law.id for found in walk.findings]:
            raise Inconclusive(
                f"not deterministic: law {law} was broken once ({violation.finding.message}) and holds when the same"
                " path is run again. Common causes: set order, id(), state kept in a module or on a class."
            )
    walk = walks[0]
    token = Token(ready.spec.reference, model.name, fingerprint(walk.first_ops), violation.path)
    found = next(f for f in walk.findings if f.law.id == law)
    return Counterexample(
        scenario=ready.spec.name,
        statement=ready.spec.statement,
        disk=model.name,
        finding=found,
        promised=walk.promised,
        boots=walk.boots,
        recovered=walk.recovered,
        path=violation.path,
        token=str(token),
        searched=searched,
        replays=len(walks),
    )


def _walk(ready: Ready, model: DiskModel, path: Path) -> Retraced:
    return Retracer(ready.spec, model, ready.attributes, ready.base).walk(path)


def replay(token: str | Token, scenario: Any, **options: Any) -> Counterexample:
    """Run exactly what a token says and answer the counterexample it breaks a law with.

    Raises BadToken for a broken token; StaleToken when the scenario no longer does what the token recorded, or does
    and no law is broken any more: a replay never answers that all is well.
    """
    wanted = parse(token) if isinstance(token, str) else token
    spec = spec_of(scenario, **options)
    models = models_named(wanted.disk)
    if len(models) != 1:
        raise UsageError(f"a token names one disk model, not {wanted.disk!r}")
    with stage_set(spec):
        ready = prepare(spec)
        walk = _walk(ready, models[0], wanted.path)
        code = fingerprint(walk.first_ops)
        if wanted.code and code != wanted.code:
            raise StaleToken(
                f"stale token: {spec.name} does not do what the token recorded (its op journal is {code}, the token's"
                f" {wanted.code}). Nothing was judged; run the scenario again for a fresh token."
            )
        if not walk.findings:
            raise StaleToken(
                f"stale token: no law of {spec.name} is broken on this path any more. The code that recovers or judges"
                " has changed since; run the scenario again to learn whether it holds everywhere."
            )
        violation = Violation(walk.findings[0], wanted.path)
        return counterexample(ready, models[0], violation, Searched(executions=1, images=1))
