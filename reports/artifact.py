"""A verdict as JSON: everything a machine may want of it, under a version.

`as_json(verdict)` is a plain value for `json.dumps`. Bytes become `{"text": ...}` where they are UTF-8 and `{"hex":
...}` where they are not. Within one version fields are added, never renamed or removed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from reports.describe import detail, verb
from simfs.explore.handle import Event
from simfs.explore.verdict import BootRecord, Counterexample, Verdict
from simfs.machine.ops import Op

VERSION = 1


def artifact(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Several verdicts as one document. `status` is the worst, or "proved" for none."""
    order = ("violated", "inconclusive", "sampled", "bounded", "proved")
    worst = min((verdict.status for verdict in verdicts), key=order.index, default="proved")
    return {"simfs": VERSION, "status": worst, "verdicts": [as_json(verdict) for verdict in verdicts]}


def dumps(verdicts: Sequence[Verdict]) -> str:
    """The document as text, keys in the order of this file, with a final newline."""
    return json.dumps(artifact(verdicts), indent=2, ensure_ascii=False) + "\n"


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
        "models": {
            name: {"status": part.status, "reason": part.reason, "searched": asdict(part.searched)}
            for name, part in verdict.by_model.items()
        },
        "tags": {name: value for name, value in verdict.tags.items() if isinstance(value, str | int | float | bool)},
        "counterexample": None if found is None else _counterexample(found),
    }


def _counterexample(found: Counterexample) -> dict[str, Any]:
    return {
        "law": found.law,
        "statement": found.finding.law.statement,
        "scenario": found.scenario,
        "disk": found.disk,
        "message": found.finding.message,
        "error": found.finding.error,
        "site": None if found.finding.site is None else str(found.finding.site),
        "token": found.token,
        "promised": [_event(event) for event in found.promised],
        "boots": [_boot(boot) for boot in found.boots],
        "recovered": _tree(found.recovered),
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


def _boot(boot: BootRecord) -> dict[str, Any]:
    return {
        "boot": boot.boot,
        "kind": boot.kind,
        "processes": boot.processes,
        "ops": [_op(op, boot) for op in boot.ops],
        "crash": None if boot.crash is None else asdict(boot.crash),
        "seen": _tree(boot.seen),
        "left": _tree(boot.left),
    }


def _op(op: Op, boot: BootRecord) -> dict[str, Any]:
    return {
        "index": op.index,
        "process": op.process,
        "call": verb(op),
        "detail": detail(op, 200),
        "site": None if op.site is None else f"{op.site.file}:{op.site.line}",
        "fate": boot.fates.get(op.index),
    }


def _tree(tree: dict[str, str | bytes]) -> dict[str, Any]:
    return {path: content if isinstance(content, str) else _bytes(content) for path, content in tree.items()}


def _bytes(content: bytes) -> dict[str, str]:
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"hex": content.hex()}
