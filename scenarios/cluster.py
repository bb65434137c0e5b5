"""A connection to workers elsewhere: a dask cluster by its scheduler's address, or one that is started here.

`cluster(address, jobs)` is a context in which there is a `Cluster`; what was started here ends with it, and a cluster
of somebody else's goes on. `local` starts a scheduler and `jobs` worker processes of this host (`cluster_local`).

Workers must run the very same program, or the same unit means something else there: `identity` is compared with each
when the connection is made, and again by each piece of work (`same_here`), for workers may come later.

Inside a worker other threads of dask go on: what simfs puts in the place of system calls lets them through. But its
callback of the garbage collector would run in the middle of a simulated process, on whatever thread; so it is taken
out while a piece of work is done (`alone`), and two pieces are never done at once in one process.

`distributed` is imported here only when a cluster is asked for. Its log is silenced: what matters is raised, as
UsageError before the work and as ConnectionError when the scheduler, or every worker, is gone.
"""

from __future__ import annotations

import gc
import logging
import platform
import re
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any

from scenarios.cluster_local import LocalScheduler
from simfs.errors import UsageError

LOCAL = "local"
CONNECT_S = 10
"""How long a scheduler may take to answer, and its first worker to be there."""
ALONE_S = 60.0
"""With no worker for so long a cluster counts as gone."""
_PACKAGES = ("eukhe", "simfs", "scenarios")
_LOGS = ("distributed", "tornado", "asyncio")
_OF_CONNECTIONS = ("distributed.client", "distributed.comm.core", "distributed.core")
"""Where dask defines what it raises when a connection is gone."""
_one_at_a_time = threading.Lock()


class Cluster:
    """A connected cluster; `client` is dask's."""

    def __init__(self, address: str, client: Any, started: LocalScheduler | None = None) -> None:
        self.address = address
        self.client = client
        self.started = started
        self.alone_s = 0.0

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Calls of the client: what dask raises when its scheduler is gone, as ConnectionError."""
        try:
            yield
        except Exception as error:
            of_the_connection = isinstance(error, OSError | CancelledError) or type(error).__module__ in _OF_CONNECTIONS
            if of_the_connection or self.client.status != "running":
                raise ConnectionError(f"the scheduler at {self.address} is gone") from error
            raise

    def processes(self) -> int:
        """How many worker processes there are now. Raises ConnectionError."""
        with self.reached():
            return len(self.client.scheduler_info(n_workers=-1)["workers"])

    def check(self, waited_s: float) -> None:
        """Raise ConnectionError where the scheduler is gone, or no worker has been there for `ALONE_S`. Call it after
        each time in which nothing came, with how long that was."""
        if self.client.status != "running":
            raise ConnectionError(f"the scheduler at {self.address} is gone")
        self.alone_s = 0.0 if self.processes() else self.alone_s + waited_s
        if self.alone_s >= ALONE_S:
            raise ConnectionError(f"the scheduler at {self.address} has had no worker for {ALONE_S:g} s")

    def close(self) -> None:
        """Leave the cluster; end what was started here, with whatever it is doing."""
        _bounded(lambda: self.client.close(timeout=2))
        if self.started is not None:
            self.started.close()


@contextmanager
def cluster(address: str, jobs: int) -> Iterator[Cluster]:
    """The cluster at an address, or one of `jobs` processes here for `local`. Raises UsageError."""
    with ExitStack() as stack:
        yield open_cluster(address, jobs, stack)


def open_cluster(address: str, jobs: int, stack: ExitStack) -> Cluster:
    """As `cluster`; ends when the stack is closed. Raises UsageError."""
    try:
        import distributed
    except ImportError:
        raise UsageError("--cluster needs dask: pip install 'eukhe[cluster]'") from None
    if address != LOCAL and not re.fullmatch(r"(\w+://)?[^/\s]+:\d+", address):
        raise UsageError(f"--cluster {address}: write HOST:PORT of a scheduler, or {LOCAL}")
    stack.enter_context(_silence())
    found: list[Cluster] = []
    failed: list[BaseException] = []

    def connect() -> None:
        try:
            found.append(_local(distributed, jobs) if address == LOCAL else _remote(distributed, address))
        except Exception as error:
            failed.append(error)

    _bounded(connect, 6 * CONNECT_S if address == LOCAL else CONNECT_S + 5)
    if not found:
        why = str(failed[0]) if failed else f"no answer within {CONNECT_S} s"
        raise UsageError(f"--cluster {address}: no cluster answers there: {why}")
    stack.callback(found[0].close)
    _check_workers(found[0])
    return found[0]


def _remote(distributed: Any, address: str) -> Cluster:
    from distributed.versions import VersionMismatchWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VersionMismatchWarning)
        client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    return Cluster(address, client)


def _local(distributed: Any, jobs: int) -> Cluster:
    started = LocalScheduler(jobs)
    try:
        client = distributed.Client(started.address, timeout=CONNECT_S, set_as_default=False)
    except BaseException:
        started.close()
        raise
    return Cluster(started.address, client, started)


def _check_workers(cluster: Cluster) -> None:
    """Raise UsageError where no worker is, or one runs something else."""
    try:
        cluster.client.wait_for_workers(1, timeout=CONNECT_S)
        answers = cluster.client.run(identity, on_error="return")
    except TimeoutError:
        raise UsageError(f"--cluster {cluster.address}: the scheduler has no worker") from None
    except (OSError, CancelledError) as error:
        raise UsageError(f"--cluster {cluster.address}: the scheduler is gone: {error}") from None
    for worker, answer in sorted(answers.items()):
        if answer != identity():
            theirs = answer if isinstance(answer, str) else f"{type(answer).__name__}: {answer}"
            raise UsageError(
                f"--cluster {cluster.address}: worker {worker} has another program ({theirs}); here it is {identity()}:"
                " install the same on both sides"
            )


@cache
def identity() -> str:
    """What runs in this process: the version of this package, a digest of its sources, and of Python."""
    digest = blake2b(digest_size=4)
    above = Path(__file__).resolve().parents[1]
    for package in _PACKAGES:
        for path in sorted((above / package).rglob("*.py")):
            digest.update(path.relative_to(above).as_posix().encode() + b"\0" + path.read_bytes())
    python = ".".join(platform.python_version_tuple()[:2])
    return f"eukhe {version('eukhe')} of sources {digest.hexdigest()} on Python {python}"


def same_here(wanted: str) -> str:
    """In a worker: "" where it runs the program that is wanted, else what is wrong."""
    return "" if identity() == wanted else f"a worker has another program ({identity()}), not {wanted}"


@contextmanager
def alone() -> Iterator[None]:
    """In a worker: nothing else of this kind runs in this process, and no callback of the garbage collector."""
    with _one_at_a_time:
        callbacks = gc.callbacks[:]
        gc.callbacks.clear()
        try:
            yield
        finally:
            gc.callbacks[:0] = callbacks


@contextmanager
def _silence() -> Iterator[None]:
    """Nothing of dask's log is shown."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _LOGS]
    loggers = [logging.getLogger(name) for name in {*_LOGS, *names}]
    before = [(logger, logger.level) for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)


def _bounded(call: Any, seconds: float = CONNECT_S) -> None:
    """Make a call that may never end: whoever does not answer is left to himself."""

    def quietly() -> None:
        try:
            call()
        except (OSError, CancelledError, TimeoutError):
            pass

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    thread.join(seconds)
