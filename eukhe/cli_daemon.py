"""`eukhe daemon`: serve a home's sessions to any number of clients, until it is told to end."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from eukhe.daemon.errors import NoDaemon
from eukhe.daemon.places import exists, socket_of
from eukhe.errors import StorageInUse
from eukhe.sessions.places import home_of

Home = Annotated[str | None, typer.Option("--home", help="Where everything is kept. [default: $EUKHE_HOME, ~/.eukhe]")]


def daemon_command(home: Home = None) -> None:
    """Serve the sessions of a home, one worker process a session, until SIGTERM or Ctrl-C."""
    from eukhe.daemon.serving import serve  # asyncio is loaded only where it is needed

    place = home_of(home)
    serve(place, lambda: print(f"eukhe: serving {socket_of(place)}", file=sys.stderr, flush=True))


def commit_through_daemon(place: str, changes: list[dict[str, Any]]) -> int | None:
    """Commit to a session through the daemon of its home; the commit's number, None where no daemon serves it.

    Raises `DaemonRefused`, and `NoDaemon` where the daemon goes before it answers.
    """
    served = _served(place)
    if served is None:
        return None
    from eukhe.daemon.following import DaemonConnection  # only where a daemon is asked
    from eukhe.daemon.protocol import CommitArgs, ask

    home, name = served
    try:
        connection = DaemonConnection(home)
    except NoDaemon:
        return None
    with connection:
        number: int = connection.call(ask(1, "commit", CommitArgs(name, changes)))["commit"]
        return number


def delete_through_daemon(place: str) -> list[list[str]]:
    """Let the daemon that has a session open delete it: (path, why) of what a sweep will remove.

    Raises `StorageInUse` where no daemon serves it, and `DaemonRefused`.
    """
    from eukhe.daemon.arguments import DeleteArgs
    from eukhe.daemon.following import DaemonConnection
    from eukhe.daemon.protocol import ask

    served = _served(place)
    if served is None:
        raise StorageInUse(place)
    home, name = served
    try:
        connection = DaemonConnection(home)
    except NoDaemon:
        raise StorageInUse(place) from None
    with connection:
        left: list[list[str]] = connection.call(ask(1, "delete_session", DeleteArgs(name)))["left"]
        return left


def _served(place: str) -> tuple[str, str] | None:
    """The home and the name of a session that a daemon may serve: one that is there, in a home with a socket."""
    above, name = os.path.split(os.path.abspath(place))
    home, kind = os.path.split(above)
    if kind != "sessions" or not exists(home, name) or not os.path.exists(socket_of(home)):
        return None
    return home, name
