"""Which store a path holds, and what is wrong with it. Nothing is ever written, and no lock is waited for.

A store is known by the names it uses, so that one with nothing whole in it is still known:

| kind | a path holds one when | what is looked at |
|---|---|---|
| `log` | `main.jsonl` or a sidecar is in it | every line, every sidecar |
| `epochs` | a numbered log or baseline is in it | every log, every baseline, the chain of the epochs |
| `cron` | it is a file, or a directory with `cron-jobs.json` or what its writers leave | every job and claim |
| `staging` | sessions, legacy files, or what dead builds left are in it | each session, each leftover |
| `home` | it has one of the directories `sessions` and `epochs` | all of the above |

What a crash may leave, and the next update or sweep clears, is a note; all else is damage.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

from eukhe.cron.document import Damaged, Item, parse
from eukhe.cron.files import Unread
from eukhe.cron.files import read as read_cron_file
from eukhe.epochs import NotFound, SessionError, Torn
from eukhe.epochs import examine as examine_session
from eukhe.errors import StorageFailed, StoreUnknown
from eukhe.sessions.errors import LegacyDamaged
from eukhe.sessions.legacy import LegacyReader
from eukhe.sessions.listing import list_sessions
from eukhe.sessions.rules import LEGACY_SUFFIX
from eukhe.staging import rules as staging_rules
from eukhe.staging import sweep
from eukhe.storage.doctor import Finding
from eukhe.storage.doctor import examine as examine_storage
from eukhe.storage.rules import MAIN_NAME
from eukhe.system import OsSystem, System

Kind = Literal["log", "epochs", "cron", "staging", "home"]
CRON_NAME = "cron-jobs.json"
TITLES: dict[Kind, str] = {
    "log": "a storage",
    "epochs": "a session's epochs",
    "cron": "scheduled jobs",
    "staging": "a directory of sessions",
    "home": "a home",
}

_SIDECAR = re.compile(r"c[0-9]+\.entries\.jsonl")
_EPOCH = re.compile(r"(0|[1-9][0-9]*)\.(jsonl|baseline\.json)")
_CRON = re.compile(rf"{re.escape(CRON_NAME)}(\.lock|\.corrupt-.*)?|\.{re.escape(CRON_NAME)}\.tmp-.*")


def kind_of(path: str) -> Kind:
    """Which store is at a path. Raises `StoreUnknown` where there is none, or nothing at all."""
    if os.path.isfile(path):
        return "cron"
    try:
        with os.scandir(path) as entries:
            names = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    except OSError as error:
        raise StoreUnknown(path, error.strerror or str(error)) from None
    files = [name for name, is_directory in names.items() if not is_directory]
    if MAIN_NAME in names or any(map(_SIDECAR.fullmatch, files)):
        return "log"
    if any(names.get(name) and not _is_storage(f"{path}/{name}") for name in ("sessions", "epochs")):
        return "home"
    if any(map(_CRON.fullmatch, files)):
        return "cron"
    if any(map(_EPOCH.fullmatch, files)):
        return "epochs"
    if any(map(_is_of_staging, files)) or any(_is_of_staging(name) or _is_storage(f"{path}/{name}") for name in names):
        return "staging"
    raise StoreUnknown(path, "nothing in it has a name that a store uses")


def diagnose(path: str, *, system: System | None = None) -> list[Finding]:
    """All that is wrong with whatever store is at a path, in a fixed order. Raises `StoreUnknown`, and `EukheError`
    where reading fails."""
    used: System = OsSystem() if system is None else system
    try:
        return EXAMINE[kind_of(path)](os.path.normpath(path), used)
    except OSError as error:
        raise StorageFailed(str(error.filename or path), "reading", error.strerror or str(error)) from error


def cron_file(path: str) -> str:
    """The file of the jobs at a path, which is that file or the directory that holds it."""
    return path if os.path.isfile(path) else os.path.join(path, CRON_NAME)


def examine_cron(path: str, system: System) -> list[Finding]:
    """What is wrong with a file of jobs, and what its writers left beside it. Raises `CronFailed`."""
    file = cron_file(path)
    found: list[Finding] = []
    try:
        data = read_cron_file(system, file)
        if data is None:
            found.append(Finding(file, 0, "there is no such file: it says that there are no jobs", damage=False))
        else:
            found += _examine_jobs(file, data)
    except Unread as error:
        found.append(Finding(file, 0, str(error)))
    holder, name = os.path.split(file)
    for other in sorted(os.listdir(holder or ".")):
        if other.startswith(f".{name}.tmp-"):
            why = "left by a writer that died, removed by the next process that updates"
            found.append(Finding(os.path.join(holder, other), 0, why, damage=False))
        elif other.startswith(f"{name}.corrupt-"):
            why = "a damaged file that an update kept aside; its jobs are in no list"
            found.append(Finding(os.path.join(holder, other), 0, why, damage=False))
    return found


def _examine_jobs(file: str, data: bytes) -> list[Finding]:
    try:
        document = parse(data)
    except Damaged as error:
        return [Finding(file, _line_of_damage(data), str(error))]
    found = _unreadable(file, data, document.jobs, "job") + _unreadable(file, data, document.dispatches, "claim")
    known = {job.id for _, job in document.all_jobs()}
    found += [
        Finding(file, 0, f"claim {claim.id} is for job {claim.job_id}, which is not there", damage=False)
        for claim in document.all_dispatches()
        if claim.job_id not in known
    ]
    return found


def _unreadable(file: str, data: bytes, items: Sequence[Item[Any]], what: str) -> list[Finding]:
    found, at = [], 0
    for number, item in enumerate(items, 1):
        at = max(data.find(item.raw, at), 0)
        if item.value is None:
            line = data.count(b"\n", 0, at) + 1
            found.append(Finding(file, line, f"{what} {number}: {item.why}; it is kept as it is, and never used"))
        at += len(item.raw)
    return found


def _line_of_damage(data: bytes) -> int:
    """The line at which the bytes stop being JSON, 0 where they do not stop."""
    try:
        json.loads(data)
    except json.JSONDecodeError as error:
        return error.lineno
    except UnicodeDecodeError as error:
        return data.count(b"\n", 0, error.start) + 1
    except (ValueError, RecursionError):
        pass
    return 0


def examine_staging(path: str, system: System) -> list[Finding]:
    """What is wrong in a directory of sessions: each session, each legacy file, and what a sweep would say."""
    found: list[Finding] = []
    told: set[str] = set()
    for name in sorted(os.listdir(path)):
        place = f"{path}/{name}"
        if staging_rules.is_leftover_name(name) or name.startswith(".") or os.path.islink(place):
            continue
        if _is_storage(place):
            session = examine_storage(place, system=system).findings
        elif os.path.isdir(place):
            session = [] if os.listdir(place) else [Finding(place, 0, "an empty directory: it takes the name", False)]
        elif name.endswith(LEGACY_SUFFIX):
            session = _examine_legacy(place, system)
        else:
            continue
        told |= {place} if session else set()
        found += session
    for skipped in list_sessions(path, system=system).skipped:
        if skipped.path not in told:
            found.append(Finding(skipped.path, 0, f"not listed: {skipped.why}", damage=False))
    return found + _leftovers(path, system)


def _examine_legacy(path: str, system: System) -> list[Finding]:
    reader = LegacyReader(system, path)
    try:
        reader.read(lambda header, line: None, lambda message, length: None)
    except LegacyDamaged as error:
        return [Finding(path, error.line, error.why)]
    if reader.torn_bytes:
        return [Finding(path, 0, f"{reader.torn_bytes} bytes of a torn last line, left out by an import", damage=False)]
    return []


def _leftovers(path: str, system: System) -> list[Finding]:
    report = sweep([path], system=system, dry_run=True)
    notes = [(entry, f"left by a dead build or deletion, a sweep takes it: {entry.why}") for entry in report.removed]
    notes += [(entry, f"a sweep leaves it: {entry.why}") for entry in report.kept if _is_of_staging_only(entry.path)]
    found = [Finding(entry.path, 0, why, damage=False) for entry, why in notes]
    found += [Finding(entry.path, 0, f"a sweep cannot look at it: {entry.why}") for entry in report.failed]
    return sorted(found, key=lambda finding: finding.file)


def examine_epochs(path: str, system: System) -> list[Finding]:
    """What is wrong with a session's epochs."""
    try:
        errors: list[SessionError] = examine_session(path, system=system)
    except NotFound as error:
        errors = [error]
    return [_of_session(error) for error in errors]


