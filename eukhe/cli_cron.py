"""`eukhe cron`: scheduled jobs from the command line.

The jobs are those of `--file`, by default `cron-jobs.json` in the home ($EUKHE_HOME, or ~/.eukhe).
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated, Any

import msgspec
import typer

from eukhe.cron import Claim, CronStore, Job, Scheduler, ScheduleRefused
from eukhe.cron.commands import run_command
from eukhe.cron.instants import text_of
from eukhe.cron.pool import ThreadPool
from eukhe.cron.records import record_of
from eukhe.cron.rules import Outcome

app = typer.Typer(help="Scheduled jobs that several processes share.", no_args_is_help=True)

File = Annotated[
    str | None, typer.Option("--file", help="The file of the jobs; cron-jobs.json in $EUKHE_HOME or ~/.eukhe if none.")
]
JobId = Annotated[str, typer.Argument(metavar="JOB", help="The id of a job.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value a line.")]


@app.command()
def add(
    schedule: Annotated[str, typer.Argument(help="`in 10m`, `every 5m`, `at TIME`, or five cron fields in one word.")],
    command: Annotated[str, typer.Argument(help="What to run: a shell command, or module:function with --python.")],
    zone: Annotated[str | None, typer.Option(help="Time zone of the schedule; UTC if none.")] = None,
    label: Annotated[str, typer.Option(help="What to call it.")] = "",
    python: Annotated[bool, typer.Option("--python", help="The command is a Python entry point.")] = False,
    cwd: Annotated[str | None, typer.Option(help="Directory to run in; the current one if none.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds after which the run is ended.", min=0.001)] = None,
    env: Annotated[list[str] | None, typer.Option(help="NAME=VALUE for its environment; may be repeated.")] = None,
    file: File = None,
    json: Json = False,
) -> None:
    """Add a job. Prints its id."""
    environment = dict(_pair(pair) for pair in env or [])
    try:
        job = _store(file).create(
            schedule,
            command,
            zone=zone,
            label=label,
            runtime_kind="python" if python else "shell",
            cwd=os.path.abspath(cwd or os.getcwd()),
            environment=environment,
            timeout_ms=None if timeout is None else max(1, round(timeout * 1000)),
            source="cli",
        )
    except ScheduleRefused as error:
        raise typer.BadParameter(str(error)) from None
    print(_record(job) if json else job.id)


@app.command(name="list")
def list_command(file: File = None, json: Json = False) -> None:
    """Show all jobs, with their failures and errors."""
    store = _store(file)
    listing = store.list()
    running = {dispatch.job_id for dispatch in listing.dispatches}
    for job in listing.jobs:
        print(_record(job) if json else _line(job, job.id in running))
    for at, why in listing.unreadable:
        print(f"eukhe: {store.path}: job {at} of the file cannot be read and is kept as it is: {why}", file=sys.stderr)


@app.command()
def show(job: JobId, file: File = None, json: Json = False) -> None:
    """Show all that is known of a job."""
    found = _store(file).get(job)
    if json:
        print(_record(found))
        return
    for key, value in msgspec.json.decode(_record(found)).items():
        print(f"{key}: {value if isinstance(value, str | int) else msgspec.json.encode(value).decode()}")


@app.command()
def pause(job: JobId, file: File = None) -> None:
    """Stop a job until it is resumed. A run that goes on is not disturbed."""
    _store(file).pause(job)


@app.command()
def resume(job: JobId, file: File = None) -> None:
    """Let a job go on, its failures forgotten. Prints when it runs next."""
    at = _store(file).resume(job).next_run_at
    print("-" if at is None else text_of(at))


@app.command()
def cancel(job: JobId, file: File = None) -> None:
    """End a job for good. A run that goes on is not disturbed."""
    _store(file).cancel(job)


@app.command(name="run-now")
def run_now(job: JobId, file: File = None) -> None:
    """Run a job here and now, due or not, and record the result. Exit code 1 when the run fails."""
    store = _store(file)
    claim = store.claim_now(job)
    outcome = run_command(claim, store.system)
    if not store.record_dispatch_result(claim.dispatch.id, outcome):
        print(f"eukhe: run {claim.dispatch.id} was put on record as interrupted meanwhile", file=sys.stderr)
    if outcome.output:
        print(outcome.output)
    if outcome.error is not None:
        print(f"eukhe: job {job} failed: {outcome.error}", file=sys.stderr)
        raise typer.Exit(1)


@app.command()
def serve(
    file: File = None,
    pool: Annotated[int, typer.Option(help="Runs at a time.", min=1)] = 4,
    tick: Annotated[float, typer.Option(help="Seconds between two looks.", min=0.01)] = 1.0,
) -> None:
    """Run jobs when they are due, beside other servers of the same file. Ends on SIGTERM or Ctrl-C, after the runs
    that are going on."""
    ended: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, frame: ended.append(got))
    store = _store(file)
    threads = ThreadPool(lambda claim: _told(claim, store), pool)
    Scheduler(store, threads, _tell).serve(lambda: bool(ended), tick)
    threads.close()


def _told(claim: Claim, store: CronStore) -> Outcome:
    outcome = run_command(claim, store.system)
    how = "done" if outcome.error is None else f"failed: {outcome.error}"
    print(f"{claim.job.id} {text_of(claim.dispatch.scheduled_for)} {how}", flush=True)
    return outcome


def _tell(text: str) -> None:
    print(f"eukhe: {text}", file=sys.stderr, flush=True)


def _store(file: str | None) -> CronStore:
    home = os.environ.get("EUKHE_HOME") or os.path.expanduser("~/.eukhe")
    return CronStore(file or os.path.join(home, "cron-jobs.json"), notice=_tell)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE")
    return name, value


def _record(job: Job) -> str:
    value: Any = msgspec.json.decode(record_of(job, None, 0))
    return msgspec.json.encode(value).decode()


def _line(job: Job, running: bool) -> str:
    parts = [job.id, "running" if running else job.status, job.schedule.expression]
    if job.next_run_at is not None:
        parts.append(f"next={text_of(job.next_run_at)}")
    if job.failures:
        parts.append(f"failures={job.failures}")
    if job.last_skipped_at is not None:
        parts.append(f"skipped={text_of(job.last_skipped_at)}")
    if job.last_error is not None:
        parts.append(f"error={job.last_error!r}")
    return "  ".join([*parts, job.label or job.prompt])
