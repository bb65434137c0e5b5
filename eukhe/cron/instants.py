"""Points in time: whole milliseconds since 1970 in UTC, written as `2030-01-31T12:34:56.789Z` and in no other way."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

LAST_MS = 253_402_300_799_999
"""The end of the year 9999: the last time that can be written."""
FIRST_MS = -62_135_596_800_000
"""The beginning of the year 1."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_written = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z").fullmatch


def text_of(at_ms: int) -> str:
    """A time as it stands in the file. Times out of the calendar become its first or last one."""
    return datetime_of(at_ms).isoformat(timespec="milliseconds")[:-6] + "Z"


def time_of(text: str) -> int:
    """The time that a text in the file says. Raises ValueError for any other spelling."""
    if _written(text) is None:
        raise ValueError(f"{text!r} is no time like 2030-01-31T12:34:56.789Z")
    return ms_of(datetime.fromisoformat(text))


def ms_of(at: datetime) -> int:
    """The milliseconds of a time with its zone; what is smaller is cut off."""
    return (at - _EPOCH) // _MS


def datetime_of(at_ms: int) -> datetime:
    """A time in UTC."""
    return _EPOCH + min(max(at_ms, FIRST_MS), LAST_MS) * _MS
