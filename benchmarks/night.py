"""A night of fuzzing with every fault of `scenarios/fuzz/planted.py` in the stores at once, from nothing; then a second
one that has its corpus.

    python benchmarks/night.py --budget 10m --jobs 2 --seed S

Prints, for each planted fault, after how many seconds the first failure was told that this fault alone explains, and
the line that replays it; then the same of the second night. A failure is explained by each fault with which, alone, its
token still breaks the law. Ends with 1 when a fault was not found.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from scenarios.fuzz.planted import PLANTED, VARIABLE, planting
from scenarios.resolve import entry_for_token
from simfs.errors import StaleToken
from simfs.explore.token import parse

TOLD = re.compile(r"^  simfs replay (\S+)$")


def night(budget: str, jobs: int, seed: str, corpus: str) -> Iterator[tuple[float, str]]:
    """Run a night; each token as it is told, with the seconds since it began. Prints its last lines."""
    run = [sys.executable, "-c", "from scenarios.cli import main; main()"]
    command = [*run, "fuzz", "--budget", budget, "--jobs", str(jobs), "--seed", seed]
    started = time.monotonic()
    environment = {**os.environ, VARIABLE: ",".join(PLANTED)}
    with subprocess.Popen(
        [*command, "--corpus", corpus], env=environment, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            match = TOLD.match(line)
            if match:
                yield time.monotonic() - started, match[1]
            elif " histories, " in line or line.startswith("corpus "):
                print(f"  {line.rstrip()}", flush=True)


def explains(fault: str, token: str) -> bool:
    """Whether a token breaks a law when only this fault is planted."""
    parsed = parse(token)
    try:
        with planting((fault,)):
            entry_for_token(parsed.scenario).replay(parsed)
    except StaleToken:
        return False
    return True


def table(found: list[tuple[float, str]], title: str) -> bool:
    """Print when each fault was found; whether all were."""
    first: dict[str, tuple[float, str]] = {}
    unexplained = []
    for seconds, token in found:
        faults = [fault for fault in PLANTED if explains(fault, token)]
        for fault in faults:
            first.setdefault(fault, (seconds, token))
        if not faults:
            unexplained.append(token)
    print(f"{title}: {len(first)} of {len(PLANTED)} planted faults found, {len(found)} failures told")
    for fault in PLANTED:
        seconds, token = first.get(fault, (0.0, ""))
        print(f"  {fault:<16} " + (f"{seconds:7.1f} s  simfs replay {token}" if token else "NOT FOUND"))
    for token in unexplained:
        print(f"  no fault alone explains simfs replay {token}")
    return len(first) == len(PLANTED)


def main() -> int:
    """Both nights."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget", default="10m")
    parser.add_argument("--again", default="30s", help="budget of the second night")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", default="1")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as corpus:
        one = table(list(night(asked.budget, asked.jobs, asked.seed, corpus)), f"seed {asked.seed}, from nothing")
        other = table(list(night(asked.again, asked.jobs, asked.seed + " again", corpus)), "with its corpus")
    return 0 if one and other else 1


if __name__ == "__main__":
    sys.exit(main())
