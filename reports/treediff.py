"""What readers saw before the crash against what the disk held after it, path by path.

Changed paths first come with both contents; unchanged files have one line each; unchanged directories are told only
when they are empty, since the paths of what they hold name them.
"""

from __future__ import annotations

from reports.describe import count, short
from reports.paths import below, fitted
from simfs.explore.verdict import Counterexample

PATHS_MAX = 16
"""Unchanged paths that are listed, at most."""

Tree = dict[str, str | bytes]


def tree_diff(found: Counterexample, width: int, root: str = "/") -> list[str]:
    """Lines of at most `width` columns; paths as seen from `root`."""
    crashed = next((boot for boot in reversed(found.boots) if boot.crash is not None and boot.crash.pick), None)
    if crashed is None:
        return _unchanged(found.recovered, found.recovered, width, root) or ["    (nothing)"]
    lines = _changes(crashed.seen, crashed.left, ("readers saw", "disk kept"), width, root)
    lines += _unchanged(crashed.seen, crashed.left, width, root)
    if not lines:
        lines.append("    (nothing)")
    if found.recovered != crashed.left:
        lines.append("  and after recovery:")
        lines += _changes(crashed.left, found.recovered, ("before", "after"), width, root)
    return lines


def _changes(before: Tree, after: Tree, words: tuple[str, str], width: int, root: str) -> list[str]:
    lines = []
    for path in sorted(before.keys() | after.keys()):
        one, other = before.get(path), after.get(path)
        if one != other:
            lines.append(f"  ! {fitted(below('/' + path, root), width - 6)}")
            lines.append(f"      {words[0]:<12} {content(one, width - 20)}")
            lines.append(f"      {words[1]:<12} {content(other, width - 20)}")
    return lines


def _unchanged(before: Tree, after: Tree, width: int, root: str) -> list[str]:
    same = [path for path in sorted(after) if before.get(path) == after[path] and not _holds(path, before, after)]
    names = {path: fitted(below("/" + path, root), width - 34) for path in same[:PATHS_MAX]}
    room = max(map(len, names.values()), default=0)
    lines = [f"    {name:<{room}}  {content(after[path], width - room - 7)}" for path, name in names.items()]
    if len(same) > PATHS_MAX:
        lines.append(f"    ... and {len(same) - PATHS_MAX} more unchanged")
    return lines


def _holds(path: str, *trees: Tree) -> bool:
    """Whether a path is a directory that holds something in one of the trees."""
    return any(other.startswith(path + "/") for tree in trees for other in tree)


def content(value: str | bytes | None, room: int) -> str:
    """A directory, a link, the bytes of a file, or that it is not there, within `room` characters."""
    if value is None:
        return "(not there)"
    if isinstance(value, str):
        return "directory" if value == "dir" else short(value, room)
    if not value:
        return "(empty file)"
    if not value.strip(b"\0"):
        return count(len(value), "NUL byte")
    size = f" ({count(len(value), 'byte')})"
    try:
        text = repr(value.decode())
    except UnicodeDecodeError:
        text = repr(value)[1:]
    return short(text, max(8, room - len(size))) + size
