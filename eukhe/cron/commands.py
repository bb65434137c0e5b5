"""What a job does: a shell command, or a Python function, in a child process of its own.

| `runtime_kind` | `prompt` |
|---|---|
| `shell` | a command for /bin/sh |
| `python` | an entry point, `package.module:function`, called without arguments |

The child runs in `cwd` with the scheduler's environment and the job's own, which goes first; EUKHE_JOB_ID and
EUKHE_SCHEDULED_FOR tell it what it is run for. It reads nothing. Its output and its errors are kept together, and of
them the end (`OUTPUT_BYTES`). When the time is up, it and every child in its session are ended. A run fails by an exit
code other than 0, by a signal, by its time, or by not starting; the text of the failure names it and ends with the last
line of the output.

A scheduler that ends may end its children first (`stopped`); such a run fails as interrupted. One that is killed
cannot: such a run is put on record as interrupted too, and its command may go on.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable

from eukhe.cron.instants import text_of
from eukhe.cron.rules import Outcome
from eukhe.cron.store import Claim
from eukhe.system import OsSystem, System

OUTPUT_BYTES = 8192
"""How much of the end of a run's output is kept in memory; the record keeps its last 2,000 characters."""
READ_BYTES = 65_536
LOOK_S = 0.05
"""How often it is looked whether a silent child has ended."""
CALL = "import importlib, sys; m, f = sys.argv[1].split(':'); getattr(importlib.import_module(m), f)()"


def run_command(claim: Claim, system: System | None = None, stopped: Callable[[], bool] = lambda: False) -> Outcome:
    """Run a claimed job to its end, to the end of its time, or until `stopped` says so. Never raises for what the job
    does."""
    job = claim.job
    if job.runtime_kind == "shell":
        arguments = ["/bin/sh", "-c", job.prompt]
    elif job.runtime_kind == "python":
        arguments = [sys.executable, "-c", CALL, job.prompt]
    else:
        return Outcome(f"no way to run a job of kind {job.runtime_kind!r}; there are shell and python")
    told = {"EUKHE_JOB_ID": job.id, "EUKHE_SCHEDULED_FOR": text_of(claim.dispatch.scheduled_for)}
    try:
        child = subprocess.Popen(
            arguments,
            cwd=job.cwd,
            env={**os.environ, **job.environment, **told},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Outcome(f"it did not start: {error}")
    with child:
        assert child.stdout is not None
        printed, in_time = _watch(child, child.stdout.fileno(), job.timeout_ms, system or OsSystem(), stopped)
    output = printed.decode(errors="replace").rstrip("\n")
    if in_time is None:
        return Outcome("interrupted", output or None)
    return Outcome(_failure(child.returncode, in_time, job.timeout_ms, output), output or None)


def _watch(
    child: subprocess.Popen[bytes], fd: int, timeout_ms: int | None, system: System, stopped: Callable[[], bool]
) -> tuple[bytes, bool | None]:
    """The end of what the child printed, and whether it ended in time (None: it was stopped). It has ended, and its
    session with it."""
    deadline = None if timeout_ms is None else system.monotonic_ns() + timeout_ms * 1_000_000
    kept, closed = b"", False
    in_time: bool | None = True
    while True:
        ended = child.poll() is not None
        ready = not closed and bool(select.select([fd], [], [], 0 if ended else LOOK_S)[0])
        if ready:
            piece = os.read(fd, READ_BYTES)
            closed = not piece
            kept = (kept + piece)[-OUTPUT_BYTES:]
        elif ended:
            return kept, in_time
        elif closed:
            system.sleep(LOOK_S)
        late = deadline is not None and system.monotonic_ns() >= deadline
        if in_time and not ended and (late or stopped()):
            in_time = False if late else None
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        if ended and closed:
            return kept, in_time


def _failure(code: int, in_time: bool, timeout_ms: int | None, output: str) -> str | None:
    if not in_time:
        what = f"timed out after {(timeout_ms or 0) / 1000:g} s"
    elif code == 0:
        return None
    elif code > 0:
        what = f"exit code {code}"
    else:
        what = f"ended by signal {-code}"
    last = output.rpartition("\n")[2].strip()
    return f"{what}: {last}" if last else what
