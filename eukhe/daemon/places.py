"""Where the daemon has its files: all of them directly in the home."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from eukhe.daemon.errors import HomeTooLong
from eukhe.sessions.places import sessions_of
from eukhe.sessions.rules import LEGACY_SUFFIX
from eukhe.staging.rules import is_session_name
from eukhe.storage.rules import MAIN_NAME

SOCKET_BYTES_MAX = 107
"""What Linux allows: the path of a socket with its final zero has 108 bytes."""


def socket_of(home: str) -> str:
    """The socket that clients connect to; mode 0600, there while the daemon runs."""
    return f"{home}/daemon.sock"


def lock_of(home: str) -> str:
    """The file that the one daemon of a home has locked; it stays when the daemon ends."""
    return f"{home}/daemon.lock"


def session_of(home: str, name: str) -> str:
    """The storage of a session."""
    return os.path.join(sessions_of(home), name)


def workers_of(home: str) -> str:
    """The directory of the sockets of workers."""
    return f"{home}/workers"


def worker_socket_of(home: str, worker: int) -> str:
    """The socket of a worker, by its number; the daemon removes it when the worker has gone."""
    return f"{workers_of(home)}/{worker}.sock"


def jobs_of(home: str) -> str:
    """The file of the home's scheduled jobs."""
    return f"{home}/cron-jobs.json"


def legacy_of(home: str, name: str) -> str:
    """The legacy file that a session of this name would be imported from."""
    return session_of(home, name) + LEGACY_SUFFIX


def is_imported(home: str, name: str) -> bool:
    """Whether the session has a storage: a directory with a main.jsonl."""
    return os.path.isfile(os.path.join(session_of(home, name), MAIN_NAME))


def exists(home: str, name: str) -> bool:
    """Whether there is a session of this name: a storage, or a legacy file that becomes one when it is opened."""
    return is_session_name(name) and (is_imported(home, name) or os.path.isfile(legacy_of(home, name)))


def check_socket(path: str) -> None:
    """Raises `HomeTooLong` for a path that no Unix socket can have."""
    if len(os.fsencode(path)) > SOCKET_BYTES_MAX:
        raise HomeTooLong(path)


@contextmanager
def private_sockets() -> Iterator[None]:
    """Inside the block sockets are made with mode 0600. For a process without other threads that make files."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)
