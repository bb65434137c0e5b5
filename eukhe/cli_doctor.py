"""`eukhe doctor`: what is damaged in a store, whichever it is; a repair of a storage; a copy that may be shown.

Findings are one a line, `FILE:LINE: why`, or one JSON object a line. The last line says what was looked at.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from eukhe.cli_sessions import shown
from eukhe.doctor import TITLES, diagnose, kind_of
from eukhe.errors import StoreUnknown
from eukhe.redact import redact
from eukhe.storage import Diagnosis, examine, repair
from eukhe.storage.doctor import Finding

SECTIONS = {
    "epochs": "session-log-damaged",
    "cron": "cron-file-damaged",
    "log": "storage-damaged",
}
"""Where the runbook speaks of the damage of one kind of store."""

Place = Annotated[
    str,
    typer.Argument(
        metavar="DIR", help="A storage, a session's epochs, a file of jobs, a directory of sessions, or a home."
    ),
]
RepairTo = Annotated[
    str | None,
    typer.Option("--repair", metavar="TARGET", help="Write what can be kept to a new storage. DIR stays as it is."),
]
RedactTo = Annotated[
    str | None,
    typer.Option("--redact", metavar="OUT", help="Copy DIR to a new directory, every text replaced by x."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value a line.")]


def doctor_command(
    directory: Place, repair_to: RepairTo = None, redact_to: RedactTo = None, json: Json = False
) -> None:
    """Say what is damaged in a store, in which file and line, and what can be kept. Never writes to DIR.

    Exit code 1 when something is damaged and was not repaired.
    """
    if redact_to is not None and repair_to is not None:
        raise typer.BadParameter("--repair and --redact are two things to do; give one of them")
    kind = kind_of(directory)
    if redact_to is not None:
        for name in redact(directory, redact_to):
            print(f"{redact_to}/{shown(name)}")
    elif kind == "log" and os.path.lexists(f"{directory}/main.jsonl"):
        _doctor_log(directory, repair_to, json)
    elif repair_to is not None:
        raise StoreUnknown(directory, f"it is {TITLES[kind]}, and only a storage with its main.jsonl can be repaired")
    else:
        _doctor(directory, json)


def _doctor_log(directory: str, repair_to: str | None, json: bool) -> None:
    diagnosis = examine(directory) if repair_to is None else repair(directory, repair_to)
    for line in describe_diagnosis(diagnosis, json):
        print(line)
    if repair_to is not None:
        print(f"{repair_to}: a new storage with what is kept", file=sys.stderr)
    elif diagnosis.damaged:
        raise typer.Exit(1)


def _doctor(directory: str, json: bool) -> None:
    kind, found = kind_of(directory), diagnose(directory)
    damaged = any(finding.damage for finding in found)
    for finding in found:
        print(msgspec.json.encode(_printable(finding)).decode() if json else describe(finding))
    section = SECTIONS.get(kind, "")
    verdict = f"damaged, see docs/runbook.md{'#' if section else ''}{section}" if damaged else "sound"
    if not json:
        print(f"{shown(str(Path(directory)))}: {TITLES[kind]}: {verdict}")
    if damaged:
        raise typer.Exit(1)


def _printable(finding: Finding) -> Finding:
    return Finding(shown(finding.file), finding.line, shown(finding.why), finding.damage)


def describe(finding: Finding) -> str:
    """One finding on one line."""
    line = f":{finding.line}" if finding.line else ""
    return shown(f"{finding.file}{line}: {'' if finding.damage else 'note: '}{finding.why}")


def describe_diagnosis(diagnosis: Diagnosis, json: bool) -> list[str]:
    """What a doctor has found in a storage, line by line."""
    if json:
        lines = [msgspec.json.encode(finding).decode() for finding in diagnosis.findings]
        return [*lines, msgspec.json.encode({"lines": diagnosis.lines, "kept": len(diagnosis.kept)}).decode()]
    verdict = "damaged, see docs/runbook.md#storage-damaged" if diagnosis.damaged else "sound"
    kept = f"{len(diagnosis.kept)} of {diagnosis.lines} commits can be kept"
    return [*map(describe, diagnosis.findings), f"{diagnosis.path}: {verdict}; {kept}"]
