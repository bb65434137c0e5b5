"""A night of fuzzing with every fault of `scenarios/fuzz/planted.py` in the stores at once, from nothing; then a second
one that has its corpus.

    python benchmarks/night.py --budget 10m --jobs 2 --seed S

Prints, for each planted fault, after how many seconds the first failure was told that it causes, and the line that
replays it; then the same of the second night. A fault causes a failure when its token breaks the same law with this
fault alone, or breaks it no more with all the others and not this one. What breaks a law with nothing planted is a
failure of the stores themselves, and said. Ends with 1 when a fault was not found.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

from scenarios.fuzz.planted import PLANTED, VARIABLE, planting
from scenarios.resolve import entry_for_token
from simfs.errors import StaleToken
from simfs.explore.token import parse

BROKEN = re.compile(r"^LAW BROKEN: (\w+)", re.M)
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


def broken(faults: Sequence[str], token: str) -> str:
    """The law that a token breaks when these faults are planted, "" for none."""
    parsed = parse(token)
    try:
        with planting(faults):
            told = str(entry_for_token(parsed.scenario).replay(parsed))
    except StaleToken:
        return ""
    match = BROKEN.search(told)
    assert match is not None, told
    return match[1]


def causes(token: str) -> list[str]:
    """The faults that cause the failure of a token."""
    law = broken(tuple(PLANTED), token)
    assert law, f"{token} does not replay"
    if broken((), token) == law:
        print(f"  with nothing planted: simfs replay {token}")
        return []
    return [
        fault
        for fault in PLANTED
        if broken((fault,), token) == law or broken([one for one in PLANTED if one != fault], token) != law
    ]


def table(found: list[tuple[float, str]], title: str) -> bool:
    """Print when each fault was found; whether all were."""
    first: dict[str, tuple[float, str]] = {}
    for seconds, token in found:
        for fault in causes(token):
            first.setdefault(fault, (seconds, token))
    print(f"{title}: {len(first)} of {len(PLANTED)} planted faults found, {len(found)} failures told")
    for fault in PLANTED:
        seconds, token = first.get(fault, (0.0, ""))
        print(f"  {fault:<16} " + (f"{seconds:7.1f} s  simfs replay {token}" if token else "NOT FOUND"))
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
