"""How many interleavings are tried, and how fast, beside frontrun (PyPI), on the same programs in one run.

    python -m benchmarks.interleavings [--rounds 5] [--limit 60]

1. *Counter*: T workers add one n times each, reading and writing apart. For simfs, processes that `pread` and `pwrite`
   an open file; for frontrun, which watches the variables of threads, an attribute of an object. Both search
   exhaustively (frontrun without its default bound of two preemptions). A search that is not done after `--limit`
   seconds is stopped, and says so; its rate counts all the same.
2. *Blind spots*: four programs on files, each with a bug, the same functions for both: simulated processes, and threads
   on a real directory. frontrun runs with its file detection on and its defaults.
3. *Reach*: executions a second with 20 visible calls, and a locked store of three processes with every kill.

The figure is the median of the rounds; the two tools take turns. frontrun needs an environment of its own, so each of
its searches is a child of this program, which measures itself without its start.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import simfs
from benchmarks.interleaving_programs import BLIND, blind, counter, fresh, locked_store, twenty_calls

SIZES = ((2, 1), (2, 2), (2, 3), (3, 1), (2, 4), (3, 2))
Worker = Callable[[str], object]


@dataclass(frozen=True)
class Measured:
    """One search. `end` is what came of it: "done", "stopped", "bug found", "nothing found", or an error."""

    executions: int
    seconds: float
    end: str

    @property
    def rate(self) -> float:
        return self.executions / self.seconds if self.seconds else 0.0


def by_simfs(scenario: type[simfs.Scenario]) -> Measured:
    """Search with simfs."""
    started = time.perf_counter()
    verdict = simfs.explore(scenario)
    seconds = time.perf_counter() - started
    end = {"violated": "bug found", "proved": "done"}.get(verdict.status, verdict.status)
    return Measured(verdict.searched.executions, seconds, end)


def by_frontrun(what: str, limit: float) -> Measured:
    """Search with frontrun, in a child of its own: `what` is "TxN" or the name of a blind spot."""
    tool = os.path.join(os.path.dirname(sys.executable), "frontrun")
    command = [tool, sys.executable, "-m", "benchmarks.interleavings", "--child", what, "--limit", str(limit)]
    try:
        out = subprocess.run(command, capture_output=True, text=True, timeout=limit + 60).stdout
    except subprocess.TimeoutExpired:
        return Measured(0, limit, "stopped")
    lines = [line for line in out.splitlines() if line.startswith("{")]
    return Measured(**json.loads(lines[-1])) if lines else Measured(0, 0.0, "did not run")


class Shared:
    """What frontrun's threads share: an attribute that they add to."""

    value = 0


def child(what: str, limit: float) -> None:
    """Inside frontrun's environment: make one search and print it as JSON."""
    import frontrun  # type: ignore[import-untyped]

    def add(steps: int) -> Callable[[Shared], None]:
        def adds(shared: Shared) -> None:
            for _ in range(steps):
                value = shared.value
                shared.value = value + 1

        return adds

    def directory() -> str:
        root = tempfile.mkdtemp()
        fresh(root)
        return root

    started = time.perf_counter()
    if what in BLIND:
        program, holds = BLIND[what]
        workers: Sequence[Worker] = [lambda root: program(root, 0), lambda root: program(root, 1)]
        options: dict[str, Any] = {"setup": directory, "workers": workers, "invariant": holds}
    else:
        processes, steps = map(int, what.split("x"))
        options = {"setup": Shared, "workers": add(steps), "count": processes, "invariant": lambda shared: True}
        options.update(preemption_bound=None, stop_on_first=False, detect_io=False)
    result = frontrun.explore(total_timeout=limit, **options)
    seconds = time.perf_counter() - started
    end = "stopped" if seconds >= limit else "done"
    if what in BLIND:
        end = "nothing found" if result.property_holds else "bug found"
    print(json.dumps({"executions": result.num_explored, "seconds": seconds, "end": end}))


def middle(runs: Sequence[Measured]) -> Measured:
    """The run whose time is the median."""
    half = median(run.seconds for run in runs)
    return min(runs, key=lambda run: abs(run.seconds - half))


def compare(name: str, scenario: type[simfs.Scenario], rounds: int, limit: float) -> None:
    """Both tools in turn; one line of the table."""
    ours: list[Measured] = []
    theirs: list[Measured] = []
    for _ in range(rounds):
        ours.append(by_simfs(scenario))
        if not theirs or theirs[-1].end != "stopped":
            theirs.append(by_frontrun(name, limit))
    mine, other = middle(ours), middle(theirs)
    texts = [f"{m.executions:>7,} {m.seconds:>8.3f} s {m.rate:>7,.0f}/s {m.end:<14}" for m in (mine, other)]
    fewer = f"{other.executions / mine.executions:.2f}x runs" if other.end == "done" else ""
    faster = f"{'>' if other.end == 'stopped' else ''}{other.seconds / mine.seconds:.0f}x time"
    ratio = f"{fewer} {faster} {mine.rate / other.rate:.0f}x rate" if name not in BLIND and other.rate else ""
    print(f"{name:<26}{texts[0]}{texts[1]}{ratio}", flush=True)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        child(asked.child, asked.limit)
        return
    print(f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores")
    print(f"{'':<26}{'simfs':<44}frontrun")
    by_simfs(counter(2, 1))
    for processes, steps in SIZES:
        compare(f"{processes}x{steps}", counter(processes, steps), asked.rounds, asked.limit)
    for name in BLIND:
        compare(name, blind(name), asked.rounds, asked.limit)
    for name, scenario in (("20 visible calls", twenty_calls()), ("locked store, all kills", locked_store())):
        mine = middle([by_simfs(scenario) for _ in range(asked.rounds)])
        print(f"{name:<26}{mine.executions:>7,} {mine.seconds:>8.3f} s {mine.rate:>7,.0f}/s {mine.end}", flush=True)


if __name__ == "__main__":
    main()
