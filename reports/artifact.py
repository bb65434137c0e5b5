"""Verdicts as JSON: everything a machine may want of them, under a version; every other report can be made from it.

`as_json(verdict)` is a plain value for `json.dumps`. Bytes become `{"text": ...}` where they are UTF-8 and `{"hex":
...}` where they are not. Within one version fields are added, never renamed or removed.

A verdict has one complete counterexample for each law that was broken, on the first disk model where it was; `models`
says of every model how it ended and, where a law was broken, the line to replay. The moments of a boot are told as
changes: `seen` and `durable` name the paths that are other than a moment ago, None for those that are gone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from reports.cause import cause_lines
from reports.describe import detail, place, verb
from reports.text import found_text, root_of
from reports.timeline import told
from simfs.explore.handle import Event
from simfs.explore.moments import moments
from simfs.explore.verdict import STATUSES, BootRecord, Counterexample, Verdict
from simfs.machine.ops import Op

VERSION = 1
ONE_LINE = 1_000_000


def artifact(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Several verdicts as one document. `status` is the worst, or "proved" for none."""
    worst = min((verdict.status for verdict in verdicts), key=STATUSES.index, default="proved")
    return {"simfs": VERSION, "status": worst, "verdicts": [as_json(verdict) for verdict in verdicts]}


def dumps(verdicts: Sequence[Verdict]) -> str:
    """The document as text, keys in the order of this file, with a final newline."""
    return as_text(artifact(verdicts))


def as_text(document: dict[str, Any]) -> str:
    """A document as it is written to a file."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_json(verdict: Verdict) -> dict[str, Any]:
    """One verdict."""
    found = verdict.counterexample
    return {
        "scenario": verdict.scenario,
        "status": verdict.status,
        "reason": verdict.reason,
        "disk": verdict.disk,
        "survived": verdict.survived,
        "searched": asdict(verdict.searched),
        "models": {name: _model(part) for name, part in verdict.by_model.items()},
        "tags": {name: value for name, value in verdict.tags.items() if isinstance(value, str | int | float | bool)},
        "counterexample": None if found is None else counterexample(found),
        "others": [counterexample(other) for other in _others(verdict)],
    }


def _model(part: Verdict) -> dict[str, Any]:
    found = part.counterexample
    return {
        "status": part.status,
        "reason": part.reason,
        "searched": asdict(part.searched),
        "law": None if found is None else found.law,
        "message": None if found is None else found.finding.message,
        "token": None if found is None else found.token,
    }


def _others(verdict: Verdict) -> list[Counterexample]:
    """The first counterexample for each further law."""
    shown = set() if verdict.counterexample is None else {verdict.counterexample.law}
    out = []
    for part in verdict.by_model.values():
        if part.counterexample is not None and part.counterexample.law not in shown:
            shown.add(part.counterexample.law)
            out.append(part.counterexample)
    return out


def counterexample(found: Counterexample) -> dict[str, Any]:
    """One counterexample, complete."""
    root = root_of(found)
    return {
        "law": found.law,
        "statement": found.finding.law.statement,
        "scenario": found.scenario,
        "disk": found.disk,
        "message": found.finding.message,
        "found": found_text(found.finding),
        "error": found.finding.error,
        "site": None if found.finding.site is None else str(found.finding.site),
        "line": None if found.finding.site is None else f"{found.finding.site.file}:{found.finding.site.line}",
        "token": found.token,
        "promised": [_event(event) for event in found.promised],
        "boots": [_boot(boot, found.disk, root) for boot in found.boots],
        "recovered": _tree(found.recovered),
        "reads": [asdict(read) for read in found.reads],
        "cause": [line.strip() for line in cause_lines(found, ONE_LINE, root)],
        "advice": None if found.advice is None else found.advice.as_values(),
        "root": root,
        "searched": asdict(found.searched),
        "text": found.text(),
    }


def _event(event: Event) -> dict[str, Any]:
    return {
        "kind": event.kind,
        "label": event.label,
        "value": None if event.value is None else repr(event.value),
        "process": event.process,
        "boot": event.boot,
    }


def _boot(boot: BootRecord, disk: str, root: str) -> dict[str, Any]:
    return {
        "boot": boot.boot,
        "kind": boot.kind,
        "processes": boot.processes,
        "ops": [_op(op, boot, root) for op in boot.ops],
        "issued": [op.index for op in boot.issued],
        "crash": None if boot.crash is None else asdict(boot.crash),
        "seen": _tree(boot.seen),
        "left": _tree(boot.left),
        "moments": _moments(boot, disk),
    }


def _op(op: Op, boot: BootRecord, root: str) -> dict[str, Any]:
    return {
        "index": op.index,
        "process": op.process,
        "call": verb(op),
        "detail": detail(op, 200),
        "short": detail(op, 64, root),
        "site": None if op.site is None else f"{op.site.file}:{op.site.line}",
        "place": place(op.site, 40),
        "fate": boot.fates.get(op.index),
        "told": told(op),
    }


def _moments(boot: BootRecord, disk: str) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    seen: dict[str, str | bytes] = {}
    durable: dict[str, str | bytes] = {}
    for moment in moments(boot, disk):
        out.append(
            {
                "after": moment.after,
                "seen": _changes(seen, moment.seen),
                "durable": _changes(durable, moment.durable),
                "pending": list(moment.pending),
            }
        )
        seen, durable = moment.seen, moment.durable
    return out


def _changes(before: dict[str, str | bytes], after: dict[str, str | bytes]) -> dict[str, Any]:
    gone = {path: None for path in before if path not in after}
    return {**gone, **_tree({path: value for path, value in after.items() if before.get(path) != value})}


def _tree(tree: dict[str, str | bytes]) -> dict[str, Any]:
    return {path: content if isinstance(content, str) else _bytes(content) for path, content in tree.items()}


def _bytes(content: bytes) -> dict[str, str]:
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"hex": content.hex()}
