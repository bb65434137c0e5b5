"""Known failures: a file that says which failures a night lists without failing.

A line is the id of a failure, as the report prints it, and behind it whatever a person wants to remember: an issue, a
name. Empty lines and lines that begin with # say nothing.
"""

from __future__ import annotations

import re

from simfs.errors import UsageError


def read_known(path: str | None) -> dict[str, str]:
    """Id -> what stands behind it. Raises UsageError naming the line."""
    if path is None:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', error)}") from None
    known: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = re.match(r"^\s*([0-9a-f]{8})(?:\s+(.*))?$", line)
        if match is None:
            raise UsageError(f"{path}:{number}: {line.strip()!r} does not begin with the id of a failure (8 digits)")
        known[match[1]] = (match[2] or "").strip()
    return known