def _of_session(error: SessionError) -> Finding:
    line = error.line if isinstance(error, Torn) else 0
    return Finding(error.path, line, str(getattr(error, "why", "")) or str(error).removeprefix(f"{error.path}: "))


def examine_log(path: str, system: System) -> list[Finding]:
    """What is wrong with a storage."""
    if not _is_storage(path):
        return [Finding(f"{path}/{MAIN_NAME}", 0, "it is missing, and sidecars are there")]
    return examine_storage(path, system=system).findings


def examine_home(path: str, system: System) -> list[Finding]:
    """What is wrong with all that a home holds."""
    found = examine_cron(path, system) if any(map(_CRON.fullmatch, os.listdir(path))) else []
    if os.path.isdir(f"{path}/sessions"):
        found += examine_staging(f"{path}/sessions", system)
    if os.path.isdir(f"{path}/epochs"):
        for name in sorted(os.listdir(f"{path}/epochs")):
            found += examine_epochs(f"{path}/epochs/{name}", system)
    return found


EXAMINE: dict[Kind, Callable[[str, System], list[Finding]]] = {
    "log": examine_log,
    "epochs": examine_epochs,
    "cron": examine_cron,
    "staging": examine_staging,
    "home": examine_home,
}


def _is_storage(path: str) -> bool:
    return os.path.lexists(f"{path}/{MAIN_NAME}")


def _is_of_staging_only(path: str) -> bool:
    name = os.path.basename(path)
    return staging_rules.is_leftover_name(name) or staging_rules.leftover_of_lock(name) is not None


def _is_of_staging(name: str) -> bool:
    return _is_of_staging_only(name) or (name.endswith(LEGACY_SUFFIX) and staging_rules.is_session_name(name))
