"""The last page of a run: one line a scenario, then what a line has no room for.

Columns: scenario, status, crash points, distinct images, seconds, and how many of the disk models asked for it
survives. Whoever survives not all is named below with the models; bounds and reasons too. 80 columns.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from reports.describe import count
from simfs.explore.verdict import Verdict

HEAD = f"{'scenario':<25} {'status':<12} {'crash points':>12} {'images':>9} {'seconds':>8}  models"


def summary(verdicts: Sequence[Verdict], width: int = 80) -> list[str]:
    """The table and its notes."""
    if not verdicts:
        return ["nothing was run"]
    lines = [HEAD, "-" * width]
    lines += [_line(verdict) for verdict in verdicts]
    lines.append("-" * width)
    for verdict in verdicts:
        lines += _notes(verdict, width)
    return lines


def _line(verdict: Verdict) -> str:
    searched = verdict.searched
    points = f"{searched.crash_points:,}" if searched.crash_points else count(searched.executions, "case")
    images = f"{searched.distinct_images:,}" if searched.distinct_images else "-"
    name = verdict.scenario if len(verdict.scenario) <= 25 else verdict.scenario[:24] + "…"
    return f"{name:<25} {verdict.status:<12} {points:>12} {images:>9} {searched.seconds:>8.2f}  {_models(verdict)}"


def _models(verdict: Verdict) -> str:
    asked = len(verdict.by_model)
    if not asked or "rules" in verdict.by_model:
        return "-"
    survived = len(verdict.survived)
    return f"all {asked}" if survived == asked else f"{survived} of {asked}"


def _notes(verdict: Verdict, width: int) -> list[str]:
    notes = []
    if verdict.reason:
        notes.append(f"{verdict.scenario}: {verdict.status}: {verdict.reason}")
    if len(verdict.by_model) > 1 and len(verdict.survived) < len(verdict.by_model):
        fallen = [name for name, part in verdict.by_model.items() if part.status == "violated"]
        open_ = [name for name, part in verdict.by_model.items() if not part.ok and name not in fallen]
        words = [f"survives {', '.join(verdict.survived) or 'none'}"]
        words += [f"not {', '.join(fallen)}"] if fallen else []
        words += [f"undecided on {', '.join(open_)}"] if open_ else []
        notes.append(f"{verdict.scenario}: {'; '.join(words)}")
    out: list[str] = []
    for note in notes:
        out += textwrap.wrap(note, width, subsequent_indent="  ", break_on_hyphens=False)
    return out


def line(verdict: Verdict) -> str:
    """One verdict in one line, for a log."""
    searched = verdict.searched
    if searched.crash_points:
        points, images = count(searched.crash_points, "crash point"), count(searched.distinct_images, "distinct image")
        counts = f"{points}, {images}"
    else:
        counts = count(searched.executions, "case")
    return f"{verdict.scenario}: {verdict.status} ({counts}, {searched.seconds:.2f} s)"
