"""Where things are below a home."""

from __future__ import annotations

import os


def home_of(option: str | None) -> str:
    """The home: what the caller says, else `$EUKHE_HOME`, else `~/.eukhe`."""
    return os.path.normpath(option or os.environ.get("EUKHE_HOME") or os.path.expanduser("~/.eukhe"))


def sessions_of(home: str) -> str:
    """The sessions directory of a home."""
    return f"{home}/sessions"


def swept_of(home: str) -> tuple[str, str]:
    """The directories of a home that are swept."""
    return sessions_of(home), f"{home}/session-artifacts"
