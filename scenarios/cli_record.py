"""`simfs run --exhaustive --states N`: the record run on the command line, as a table or as JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace

from scenarios.entries import Ask
from scenarios.record import Record, record
from scenarios.suites.growing import GROWING, Growing
from simfs.errors import UsageError

_COLUMNS = ("worlds", "crash points", "images", "distinct", "recovered", "laws judged", "a second")


def run_record(names: Sequence[str], states: int, jobs: int | None, ask: Ask, as_json: bool) -> int:
    """Run it, print it, and answer the exit code. Raises UsageError before anything has run."""
    chosen = choose(names)
    if ask.seed is not None or ask.only:
        raise UsageError("--exhaustive draws nothing and judges every law: leave out --seed and --law")
    options = replace(ask, budget=None).options()
    found = record(chosen, states, jobs or os.cpu_count() or 1, options=options, budget=ask.budget, tell=_say_round)
    if found.broken is not None and found.broken.counterexample is not None:
        print(found.broken.counterexample.text() + "\n", file=sys.stderr if as_json else sys.stdout)
    print(json.dumps(as_document(found), indent=2) if as_json else "\n".join(table(found)))
    return found.exit_code


def choose(names: Sequence[str]) -> list[Growing]:
    """The series that are named, all when none is. Raises UsageError."""
    known = {one.name: one for one in GROWING}
    for name in names:
        if name not in known:
            raise UsageError(f"--exhaustive --states runs series of worlds, and {name} is none: {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)] or list(GROWING)


def table(found: Record) -> list[str]:
    """A line for each series and the sums, and in words what was reached."""
    rows: list[tuple[str, ...]] = [("", *_COLUMNS)]
    for name, one in found.series.items():
        counts = one.searched
        rows.append((
            name, *(f"{number:,}" for number in (
                one.worlds, counts.crash_points, counts.images, one.states, counts.recoveries, counts.laws_judged,
            )),
            f"{one.states / one.seconds:,.0f}" if one.seconds else "-",
        ))  # fmt: skip
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
    return [*(line.rstrip() for line in lines), "", *_in_words(found)]


def _in_words(found: Record) -> list[str]:
    searched = found.searched
    said = [
        f"{found.states:,} distinct crash states recovered and judged in {found.seconds:.1f} s"
        f" by {found.jobs} process{'es' * (found.jobs != 1)}: {found.rate:,.0f} a second and process",
        f"of {searched.images:,} images at {searched.crash_points:,} crash points, whole rounds: {found.rounds}",
    ]
    if found.ended:
        said.append(f"ended before {found.asked:,}: {found.ended}")
    return said


def as_document(found: Record) -> dict[str, object]:
    """The same for programs."""
    return {
        "states": found.states,
        "asked": found.asked,
        "jobs": found.jobs,
        "seconds": round(found.seconds, 3),
        "ended": found.ended,
        "series": {
            name: {
                "worlds": one.worlds, "states": one.states, "seconds": round(one.seconds, 3),
                "searched": asdict(one.searched),
            }
            for name, one in found.series.items()
        },
    }  # fmt: skip


def _say_round(found: Record) -> None:
    print(
        f"round {found.rounds}: {found.states:,} of {found.asked:,} distinct crash states, {found.seconds:.0f} s",
        file=sys.stderr, flush=True,
    )  # fmt: skip
