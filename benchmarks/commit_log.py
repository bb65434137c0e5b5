"""The commit log beside a plain append-and-flush loop and beside sqlite3, on the same disk, in one run.

    python -m benchmarks.commit_log [--directory DIR] [--rounds 3] [--lines 1000000]

1. *Flushed commits a second*: `Storage.commit` with flushing; a loop that appends the same bytes to a file and flushes
   it; sqlite3 in WAL mode with `synchronous=FULL`, one insert a transaction, the same bytes.
2. *Commits a second without flushing*: the same three, without the flush, and sqlite3 with `synchronous=OFF`.
3. *Open*: a storage of a million commits, opened in a process of its own; lines a second, and the peak of memory over
   that of the same process with an empty storage. Once with commits that all have to be kept in the history, once with
   states of tasks of which all but the last are dropped. sqlite3 counts and reads the same rows.

The three take turns at every single commit, so that a slow moment of the disk or of the host falls on all, and the
figure is that of the median commit. Making the line is part of it for all three. An open is told by the clock and by
the processor time of its process: on a host with other work the first says little. The best of the rounds counts.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from eukhe.storage import Storage
from eukhe.storage.codec import Commit, encode_commit

FLUSHED, UNFLUSHED = 3_000, 30_000
GOAL_RATIO, GOAL_LINES = 1.1, 300_000
ENDED_OF = 100
"""Of the tasks' states, one in so many ends its task."""

