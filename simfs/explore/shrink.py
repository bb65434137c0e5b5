"""Making a violation smaller before anybody looks at it.

First fewer power losses in a row, and fewer boots: the search goes deep first, so a violation by two is looked for
again with one allowed, and one in a second boot with nobody who starts again. Then, at the same crash point, the
survivors in order of size, and the first that breaks the same law is taken. Then a smaller story: other crash points
and other runs, of one boot (`smaller.py`, which also states the order) or of several (`smaller_boots.py`).
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from typing import Any

from simfs.disk.model import DiskModel
from simfs.disk.models import models_named
from simfs.disk.worlds import WORLDS_BOUND
from simfs.explore.boot import run_boot
from simfs.explore.choices import Replayed
from simfs.explore.cuts import stamp
from simfs.explore.judge import Inconclusive
from simfs.explore.law import COMPLETES
from simfs.explore.ready import prepare
from simfs.explore.retrace import Retracer, issued_at
from simfs.explore.search import Found, OutOfBudget, Search, Violation, add
from simfs.explore.smaller import Smaller, loss
from simfs.explore.smaller_boots import SmallerBoots
from simfs.explore.spec import Spec, spec_of
from simfs.explore.stage import Before
from simfs.explore.stale import still_broken, still_does
from simfs.explore.token import Token
from simfs.explore.verdict import Counterexample, Crash, Leg, Searched

TRIES_MAX = 400
"""Leaves that are judged again at most."""
LEAVES_MAX = 10_000
"""Crash points with more leaves keep the one that was found, which the search took for losing little."""


SHALLOWER_MAX_S = 10.0
"""Real time for the search for fewer power losses in a row."""


def shrink_token(token: Token, scenario: Any, **options: Any) -> Counterexample:
    """The smallest counterexample that is found from that of a token. Raises what `replay` raises."""
    from simfs.explore.explorer import stage_set  # it makes searches, which come here to shrink
    from simfs.explore.group import counterexample, for_model, walk

    spec = spec_of(scenario, **options)
    (model,) = models_named(token.disk)
    with stage_set(spec):
        ready = prepare(for_model(spec, model))
        still_does(ready, token)
        walked = walk(ready, model, token.path)
        still_broken(spec, walked)
        findings = walked.findings
        small = shrink(ready.spec, model, ready.attributes, ready.base, Violation(findings[0], token.path))
        return counterexample(ready, model, small, Searched(executions=1, images=1))


def shrink(spec: Spec, model: DiskModel, attributes: dict[str, Any], base: Before, violation: Violation) -> Violation:
    """The smallest violation of the same law that is found; the one given when none is smaller."""
    fewer = with_fewer_losses(spec, model, attributes, base, violation)
    less = with_less_lost(spec, model, attributes, base, fewer)
    law, leg = less.finding.law.id, less.path[0]
    if any(leg.crash is not None and not leg.crash.pick for leg in less.path) or law == COMPLETES.id:
        return less
    if len(less.path) > 1:
        return SmallerBoots(spec, model, attributes, base, law).than(less)
    return Smaller(spec, model, attributes, base, law, leg.crash is not None).than(less)


def with_fewer_losses(
    spec: Spec, model: DiskModel, attributes: dict[str, Any], base: Before, violation: Violation
) -> Violation:
    """The same law broken after fewer power losses in a row, or as many with no process that starts again, searched for
    with so much allowed and no more."""
    law = violation.finding.law
    laws = [bound for bound in spec.laws if bound.law.id == law.id]
    losses = sum(leg.crash is not None for leg in violation.path)
    starts_again = sum(not leg.recovery for leg in violation.path) > 1
    alone = [replace(part, restart=0) for part in spec.processes]
    tried = [(depth, alone) for depth in range(1, losses + 1) if starts_again]
    tried += [(depth, spec.processes) for depth in range(1, losses)]
    for depth, processes in sorted(tried, key=itemgetter(0)):
        options = {**spec.options, "power_depth": depth}
        shallower = replace(spec, laws=laws, options=options, processes=processes)
        try:
            Search(shallower, model, attributes, base, time.monotonic() + SHALLOWER_MAX_S).run()
        except Found as found:
            if found.violation.finding.law.id == law.id:
                return found.violation
        except (Inconclusive, OutOfBudget):
            return violation
    return violation


def with_less_lost(
    spec: Spec, model: DiskModel, attributes: dict[str, Any], base: Before, violation: Violation
) -> Violation:
    """Of the survivors at the same crash point, those that lose the least and break the same law."""
    path = violation.path
    if len(path) != 1 or path[0].crash is None or not path[0].crash.pick:
        return violation
    leg, crash = path[0], path[0].crash
    run = run_boot(spec, spec.processes, attributes, base, Replayed(leg.schedule), plan=leg.plan)
    disk = model.start(base.image)
    lanes = stamp(run) if len(crash.cut) > 1 else None
    issued, following = issued_at(crash, run.ops, lanes)
    for op in issued:
        add(disk, op) if lanes is not None else disk.add(op)
    retracer = Retracer(spec, model, attributes, base)
    tried: set[int] = set()
    leaves = list(islice(disk.leaves(following), LEAVES_MAX + 1))
    if len(leaves) > LEAVES_MAX or WORLDS_BOUND in disk.bounds:
        return violation
    for digest, pick in sorted(leaves, key=lambda leaf: (loss(disk, leaf[1], following, run.ops), leaf[1])):
        if digest in tried:
            continue
        tried.add(digest)
        if len(tried) > TRIES_MAX:
            return violation
        smaller = (Leg(leg.schedule, Crash(crash.cut, pick, crash.during), plan=leg.plan),)
        for found in retracer.walk(smaller).findings:
            if found.law.id == violation.finding.law.id:
                return Violation(found, smaller)
    return violation
