"""Jobs and claims, and how each stands in the file.

A record is a JSON object with its keys in a fixed order. A record is *readable* if it has every key of its kind, each
with a value that can be: a time that is a time, a schedule that a schedule can be, no key twice. What is not readable
is somebody's all the same: it is carried through every update byte for byte, and never becomes a job.

A readable record may have more keys than we know. They stay, behind the known ones, when the record is written anew.
The last three keys of a job (`environment`, `timeoutMs`, `lastOutput`) are written only where they say something.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Raw, Struct

from eukhe.cron.instants import text_of, time_of
from eukhe.cron.schedules import Schedule, ScheduleRefused, check_schedule

Status = Literal["active", "paused", "completed", "cancelled"]
T = TypeVar("T")


class Unreadable(ValueError):
    """A record that is none. The message says why."""


class Owner(Struct, frozen=True):
    """The process that holds a claim: its pid, and what tells it from every other process that has the pid before or
    after (boot id and start time, as `BOOT:START`)."""

    pid: int
    start: str

    @property
    def boot_id(self) -> str:
        """The boot in which the process was started."""
        return self.start.rpartition(":")[0]

    @property
    def start_time(self) -> int:
        """When it was started, in clock ticks since that boot."""
        return int(self.start.rpartition(":")[2])


class Job(Struct, frozen=True, kw_only=True):
    """One job. Times are in ms since 1970. `prompt` is what is to be done: a shell command, an entry point or a text,
    by `runtime_kind`. `failures` counts failures in a row."""

    id: str
    status: Status
    source: str
    runtime_kind: str
    delivery_mode: str
    active_session_id: str | None
    session_id: str | None
    session_file: str | None
    cwd: str
    label: str
    prompt: str
    schedule: Schedule
    created_at: int
    updated_at: int
    next_run_at: int | None
    last_run_at: int | None
    last_skipped_at: int | None
    last_error: str | None
    run_count: int
    failures: int
    environment: dict[str, str] = {}
    timeout_ms: int | None = None
    last_output: str | None = None


class Dispatch(Struct, frozen=True, kw_only=True):
    """A claim: the occurrence `scheduled_for` of a job is being run, or was when its owner died."""

    id: str
    job_id: str
    scheduled_for: int
    claimed_at: int
    owner: Owner


class _JobRecord(Struct, rename="camel"):
    id: str
    status: Status
    source: str
    runtime_kind: str
    delivery_mode: str
    active_session_id: str | None
    session_id: str | None
    session_file: str | None
    cwd: str
    label: str
    prompt: str
    schedule: Schedule
    created_at: str
    updated_at: str
    next_run_at: str | None
    last_run_at: str | None
    last_skipped_at: str | None
    last_error: str | None
    run_count: int
    failures: int
    environment: dict[str, str] = {}
    timeout_ms: int | None = None
    last_output: str | None = None


class _DispatchRecord(Struct, rename="camel"):
    id: str
    job_id: str
    scheduled_for: str
    claimed_at: str
    owner: Owner


_JOB_TIMES = ("created_at", "updated_at", "next_run_at", "last_run_at", "last_skipped_at")
_DISPATCH_TIMES = ("scheduled_for", "claimed_at")
_ONLY_IF_SET = ("environment", "timeoutMs", "lastOutput")
_read_job = msgspec.json.Decoder(_JobRecord).decode
_read_dispatch = msgspec.json.Decoder(_DispatchRecord).decode
_read_keys = msgspec.json.Decoder(dict[str, Raw]).decode
_write = msgspec.json.encode


def job_of(record: bytes) -> Job:
    """The job that a record says. Raises `Unreadable`. Keys that stand twice are the caller's to find."""
    read = _decoded(_read_job, record)
    fields = {name: getattr(read, name) for name in _JobRecord.__struct_fields__}
    try:
        for name in _JOB_TIMES:
            if fields[name] is not None:
                fields[name] = time_of(fields[name])
        check_schedule(read.schedule)
    except (ValueError, ScheduleRefused) as error:
        raise Unreadable(str(error)) from None
    if read.run_count < 0 or read.failures < 0 or (read.timeout_ms is not None and read.timeout_ms <= 0):
        raise Unreadable("a count below zero")
    return Job(**fields)


def dispatch_of(record: bytes) -> Dispatch:
    """The claim that a record says. Raises `Unreadable`."""
    read = _decoded(_read_dispatch, record)
    fields = {name: getattr(read, name) for name in _DispatchRecord.__struct_fields__}
    try:
        for name in _DISPATCH_TIMES:
            fields[name] = time_of(fields[name])
        if not read.owner.boot_id or read.owner.start_time < 0:
            raise ValueError(f"{read.owner.start!r} does not say when a process was started")
    except ValueError as error:
        raise Unreadable(str(error)) from None
    return Dispatch(**fields)


def record_of(value: Job | Dispatch, before: bytes | None, indent: int) -> bytes:
    """A job or claim as it stands in the file, indented by so many spaces. The keys of the record `before` that we do
    not know stay as they are, behind the known ones."""
    names = _JOB_NAMES if isinstance(value, Job) else _DISPATCH_NAMES
    pairs: list[tuple[str, bytes]] = []
    for name, key, is_time in names:
        held = getattr(value, name)
        if key in _ONLY_IF_SET and not held:
            continue
        if is_time and held is not None:
            held = text_of(held)
        pairs.append((key, _nested(held, indent + 2)))
    if before is not None:
        known = {key for _, key, _ in names}
        pairs += [(key, bytes(raw)) for key, raw in _read_keys(before).items() if key not in known]
    return object_of(pairs, indent)


def object_of(pairs: list[tuple[str, bytes]], indent: int) -> bytes:
    """A JSON object of values that are written already, one a line, its closing brace indented by `indent`."""
    if not pairs:
        return b"{}"
    pad = b"\n" + b" " * (indent + 2)
    inner = b",".join(pad + _write(key) + b": " + raw for key, raw in pairs)
    return b"{" + inner + b"\n" + b" " * indent + b"}"


def _nested(value: Any, indent: int) -> bytes:
    if isinstance(value, Schedule | Owner):
        value = msgspec.to_builtins(value)
    if isinstance(value, dict):
        return object_of([(key, _write(held)) for key, held in value.items()], indent)
    return _write(value)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _decoded(decode: Any, record: bytes) -> Any:
    try:
        return decode(record)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from None


def _names_of(kind: type[Struct], times: tuple[str, ...]) -> tuple[tuple[str, str, bool], ...]:
    """(field, key in the file, whether it is a time) of each field of a record."""
    return tuple((name, _camel(name), name in times) for name in kind.__struct_fields__)


_JOB_NAMES = _names_of(Job, _JOB_TIMES)
_DISPATCH_NAMES = _names_of(Dispatch, _DISPATCH_TIMES)
