"""What readers saw before the crash against what the disk held after it, path by path."""

from __future__ import annotations

from reports.describe import short
from simfs.explore.verdict import Counterexample

PATHS_SHOWN = 20


def tree_diff(found: Counterexample, width: int) -> list[str]:
    """A line or three for each path: unchanged ones in one line, changed ones with both contents."""
    crashed = next((boot for boot in reversed(found.boots) if boot.crash is not None), None)
    if crashed is None:
        return _same(found.recovered, width)
    lines: list[str] = []
    changed = False
    for path in sorted(crashed.seen.keys() | crashed.left.keys()):
        seen, left = crashed.seen.get(path), crashed.left.get(path)
        if seen == left:
            lines.append(f"    {short('/' + path, width - 30)}  {content(left, 24)}")
            continue
        changed = True
        lines.append(f"  ! {short('/' + path, width - 6)}")
        lines.append(f"      readers saw  {content(seen, width - 20)}")
        lines.append(f"      disk kept    {content(left, width - 20)}")
    if not changed:
        lines.append("    (all that readers saw)")
    if len(lines) > 3 * PATHS_SHOWN:
        lines = [line for line in lines if not line.startswith("    /")][: 3 * PATHS_SHOWN]
        lines.append("    ... unchanged paths are left out")
    if found.recovered != crashed.left:
        lines.append("  after recovery:")
        for path in sorted(found.recovered.keys() | crashed.left.keys()):
            before, after = crashed.left.get(path), found.recovered.get(path)
            if before != after:
                lines.append(f"  ! {short('/' + path, width - 6)}")
                lines.append(f"      recovered    {content(after, width - 20)}")
    return lines


def _same(tree: dict[str, str | bytes], width: int) -> list[str]:
    lines = [f"    {short('/' + path, width - 30)}  {content(tree[path], 24)}" for path in sorted(tree)]
    return lines[: 3 * PATHS_SHOWN]


def content(value: str | bytes | None, room: int) -> str:
    """A directory, a link, the bytes of a file, or that it is not there, within `room` characters."""
    if value is None:
        return "(not there)"
    if isinstance(value, str):
        return "directory" if value == "dir" else value
    if not value:
        return "(empty file)"
    if not value.strip(b"\0"):
        return f"{len(value)} NUL bytes"
    size = f" ({len(value)} bytes)"
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return short(repr(value)[1:], max(8, room - len(size))) + size
    return short(repr(text), max(8, room - len(size))) + size
