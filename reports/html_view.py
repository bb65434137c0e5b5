"""What the HTML page shows, as plain values, made from a JSON artifact: the page's templates decide nothing.

The parts are: how many scenarios ended how; the matrix of scenarios and disk models, the worst first; every
counterexample with its time line; the laws with who judges them and which mutants each has killed; what was searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reports.html_steps import Line, diff_rows, time_line
from simfs.explore.verdict import STATUSES

Value = dict[str, Any]

WORDS = {
    "violated": ("✗", "a law is broken"),
    "inconclusive": ("?", "the budget ended first, or something could not be judged"),
    "sampled": ("∿", "so many runs drawn at random, all of them well"),
    "bounded": ("≤", "everything within the named bounds was searched"),
    "proved": ("✓", "everything within the scenario was searched"),
}
"""For each status, worst first: its mark, and what it says."""
OPEN_MAX = 3
"""Counterexamples that are open when the page is; of more, only the first."""


@dataclass(frozen=True, slots=True)
class View:
    """All that the page shows. Values are ready to be printed."""

    counts: list[Value]
    models: list[str]
    rows: list[Value]
    counterexamples: list[Value]
    texts: list[Value]
    """Counterexamples that are no runs of a machine: the text of each, and an id."""
    laws: list[Value]
    mutants: Value | None
    totals: Value
    data: list[Value]
    """For each counterexample what its script steps through."""


def view(document: Value) -> View:
    """The page of an artifact."""
    verdicts = sorted(document["verdicts"], key=lambda verdict: STATUSES.index(verdict["status"]))
    models = list(dict.fromkeys(name for verdict in document["verdicts"] for name in verdict["models"]))
    found = [(verdict, one) for verdict in verdicts for one in _counterexamples(verdict)]
    places = {(verdict["scenario"], one["law"]): f"cx{at}" for at, (verdict, one) in enumerate(found, 1)}
    places |= {(text["scenario"], text["law"]): text["id"] for text in _texts(document["verdicts"])}
    lines = [time_line(one) for _, one in found]
    shown = [_shown(one, line, at, len(found)) for at, ((_, one), line) in enumerate(zip(found, lines, strict=True), 1)]
    return View(
        counts=_counts(document["verdicts"]),
        models=models,
        rows=[_row(verdict, models, places) for verdict in verdicts],
        counterexamples=shown,
        texts=_texts(document["verdicts"]),
        laws=_laws(document, places),
        mutants=_mutants(document),
        totals=_totals(document["verdicts"]),
        data=[{"scenes": line.scenes, "texts": line.texts, "start": line.start} for line in lines],
    )


def _counterexamples(verdict: Value) -> list[Value]:
    first = verdict.get("counterexample")
    return [*([first] if first else []), *verdict.get("others", ())]


def _texts(verdicts: list[Value]) -> list[Value]:
    """What rule books and generated histories say that was broken."""
    told = [verdict for verdict in verdicts if verdict["status"] == "violated" and not _counterexamples(verdict)]
    return [
        {
            "id": f"text{number}",
            "scenario": verdict["scenario"],
            "law": verdict["tags"].get("law", "a law"),
            "text": verdict["tags"].get("text", verdict["reason"]),
        }
        for number, verdict in enumerate(told, 1)
    ]


def _counts(verdicts: list[Value]) -> list[Value]:
    by_status = [(status, sum(verdict["status"] == status for verdict in verdicts)) for status in STATUSES]
    return [
        {"status": status, "count": number, "mark": WORDS[status][0], "means": WORDS[status][1]}
        for status, number in by_status
    ]


def _row(verdict: Value, models: list[str], places: dict[tuple[str, str], str]) -> Value:
    searched = verdict["searched"]
    cells: list[Value | None] = []
    for name in models:
        part = verdict["models"].get(name)
        if part is None:
            cells.append(None)
            continue
        place = places.get((verdict["scenario"], part.get("law") or ""))
        cells.append({"status": part["status"], "mark": WORDS[part["status"]][0], "href": place, "why": part["reason"]})
    distinct, images = searched["distinct_images"], searched["images"]
    return {
        "name": verdict["scenario"],
        "status": verdict["status"],
        "mark": WORDS[verdict["status"]][0],
        "reason": verdict["reason"],
        "cells": cells,
        "searched": searched,
        "judged_of": f"{images / distinct:,.1f}×" if distinct and images > distinct else "",
        "href": next((place for (name, _), place in places.items() if name == verdict["scenario"]), None),
    }


def _shown(found: Value, line: Line, number: int, count: int) -> Value:
    causes = [text for text in found.get("cause", ()) if not text.startswith("+ ") and not text.endswith(":")]
    fixes = [text[2:] for text in found.get("cause", ()) if text.startswith("+ ")]
    lead = next((text for text in found.get("cause", ()) if text.endswith(":")), "")
    events = [
        event["label"] if event["value"] is None else f"{event['label']}={event['value']}"
        for event in found["promised"]
        if event["kind"] == "ack"
    ]
    return {
        **found,
        "id": f"cx{number}",
        "number": number,
        "open": count <= OPEN_MAX or number == 1,
        "line": line,
        "promises": events,
        "causes": causes,
        "fixes": fixes,
        "lead": lead,
        "diff": diff_rows(found),
        "crashed": any(boot["crash"] and boot["crash"]["pick"] for boot in found["boots"]),
    }


def _laws(document: Value, places: dict[tuple[str, str], str]) -> list[Value]:
    """Every law of the artifact, broken ones first; of an artifact without a list, those that were broken."""
    broken: dict[str, list[Value]] = {}
    statements: dict[str, str] = {}
    for verdict in document["verdicts"]:
        for found in _counterexamples(verdict):
            place = places[verdict["scenario"], found["law"]]
            broken.setdefault(found["law"], []).append({"scenario": verdict["scenario"], "href": place})
            statements[found["law"]] = found["statement"]
    listed = {law["id"]: law for law in document.get("laws", ())}
    for name, statement in statements.items():
        listed.setdefault(name, {"id": name, "statement": statement, "judged": [], "planned": False, "store": ""})
    kills: dict[str, list[str]] = {}
    for mutant in document.get("mutants", ()):
        if mutant["law"]:
            kills.setdefault(mutant["law"], []).append(mutant["name"])
    out = [{**law, "broken": broken.get(name, []), "killed": kills.get(name, [])} for name, law in listed.items()]
    return sorted(out, key=lambda law: (not law["broken"], bool(law["planned"])))


def _mutants(document: Value) -> Value | None:
    mutants = document.get("mutants")
    if mutants is None:
        return None
    alive = [mutant for mutant in mutants if not mutant["law"]]
    return {"count": len(mutants), "killed": len(mutants) - len(alive), "alive": alive}


def _totals(verdicts: list[Value]) -> Value:
    names = ("executions", "crash_points", "images", "distinct_images", "recoveries", "laws_judged", "seconds")
    return {name: sum(verdict["searched"].get(name, 0) for verdict in verdicts) for name in names}
