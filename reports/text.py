"""The counterexample as text, for a tired person at a terminal.

Seven parts, always in this order: law and scenario; what was promised and what was found; the time line with its crash
line; the trees; the cause in terms of the program; what was searched; the one line to paste. Everything fits the
width given (80 columns by default); nothing is coloured unless asked for.
"""

from __future__ import annotations

import textwrap

from reports.describe import cause_lines, short
from reports.timeline import timeline
from reports.treediff import tree_diff
from simfs.explore.verdict import Counterexample, Searched

RED, YELLOW, BOLD, DIM, OFF = "\x1b[31m", "\x1b[33m", "\x1b[1m", "\x1b[2m", "\x1b[0m"


def render(found: Counterexample, width: int = 80, colour: bool = False) -> str:
    """The whole report, without a final newline. `width` is in columns, at least 60."""
    width = max(60, width)
    parts = [
        _head(found, width),
        _promised(found, width),
        *_boots(found, width),
        _section("Left on the disk", tree_diff(found, width)),
        _section("Cause", cause_lines(found, width)),
        _section("Searched", _wrap(searched_text(found.searched), width)),
        _section("Replay", [f"  simfs replay {found.token}"]),
    ]
    text = "\n\n".join("\n".join(part) for part in parts if part)
    return _coloured(text) if colour else text


def _head(found: Counterexample, width: int) -> list[str]:
    lines = ["=" * width, f"LAW BROKEN: {found.law}   (disk model {found.disk})"]
    lines += _wrap(found.finding.law.statement, width)
    lines.append(f"Scenario: {found.scenario}")
    if found.statement and found.statement != found.finding.law.statement:
        lines += _wrap(found.statement, width)
    return lines


def _promised(found: Counterexample, width: int) -> list[str]:
    acks = [event for event in found.promised if event.kind == "ack"]
    effects = [event for event in found.promised if event.kind == "effect"]
    lines = []
    if acks:
        shown = ", ".join(_event(event.label, event.value) for event in acks)
        lines += _labelled("Promised", shown, width)
    else:
        lines += _labelled("Promised", "nothing yet", width)
    if effects:
        lines += _labelled("Effects", ", ".join(_event(e.label, e.value) for e in effects), width)
    message = short(found.finding.message, 400)
    error = "" if found.finding.error == "AssertionError" else f"{found.finding.error}: "
    where = f" (in {found.finding.who}, {found.finding.site})" if found.finding.site else f" (in {found.finding.who})"
    lines += _labelled("Found", error + message + where, width)
    return lines


def _event(label: str, value: object) -> str:
    return label if value is None else f"{label}={short(repr(value), 40)}"


def _boots(found: Counterexample, width: int) -> list[list[str]]:
    out = []
    for number, boot in enumerate(found.boots, 1):
        title = "What happened" if boot.kind == "run" else "Then recovery ran"
        if boot.kind == "run" and number > 1:
            title = f"Then boot {boot.boot} ran"
        out.append(_section(title, timeline(boot, width)))
    return out


def searched_text(searched: Searched) -> str:
    """Counts of a search in one sentence, as far as it came."""
    parts = [
        f"{searched.executions:,} execution{'s' * (searched.executions != 1)}",
        f"{searched.crash_points:,} crash points",
        f"{searched.images:,} crash images ({searched.distinct_images:,} distinct)",
        f"{searched.recoveries:,} recovered and judged",
    ]
    text = ", ".join(parts) + "; the search stopped at the first broken law."
    if searched.bounds:
        text += " Bounded: " + "; ".join(searched.bounds) + "."
    return text


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"{title}:", *lines] if lines else []


def _labelled(label: str, text: str, width: int) -> list[str]:
    first = f"{label + ':':<10} "
    return textwrap.wrap(
        " ".join(text.split()),
        width,
        initial_indent=first,
        subsequent_indent=" " * 11,
        break_long_words=True,
        break_on_hyphens=False,
    )


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def _coloured(text: str) -> str:
    out = []
    for line in text.split("\n"):
        if line.startswith("LAW BROKEN"):
            line = BOLD + RED + line + OFF
        elif "POWER LOSS" in line or line.endswith(" lost"):
            line = (RED if line.endswith(" lost") else YELLOW) + line + OFF
        elif line.startswith("="):
            line = DIM + line + OFF
        elif line.endswith(":") and not line.startswith(" "):
            line = BOLD + line + OFF
        out.append(line)
    return "\n".join(out)
