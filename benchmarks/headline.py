"""How fast crash images of the real commit log are recovered and judged, and how long the headline takes.

    python -m benchmarks.headline [--rounds 7]

Four figures, each the median of the rounds; the parts take turns, so that a slow moment of the host falls on all.

1. *Recovered and judged*: distinct crash images of the three-commit epoch a second, each recovered by a real open in
   a fresh process and judged by every law; on `prefix`, one power loss.
2. *Judged with deduplication*: crash images a second of the same epoch with a second power loss in recovery; equal
   images are judged once, and count.
3. *Histories*: generated histories a second, 120 and more of them, on `prefix`.
4. *Headline*: seconds for every crash point and image of the epoch, and 120 histories.

One core, no other work: explorations run in this process, one after the other.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from statistics import median

import simfs
from scenarios.entries import Ask
from scenarios.suites.storage import StorageEpoch
from scenarios.suites.storage_histories import histories

GOAL_RECOVERED = 5_000.0
GOAL_JUDGED = 30_000.0
GOAL_HEADLINE_S = 2.0


def once(depth: int) -> simfs.Verdict:
    """The three-commit epoch on `prefix`, every crash point and every image."""
    verdict = simfs.explore(StorageEpoch(), disk="prefix", power_depth=depth)
    assert verdict.status == "proved", verdict.reason
    return verdict


def timed(part: Callable[[], simfs.Verdict]) -> tuple[float, simfs.Verdict]:
    """(seconds of real time, the verdict)."""
    started = time.perf_counter()
    verdict = part()
    return time.perf_counter() - started, verdict


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    ask = Ask(disk="prefix", seed=0)
    parts = {"epoch": lambda: once(1), "deep": lambda: once(2), "histories": lambda: histories().run(ask)}
    runs: dict[str, list[tuple[float, simfs.Verdict]]] = {name: [] for name in parts}
    for part in parts.values():
        part()
    for _ in range(rounds):
        for name, part in parts.items():
            runs[name].append(timed(part))
    seconds = {name: median(elapsed for elapsed, _ in done) for name, done in runs.items()}
    counts = {name: done[0][1].searched for name, done in runs.items()}
    recovered = counts["epoch"].distinct_images / seconds["epoch"]
    judged = counts["deep"].images / seconds["deep"]
    headline = seconds["epoch"] + seconds["histories"]
    print(f"Python {platform.python_version()}, {platform.machine()}, medians of {rounds} rounds")
    print(f"{'recovered and judged':<28} {recovered:>10,.0f} images/s   (goal {GOAL_RECOVERED:,.0f})")
    print(f"{'judged with deduplication':<28} {judged:>10,.0f} images/s   (goal {GOAL_JUDGED:,.0f})")
    print(f"{'histories':<28} {counts['histories'].executions / seconds['histories']:>10,.0f} histories/s")
    print(f"{'headline':<28} {headline:>10.2f} s          (goal {GOAL_HEADLINE_S:g})")
    epoch, deep = counts["epoch"], counts["deep"]
    print(f"epoch: {epoch.crash_points} crash points, {epoch.images} images, {epoch.distinct_images} distinct")
    print(f"crashing recovery too: {deep.crash_points} points, {deep.images} images, {deep.distinct_images} distinct")
    print(f"histories: {counts['histories'].executions}, {counts['histories'].crash_points} kills and power losses")


if __name__ == "__main__":
    main()
