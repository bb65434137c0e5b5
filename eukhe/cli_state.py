"""`eukhe state`: the state tree of a session.

Without a daemon the tree is built here from what the log holds, and nothing is written. With `--follow` the session's
daemon is asked, and each change is shown as it comes. A cursor is the number of records that the tree has had; it
belongs to one tree, so a cursor from the daemon's tree means nothing for the tree that is built here.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from eukhe.sessions.places import home_of, sessions_of
from eukhe.storage import read_storage
from eukhe.system import OsSystem
from eukhe.tree.drawing import describe_plan, draw_tree
from eukhe.tree.state import StateTree

Session = Annotated[str, typer.Argument(metavar="SESSION", help="A session's name, or a storage's directory.")]
Home = Annotated[str | None, typer.Option("--home", help="Where everything is kept. [default: $EUKHE_HOME, ~/.eukhe]")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value a line.")]


def state_command(
    session: Session,
    what: Annotated[str | None, typer.Argument(metavar="[rewind-plan]", help="Say what a rewind would do.")] = None,
    at: Annotated[int | None, typer.Option("--at", min=0, help="The tree at this cursor. [default: now]")] = None,
    to: Annotated[int | None, typer.Option("--to", min=0, help="The cursor of the rewind plan.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on showing changes; needs the daemon.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Show the state tree of a session."""
    if what not in (None, "rewind-plan"):
        raise typer.BadParameter(f"no {what!r}; there is: rewind-plan")
    if (what == "rewind-plan") != (to is not None):
        raise typer.BadParameter("a rewind plan is asked for with rewind-plan and --to CURSOR")
    if follow and (what or at is not None):
        raise typer.BadParameter("--follow shows the live tree; leave out --at and rewind-plan")
    if follow:
        from eukhe.daemon.following import follow_session  # asyncio is loaded only where a daemon is asked

        follow_session(home_of(home), session, json)
        return
    state = build_state(place_of_session(home_of(home), session))
    cursor = _known(state, to if to is not None else state.cursor if at is None else at)
    if what == "rewind-plan":
        plan = state.rewind_plan(cursor)
        print(msgspec.json.encode(plan.plain()).decode() if json else "\n".join(describe_plan(plan)))
        return
    snapshot = state.snapshot_at(cursor)
    if json:
        print(msgspec.json.encode({"tree": state.tree, "cursor": cursor, "nodes": list(snapshot)}).decode())
        return
    Console(soft_wrap=True, highlight=False).print(draw_tree(f"{session}  cursor {cursor} of {state.cursor}", snapshot))


def place_of_session(home: str, session: str) -> str:
    """The directory of a session: what is given where it is a path, else the session of that name in the home."""
    return os.path.normpath(session) if os.sep in session else os.path.join(sessions_of(home), session)


def build_state(place: str) -> StateTree:
    """The state tree of what a storage holds. Commits that it cannot follow are told on standard error."""
    commits = read_storage(place).commits
    state, errors = StateTree.from_history(place, OsSystem().urandom(16).hex(), commits)
    for error in errors:
        print(f"eukhe: {error}", file=sys.stderr)
    return state


def _known(state: StateTree, cursor: int) -> int:
    if cursor > state.cursor:
        raise typer.BadParameter(f"the tree has had {state.cursor} records, so there is no cursor {cursor}")
    return cursor
