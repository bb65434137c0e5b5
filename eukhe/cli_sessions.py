"""`eukhe sessions` and `eukhe sweep`: the sessions of a home from the command line.

Names that are not UTF-8 are shown with `\\xNN` for each byte that is none; give the name itself (as the shell has it)
to a command.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import Annotated

import msgspec
import typer

from eukhe import cli_daemon
from eukhe.errors import StorageInUse
from eukhe.sessions import ForkPoint, Row, delete_session, fork_session, import_session, list_sessions
from eukhe.sessions.places import home_of, sessions_of, swept_of
from eukhe.staging import sweep

app = typer.Typer(help="List, import, fork and delete sessions.", no_args_is_help=True)

Home = Annotated[str | None, typer.Option("--home", help="Where everything is kept. [default: $EUKHE_HOME, ~/.eukhe]")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value a line.")]


@app.command(name="list")
def list_command(home: Home = None, json: Json = False) -> None:
    """List the sessions, the one that was written last first."""
    place = sessions_of(home_of(home))
    listing = list_sessions(place)
    for row in listing.rows:
        print(_row_as_json(place, row) if json else _row_as_text(row))
    for skipped in listing.skipped:
        print(f"eukhe: {shown(skipped.path)}: not listed: {shown(skipped.why)}", file=sys.stderr)


@app.command(name="import")
def import_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A legacy session, <name>.jsonl. It is not changed.")],
    name: Annotated[str | None, typer.Option("--name", help="The session's name. [default: the file's stem]")] = None,
    home: Home = None,
) -> None:
    """Make a session from a legacy file, whole or not at all. Prints where it is."""
    above = home_of(home)
    done = import_session(os.path.normpath(file), sessions_of(above), name, home=above)
    if done.torn_bytes:
        print(f"eukhe: {shown(file)}: a torn last line of {done.torn_bytes} bytes was left out", file=sys.stderr)
    print(f"{shown(done.path)}: {done.messages} messages")


@app.command(name="fork")
def fork_command(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A session; it may be in use.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The name of the new session.")],
    at: Annotated[int | None, typer.Option("--at", min=1, help="Start at this entry. [default: the latest]")] = None,
    empty: Annotated[bool, typer.Option("--empty", help="Start with nothing but the working directory.")] = False,
    home: Home = None,
) -> None:
    """Make a session from another one. Prints where it is."""
    if at is not None and empty:
        raise typer.BadParameter("a fork starts at an entry or empty, not both")
    above = home_of(home)
    point: ForkPoint = "empty" if empty else "latest" if at is None else at
    done = fork_session(sessions_of(above), source, target, point, home=above)
    print(f"{shown(done.path)}: {done.commits} commits")


@app.command(name="delete")
def delete_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A session that nobody but the daemon has open.")],
    home: Home = None,
) -> None:
    """Delete a session. The daemon ends its worker first."""
    place = sessions_of(home_of(home))
    try:
        left = [[path, error.strerror or str(error)] for path, error in delete_session(place, name)]
    except StorageInUse:
        left = cli_daemon.delete_through_daemon(f"{place}/{name}")
    for path, why in left:
        told = f"{shown(path)}: {shown(why)}"
        print(f"eukhe: {told}; the session is gone, a sweep will try to remove this again", file=sys.stderr)


def sweep_command(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Remove nothing; say why each entry stays.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Remove what dead imports, forks and deletions left behind and nobody touched for a day.

    Exit code 1 when something could not be looked at or removed.
    """
    report = sweep(swept_of(home_of(home)), dry_run=dry_run)
    told = [("would remove" if dry_run else "removed", entry) for entry in report.removed]
    told += [("stays", entry) for entry in report.kept] if dry_run else []
    told += [("failed", entry) for entry in report.failed]
    for what, entry in told:
        if json:
            line = {"path": shown(entry.path), "what": what.replace(" ", "_"), "why": shown(entry.why)}
            print(msgspec.json.encode(line).decode())
        else:
            print(
                f"{what}: {shown(entry.path)}: {shown(entry.why)}", file=sys.stderr if what == "failed" else sys.stdout
            )
    if report.failed:
        raise typer.Exit(1)


def shown(text: str) -> str:
    """A name or message as it can be printed: bytes that are not UTF-8 as `\\xNN`."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _when(modified_ns: int) -> str:
    moment = datetime.fromtimestamp(modified_ns // 1_000_000_000, UTC)
    return moment.isoformat().replace("+00:00", "Z")


def _row_as_text(row: Row) -> str:
    return f"{_when(row.modified_ns)}  {shown(row.id)}  {shown(row.cwd)}"


def _row_as_json(directory: str, row: Row) -> str:
    place = shown(f"{directory}/{row.place}")
    line = {"id": shown(row.id), "place": place, "cwd": row.cwd, "modified_ns": row.modified_ns}
    return msgspec.json.encode(line).decode()
