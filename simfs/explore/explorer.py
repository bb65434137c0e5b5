"""`explore` and `replay`: from a scenario to a verdict.

For the disk models asked for: run setup once; run the first execution twice and compare (nondeterminism is a finding of
its own); search (`group.py`); on a broken law make the path smaller, retrace it twice, and build the counterexample.
Time is the only thing taken from the real world, and only to end a search early.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from simfs.disk.models import models_named
from simfs.errors import UsageError
from simfs.explore.group import Met, Progress, counterexample, explore_group, for_model, groups, walk
from simfs.explore.jobs import Here, Pool
from simfs.explore.ready import prepare
from simfs.explore.search import Violation
from simfs.explore.spec import Spec, spec_of
from simfs.explore.stale import still_broken, still_does
from simfs.explore.token import Token, parse
from simfs.explore.verdict import Counterexample, Searched, Verdict, together
from simfs.patch import interposed, tripwire
from simfs.patch.isolate import isolated


@contextmanager
def stage_set(spec: Spec) -> Iterator[None]:
    """Calls of simulated processes reach the machine (`interpose`), and nothing reaches the host."""
    with interposed() if spec.options["interpose"] else tripwire():
        if not spec.options["isolate"]:
            yield
            return
        with isolated(spec.options["isolate"]) as isolation:
            spec.isolation = isolation
            try:
                yield
            finally:
                spec.isolation = None


def explore(
    scenario: Any, *, progress: Progress | None = None, jobs: int | Pool = 1, met: Met | None = None, **options: Any
) -> Verdict:
    """Search a scenario and answer what was found; never raises on a broken law.

    Options are those of a `Scenario`'s attributes, and override them: `disk` (a name, a list of names, or "all"),
    `power`, `power_depth` (power losses in a row), `kills`, `faults`, `max_faults`, `clock_jumps`, `reuse_inodes`,
    `preemptions`, `strategy`, `budget` (seconds of real time), `seed`, `interpose`, `isolate`, `steps_max`, `lazy`.

    `jobs` is how many processes of this host share the search, or a `Pool` of other workers: the verdict, its counts
    and its counterexample are those of one.
    `met` is told, for each model, the digests of the distinct images, for counting over several explorations.

    Raises UsageError for a scenario or option that is not one, SetupFailed when setup raises, and
    `simfs.machine.errors.NotSimulated` when the code under test left what is simulated.
    """
    spec = spec_of(scenario, **options)
    models = models_named(spec.options["disk"])
    found: dict[str, Verdict] = {}
    pool = (Here(jobs) if jobs > 1 else None) if isinstance(jobs, int) else jobs
    with stage_set(spec):
        for wanted, members in groups(spec, models):
            for verdict in explore_group(prepare(wanted), members, progress, pool, met):
                found[verdict.disk] = verdict
                _offer_advice(verdict.counterexample, wanted)
    return together([found[model.name] for model in models])


def _offer_advice(found: Counterexample | None, spec: Spec) -> None:
    """Let the counterexample search for flushes that would help, when asked; where no power was lost, none can."""
    if found is not None and any(leg.crash is not None and leg.crash.pick for leg in found.path):
        found.advisor = partial(_advise, spec, found.disk)


def _advise(spec: Spec, disk: str) -> Any:
    from simfs.explore.advice import ADVICE_BUDGET_S, advice_for  # it sets the stage with this module

    (model,) = models_named(disk)
    with stage_set(spec):
        return advice_for(prepare(spec), model, ADVICE_BUDGET_S)


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
        ready = prepare(for_model(spec, models[0]))
        still_does(ready, wanted)
        walked = walk(ready, models[0], wanted.path)
        still_broken(spec, walked)
        violation = Violation(walked.findings[0], wanted.path)
        found = counterexample(ready, models[0], violation, Searched(executions=1, images=1))
        _offer_advice(found, ready.spec)
        return found
