"""When a job is due, by its schedule alone: no failures, no claims, no clock.

| written | kind | occurrences |
|---|---|---|
| `in 10m` | once | one, that long after now |
| `at 2030-01-31T12:00:00Z` | once | one, then; it must be in the future |
| `every 5m` | interval | every so often from the job's creation on; 10 s at least |
| `30 1 * * *` | cron | five fields, in UTC |
| `CRON_TZ=Europe/London 30 1 * * *` | cron | five fields, in the local time of a zone |

Cron expressions are those of Debian's cron, by the library `cronsim` (that of the monitoring service Healthchecks).
In the night when local time leaps ahead, a job at a time that is left out runs once, right after; in the night when
local time goes back, a job at a time that comes twice runs the first time only. A job whose minute or hour begins with
a star goes by real time, and notices nothing. A job in UTC never does. `tests/test_cron_schedules.py` compares each
minute of such nights with a definition of our own.

The grid of an interval has no beginning: where the clock stands before the job's creation, there are occurrences too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from msgspec import Struct

from eukhe.cron.instants import FIRST_MS, LAST_MS, datetime_of, ms_of, text_of

Kind = Literal["once", "interval", "cron"]

INTERVAL_LEAST_MS = 10_000
"""The shortest interval: 10 s."""
ZONE_PREFIX = "CRON_TZ="

_UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_duration = re.compile(r"(?:[0-9]{1,9}[smhdw])+").fullmatch
_parts = re.compile(r"([0-9]+)([smhdw])").findall


class ScheduleRefused(ValueError):
    """The text is no schedule, or one that can never be due. The message says what is wrong and what is possible."""


class Schedule(Struct, frozen=True, rename="camel"):
    """When a job is due. `interval_ms` is that of an interval, None for the other kinds."""

    kind: Kind
    expression: str
    interval_ms: int | None


def parse_schedule(text: str, now_ms: int, zone: str | None = None) -> tuple[Schedule, int]:
    """A schedule as a person writes it, and its first occurrence after now (in ms since 1970).

    `zone` is the time zone of a cron expression, and of an `at` without one; UTC if None, or what the expression
    says. Raises `ScheduleRefused`. Source: the design's cron store, schedules.
    """
    words = text.split()
    if not words:
        raise ScheduleRefused("the schedule is empty; give `in 10m`, `every 5m`, `at TIME` or five cron fields")
    if words[0] in ("in", "every", "at"):
        if len(words) != 2:
            raise ScheduleRefused(f"{text!r}: one word has to follow {words[0]!r}")
        if words[0] == "at":
            return _at(words[1], now_ms, zone)
        length_ms = _length_of(words[1])
        if words[0] == "in":
            return Schedule("once", f"in {words[1]}", None), _possible(now_ms + length_ms)
        schedule = Schedule("interval", f"every {words[1]}", length_ms)
        check_schedule(schedule)
        return schedule, _possible(now_ms + length_ms)
    if zone is not None and not words[0].startswith(ZONE_PREFIX):
        words = [ZONE_PREFIX + zone, *words]
    schedule = Schedule("cron", " ".join(words), None)
    check_schedule(schedule)
    first = next_occurrence(schedule, now_ms, now_ms)
    if first is None:
        raise ScheduleRefused(f"{text!r} is never due")
    return schedule, first


def check_schedule(schedule: Schedule) -> None:
    """Raises `ScheduleRefused` for a schedule that cannot stand in the file."""
    if (schedule.kind == "interval") != (schedule.interval_ms is not None):
        raise ScheduleRefused(f"a schedule of kind {schedule.kind} with intervalMs {schedule.interval_ms}")
    if schedule.interval_ms is not None and not INTERVAL_LEAST_MS <= schedule.interval_ms <= LAST_MS:
        raise ScheduleRefused(f"{schedule.expression!r}: the shortest interval is {INTERVAL_LEAST_MS // 1000} s")
    if schedule.kind == "cron":
        _read_cron(schedule.expression)


def delay_ms(schedule: Schedule) -> int | None:
    """How long after its creation an `in ...` is due; None for any other schedule."""
    words = schedule.expression.split()
    if schedule.kind != "once" or len(words) != 2 or words[0] != "in" or not _duration(words[1]):
        return None
    return _length_of(words[1])


def is_at_fixed_times(schedule: Schedule) -> bool:
    """Whether the job is one for certain times of the day, and not one that runs every so often."""
    if schedule.kind != "cron":
        return schedule.kind == "once"
    fields, _ = _read_cron(schedule.expression)
    return not any(field.startswith("*") for field in fields.split()[:2])


def next_occurrence(schedule: Schedule, anchor_ms: int, after_ms: int) -> int | None:
    """The first occurrence later than `after_ms`; None when there is none. `anchor_ms` is a point of the grid of an
    interval. Work does not depend on how far apart the times are."""
    if schedule.kind == "once":
        return None
    if schedule.interval_ms is not None:
        steps = (after_ms - anchor_ms) // schedule.interval_ms + 1
        found = anchor_ms + steps * schedule.interval_ms
        return found if FIRST_MS <= found <= LAST_MS else None
    return next((at for at in _cron_times(schedule.expression, after_ms) if at > after_ms), None)


def last_occurrence(schedule: Schedule, anchor_ms: int, until_ms: int) -> int | None:
    """The last occurrence that is not later than `until_ms`; None when there is none."""
    if schedule.kind == "once":
        return None
    if schedule.interval_ms is not None:
        steps = (until_ms - anchor_ms) // schedule.interval_ms
        found = anchor_ms + steps * schedule.interval_ms
        return found if FIRST_MS <= found <= LAST_MS else None
    # Where local time comes twice, going backwards skips the first of the two; going forwards again finds it.
    back = _cron_times(schedule.expression, until_ms + 1, reverse=True)
    found_back = next((at for at in back if at <= until_ms), None)
    while found_back is not None:
        later = next_occurrence(schedule, anchor_ms, found_back)
        if later is None or later > until_ms:
            break
        found_back = later
    return found_back


def _cron_times(expression: str, from_ms: int, reverse: bool = False) -> Iterator[int]:
    fields, zone = _read_cron(expression)
    try:
        for at in CronSim(fields, datetime_of(from_ms).astimezone(zone), reverse):
            yield ms_of(at.astimezone(UTC))
    except (OverflowError, ValueError, RuntimeError):
        # The calendar ends.
        return


@lru_cache(maxsize=4096)
def _read_cron(expression: str) -> tuple[str, tzinfo]:
    """The five fields and the zone. A function of the text alone. Raises `ScheduleRefused`."""
    words = expression.split()
    zone: tzinfo = UTC
    if words and words[0].startswith(ZONE_PREFIX):
        zone = _zone_of(words.pop(0)[len(ZONE_PREFIX) :])
    if len(words) != 5:
        raise ScheduleRefused(
            f"{expression!r} has {len(words)} fields; give minute, hour, day of the month, month, day of the week, "
            "or `in 10m`, `every 5m`, `at TIME`"
        )
    fields = " ".join(words)
    try:
        CronSim(fields, datetime(2000, 1, 1))
    except (CronSimError, ValueError, AssertionError, RecursionError) as error:
        raise ScheduleRefused(f"{expression!r} is no cron expression: {error}") from None
    return fields, zone


def _zone_of(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except Exception:  # ZoneInfo answers a wrong name with errors of several kinds, those of the files it tries too.
        raise ScheduleRefused(f"{name!r} is no time zone, like Europe/London") from None


def _length_of(text: str) -> int:
    if not _duration(text):
        raise ScheduleRefused(f"{text!r} is no length of time, like 30s, 5m, 2h, 1d, 1w or 1h30m")
    length_ms = sum(int(number) * _UNITS_MS[unit] for number, unit in _parts(text))
    if length_ms == 0:
        raise ScheduleRefused(f"{text!r} is no time at all")
    return length_ms


def _at(text: str, now_ms: int, zone: str | None) -> tuple[Schedule, int]:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ScheduleRefused(f"{text!r} is no time, like 2030-01-31T12:00:00Z") from None
    if at.tzinfo is None:
        if zone is None:
            raise ScheduleRefused(f"{text!r} has no zone; write it as {text}Z or {text}+01:00, or name a zone")
        at = at.replace(tzinfo=_zone_of(zone))
        if at.astimezone(UTC).astimezone(at.tzinfo) != at:
            raise ScheduleRefused(f"{text!r} does not exist in {zone}: the clocks leap over it")
    try:
        due = ms_of(at.astimezone(UTC))
    except OverflowError:
        raise ScheduleRefused(f"{text!r} is out of the calendar") from None
    if due <= now_ms:
        raise ScheduleRefused(f"{text!r} is not in the future; now is {text_of(now_ms)}")
    return Schedule("once", f"at {text_of(due)}", None), due


def _possible(due_ms: int) -> int:
    if due_ms > LAST_MS:
        raise ScheduleRefused("that is after the year 9999")
    return due_ms
