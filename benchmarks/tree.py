"""The session tree at a million records, beside `immutables.Map` and a copied dict: `python benchmarks/tree.py`.

Two histories: *grow* (most records add a node; about 800,000 nodes at the end) and *churn* (nodes come, move and go;
about 16,000 at the end). Times are of this process's CPU, so that other work on the machine does not count. Memory is
what `tracemalloc` counts, for the journal with the texts of the values taken off. The map keeps one version a record;
the dict is copied every 20,000 records and replayed from there, because a copy a record would not end. Neither checks
a record, finds what a delete removes, or keeps the records. Options: `--records N`.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
import tracemalloc
from collections.abc import Callable

import immutables

from eukhe.tree import Delete, Journal, Put, Record

COPY_EVERY = 20_000


def history(shape: str, count: int) -> list[Record]:
    """A generated history."""
    draw = random.Random(1)
    records: list[Record] = []
    top = 0
    for number in range(count):
        kind = draw.random()
        near = max(1, top - 5000) if shape == "churn" else 1
        if top < 10 or kind < (0.8 if shape == "grow" else 0.5):
            top += 1
            records.append(Put(top, draw.randrange(max(0, top - 50) if shape == "churn" else 0, top), f"v{number}"))
        elif kind < (0.999 if shape == "grow" else 0.9):
            node = draw.randrange(near, top + 1)
            records.append(Put(node, draw.randrange(node), f"v{number}"))
        else:
            records.append(Delete(draw.randrange(max(1, top - 5000), top + 1)))
    return records


def timed(work: Callable[[], object]) -> float:
    """Seconds of CPU."""
    before = time.process_time()
    work()
    return time.process_time() - before


def spread(times: list[float]) -> str:
    """Median and worst, in milliseconds."""
    times.sort()
    return f"{times[len(times) // 2] * 1e3:.2f} ms (worst {times[-1] * 1e3:.2f})"


class JournalRun:
    """The journal."""

    name = "eukhe.tree.Journal"

    def __init__(self) -> None:
        self.journal = Journal()

    def fill(self, records: list[Record]) -> None:
        push = self.journal.push
        for record in records:
            push(record)

    def look(self, cursor: int) -> object:
        return self.journal.snapshot_at(cursor).get(1)

    def values(self) -> int:
        return sum(map(sys.getsizeof, self.journal._texts))


class MapRun:
    """`immutables.Map`, one version a record."""

    name = "immutables.Map"

    def __init__(self) -> None:
        self.versions: list[immutables.Map[int, tuple[int, str]]] = [immutables.Map()]

    def fill(self, records: list[Record]) -> None:
        live = self.versions[0]
        for record in records:
            if isinstance(record, Put):
                live = live.set(record.id, (record.parent, record.value))
            elif isinstance(record, Delete) and record.id in live:
                live = live.delete(record.id)
            self.versions.append(live)

    def look(self, cursor: int) -> object:
        return self.versions[cursor].get(1)

    def values(self) -> int:
        return 0


class DictRun:
    """A dict, copied every so many records."""

    name = f"dict, copied every {COPY_EVERY:,}"

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.copies: list[dict[int, tuple[int, str]]] = [{}]

    def fill(self, records: list[Record]) -> None:
        live: dict[int, tuple[int, str]] = {}
        for number, record in enumerate(records, 1):
            self._do(live, record)
            if number % COPY_EVERY == 0:
                self.copies.append(live.copy())
        self.records = records

    def look(self, cursor: int) -> object:
        tree = self.copies[cursor // COPY_EVERY].copy()
        for record in self.records[cursor // COPY_EVERY * COPY_EVERY : cursor]:
            self._do(tree, record)
        return tree.get(1)

    def values(self) -> int:
        return 0

    @staticmethod
    def _do(tree: dict[int, tuple[int, str]], record: Record) -> None:
        if isinstance(record, Put):
            tree[record.id] = (record.parent, record.value)
        elif isinstance(record, Delete):
            tree.pop(record.id, None)


def measure(kind: type[JournalRun] | type[MapRun] | type[DictRun], records: list[Record]) -> None:
    """One line of the table."""
    gc.collect()
    gc.freeze()
    line = _times(kind(), records)
    gc.collect()
    tracemalloc.start()
    again = kind()
    again.fill(records)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    print(f"{line}   {(held - again.values()) / len(records):.0f} bytes a record", flush=True)


def _times(run: JournalRun | MapRun | DictRun, records: list[Record]) -> str:
    seconds = timed(lambda: run.fill(records))
    draw = random.Random(2)
    looks = [timed(lambda: run.look(draw.randrange(len(records) + 1))) for _ in range(50)]
    line = f"  {run.name:<28} {len(records) / seconds:>11,.0f} records/s   snapshot {spread(looks)}"
    if isinstance(run, JournalRun):
        journal = run.journal
        plans = [timed(lambda: journal.rewind_plan(len(records) - 1000)) for _ in range(20)]
        line += f"   plan over 1,000 records {spread(plans)}"
    return line


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    count = parser.parse_args().records
    for shape in ("grow", "churn"):
        records = history(shape, count)
        print(f"{shape}: {count:,} records")
        for kind in (JournalRun, MapRun, DictRun):
            measure(kind, records)


if __name__ == "__main__":
    main()
