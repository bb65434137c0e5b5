"""Distinct crash states recovered and judged, by second and core; and what each reduction of the search saves.

    python -m benchmarks.record [--states 1000000] [--jobs 2] [--rounds 3]

1. *Rate*: the record run (`simfs run --exhaustive --states N`), its table and its closing lines.
2. *Reduction factors*: for each, two counts of one and the same search, or of two searches that must end with the same
   verdict, side by side in one run:

   | factor | more | less |
   |---|---|---|
   | schedules | every interleaving | one of each happens-before class |
   | deduplication | images that crash points may leave | distinct images |
   | judged once | the same images | recoveries: an image is asked about once with each past |
   | lazy survivors | recoveries, each image by itself | recoveries, one image for all that look the same |

Counts do not depend on the machine, times do: compare ratios.
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import simfs
from benchmarks.interleaving_programs import counter
from benchmarks.lazy_survivors import Spool, TenFiles
from scenarios.cli_record import table
from scenarios.record import record
from scenarios.resolve import scenario_named
from scenarios.suites.growing import GROWING
from simfs.explore.verdict import Verdict

SEARCHED = ("storage_reopen", "staging_publishers", "cron_first", "epochs_reader_writer")
"""Suites whose images are counted: one process, several, and with kills."""


def factor(what: str, of: str, more: int, less: int, seconds: str = "") -> None:
    """A line of the table."""
    print(f"{what:<15} {of:<34} {more:>12,} {less:>12,} {more / less:>10,.1f}x  {seconds}")


def timed(scenario: object, rounds: int, **options: object) -> tuple[Verdict, float]:
    """A verdict, and the median of the seconds that it took."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        verdict = simfs.explore(scenario, **options)
        times.append(time.perf_counter() - started)
    return verdict, median(times)


def main() -> None:
    """Both parts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--states", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    print("\n".join(table(record(GROWING, asked.states, asked.jobs))), flush=True)
    print(f"\n{'reduction':<15} {'of':<34} {'more':>12} {'less':>12} {'factor':>11}")
    for processes, steps in ((2, 2), (3, 1)):
        scenario = counter(processes, steps)
        naive, naive_s = timed(scenario, asked.rounds, strategy="naive", power=False)
        reduced, reduced_s = timed(scenario, asked.rounds, power=False)
        assert naive.status == reduced.status
        factor(
            "schedules", f"{processes} processes x {steps}", naive.searched.executions, reduced.searched.executions,
            f"{naive_s:.2f} s, {reduced_s:.2f} s",
        )  # fmt: skip
    for name in SEARCHED:
        verdict = simfs.explore(scenario_named(name))
        assert verdict.ok
        for model, part in verdict.by_model.items():
            factor("deduplication", f"{name}, {model}", part.searched.images, part.searched.distinct_images)
            factor("judged once", f"{name}, {model}", part.searched.images, part.searched.recoveries)
    for kind in (TenFiles, Spool):
        eager, eager_s = timed(kind, asked.rounds, lazy=False)
        lazy, lazy_s = timed(kind, asked.rounds, lazy=True)
        assert (eager.status, eager.searched.images) == (lazy.status, lazy.searched.images)
        factor(
            "lazy survivors", kind.__name__, eager.searched.recoveries, lazy.searched.recoveries,
            f"{eager_s:.2f} s, {lazy_s:.2f} s",
        )  # fmt: skip


if __name__ == "__main__":
    main()
