"""Where the daemon has its files: all of them directly in the home."""

from __future__ import annotations

import os

from eukhe.sessions.places import sessions_of
from eukhe.storage.rules import MAIN_NAME


def socket_of(home: str) -> str:
    """The socket that clients connect to; mode 0600, there while the daemon runs."""
    return f"{home}/daemon.sock"


def lock_of(home: str) -> str:
    """The file that the one daemon of a home has locked; it stays when the daemon ends."""
    return f"{home}/daemon.lock"


def session_of(home: str, name: str) -> str:
    """The storage of a session."""
    return os.path.join(sessions_of(home), name)


def exists(home: str, name: str) -> bool:
    """Whether there is a session of this name: a directory with a main.jsonl."""
    plain_name = name not in ("", ".", "..") and "/" not in name and "\0" not in name and not name.startswith(".")
    return plain_name and os.path.isfile(os.path.join(session_of(home, name), MAIN_NAME))
