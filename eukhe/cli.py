"""The command line: `eukhe`.

Exit codes: 0 done, 1 the store says no (the message names the file and what to do), 2 wrong usage. Results go to
standard output, everything else to standard error. `--json` prints one JSON value a line, for programs.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import typer

from eukhe import cli_cron, cli_daemon, cli_doctor, cli_sessions, cli_state
from eukhe.cron.entry import CronEntry
from eukhe.entry import Entry, serve
from eukhe.epochs import commands as epochs_commands
from eukhe.errors import EukheError
from eukhe.json_input import read_json_lines
from eukhe.sessions.entry import StagingEntry
from eukhe.sessions.places import home_of
from eukhe.storage import Commit, Storage, read_storage, session_meta
from eukhe.storage.entry import LogEntry
from eukhe.storage.shell import encoded
from eukhe.tree.entry import TreeEntry

app = typer.Typer(
    help="Keep sessions in files that survive a power loss.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(epochs_commands.app, name="epochs")
app.add_typer(cli_cron.app, name="cron")
app.add_typer(cli_sessions.app, name="sessions")
app.command(name="sweep")(cli_sessions.sweep_command)
app.command(name="state")(cli_state.state_command)
app.command(name="daemon")(cli_daemon.daemon_command)
app.command(name="doctor")(cli_doctor.doctor_command)

RULES: dict[str, type[Entry]] = {"cron": CronEntry, "log": LogEntry, "staging": StagingEntry, "tree": TreeEntry}
"""The stores whose rules can be asked."""

Json = Annotated[bool, typer.Option("--json", help="Print one JSON value a line.")]


def main() -> None:
    """Run the command line and exit."""
    try:
        app()
    except EukheError as error:
        print(f"eukhe: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        # The reader of our output has gone. Python would complain once more when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


@app.command()
def commit(session: cli_state.Session, home: cli_state.Home = None) -> None:
    """Append the changes on standard input, one JSON object a line, as one commit. Prints its number.

    Where the home's daemon runs, it commits. A new session first gets a commit of its own that says where it works and
    since when.
    """
    changes = read_json_lines(sys.stdin.buffer, dict[str, Any], "change")
    if not changes:
        raise typer.BadParameter("no changes on standard input; give one JSON object a line")
    place = cli_state.place_of_session(home_of(home), session)
    number = cli_daemon.commit_through_daemon(place, changes)
    print(_commit_here(place, home_of(home) if os.sep not in session else home, changes) if number is None else number)


def _commit_here(place: str, home: str | None, changes: list[dict[str, Any]]) -> int:
    """Commit to a storage that no daemon serves. `home`: the path is kept safe from here down. What is refused makes no
    session."""
    encoded(place, 1, changes)
    with Storage.open(place, home=home) as storage:
        if storage.last_commit == 0 and not any(_is_session_meta(change) for change in changes):
            created = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            storage.commit([session_meta(os.getcwd(), created)])
        return storage.commit(changes)


@app.command()
def log(session: cli_state.Session, home: cli_state.Home = None, json: Json = False) -> None:
    """Show the commits of a storage, without opening it for writing."""
    view = read_storage(cli_state.place_of_session(home_of(home), session))
    for one in view.commits:
        print(msgspec.json.encode(one).decode() if json else describe_commit(one))
    if view.torn_bytes:
        print(f"eukhe: {view.torn_bytes} bytes of a commit that was never finished follow", file=sys.stderr)


@app.command()
def rules(store: Annotated[str, typer.Argument(metavar="STORE", help=f"Which rules: {', '.join(RULES)}.")]) -> None:
    """Serve a store's rules on standard input and output, one JSON object a line."""
    if store not in RULES:
        raise typer.BadParameter(f"no rules {store!r}; there are: {', '.join(RULES)}")
    serve(RULES[store](), sys.stdin.buffer, sys.stdout.buffer)


def describe_commit(commit: Commit) -> str:
    """One commit on one line."""
    return f"{commit.number}  " + "; ".join(_describe_change(change) for change in commit.changes)


def _describe_change(change: dict[str, Any]) -> str:
    verb = next(iter(change))
    held = change[verb]
    if verb == "copy":
        return f"copy {_describe_key(held['from'])} to {_describe_key(held['record'])}"
    if verb == "retire" or held["type"] == "document":
        return f"{verb} {_describe_key(held)}"
    text = f"put {held['type']} {held['id']}"
    if "conversation" in held:
        text += f" in conversation {held['conversation']}"
    return text + (f", {held['state']}" if "state" in held else "")


def _describe_key(key: dict[str, Any]) -> str:
    scope = key["scope"]
    place = scope if isinstance(scope, str) else " ".join(f"{kind} {id}" for kind, id in scope.items())
    return f"document {key['kind']}/{key['key']} of {place}"


def _is_session_meta(change: dict[str, Any]) -> bool:
    record = change.get("put")
    return isinstance(record, dict) and (record.get("type"), record.get("kind"), record.get("key")) == (
        "document",
        "session",
        "meta",
    )
