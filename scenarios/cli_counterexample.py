"""Commands of `simfs` about a counterexample that is known: explain, shrink, repro; and about reports that are written.

`register` adds them to the application; each ends with the exit code of what it shows, as in `cli.py`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from reports.explain import explanation
from reports.merge import merge, read_artifact
from scenarios import resolve
from scenarios.publish import Places, check_places, publish, say_published
from scenarios.repro import repro
from simfs.disk.realdir import save
from simfs.errors import UsageError
from simfs.explore.shrink import shrink_token
from simfs.explore.token import parse
from simfs.explore.verdict import Counterexample

Tokens = Annotated[str, typer.Argument(help="The token that a report ends with.", metavar="TOKEN")]
EXIT_CODES = {"violated": 1, "inconclusive": 3}


def explain_(token: Tokens) -> None:
    """Tell a counterexample step by step: what readers saw, what was durable, what the crash took, what was read."""
    parsed = parse(token)
    found = resolve.entry_for_token(parsed.scenario).replay(parsed)
    print("\n".join(explanation(found)) if isinstance(found, Counterexample) else found)
    raise typer.Exit(1)


def shrink_(token: Tokens) -> None:
    """Look for a smaller story of the same broken law, and show the smallest."""
    parsed = parse(token)
    entry = resolve.entry_for_token(parsed.scenario)
    member = parsed.scenario.partition("[")[2].rstrip("]")
    found = shrink_token(parsed, entry.scenario(member))
    print(found.text())
    if found.token == token:
        print("nothing smaller was found", file=sys.stderr)
    raise typer.Exit(1)


def repro_(
    token: Tokens,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write it there.", metavar="FILE")] = None,
) -> None:
    """Write a pytest file that searches the scenario of a token at all its crash points, on the model that failed."""
    parsed = parse(token)
    entry = resolve.entry_for_token(parsed.scenario)
    text = repro(parsed, entry, entry.replay(parsed))
    if output is None:
        sys.stdout.write(text)
        return
    try:
        with open(output, "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}") from None
    print(f"pytest {output}")


def report_(
    files: Annotated[
        list[str], typer.Argument(help="JSON artifacts, or directories of reports; several become one.", metavar="FILE")
    ],
    merged: Annotated[bool, typer.Option("--merge", help="Says what it does anyhow: put all together.")] = False,
    report: Annotated[str | None, typer.Option(help="Write an HTML page and the JSON there.", metavar="DIR")] = None,
    junit: Annotated[str | None, typer.Option(help="Write JUnit XML there.", metavar="FILE")] = None,
    github: Annotated[bool, typer.Option("--github", help="Annotations and the step summary of GitHub.")] = False,
) -> None:
    """Put artifacts of several runs, shards and nights together, and write reports of them."""
    places = Places(report, junit, github)
    if not places.wanted:
        raise UsageError("say what to write: --report DIR, --junit FILE or --github")
    documents = [read_artifact(path) for path in files]
    check_places(places)
    together = merge(documents)
    say_published(publish(together, places), quiet=False)
    raise typer.Exit(EXIT_CODES.get(together["status"], 0))


def save_image(found: Counterexample | str, directory: str) -> None:
    """Write the disk of a counterexample into a directory as real files. Raises UsageError or CannotSave."""
    if not isinstance(found, Counterexample) or found.image is None:
        raise UsageError("there is no disk to save: this counterexample is a history of many")
    save(found.image, directory)
    print(f"the disk is in {Path(os.path.abspath(directory))}", file=sys.stderr)


def register(app: typer.Typer, wrap: Callable[[Callable[..., None]], Callable[..., Any]]) -> None:
    """Add the commands."""
    for name, command in (("explain", explain_), ("shrink", shrink_), ("repro", repro_), ("report", report_)):
        app.command(name)(wrap(command))
