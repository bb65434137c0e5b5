"""The daemon measured: commits a second against the bare storage, 100 subscribers, and how late a frame is.

    python -m benchmarks.daemon [DIRECTORY]

Everything happens in a temporary directory (below DIRECTORY, if given), on the real system, with every flush: each
commit is one line and one flush before it is answered, through the daemon as without it. `window` is how many commits
a client has on their way at once; a window of 1 waits for each answer, so it also measures two processes waking each
other. Bare and daemon runs alternate, and the middle one of `ROUNDS` counts. The latency of a frame is from the moment
its commit was asked for to the moment a subscriber, in a process of its own, has decoded it.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from eukhe.daemon.following import DaemonConnection
from eukhe.daemon.protocol import Answer, CommitArgs, TreeArgs, Update, ask, decode_reply, encode
from eukhe.storage import Storage, put

COMMITS = 2_000
ROUNDS = 5
WINDOWS = (1, 8, 32)
SUBSCRIBERS = 100
PACED_COMMITS, PACE_S = 500, 0.01
TEXT = "word " * 40


def entry(number: int) -> list[dict[str, object]]:
    """The changes of a commit: one entry with a body of 200 bytes; its kind says when it was made."""
    record = {"type": "entry", "id": number, "conversation": 1, "kind": str(time.monotonic_ns()), "body": TEXT}
    return [put(record)]


def bare(home: str, name: str) -> float:
    """Commits a second of the storage alone."""
    with Storage.open(f"{home}/sessions/{name}", home=home) as storage:
        storage.take_history()
        storage.commit([put({"type": "conversation", "id": 1})])
        started = time.perf_counter()
        for number in range(1, COMMITS + 1):
            storage.commit(entry(number))
        return COMMITS / (time.perf_counter() - started)


def through(home: str, name: str, window: int) -> float:
    """Commits a second of a client of the daemon."""
    with Storage.open(f"{home}/sessions/{name}", home=home) as storage:
        storage.commit([put({"type": "conversation", "id": 1})])
    with DaemonConnection(home) as connection:
        connection.call(ask(0, "get_state_tree", TreeArgs(name)))
        started = time.perf_counter()
        asked = answered = 0
        while answered < COMMITS:
            while asked < min(COMMITS, answered + window):
                asked += 1
                connection.send(ask(asked, "commit", CommitArgs(name, entry(asked))))
            reply = connection.receive()
            assert isinstance(reply, Answer) and not reply.error, reply
            answered += 1
        return COMMITS / (time.perf_counter() - started)


def middle(runs: list[float]) -> float:
    """The middle one."""
    return statistics.median(runs)


def measure_commits(home: str) -> None:
    """Bare and through the daemon, in turn."""
    kinds: dict[str, Callable[[str], float]] = {"bare storage": lambda name: bare(home, name)}
    for window in WINDOWS:
        kinds[f"daemon, window {window}"] = lambda name, window=window: through(home, name, window)  # type: ignore[misc]
    found: dict[str, list[float]] = {kind: [] for kind in kinds}
    for round_number in range(ROUNDS):
        for at, (kind, run) in enumerate(kinds.items()):
            found[kind].append(run(f"s{round_number}-{at}"))
    alone = middle(found["bare storage"])
    for kind, runs in found.items():
        spread = f"{min(runs):,.0f} to {max(runs):,.0f}"
        print(f"{kind:<20} {middle(runs):>8,.0f} commits/s ({spread})  {middle(runs) / alone:.2f}x")


def subscribe(home: str, name: str, last: int) -> None:
    """Be `SUBSCRIBERS` subscribers until each has a frame up to cursor `last`; print the latencies, in ns, as JSON."""
    selector = selectors.DefaultSelector()
    latencies: list[int] = []
    for _ in range(SUBSCRIBERS):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(f"{home}/daemon.sock")
        connection.sendall(encode(ask(1, "subscribe_state_tree", TreeArgs(name))))
        assert b'"ok"' in connection.recv(1 << 20)
        selector.register(connection, selectors.EVENT_READ, [b""])
    print("subscribed", flush=True)
    while selector.get_map():
        for key, _ in selector.select():
            *lines, key.data[0] = (key.data[0] + os.read(key.fd, 1 << 16)).split(b"\n")
            for line in lines:
                frame = decode_reply(line)
                now = time.monotonic_ns()
                assert isinstance(frame, Update) and frame.records, "a frame was lost"
                latencies += [now - int(record["put"][2]["kind"]) for record in frame.records]
                if frame.cursor == last:
                    selector.unregister(key.fileobj)
    print(json.dumps(latencies))


def measure_frames(home: str) -> None:
    """Commits at a steady pace, with many subscribers: how late their frames are."""
    with Storage.open(f"{home}/sessions/frames", home=home) as storage:
        storage.commit([put({"type": "conversation", "id": 1})])
    child = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.daemon", "--subscribe", home, "frames", str(PACED_COMMITS + 1)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None and child.stdout.readline() == "subscribed\n"
    with DaemonConnection(home) as connection:
        began = time.monotonic()
        for number in range(1, PACED_COMMITS + 1):
            time.sleep(max(0.0, began + number * PACE_S - time.monotonic()))
            connection.call(ask(number, "commit", CommitArgs("frames", entry(number))))
    latencies = sorted(json.loads(child.stdout.readline()))
    child.wait()
    assert len(latencies) == PACED_COMMITS * SUBSCRIBERS
    told = {name: latencies[int(len(latencies) * part)] / 1e6 for name, part in (("p50", 0.5), ("p99", 0.99))}
    rate = f"{1 / PACE_S:.0f} commits/s"
    print(f"frames to {SUBSCRIBERS} subscribers at {rate}: p50 {told['p50']:.1f} ms, p99 {told['p99']:.1f} ms")


def main() -> None:
    """Start a daemon, measure, end it."""
    if sys.argv[1:2] == ["--subscribe"]:
        subscribe(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as directory:
        home = f"{directory}/h"
        os.mkdir(home)
        command = [sys.executable, "-c", "from eukhe.cli import main; main()", "daemon", "--home", home]
        daemon = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert daemon.stderr is not None and "serving" in daemon.stderr.readline()
        try:
            measure_commits(home)
            measure_frames(home)
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()


if __name__ == "__main__":
    main()
