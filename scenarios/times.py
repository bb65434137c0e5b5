"""Times as a person writes them on a command line."""

from __future__ import annotations

import re

from simfs.errors import UsageError

_UNITS_S = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """Seconds of 60s, 2m, 4h or 500ms. Raises UsageError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|)", text.strip())
    if match is None or float(match[1]) == 0:
        raise UsageError(f"{text!r} is no time: write 60s, 2m or 500ms")
    return float(match[1]) * _UNITS_S[match[2]]
