"""A counterexample told step by step, for someone who wants to follow it: `simfs explain`.

Each op comes with its place in the program and what it changed of two disks: the one that readers see and the one that
is durable. Then the crash with what it took, then what recovery and the law looked at, then the cause and the advice.
"""

from __future__ import annotations

from collections.abc import Iterator

from reports.cause import cause_lines
from reports.describe import count, detail, place, verb
from reports.paths import below
from reports.text import found_text, root_of
from reports.timeline import told
from reports.treediff import content
from simfs.explore.moments import Moment, moments
from simfs.explore.verdict import BootRecord, Counterexample

WIDTH = 80
Tree = dict[str, str | bytes]


def explanation(found: Counterexample) -> list[str]:
    """All lines, at most 80 columns where paths and texts allow it."""
    root = root_of(found)
    lines = [f"How law {found.law} of {found.scenario} is broken on {found.disk}:"]
    lines += [f"  {found.finding.law.statement}", ""]
    for boot in found.boots:
        lines += [*_boot(boot, found.disk, root), ""]
    lines += ["Then the disk was looked at:" if found.reads else "Then the law was judged:"]
    lines += [f"  {read.who} {read.did} {below(read.path, root)}" for read in found.reads]
    lines += [f"  {found_text(found.finding)}", "", "Cause:", *cause_lines(found, WIDTH, root)]
    return [*lines, "", f"  simfs replay {found.token}"]


def _boot(boot: BootRecord, disk: str, root: str) -> Iterator[str]:
    yield (
        f"Boot {boot.boot}, recovery:" if boot.kind == "recovery" else f"Boot {boot.boot}, {', '.join(boot.processes)}:"
    )
    ops = {op.index: op for op in boot.issued}
    before: Moment | None = None
    for moment in moments(boot, disk):
        op = ops.get(moment.after)
        if op is not None and told(op):
            where = f"   [{place(op.site)}]" if op.site is not None else ""
            who = f"{boot.processes[op.process]}: " if len(boot.processes) > 1 and op.process >= 0 else ""
            yield f"  {op.index:>3} {who}{verb(op)} {detail(op, 50, root)}{where}"
            if before is not None:
                yield from _changes("readers see", before.seen, moment.seen, root)
                yield from _changes("durable is", before.durable, moment.durable, root)
        if op is None or told(op):
            before = moment
    if boot.crash is None:
        return
    if not boot.crash.pick:
        yield "  here a reader looks"
        return
    yield "  POWER LOSS"
    for op in boot.issued:
        fate = boot.fates.get(op.index, "durable")
        if fate not in ("durable", "kept"):
            yield f"      takes {op.index} {verb(op)} {detail(op, 50, root)}" + ("" if fate == "lost" else f": {fate}")
    yield from _changes("instead of what readers saw there is", boot.seen, boot.left, root)


def _changes(what: str, before: Tree, after: Tree, root: str) -> Iterator[str]:
    changed = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    for path in changed[:6]:
        yield f"      {what} {below('/' + path, root)}: {content(after.get(path), 40)}"
    if len(changed) > 6:
        yield f"      and {count(len(changed) - 6, 'more path')}"
