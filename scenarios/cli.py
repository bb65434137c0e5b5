"""The command line `simfs`.

Exit codes: 0 when everything is proved, bounded or sampled as asked; 1 when a law is broken; 2 for wrong usage; 3 when
something is inconclusive: the budget ended, a token is stale, a run could not be judged. Reports go to the output;
progress and messages go to the error stream, so that `--json` can be piped.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reports import artifact
from reports.outcomes import outcome_lines
from reports.summary import summary
from scenarios import cli_counterexample, cli_fuzz, cli_images, cli_record, resolve
from scenarios.catalog import catalogue, where_judged
from scenarios.entries import Ask, Entry
from scenarios.fuzz.planted import asked_for, planting
from scenarios.laws import laws
from scenarios.publish import Places, check_places, document_of, publish, say_published
from scenarios.session import Session
from scenarios.times import seconds
from simfs.errors import SimfsError, UsageError
from simfs.explore.failures import Failures
from simfs.explore.outcomes import outcomes as possible_outcomes
from simfs.explore.token import parse
from simfs.explore.verdict import Counterexample, Verdict
from simfs.machine.errors import Deadlock, NotSimulated, StepLimit
from simfs.patch import EscapedToHost

if TYPE_CHECKING:
    from scenarios.mutants.table import Judged

app = typer.Typer(
    name="simfs",
    help="Run storage code on a machine that loses power after any system call, and judge every disk that may be left.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Disk = Annotated[str | None, typer.Option(help="Disk models, separated by commas, or 'all'.", metavar="MODEL")]
Budget = Annotated[str | None, typer.Option(help="Time for each scenario, as 60s, 2m or 500ms.", metavar="TIME")]
Seed = Annotated[int | None, typer.Option(help="Seed of everything drawn at random.")]
Names = Annotated[
    list[str] | None, typer.Argument(help="A name, module:Class, file.py:Class, or a whole module.", metavar="NAME")
]
Program = Annotated[
    str, typer.Argument(help="A function of a file or module; it takes a directory.", metavar="FILE:FUNCTION")
]
Report = Annotated[str | None, typer.Option(help="Write an HTML page and the JSON there.", metavar="DIR")]
Junit = Annotated[str | None, typer.Option(help="Write JUnit XML there.", metavar="FILE")]
Github = Annotated[bool, typer.Option("--github", help="Annotations, and the step summary of GitHub Actions.")]
Json = Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")]


def ends_on_ctrl_c(command: Callable[..., None]) -> Callable[..., None]:
    """Ctrl-C is a way to end, with exit code 3, and no traceback."""

    @wraps(command)
    def wrapped(*arguments: Any, **keywords: Any) -> None:
        try:
            command(*arguments, **keywords)
        except KeyboardInterrupt:
            raise typer.Exit(_say("interrupted", 3)) from None

    return wrapped


@app.command("list")
@ends_on_ctrl_c
def list_(
    show_laws: Annotated[bool, typer.Option("--laws", help="List the laws too, and who judges each.")] = False,
) -> None:
    """Show the scenarios that there are, and the laws of the stores."""
    entries = catalogue()
    width = _width()
    for entry in entries.values():
        print(f"{entry.name}  ({len(entry.laws)} law{'s' * (len(entry.laws) != 1)})")
        for line in textwrap.wrap(entry.statement, width - 4):
            print(f"    {line}")
    print()
    judged = where_judged(entries)
    if show_laws:
        for law in laws().values():
            state = "planned" if law.planned else ", ".join(judged[law.id]) or "judged nowhere"
            print(f"{law.id}  [{state}]")
            for line in textwrap.wrap(law.statement, width - 4):
                print(f"    {line}")
        print()
    print(_law_counts(judged))


@app.command()
@ends_on_ctrl_c
def run(
    names: Names = None,
    disk: Disk = None,
    budget: Budget = None,
    seed: Seed = None,
    law: Annotated[list[str] | None, typer.Option(help="Judge only this law (may be given again).")] = None,
    mutants: Annotated[bool, typer.Option("--mutants", help="Then break the stores: which law notices?")] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes of this host that share each search.", metavar="N")
    ] = None,
    as_json: Json = False,
    report: Report = None,
    junit: Junit = None,
    github: Github = False,
    exhaustive: Annotated[bool, typer.Option("--exhaustive", help="With --states: worlds that grow.")] = False,
    cluster: Annotated[
        str | None, typer.Option(help="Share searches: a dask scheduler, or 'local'.", metavar="ADDRESS")
    ] = None,
    states: Annotated[
        int | None, typer.Option(min=1, help="Go on until so many distinct crash states were judged.", metavar="N")
    ] = None,
) -> None:
    """Search scenarios, all of them when none is named, and end with a table."""
    places = Places(report, junit, github)
    ask = Ask(_models(disk), seconds(budget) if budget is not None else None, seed, tuple(law or ()), jobs=jobs or 1)
    if cluster is not None and (exhaustive or states is not None):
        raise UsageError("--cluster: the record run is one of this host")
    if exhaustive or states is not None:
        if not exhaustive or states is None or mutants or places.wanted:
            raise UsageError("write --exhaustive --states N, with names, --disk, --budget, --jobs or --json at most")
        raise typer.Exit(cli_record.run_record(names or (), states, jobs, ask, as_json))
    check_places(places)
    _check_laws(ask)
    entries: list[Entry] = []
    for name in names or ():
        entries += resolve.entries_for(name)
    with shared_out(ask, cluster) as asked:
        session = Session(entries or list(catalogue().values()), asked, failures=Failures.here())
        verdicts = session.run()
    if as_json:
        sys.stdout.write(artifact.dumps(verdicts))
    else:
        _print_verdicts(verdicts, session.interrupted)
        if not names:
            print(_law_counts(where_judged(catalogue())))
    code, judged = session.exit_code, None
    if mutants and not session.interrupted:
        judged, accounted = _judge_mutants()
        code = code or accounted
    if places.wanted:
        say_published(publish(document_of(verdicts, session.entries, judged), places), as_json)
    raise typer.Exit(code)


@app.command("mutants")
@ends_on_ctrl_c
def mutants_(store: Annotated[str | None, typer.Argument(help="Only this store's.", metavar="STORE")] = None) -> None:
    """Break the stores in every way that is known, and show which law notices each."""
    raise typer.Exit(_judge_mutants(store)[1])


@app.command()
@ends_on_ctrl_c
def replay(
    token: Annotated[str, typer.Argument(help="The token that a report ends with.")],
    save: Annotated[str | None, typer.Option(help="Write the disk left by the crash there.", metavar="DIR")] = None,
) -> None:
    """Run exactly what a token says, and show it again."""
    parsed = parse(token)
    found = resolve.entry_for_token(parsed.scenario).replay(parsed)
    print(found.text(_width(), _colour()) if isinstance(found, Counterexample) else found)
    if save is not None:
        cli_counterexample.save_image(found, save)
    raise typer.Exit(1)


@app.command()
@ends_on_ctrl_c
def outcomes(
    program: Program,
    disk: Annotated[str, typer.Option(help="The disk model.", metavar="MODEL")] = "prefix",
    setup: Annotated[str | None, typer.Option(help="A function of the same file that runs before, durably.")] = None,
) -> None:
    """List every tree that a power loss may leave of a function's files."""
    function = resolve.function_for(program)
    prepare = None if setup is None else resolve.sibling(program, setup)
    for line in outcome_lines(possible_outcomes(function, setup=prepare, disk=disk), disk, _width()):
        print(line)


