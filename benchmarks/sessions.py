"""Sessions measured: list and sweep of 10,000, import of a 100 MB legacy file, fork of a storage that is being written.

    python benchmarks/sessions.py [DIRECTORY]

Everything happens in a temporary directory (below DIRECTORY, if given), on the real system, with every flush. Peak
memory is that of a process of its own (`ru_maxrss`), so a line says what an import costs and not what ran before it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time

from eukhe.sessions import fork_session, import_session, list_sessions
from eukhe.staging import sweep
from eukhe.storage import Storage, put, read_storage, session_meta
from eukhe.storage.codec import encode_changes

SESSIONS = 10_000
LEFTOVERS = 1_000
LEGACY_BYTES = 100_000_000
MESSAGE = {"role": "assistant", "content": "word " * 190}
FORKED_COMMITS = 20_000


def measure_listing(directory: str) -> None:
    """List and sweep many sessions and some leftovers that a living clock calls young."""
    line, _ = encode_changes(1, [session_meta("/work", "2026-01-01T00:00:00Z")])
    for number in range(SESSIONS):
        os.mkdir(f"{directory}/session-{number}")
        with open(f"{directory}/session-{number}/main.jsonl", "wb") as file:
            file.write(line)
    for number in range(LEFTOVERS):
        os.mkdir(f"{directory}/.session-{number}.import-{number:032x}")
        with open(f"{directory}/.session-{number}.import-{number:032x}.lock", "wb"):
            pass
    started = time.perf_counter()
    rows = list_sessions(directory).rows
    print(f"list of {len(rows):,} sessions: {time.perf_counter() - started:.2f} s")
    started = time.perf_counter()
    report = sweep([directory])
    print(f"sweep of {SESSIONS:,} sessions and {LEFTOVERS:,} leftovers: {time.perf_counter() - started:.2f} s")
    assert len(rows) == SESSIONS and not report.removed and not report.failed


def write_legacy(path: str, size: int) -> int:
    """A legacy file of about `size` bytes; answers how many messages it has."""
    count = 0
    with open(path, "w") as file:
        written = file.write('{"type":"session","id":"x","cwd":"/work","timestamp":"2026-01-01T00:00:00Z"}\n')
        while written < size:
            count += 1
            written += file.write(json.dumps({"n": count, **MESSAGE}) + "\n")
    return count


def measure_import(directory: str, size: int) -> None:
    """Import a legacy file in a process of its own: time, and peak memory above that of a small import."""
    path = f"{directory}/legacy-{size}.jsonl"
    count = write_legacy(path, size)
    done = subprocess.run(
        [sys.executable, __file__, "--import", path, directory], capture_output=True, text=True, check=True
    )
    seconds, peak, messages = done.stdout.split()
    assert int(messages) == count
    costs = f"{float(seconds):.2f} s, peak memory {int(peak) / 1024:.0f} MB"
    print(f"import of {size / 1e6:g} MB, {count:,} messages: {costs}")


def import_alone(path: str, directory: str) -> None:
    """What the process of its own does."""
    started = time.perf_counter()
    done = import_session(path, directory)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(time.perf_counter() - started, peak, done.messages)


def measure_fork(directory: str) -> None:
    """Fork a storage while its writer commits."""
    with Storage.open(f"{directory}/source", fsync=False) as storage:
        storage.commit([session_meta("/work", "2026-01-01T00:00:00Z"), put({"type": "conversation", "id": 1})])
        for number in range(1, FORKED_COMMITS):
            entry = {"type": "entry", "id": number, "conversation": 1, "body": MESSAGE}
            storage.commit([put(entry)])
        stop, written = threading.Event(), [FORKED_COMMITS]

        def write() -> None:
            while not stop.is_set():
                written[0] += 1
                storage.commit([put({"type": "entry", "id": written[0], "conversation": 1, "body": MESSAGE})])

        writer = threading.Thread(target=write)
        writer.start()
        started = time.perf_counter()
        done = fork_session(directory, "source", "fork")
        seconds = time.perf_counter() - started
        stop.set()
        writer.join()
    view = read_storage(f"{directory}/fork")
    assert len(view.commits) == done.commits >= FORKED_COMMITS and not view.torn_bytes
    print(f"fork of {done.commits:,} commits while {written[0] - FORKED_COMMITS:,} more were made: {seconds:.2f} s")


def main() -> None:
    """Measure everything."""
    if sys.argv[1:2] == ["--import"]:
        import_alone(sys.argv[2], sys.argv[3])
        return
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as place:
        for name, measure in (
            ("listing", measure_listing),
            ("import", lambda directory: measure_import(directory, LEGACY_BYTES // 100)),
            ("import", lambda directory: measure_import(directory, LEGACY_BYTES)),
            ("fork", measure_fork),
        ):
            directory = f"{place}/{name}"
            os.makedirs(directory, exist_ok=True)
            measure(directory)


if __name__ == "__main__":
    main()
