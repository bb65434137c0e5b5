"""`eukhe epochs`: keep a session in epochs from the command line."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import msgspec
import typer

from eukhe.epochs import EpochEnd, Record, Session, read_session, repair
from eukhe.json_input import read_json, read_json_lines

app = typer.Typer(help="Sessions kept in epochs.", no_args_is_help=True)

Directory = Annotated[str, typer.Argument(metavar="DIR", help="The session's directory.")]
BaselineFile = Annotated[typer.FileBinaryRead, typer.Option("--baseline", help="A file with one JSON object, or -.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value.")]


@app.command()
def create(
    directory: Directory, baseline: BaselineFile, slot: Annotated[int, typer.Option(help="The session's slot.")] = 0
) -> None:
    """Make a session with epoch 0."""
    Session.create_at(directory, _read_baseline(baseline), slot).close()


@app.command()
def append(directory: Directory) -> None:
    """Append the records on standard input, one JSON object a line. Prints the number of turns."""
    records = read_json_lines(sys.stdin.buffer, Record, "record")
    with Session.open_at(directory) as session:
        for record in records:
            session.append(record)
        print(session.turns)


@app.command()
def show(directory: Directory, json: Json = False) -> None:
    """Show the current epoch, without changing anything."""
    view = read_session(directory)
    facts = {
        "session": view.id,
        "epoch": view.epoch,
        "slot": view.slot,
        "turns": view.turns,
        "untrusted": view.untrusted,
        "next_call": view.next_call,
        "carry": view.carry,
    }
    if json:
        print(msgspec.json.encode(facts | {"baseline": view.baseline, "records": view.records}).decode())
        return
    for name, value in facts.items():
        print(f"{name}: {value}")
    for record in view.records:
        print(msgspec.json.encode(record).decode())
    if view.records and isinstance(view.records[-1], EpochEnd):
        print("eukhe: a compaction stopped half-way; `eukhe epochs resume` ends it", file=sys.stderr)


@app.command()
def compact(
    directory: Directory,
    baseline: BaselineFile,
    summary: Annotated[str, typer.Option(help="What is carried into the next epoch.")],
) -> None:
    """End the epoch and begin the next. Prints its number."""
    with Session.open_at(directory) as session:
        print(session.compact(summary, _read_baseline(baseline)))


@app.command()
def resume(directory: Directory) -> None:
    """End a compaction that stopped half-way. Prints the current epoch."""
    with Session.open_at(directory) as session:
        if not session.resume_compaction():
            print("eukhe: no compaction to end", file=sys.stderr)
        print(session.epoch)


@app.command(name="repair")
def repair_command(directory: Directory) -> None:
    """Cut torn last lines, and keep what is cut beside the logs."""
    cuts = repair(directory)
    for cut in cuts:
        print(f"{cut.log}: {cut.bytes_cut} bytes cut, kept in {cut.kept_in}")
    if not cuts:
        print(f"{directory}: no torn last line")


def _read_baseline(file: typer.FileBinaryRead) -> dict[str, Any]:
    value: dict[str, Any] = read_json(file.read(), dict[str, Any], "the baseline is no JSON object")
    return value
