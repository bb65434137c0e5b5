"""What guiding saves: histories until a planted fault is found, and marks after so many histories, guided and drawn
blindly, side by side in one run.

    python -m benchmarks.fuzz [--seeds 5] [--limit 2000] [--marks 400]

Guided, a history mostly begins with a list that showed something new, changed in a few places; blindly, each is drawn
from nothing (swarm style, as both are). Units are small, and the same for both. The first table has, for each planted
fault, the median number of histories until a law was broken on its target, over the seeds; `>` where a seed found
nothing within the limit. The second has the distinct marks (branches, races, pairs of pending ops, ends) that so many
histories without any fault have shown.
"""

from __future__ import annotations

import argparse
from statistics import median

from scenarios.fuzz.planted import PLANTED
from scenarios.fuzz.targets import targets
from scenarios.fuzz.unit import Unit, run_unit

TOGETHER = 10
"""Histories of a unit."""
PARENTS = 24
TARGET = {
    "log": "storage_histories",
    "sidecars": "sidecars_histories",
    "epochs": "epochs_programs",
    "cron": "cron_programs",
    "staging": "staging_programs",
    "listing": "listing_programs",
    "tree": "tree_histories",
    "state": "state_histories",
    "wire": "wire_histories",
}
"""By the first word of a fault, where it is looked for."""


def night(target: str, seed: str, limit: int, guided: bool, fault: str = "") -> tuple[int, int]:
    """So many histories on the target's disk models in turn: how many were made until a law was broken (0 for never),
    and how many marks they showed."""
    disks = targets()[target].disk
    marks: set[int] = set()
    parents: list[tuple[int, ...]] = []
    for first in range(0, limit, TOGETHER):
        disk = disks[first // TOGETHER % len(disks)]
        some = tuple(parents[-PARENTS:]) if guided else ()
        result = run_unit(Unit(target, disk, seed, first, TOGETHER, some, planted=(fault,) if fault else ()))
        assert not result.trouble, result.trouble
        if result.times:
            return first + TOGETHER, len(marks)
        for kept in result.kept:
            if not kept.marks <= marks:
                marks |= kept.marks
                parents.append(kept.choices)
    return 0, len(marks)


def main() -> None:
    """Both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=int, default=2000)
    parser.add_argument("--marks", type=int, default=400)
    asked = parser.parse_args()
    print(f"{'planted fault':<18} {'guided':>8} {'blindly':>8}   histories until found, median of {asked.seeds} seeds")
    for fault in PLANTED:
        found = []
        for guided in (True, False):
            counts = [
                night(TARGET[fault.partition("-")[0]], f"{seed}", asked.limit, guided, fault)[0]
                for seed in range(asked.seeds)
            ]
            least = int(median(count or asked.limit for count in counts))
            found.append(f"{'>' * (0 in counts)}{least}")
        print(f"{fault:<18} {found[0]:>8} {found[1]:>8}", flush=True)
    print(f"\n{'target':<24} {'guided':>8} {'blindly':>8}   marks of {asked.marks} histories, median")
    for target in dict.fromkeys(TARGET.values()):
        shown = [
            int(median(night(target, f"{seed}", asked.marks, guided)[1] for seed in range(asked.seeds)))
            for guided in (True, False)
        ]
        print(f"{target:<24} {shown[0]:>8,} {shown[1]:>8,}", flush=True)


if __name__ == "__main__":
    main()
