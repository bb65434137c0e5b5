"""Paths in a narrow column: relative to what they have in common, and cut from the left where there is no room.

The end of a path says most, so that stays: `.../one/main.jsonl`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable


def common_root(paths: Iterable[str]) -> str:
    """The directory that all paths lie below; "/" when they have nothing in common, or there are none."""
    holders = [os.path.dirname(path) or "/" for path in paths if path.startswith("/")]
    return os.path.commonpath(holders) if holders else "/"


def below(path: str, root: str) -> str:
    """`path` as seen from `root`; as it is when it does not lie below."""
    if root != "/" and path.startswith(root + "/"):
        return path[len(root) + 1 :]
    return path


def fitted(path: str, room: int) -> str:
    """`path` in at most `room` characters, whole pieces from the end where that is possible."""
    if len(path) <= room:
        return path
    pieces = path.split("/")
    kept = pieces[-1]
    for piece in reversed(pieces[:-1]):
        if len(kept) + len(piece) + 5 > room:
            break
        kept = f"{piece}/{kept}"
    text = f".../{kept}"
    return text if len(text) <= room else "..." + text[len(text) - max(1, room - 3) :]
