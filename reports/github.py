"""A JSON artifact for GitHub Actions: annotations on the lines at fault, and the summary of a step as Markdown.

`annotation_lines` are lines for the output of a step; GitHub shows each beside the line of the program that it names:
the first call that the crash took, or, where it took none, the line where the law was found broken. `step_summary` is
Markdown for the file that the variable GITHUB_STEP_SUMMARY names: what was broken first, what the last night found,
then a table.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from reports.describe import count
from reports.html_view import WORDS

Value = dict[str, Any]
ROWS_MAX = 200
"""Rows of the table; GitHub refuses a summary of more than a megabyte."""


def annotation_lines(document: Value, below: str | None = None) -> list[str]:
    """One line for each counterexample and each search that did not end. Paths are told from `below`, the working
    directory by default."""
    out = []
    for verdict in document["verdicts"]:
        found = _counterexamples(verdict)
        for one in found:
            title = f"{one['scenario']}: law {one['law']} is broken on {one['disk']}"
            text = " ".join(
                [str(one.get("found", one["message"])), *one.get("cause", ()), f"simfs replay {one['token']}"]
            )
            out.append(f"::error {_place(one, below or os.getcwd())}title={_property(title)}::{_data(text)}")
        if not found and verdict["status"] == "violated":
            out.append(f"::error title={_property(verdict['scenario'])}::{_data(verdict['reason'])}")
        elif verdict["status"] == "inconclusive":
            out.append(
                f"::warning title={_property(verdict['scenario'] + ': inconclusive')}::{_data(verdict['reason'])}"
            )
    return out


def _place(found: Value, below: str) -> str:
    lost = (
        str(op["site"])
        for boot in found["boots"]
        for op in boot["ops"]
        if op["site"] and op["fate"] not in (None, "durable", "kept")
    )
    site: str = next(lost, found.get("line") or "")
    if not site:
        return ""
    file, _, line = site.rpartition(":")
    path = os.path.relpath(file, below) if os.path.isabs(file) else file
    return f"file={_property(path)},line={line}," if not path.startswith("..") and line.isdigit() else ""


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def step_summary(document: Value) -> str:
    """The summary as Markdown."""
    verdicts = document["verdicts"]
    broken = [verdict for verdict in verdicts if verdict["status"] == "violated"]
    lines = [f"## simfs: {count(len(broken), 'scenario')} of {len(verdicts):,} broke a law", ""]
    for found in [one for verdict in verdicts for one in _counterexamples(verdict)]:
        lines += [f"<details><summary>✗ <b>{_inline(found['law'])}</b> {_inline(found['scenario'])}</summary>", ""]
        lines += ["", *(f"    {line}" for line in found["text"].split("\n")), "", "</details>", ""]
    lines += _last_night(document.get("nights", ()))
    lines += ["| scenario | status | disk models | crash points | images | seconds |", "|---|---|---|--:|--:|--:|"]
    lines += [_row(verdict) for verdict in verdicts[:ROWS_MAX]]
    if len(verdicts) > ROWS_MAX:
        lines.append(f"\nand {len(verdicts) - ROWS_MAX:,} more, in the artifact")
    return "\n".join(lines) + "\n"


def _last_night(nights: Sequence[Value]) -> list[str]:
    """What the last night found, all its shards together: each failure once, with the line that replays it."""
    if not nights:
        return []
    seed = max(nights, key=lambda night: str(night["started"]))["seed"]
    shards = [night for night in nights if night["seed"] == seed]
    histories, states, new = (sum(night[name] for night in shards) for name in ("histories", "states", "new"))
    ended = ", ".join(sorted({night["ended"] for night in shards}))
    counts = f"{histories:,} histories, {states:,} crash states judged, {new:,} new marks"
    lines = [f"Night {_inline(seed)}, {count(len(shards), 'shard')}: {counts}; {_inline(ended)}.", ""]
    for one in {failure["id"]: failure for night in shards for failure in night["failures"]}.values():
        known = "✗ new" if one["known"] is None else f"known ({_inline(one['known'] or one['id'])})"
        lines.append(
            f"- {known} {one['id']} {_inline(one['target'])}: <b>{_inline(one['law'])}</b>: {_inline(one['cause'])}"
        )
        lines += ["", f"      simfs replay {one['token']}", ""]
    return [*lines, ""]


def _row(verdict: Value) -> str:
    searched = verdict["searched"]
    models = ", ".join(f"{WORDS[part['status']][0]} {name}" for name, part in verdict["models"].items())
    status = f"{WORDS[verdict['status']][0]} {verdict['status']}"
    counts = f"{searched['crash_points']:,} | {searched['distinct_images']:,} | {searched['seconds']:.2f}"
    return f"| {_inline(verdict['scenario'])} | {status} | {_inline(models)} | {counts} |"


def _inline(text: str) -> str:
    for bad, good in (("&", "&amp;"), ("<", "&lt;"), ("|", "&#124;"), ("[", "&#91;"), ("*", "&#42;"), ("_", "&#95;")):
        text = text.replace(bad, good)
    return " ".join(text.split())


def _counterexamples(verdict: Value) -> list[Value]:
    first = verdict.get("counterexample")
    return [*([first] if first else []), *verdict.get("others", ())]
