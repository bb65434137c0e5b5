"""The counterexample as text, for a tired person at a terminal.

Seven parts, always in this order: law and scenario; what was promised and what was found; the time line with its crash
line; the trees; the cause in terms of the program; what was searched; the one line to paste. Everything fits the
width given (80 columns by default), the last line excepted: a token is never broken, so that it can be pasted.
Nothing is coloured unless asked for.
"""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Iterable

from reports.cause import cause_lines
from reports.describe import NO_MESSAGE, count, place, short, told
from reports.paths import common_root
from reports.timeline import timeline
from reports.timeline import told as in_timeline
from reports.treediff import tree_diff
from simfs.explore.handle import Event
from simfs.explore.verdict import Counterexample, Finding, Searched
from simfs.machine.ops import Flush, Rename

RED, YELLOW, BOLD, DIM, OFF = "\x1b[31m", "\x1b[33m", "\x1b[1m", "\x1b[2m", "\x1b[0m"
WIDTH_MIN = 60


def render(found: Counterexample, width: int = 80, colour: bool = False) -> str:
    """The whole report, without a final newline. `width` is in columns, at least 60."""
    width = max(WIDTH_MIN, width)
    root = root_of(found)
    parts = [
        _head(found, width),
        _promised(found, width),
        *_boots(found, width, root),
        _section("Left on the disk", tree_diff(found, width, root)),
        _section("Cause", cause_lines(found, width, root)),
        _section("Searched", _wrap(searched_text(found.searched), width)),
        _section("Replay", [f"  simfs replay {found.token}"]),
    ]
    text = "\n\n".join("\n".join(part) for part in parts if part)
    return _coloured(text) if colour else text


def root_of(found: Counterexample) -> str:
    """The directory from which the report sees its paths: the one that everything shown lies below."""
    paths: list[str] = []
    for boot in found.boots:
        for op in boot.issued:
            if in_timeline(op):
                paths.append(op.path + "/." if isinstance(op, Flush) and op.is_dir else op.path)
                paths += [op.to_path] if isinstance(op, Rename) else []
        paths += ["/" + path for path in (*boot.seen, *boot.left) if path.count("/")]
    return common_root(path for path in paths if path)


def _head(found: Counterexample, width: int) -> list[str]:
    lines = ["=" * width, f"LAW BROKEN: {found.law}   (disk model {found.disk})"]
    lines += _wrap(found.finding.law.statement, width)
    lines.append(f"Scenario: {found.scenario}")
    if found.statement and found.statement != found.finding.law.statement:
        lines += _wrap(found.statement, width)
    return lines


def _promised(found: Counterexample, width: int) -> list[str]:
    lines = _labelled("Promised", _events(found.promised, "ack") or "nothing yet", width)
    effects = _events(found.promised, "effect")
    if effects:
        lines += _labelled("Effects", effects, width)
    return lines + _labelled("Found", found_text(found.finding), width)


def _events(events: Iterable[Event], kind: str) -> str:
    return ", ".join(told(event.label, event.value) for event in events if event.kind == kind)


def found_text(finding: Finding) -> str:
    """What the judging code said; an assertion without a message says its own source line."""
    message = short(finding.message, 400)
    if message == NO_MESSAGE and finding.site is not None:
        source = linecache.getline(finding.site.file, finding.site.line).strip()
        message = f"does not hold: {short(source, 200)}" if source else message
    error = "" if finding.error == "AssertionError" else f"{finding.error}: "
    where = f", {place(finding.site, 60)}" if finding.site else ""
    return f"{error}{message} (in {finding.who}{where})"


def _boots(found: Counterexample, width: int, root: str) -> list[list[str]]:
    out = []
    for number, boot in enumerate(found.boots, 1):
        if boot.kind == "recovery":
            title = "Then recovery ran"
        else:
            title = "What happened" if number == 1 else f"Then boot {boot.boot} ran"
        if number == 1 and root != "/":
            title += f" (paths below {root})"
        out.append(_section(title, timeline(boot, width, root)))
    return out


def searched_text(searched: Searched) -> str:
    """Counts of a search in a sentence, as far as it came; a replay has searched nothing."""
    if searched.images == 1 and not searched.crash_points:
        return "Nothing: this is one run, replayed from its token."
    parts = [
        count(searched.executions, "execution"),
        count(searched.crash_points, "crash point"),
        f"{count(searched.images, 'crash image')} ({searched.distinct_images:,} distinct)",
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
        " ".join(text.split()), width, initial_indent=first, subsequent_indent=" " * 11, break_on_hyphens=False
    )


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def _coloured(text: str) -> str:
    out = []
    for line in text.split("\n"):
        if line.startswith("LAW BROKEN"):
            line = BOLD + RED + line + OFF
        elif " POWER LOSS " in line:
            line = YELLOW + line + OFF
        elif " LOST " in line:
            line = line.replace(" LOST ", f" {RED}LOST{OFF} ")
        elif line.startswith("="):
            line = DIM + line + OFF
        elif line.endswith(":") and not line.startswith(" "):
            line = BOLD + line + OFF
        out.append(line)
    return "\n".join(out)
