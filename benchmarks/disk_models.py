"""How fast the disk models enumerate, and how much of it is the same image again.

    python -m benchmarks.disk_models [--repeat 3]

Three programs, none of which flushes anything: a log of forty short appends, three files each replaced by rename, and
one file overwritten in six blocks. For each model: images listed per second of the last crash point, and how many of
them are distinct. Then, on three scenarios, over all crash points: images listed, distinct ones, images that laws or
recovery could tell apart (lazy survivors), and the two factors. Last, the time in which each reported crash is decided.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import simfs
from scenarios.reported import disk_generations, disk_publish, disk_replace, disk_tails
from simfs.disk.model import DiskModel
from simfs.disk.models import models_named
from simfs.machine.inode import Image
from simfs.machine.machine import Machine
from simfs.machine.ops import Op

MODELS = ("scc", "synced-only", "prefix", "ext4", "ext4:dioread=lock", "ext4:tear=sector", "posix-weakest")
CASES = [case for m in (disk_generations, disk_publish, disk_replace, disk_tails) for case in m.CASES]
FACTORS = ("F6", "publish", "F2-holes")


def put(system: Any, path: str, data: bytes, flags: int = os.O_CREAT | os.O_TRUNC) -> None:
    fd = system.open(path, os.O_WRONLY | flags, 0o644)
    system.write(fd, data)
    system.close(fd)


def appends(system: Any) -> None:
    for number in range(40):
        put(system, "/log", b'{"n": %d}\n' % number, os.O_CREAT | os.O_APPEND)


def replacements(system: Any) -> None:
    for name in "abc":
        put(system, f"/{name}.tmp", b"new " + name.encode())
        system.rename(f"/{name}.tmp", f"/{name}")


def overwrites(system: Any) -> None:
    fd = system.open("/big", os.O_WRONLY)
    for block in range(6):
        system.pwrite(fd, b"new", block * 4096)


def durable() -> Image:
    machine = Machine(record_sites=False)
    machine.spawn("setup")
    for name in "abc":
        put(machine.system, f"/{name}", b"old")
    put(machine.system, "/big", b"o" * 6 * 4096)
    return machine.freeze()


def journal(program: Callable[[Any], None], base: Image) -> list[Op]:
    machine = Machine(base, boot=2, record_sites=False)
    machine.spawn("program")
    program(machine.system)
    return machine.journal.ops


def rate(model: DiskModel, base: Image, ops: list[Op], repeat: int) -> tuple[int, int, float]:
    """Images of the last crash point, distinct ones, and images listed per second (median), from a cold start."""
    speeds = []
    for _ in range(repeat):
        disk = model.start(base)
        for op in ops:
            disk.add(op)
        started = time.perf_counter()
        digests = [digest for digest, _ in disk.leaves()]
        again = 0
        while time.perf_counter() - started < 0.05:
            again += sum(1 for _ in disk.leaves())
        speeds.append((len(digests) + again) / (time.perf_counter() - started))
    return len(digests), len(set(digests)), median(speeds)


def show_rates(repeat: int) -> None:
    base = durable()
    for program in (appends, replacements, overwrites):
        ops = journal(program, base)
        print(f"\n{program.__name__}: {len(ops)} ops, nothing flushed")
        print(f"  {'model':20}{'images':>10}{'distinct':>10}{'images/s':>14}")
        for name in MODELS:
            images, distinct, speed = rate(models_named(name)[0], base, ops, repeat)
            print(f"  {name:20}{images:>10,}{distinct:>10,}{speed:>14,.0f}")


def show_factors() -> None:
    print(f"\n{'scenario, all models it claims':32}{'images':>10}{'judged':>10}{'lazy':>10}{'factor':>9}{'lazy':>7}")
    for case in CASES:
        if case.id in FACTORS:
            eager = simfs.explore(case.right, lazy=False).searched
            lazy = simfs.explore(case.right, lazy=True).searched
            first = eager.images / max(eager.recoveries, 1)
            second = eager.recoveries / max(lazy.recoveries, 1)
            row = f"{eager.images:>10,}{eager.recoveries:>10,}{lazy.recoveries:>10,}{first:>9.1f}{second:>7.1f}"
            print(f"  {case.id + ', right twin':30}{row}")


def show_cases() -> None:
    print(f"\n{'reported crash':20}{'wrong, ms':>12}{'right, ms':>12}{'models':>8}")
    total = 0.0
    for case in CASES:
        taken = []
        for kind in (case.wrong, case.right):
            started = time.perf_counter()
            verdict = simfs.explore(kind)
            taken.append((time.perf_counter() - started) * 1e3)
            assert verdict.ok == (kind is case.right), case.id
        total += sum(taken)
        print(f"  {case.id:18}{taken[0]:>12.1f}{taken[1]:>12.1f}{len(case.claims):>8}")
    print(f"  all {len(CASES)} cases: {total / 1e3:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    show_rates(options.repeat)
    show_factors()
    show_cases()


if __name__ == "__main__":
    main()