OPENER = """
import resource, sys, time
from eukhe.storage import Storage
started, busy = time.perf_counter(), time.process_time()
with Storage.open(sys.argv[1]) as storage:
    took = time.perf_counter() - started
    print(storage.last_commit, took, time.process_time() - busy, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def changes_of(number: int) -> list[dict[str, Any]]:
    """A commit of an ordinary size: about 200 bytes."""
    return [{"put": {"type": "entry", "id": number, "conversation": 1, "kind": "message", "body": "word " * 24}}]


def state_of(number: int) -> list[dict[str, Any]]:
    """A state of a task; one in `ENDED_OF` is its last."""
    state = "completed" if number % ENDED_OF == 0 else "running"
    task = 1 + (number - 1) // ENDED_OF
    return [{"put": {"type": "task", "id": task, "conversation": 1, "state": state, "body": "word " * 20}}]


def line_of(number: int, changes: Callable[[int], list[dict[str, Any]]] = changes_of) -> bytes:
    """The line that such a commit becomes."""
    return encode_commit(Commit(number, changes(number)))


class ByStorage:
    """`Storage.commit`."""

    def __init__(self, place: str, flush: bool) -> None:
        self.storage = Storage.open(f"{place}/storage", fsync=flush)
        self.storage.commit(changes_of(1))
        self.storage.take_history()

    def commit(self, number: int) -> None:
        """One commit."""
        self.storage.commit(changes_of(number))

    def close(self) -> None:
        """Close it."""
        self.storage.close()


class ByLoop:
    """An append of the same bytes to a file, and its flush."""

    def __init__(self, place: str, flush: bool) -> None:
        self.fd = os.open(f"{place}/plain.jsonl", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self.flush = flush
        self.commit(1)

    def commit(self, number: int) -> None:
        """One append. The line is made here too: somebody has to."""
        os.write(self.fd, line_of(number))
        if self.flush:
            os.fsync(self.fd)

    def close(self) -> None:
        """Close it."""
        os.close(self.fd)


class BySqlite:
    """One insert a transaction, in WAL mode."""

    def __init__(self, place: str, flush: bool) -> None:
        self.base = sqlite3.connect(f"{place}/base.db", isolation_level=None)
        self.base.execute("PRAGMA journal_mode=WAL")
        self.base.execute(f"PRAGMA synchronous={'FULL' if flush else 'OFF'}")
        self.base.execute("CREATE TABLE commits (number INTEGER PRIMARY KEY, line BLOB)")
        self.commit(1)

    def commit(self, number: int) -> None:
        """One transaction."""
        self.base.execute("INSERT INTO commits VALUES (?, ?)", (number, line_of(number)))

    def close(self) -> None:
        """Close it."""
        self.base.close()


WAYS: dict[str, Callable[[str, bool], Any]] = {"eukhe": ByStorage, "plain loop": ByLoop, "sqlite3": BySqlite}


def commits(directory: str, count: int, flush: bool) -> dict[str, list[float]]:
    """Seconds of each commit, way by way; the ways take turns at each commit."""
    place = tempfile.mkdtemp(dir=directory)
    made = {name: way(place, flush) for name, way in WAYS.items()}
    took: dict[str, list[float]] = {name: [] for name in WAYS}
    names = list(WAYS)
    for number in range(2, count + 2):
        names = names[1:] + names[:1]
        for name in names:
            commit = made[name].commit
            started = time.perf_counter()
            commit(number)
            took[name].append(time.perf_counter() - started)
    for way in made.values():
        way.close()
    shutil.rmtree(place)
    return took


def tell_commits(took: dict[str, list[float]], flush: bool) -> None:
    """Print the figures and the ratios."""
    print(f"\ncommits a second, {'flushed' if flush else 'not flushed'}: by the median commit, by the mean of all")
    mine = median(took["eukhe"])
    for name, times in took.items():
        ratio = mine / median(times)
        note = "" if name == "eukhe" else f"   a commit of eukhe takes {ratio:.2f} x as long"
        if flush and name == "plain loop":
            note += f" (goal {GOAL_RATIO}): {'reached' if ratio <= GOAL_RATIO else 'NOT REACHED'}"
        print(f"  {name:<12} {1 / median(times):>9,.0f} {len(times) / sum(times):>9,.0f}{note}")


def opened(path: str) -> tuple[int, float, float, int]:
    """(commits, seconds, seconds of processor time, peak of memory in KiB) of an open in a process of its own."""
    done = subprocess.run([sys.executable, "-c", OPENER, path], capture_output=True, text=True, check=True)
    count, took, busy, peak = done.stdout.split()
    return int(count), float(took), float(busy), int(peak)


def tell_open(directory: str, rounds: int, lines: int) -> None:
    """Make the storages, open each, and print."""
    empty = f"{directory}/empty"
    Storage.open(empty).close()
    ground = min(opened(empty)[3] for _ in range(3))
    print(f"\nopen of {lines:,} commits")
    for told, changes in (("all kept", changes_of), ("ended tasks", state_of)):
        path = f"{directory}/{told.replace(' ', '_')}"
        Storage.open(path).close()
        with open(f"{path}/main.jsonl", "wb") as file:
            file.writelines(line_of(number, changes) for number in range(1, lines + 1))
        size = os.path.getsize(f"{path}/main.jsonl")
        runs = [opened(path) for _ in range(rounds)]
        assert all(count == lines for count, _, _, _ in runs)
        by_clock, busy = min(took for _, took, _, _ in runs), min(busy for _, _, busy, _ in runs)
        peak = median(peak - ground for _, _, _, peak in runs)
        verdict = "reached" if lines / by_clock >= GOAL_LINES else "NOT REACHED"
        print(
            f"  {told:<12} {lines / by_clock:>9,.0f} lines/s by the clock (goal {GOAL_LINES:,}: {verdict}),"
            f" {lines / busy:,.0f} by processor time; file {size / 2**20:,.0f} MiB, memory {peak / 1024:,.0f} MiB"
        )
    base = f"{directory}/base.db"
    with sqlite3.connect(base) as made:
        made.execute("CREATE TABLE commits (number INTEGER PRIMARY KEY, line BLOB)")
        made.executemany("INSERT INTO commits VALUES (?, ?)", ((n, line_of(n)) for n in range(1, lines + 1)))
    made.close()
    started = time.perf_counter()
    reader = sqlite3.connect(base)
    count = sum(1 for _ in reader.execute("SELECT number, line FROM commits ORDER BY number"))
    rate = count / (time.perf_counter() - started)
    reader.close()
    print(f"  {'sqlite3':<12} {rate:>10,.0f} rows/s read in order, not decoded")


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--directory", default=None, help="where to write; the disk that is measured")
    parser.add_argument("--rounds", type=int, default=3, help="opens of each storage")
    parser.add_argument("--lines", type=int, default=1_000_000)
    asked = parser.parse_args()
    directory = tempfile.mkdtemp(dir=asked.directory)
    print(f"Python {platform.python_version()}, {platform.system()} {platform.release()}, {os.cpu_count()} processors")
    try:
        for flush, count in ((True, FLUSHED), (False, UNFLUSHED)):
            tell_commits(commits(directory, count, flush), flush)
        tell_open(directory, asked.rounds, asked.lines)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