cli_counterexample.register(app, ends_on_ctrl_c)
cli_images.register(app, ends_on_ctrl_c)
cli_fuzz.register(app, ends_on_ctrl_c)


def main(arguments: list[str] | None = None) -> None:
    """The console script. Ends the process with an exit code."""
    sys.exit(run_app(sys.argv[1:] if arguments is None else arguments))


def run_app(arguments: list[str]) -> int:
    """The exit code of one command."""
    try:
        with planting(asked_for()):
            app(arguments, prog_name="simfs")
        return 0
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    except KeyboardInterrupt:
        return _say("interrupted", 3)
    except SimfsError as error:
        return _say(str(error), error.exit_code)
    except (NotSimulated, EscapedToHost, Deadlock, StepLimit) as error:
        return _say(f"cannot be judged: {error}", 3)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 3
    except Exception:
        traceback.print_exc()
        return _say("this is a defect of simfs, or of what it was given: please report it", 3)


def _print_verdicts(verdicts: list[Verdict], interrupted: bool) -> None:
    for verdict in verdicts:
        if verdict.counterexample is not None:
            print(verdict.counterexample.text(_width(), _colour()) + "\n")
        elif "text" in verdict.tags:
            print(f"{verdict.tags['text']}\n")
    print("\n".join(summary(verdicts)))
    if interrupted:
        print("interrupted: what was not reached is not in the table")


def _judge_mutants(store: str | None = None) -> tuple[list[Judged], int]:
    """Judge them and print the table: what was judged, and the exit code. Ctrl-C ends it with what there is."""
    from scenarios.mutants.table import STORES, judge_all, table

    stores = [one for one in STORES if store in (None, one.name)]
    if not stores:
        raise UsageError(f"no store {store!r} has mutants; there are {', '.join(one.name for one in STORES)}")
    judged: list[Judged] = []
    interrupted = False
    try:
        for of, one in judge_all(stores):
            judged.append(one)
            said = f"{'killed  ' if one.killed else 'SURVIVED'} {of.name}: {one.mutant.name}"
            print(said, file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        interrupted = True
    print("\n".join(table(judged)))
    if interrupted:
        print("interrupted: what was not reached is not in the table")
    return judged, 3 if interrupted else 0 if all(outcome.accounted for outcome in judged) else 1


def _law_counts(judged: dict[str, list[str]]) -> str:
    known = laws()
    planned = sum(law.planned for law in known.values())
    counted = sum(bool(judged[law]) for law in known)
    return f"{len(known)} laws: {counted} judged, {planned} planned (their store is not built yet)"


def _check_laws(ask: Ask) -> None:
    unknown = [law for law in ask.only if not re.fullmatch(r"\w+", law)]
    if unknown:
        raise UsageError(f"{unknown[0]!r} is no id of a law; simfs list --laws shows them")


@contextmanager
def shared_out(ask: Ask, cluster: str | None) -> Iterator[Ask]:
    """Inside the block searches are shared among the workers of a cluster, where one is asked for."""
    if cluster is None:
        yield ask
        return
    from scenarios.cluster import alone
    from scenarios.cluster import cluster as connected
    from scenarios.cluster_pool import ClusterPool

    assert isinstance(ask.jobs, int)
    with connected(cluster, ask.jobs) as workers, alone():
        yield replace(ask, jobs=ClusterPool(workers))


def _models(disk: str | None) -> str | list[str] | None:
    if disk is None or disk == "all":
        return disk
    return [name.strip() for name in disk.split(",") if name.strip()]


def _width() -> int:
    return min(100, shutil.get_terminal_size((80, 24)).columns) if sys.stdout.isatty() else 80


def _colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _say(text: str, code: int) -> int:
    print(f"simfs: {text}", file=sys.stderr)
    return code
