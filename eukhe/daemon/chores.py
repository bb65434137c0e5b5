"""What the daemon does itself: sessions as wholes, and the scheduled jobs of its home.

Each call takes a request, does it with the same functions as the command line, and answers. A call may take as long as
its files take, so the daemon makes it in a thread; two at a time never share an object. A refusal of the store is the
answer `refused`, with the store's own words.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import msgspec

from eukhe.cron.records import Job, record_of
from eukhe.cron.schedules import ScheduleRefused
from eukhe.cron.store import CronStore
from eukhe.daemon.arguments import DeleteArgs, ForkArgs, ImportArgs, JobArgs, NewJobArgs, NoArgs
from eukhe.daemon.places import jobs_of
from eukhe.daemon.protocol import Answer, Refused, Request, decode_args, fault
from eukhe.errors import EukheError
from eukhe.sessions import delete_session, fork_session, import_session, list_sessions
from eukhe.sessions.places import sessions_of

Told = dict[str, Any]


def do(home: str, request: Request, notice: Callable[[str], None]) -> Answer:
    """Do what a request says, for a home; never raises. `notice` is told what a person has to look at."""
    try:
        args = decode_args(request)
        return Answer(request.id, ok=_CHORES[request.op](home, args, notice))
    except Refused as refused:
        return fault(request.id, refused)
    except (EukheError, ScheduleRefused) as error:
        return fault(request.id, Refused("refused", str(error)))
    except OSError as error:
        return fault(request.id, Refused("refused", f"{error.filename or home}: {error.strerror or error}"))


def _list_sessions(home: str, _args: NoArgs, _notice: Callable[[str], None]) -> Told:
    place = sessions_of(home)
    listing = list_sessions(place)
    rows = [
        {"id": _text(row.id), "place": _text(f"{place}/{row.place}"), "cwd": row.cwd, "modified_ns": row.modified_ns}
        for row in listing.rows
    ]
    return {"sessions": rows, "skipped": [[_text(one.path), _text(one.why)] for one in listing.skipped]}


def _fork(home: str, args: ForkArgs, _notice: Callable[[str], None]) -> Told:
    done = fork_session(sessions_of(home), args.session, args.name, args.at, home=home)
    return {"path": done.path, "commits": done.commits}


def _import(home: str, args: ImportArgs, _notice: Callable[[str], None]) -> Told:
    if not os.path.isabs(args.file):
        raise Refused("bad_args", f"{args.file!r} is no absolute path, and the daemon works in another directory")
    done = import_session(os.path.normpath(args.file), sessions_of(home), args.name or None, home=home)
    return {"path": done.path, "messages": done.messages, "torn_bytes": done.torn_bytes}


def _delete(home: str, args: DeleteArgs, _notice: Callable[[str], None]) -> Told:
    left = delete_session(sessions_of(home), args.session)
    return {"left": [[_text(path), error.strerror or str(error)] for path, error in left]}


def _list_jobs(home: str, _args: NoArgs, notice: Callable[[str], None]) -> Told:
    listing = _store(home, notice).list()
    return {
        "jobs": [_job(job) for job in listing.jobs],
        "running": [dispatch.job_id for dispatch in listing.dispatches],
        "unreadable": [list(one) for one in listing.unreadable],
    }


def _add_job(home: str, args: NewJobArgs, notice: Callable[[str], None]) -> Told:
    fields = msgspec.structs.asdict(args)
    schedule, prompt = fields.pop("schedule"), fields.pop("prompt")
    return {"job": _job(_store(home, notice).create(schedule, prompt, source="daemon", **fields))}


def _pause_job(home: str, args: JobArgs, notice: Callable[[str], None]) -> Told:
    return {"job": _job(_store(home, notice).pause(args.job))}


def _resume_job(home: str, args: JobArgs, notice: Callable[[str], None]) -> Told:
    return {"job": _job(_store(home, notice).resume(args.job))}


def _cancel_job(home: str, args: JobArgs, notice: Callable[[str], None]) -> Told:
    return {"job": _job(_store(home, notice).cancel(args.job))}


def _store(home: str, notice: Callable[[str], None]) -> CronStore:
    return CronStore(jobs_of(home), notice=notice)


def _job(job: Job) -> Told:
    read: Told = msgspec.json.decode(record_of(job, None, 0))
    return read


def _text(name: str) -> str:
    """A name that need not be UTF-8, as text that is."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


_CHORES: dict[str, Callable[[str, Any, Callable[[str], None]], Told]] = {
    "list_sessions": _list_sessions,
    "fork_session": _fork,
    "import_session": _import,
    "delete_session": _delete,
    "list_cron_jobs": _list_jobs,
    "add_cron_job": _add_job,
    "pause_cron_job": _pause_job,
    "resume_cron_job": _resume_job,
    "cancel_cron_job": _cancel_job,
}
