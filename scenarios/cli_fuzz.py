"""The command `simfs fuzz`: drawn histories of the stores or of one's own classes, guided by what is new.

Exit codes: 0 when nothing new was found, 1 for a failure that is not known, 2 for wrong usage, 3 when the night was
interrupted, its workers went away, the canary was not found, or something could not be judged or kept. Whatever ends a
night, its report is written.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from reports.artifact import artifact
from reports.html import ARTIFACT
from reports.merge import nights_of, read_artifact
from scenarios.fuzz.cluster import cluster_workers
from scenarios.fuzz.corpus import Corpus
from scenarios.fuzz.document import record_of, verdicts_of
from scenarios.fuzz.known import read_known
from scenarios.fuzz.lookup import chosen
from scenarios.fuzz.night import Night, Wish
from scenarios.fuzz.planted import asked_for
from scenarios.fuzz.workers import LocalWorkers, Workers
from scenarios.publish import Places, check_places, publish, say_published
from scenarios.times import seconds
from simfs.errors import UsageError

Names = Annotated[
    list[str] | None, typer.Argument(help="Targets, stores or file.py:Class; all stores when none.", metavar="NAME")
]


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of one night."""

    wish: Wish
    jobs: int
    corpus: str | None
    known: str | None
    report: str | None
    cluster: str | None


def fuzz_(
    names: Names = None,
    budget: Annotated[str, typer.Option(help="How long, as 10m or 4h.", metavar="TIME")] = "60s",
    seed: Annotated[str | None, typer.Option(help="Any word, as a commit hash; a fresh one when not given.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes of this host.", metavar="N")] = 1,
    shard: Annotated[str, typer.Option(help="Which of how many shards this is.", metavar="K/M")] = "1/1",
    corpus: Annotated[str | None, typer.Option(help="What is kept from night to night.", metavar="DIR")] = None,
    known: Annotated[str | None, typer.Option(help="Failures that are listed only.", metavar="FILE")] = None,
    report: Annotated[str | None, typer.Option(help="Write pages and the JSON there.", metavar="DIR")] = None,
    github: Annotated[bool, typer.Option("--github", help="Annotations and the step summary of GitHub.")] = False,
    cluster: Annotated[
        str | None, typer.Option(help="Address of a dask scheduler, or 'local'.", metavar="ADDRESS")
    ] = None,
) -> None:
    """Draw histories of the stores or of your own classes; keep what shows something new, shrink what breaks a law."""
    wish = Wish(chosen(names or []), seconds(budget), seed or os.urandom(6).hex(), shard_of(shard), tuple(asked_for()))
    asked = Asked(wish, jobs, corpus, known, report, cluster)
    places = Places(report, None, github)
    check_places(places)
    night = whole_night(asked)
    raise typer.Exit(finish(night, asked, places))


def whole_night(asked: Asked) -> Night:
    """Run a night as asked."""
    wish = asked.wish
    known = read_known(asked.known)
    print(f"seed {wish.seed}" + (f", shard {wish.shard[0]}/{wish.shard[1]}" if wish.shard[1] > 1 else ""), flush=True)
    corpus = None if asked.corpus is None else Corpus(os.path.abspath(asked.corpus))
    night = Night(wish, workers_of(asked), corpus, known, lambda line: print(line, flush=True))
    night.started = datetime.now(UTC).isoformat(timespec="seconds")
    night.run()
    return night


def workers_of(asked: Asked) -> Workers:
    """Who does the units."""
    if asked.cluster is None:
        return LocalWorkers(asked.jobs)
    return cluster_workers(asked.cluster, asked.jobs)


def finish(night: Night, asked: Asked, places: Places) -> int:
    """Say what was found, write the reports, and answer the exit code."""
    document = artifact(verdicts_of(night))
    record = record_of(night, night.started, asked.jobs)
    document["nights"] = [record]
    for line in closing_lines(night, record):
        print(line)
    try:
        if places.wanted:
            document["nights"] = nights_of([*earlier(asked.report), document])
            say_published(publish(document, places), quiet=False)
    except (UsageError, OSError) as error:
        rescued = rescue(document)
        print(f"simfs: {error}; all that was found is in {rescued or 'the lines above'}", file=sys.stderr)
        return 3
    if night.new_failures:
        return 1
    return 0 if night.alarm and night.ended == "the budget ended" and not night.trouble else 3


def closing_lines(night: Night, record: dict[str, Any]) -> list[str]:
    """The last lines of a night."""
    failures = night.tally.failures.values()
    new = night.new_failures
    lines = [
        f"{night.ended} after {record['seconds']:g} s: {record['histories']:,} histories, {record['states']:,} crash"
        f" states judged, {record['new']:,} new marks, {record['classes']:,} happens-before classes",
    ]
    if night.corpus is not None:
        kept = record["corpus"]
        lines.append(
            f"corpus {night.corpus.directory}: {kept['replayed']} of {kept['before']} replayed, {kept['pruned']}"
            f" pruned, {kept['added']} added" + (f", {len(night.skipped)} skipped" if night.skipped else "")
        )
    if night.workers.died:
        lines.append(f"workers that died: {night.workers.died}; what they were doing was handed out again")
    if not night.alarm:
        lines.append(f"the canary was not found: {night.ended}; nothing of this night proves anything")
    lines.append(f"{len(new)} new failures, {len(list(failures)) - len(new)} known")
    lines += [f"simfs replay {failure.token}" for failure in new]
    return lines


def shard_of(text: str) -> tuple[int, int]:
    """K and M of K/M. Raises UsageError for a shard that there is not."""
    match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if match is None:
        raise UsageError(f"--shard: {text!r} is no shard: write 2/4 for the second of four")
    k, m = int(match[1]), int(match[2])
    if not 1 <= k <= m:
        raise UsageError(f"--shard: there is no shard {k} of {m}" + (f"; they are 1/{m} to {m}/{m}" if m else ""))
    return k, m


def earlier(directory: str | None) -> list[dict[str, Any]]:
    """The artifact that a directory of reports holds already: its nights stay in the trend. One that cannot be read is
    kept under another name."""
    path = os.path.join(directory or "", ARTIFACT)
    if directory is None or not os.path.exists(path):
        return []
    try:
        return [read_artifact(path)]
    except UsageError as error:
        aside = f"{path}.kept"
        print(f"simfs: {error}; it is kept as {aside}", file=sys.stderr)
        os.replace(path, aside)
        return []


def rescue(document: dict[str, Any]) -> str | None:
    """Write the JSON wherever there is room; None where there is none."""
    from reports.artifact import as_text

    for directory in (None, ".", os.path.expanduser("~")):
        try:
            fd, path = tempfile.mkstemp(".json", "simfs-night-", directory)
            with open(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(as_text(document))
            return path
        except OSError:
            continue
    return None


def register(app: typer.Typer, wrap: Callable[[Callable[..., None]], Callable[..., Any]]) -> None:
    """Add the command."""
    app.command("fuzz")(wrap(fuzz_))
