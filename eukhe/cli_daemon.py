"""`eukhe daemon`: serve a home's sessions to any number of clients, until it is told to end."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from eukhe.daemon.errors import NoDaemon
from eukhe.daemon.places import socket_of
from eukhe.errors import StorageInUse
from eukhe.sessions.places import home_of

Home = Annotated[str | None, typer.Option("--home", help="Where everything is kept. [default: $EUKHE_HOME, ~/.eukhe]")]


def daemon_command(home: Home = None) -> None:
    """Serve the sessions of a home, one worker process a session, until SIGTERM or Ctrl-C."""
    from eukhe.daemon.serving import serve  # asyncio is loaded only where it is needed

    place = home_of(home)
    serve(place, lambda: print(f"eukhe: serving {socket_of(place)}", file=sys.stderr, flush=True))


def commit_in_use(directory: str, changes: list[dict[str, Any]]) -> int:
    """Commit to a session that is in use, through the daemon of its home; the commit's number.

    Raises `StorageInUse` where the storage is no session of a home with a daemon, and `DaemonRefused`.
    """
    from eukhe.daemon.following import commit_through_daemon

    above, name = os.path.split(os.path.abspath(directory))
    home, kind = os.path.split(above)
    if kind != "sessions":
        raise StorageInUse(directory)
    try:
        return commit_through_daemon(home, name, changes)
    except NoDaemon:
        raise StorageInUse(directory) from None
