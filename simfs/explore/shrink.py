"""Making a violation smaller before anybody looks at it.

Order of size: fewer legs (boots and crashes in recovery), then fewer ops before the last crash, then fewer ops lost,
then fewer bytes lost of a torn write, then the earlier pick. What is tried: the search goes deep first, so a violation
by two power losses is looked for again with one allowed. It visits crash points in order, so the first violation has
the fewest ops; the survivors at that same crash point are tried in order of size, and the first that breaks the same
law is taken."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import islice
from typing import Any

from simfs.disk.model import Disk, DiskModel, Pick
from simfs.explore.boot import run_boot
from simfs.explore.choices import Replayed
from simfs.explore.cuts import stamp
from simfs.explore.judge import Inconclusive
from simfs.explore.retrace import Retracer, issued_at
from simfs.explore.search import Found, OutOfBudget, Search, Violation, add
from simfs.explore.spec import Spec
from simfs.explore.stage import Before
from simfs.explore.verdict import Crash, Leg
from simfs.machine.ops import Op, Write

TRIES_MAX = 400
"""Leaves that are judged again at most."""
LEAVES_MAX = 10_000
"""Crash points with more leaves keep the one that was found, which the search took for losing little."""


SHALLOWER_MAX_S = 10.0
"""Real time for the search for fewer power losses in a row."""


def shrink(spec: Spec, model: DiskModel, attributes: dict[str, Any], base: Before, violation: Violation) -> Violation:
    """The smallest violation of the same law that is found; the one given when none is smaller."""
    fewer = with_fewer_losses(spec, model, attributes, base, violation)
    return with_less_lost(spec, model, attributes, base, fewer)


def with_fewer_losses(
    spec: Spec, model: DiskModel, attributes: dict[str, Any], base: Before, violation: Violation
) -> Violation:
    """The same law broken after fewer power losses in a row, searched for with fewer allowed."""
    law = violation.finding.law
    laws = [bound for bound in spec.laws if bound.law.id == law.id]
    for depth in range(1, sum(leg.crash is not None for leg in violation.path)):
        shallower = replace(spec, laws=laws, options={**spec.options, "power_depth": depth})
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
    if len(path) != 1 or path[0].crash is None:
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
    if len(leaves) > LEAVES_MAX:
        return violation
    for digest, pick in sorted(leaves, key=lambda leaf: loss(disk, leaf[1], following, run.ops)):
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


def loss(disk: Disk, pick: Pick, following: Op | None, ops: list[Op]) -> tuple[int, int, Pick]:
    """(ops lost or torn, bytes lost of torn writes, pick) of one leaf."""
    lost = torn = 0
    for index, fate in disk.fates(pick, following).items():
        if fate in ("durable", "kept"):
            continue
        lost += 1
        op = ops[index]
        if fate != "lost" and isinstance(op, Write):
            there = fate.split()[0]
            torn += len(op.data) - (int(there) if there.isdigit() else 0)
    return (lost, torn, pick)
