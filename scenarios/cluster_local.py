"""A dask cluster of this host for `--cluster local`: a process in a session of its own, with its workers below it.

It says the address of its scheduler, and ends with all its workers when its input does: when that is closed, and when
whoever started it was killed. A session of its own, so Ctrl-C of a terminal reaches only whoever asked for the work.
One thread a worker, since a simulated machine is the whole process; no limit of memory.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from typing import Any

END_S = 5


class LocalScheduler:
    """The process, from the side of whoever started it. `address` is that of its scheduler."""

    def __init__(self, jobs: int) -> None:
        self._errors = tempfile.TemporaryFile()
        self._process: subprocess.Popen[bytes] = subprocess.Popen(
            [sys.executable, "-m", __name__, str(jobs)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._errors, start_new_session=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().decode().strip()
        if not self.address:
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip().rpartition("\n")[2]
            self.close()
            raise OSError(f"a cluster of this host did not start: {said}")

    def close(self) -> None:
        """End it, with whatever it is doing."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()


def main() -> None:
    """The process itself; its argument is the number of workers."""
    distributed: Any = import_module("distributed")
    cluster = distributed.LocalCluster(
        n_workers=int(sys.argv[1]), threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
        memory_limit=0, silence_logs=50,
    )  # fmt: skip
    print(cluster.scheduler_address, flush=True)
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
