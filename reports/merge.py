"""Reading JSON artifacts, and putting several together: those of shards, of jobs, and of test workers.

Scenarios that stand in several artifacts are one scenario in the answer: the disk models of all of them, the worst
status, the first counterexample of each law, counts added. A file that is no artifact, or one of a later version, is
refused by name and nothing is written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

from reports.artifact import VERSION
from simfs.errors import UsageError
from simfs.explore.verdict import STATUSES

Document = dict[str, Any]
NIGHT_FIELDS = (
    "started", "seed", "shard", "seconds", "ended", "histories", "states", "new", "classes", "failures", "targets",
)  # fmt: skip
FIELDS = ("scenario", "status", "reason", "searched", "models")


def read_artifact(path: str) -> Document:
    """The artifact in a file, or in a directory that a report was written to. Raises UsageError saying what is wrong
    with it."""
    if os.path.isdir(path):
        path = os.path.join(path, "simfs.json")
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{path} is no simfs artifact: it is not JSON ({error})") from None
    if not isinstance(document, dict) or "simfs" not in document:
        raise UsageError(f"{path} is no simfs artifact: those are written by simfs run --json or --report")
    if document["simfs"] != VERSION:
        raise UsageError(f"{path} is an artifact of version {document['simfs']}, this program reads {VERSION}")
    if not isinstance(document.get("verdicts"), list):
        raise UsageError(f"{path} is a damaged artifact: it has no list of verdicts")
    for verdict in document["verdicts"]:
        missing = [name for name in FIELDS if not isinstance(verdict, dict) or name not in verdict]
        if missing:
            raise UsageError(f"{path} is a damaged artifact: a verdict has no {missing[0]!r}")
        if verdict["status"] not in STATUSES:
            raise UsageError(f"{path} is a damaged artifact: {verdict['status']!r} is no status")
    for night in document.get("nights", ()):
        missing = [name for name in NIGHT_FIELDS if not isinstance(night, dict) or name not in night]
        if missing:
            raise UsageError(f"{path} is a damaged artifact: a night has no {missing[0]!r}")
    return document


def merge(documents: Sequence[Document]) -> Document:
    """One document for several; scenarios in the order in which they are first met."""
    merged: dict[str, Document] = {}
    laws: dict[str, Document] = {}
    mutants: dict[tuple[str, str], Document] = {}
    for document in documents:
        for verdict in document["verdicts"]:
            known = merged.get(verdict["scenario"])
            merged[verdict["scenario"]] = verdict if known is None else _together(known, verdict)
        for law in document.get("laws", ()):
            laws.setdefault(law["id"], law)
        for mutant in document.get("mutants", ()):
            mutants.setdefault((mutant["store"], mutant["name"]), mutant)
    verdicts = list(merged.values())
    worst = worst_of(verdict["status"] for verdict in verdicts)
    out: Document = {"simfs": VERSION, "status": worst, "verdicts": verdicts}
    nights = nights_of(documents)
    if nights:
        out["nights"] = nights
    if laws:
        out["laws"] = list(laws.values())
    if mutants:
        out["mutants"] = list(mutants.values())
    return out


def nights_of(documents: Iterable[Document]) -> list[Document]:
    """The nights of all documents, each once, in the order in which they began."""
    found = {
        (night["started"], night["seed"], night["shard"]): night
        for document in documents
        for night in document.get("nights", ())
    }
    return [found[key] for key in sorted(found)]


def worst_of(statuses: Iterable[str]) -> str:
    """The worst status, "proved" for none."""
    return min(statuses, key=STATUSES.index, default="proved")


def _together(one: Document, other: Document) -> Document:
    worse = min((one, other), key=lambda verdict: STATUSES.index(verdict["status"]))
    models = dict(one["models"])
    for name, part in other["models"].items():
        known = models.get(name)
        models[name] = part if known is None else _worse_part(known, part)
    found = [*_counterexamples(one), *_counterexamples(other)]
    by_law: dict[str, Any] = {}
    for counterexample in found:
        by_law.setdefault(counterexample["law"], counterexample)
    first, *others = list(by_law.values()) or [None]
    return {
        **worse,
        "disk": ", ".join(models),
        "survived": [name for name, part in models.items() if part["status"] not in ("violated", "inconclusive")],
        "searched": _added(one["searched"], other["searched"]),
        "models": models,
        "counterexample": first,
        "others": others,
    }


def _worse_part(one: Document, other: Document) -> Document:
    worse = min((one, other), key=lambda part: STATUSES.index(part["status"]))
    return {**worse, "searched": _added(one["searched"], other["searched"])}


def _counterexamples(verdict: Document) -> list[Document]:
    first = verdict.get("counterexample")
    return [*([first] if first else []), *verdict.get("others", ())]


def _added(one: Document, other: Document) -> Document:
    out: Document = {}
    for name, value in one.items():
        more = other.get(name)
        if name == "bounds":
            out[name] = list(dict.fromkeys([*value, *(more or ())]))
        elif isinstance(value, int | float) and isinstance(more, int | float):
            out[name] = value + more
        else:
            out[name] = value
    return out
