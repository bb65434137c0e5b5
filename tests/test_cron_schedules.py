"""Schedules: what a person may write, and when it is due; nights that change the clocks, by a second definition."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest

from eukhe.cron.instants import ms_of, text_of, time_of
from eukhe.cron.schedules import (
    Schedule,
    ScheduleRefused,
    last_occurrence,
    next_occurrence,
    parse_schedule,
)

NOW = time_of("2026-05-01T12:00:30.500Z")


def first(text: str, zone: str | None = None, now: int = NOW) -> str:
    return text_of(parse_schedule(text, now, zone)[1])


@pytest.mark.parametrize(
    ("text", "zone", "due"),
    [
        ("in 10m", None, "2026-05-01T12:10:30.500Z"),
        ("in 1h30m", None, "2026-05-01T13:30:30.500Z"),
        ("every 10s", None, "2026-05-01T12:00:40.500Z"),
        ("at 2026-05-02T00:00:00Z", None, "2026-05-02T00:00:00.000Z"),
        ("at 2026-05-02T00:00:00+02:00", None, "2026-05-01T22:00:00.000Z"),
        ("at 2026-05-02T00:00:00", "Europe/London", "2026-05-01T23:00:00.000Z"),
        ("30 1 * * *", None, "2026-05-02T01:30:00.000Z"),
        ("30 1 * * *", "Europe/London", "2026-05-02T00:30:00.000Z"),
        ("CRON_TZ=America/New_York 30 1 * * *", None, "2026-05-02T05:30:00.000Z"),
        ("0 0 29 2 *", None, "2028-02-29T00:00:00.000Z"),
        ("* * * * *", None, "2026-05-01T12:01:00.000Z"),
    ],
)
def test_a_schedule_is_first_due_after_now(text: str, zone: str | None, due: str) -> None:
    assert first(text, zone) == due


@pytest.mark.parametrize(
    "text",
    [
        "", "every 9s", "in 0s", "in ten minutes", "every", "in 5m later", "at 2026-05-01T12:00:30Z",
        "at 2020-01-01T00:00:00Z", "at noon", "at 2026-05-02T00:00:00", "* * * *", "* * * * * *", "61 * * * *",
        "0 0 30 2 *", "CRON_TZ=Mars/Olympus * * * * *", "CRON_TZ=../../etc/passwd * * * * *", "in 999999999w", "x y z",
    ],
)  # fmt: skip
def test_what_is_no_schedule_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(ScheduleRefused, match=r"\w"):
        parse_schedule(text, NOW)


def test_a_time_that_the_clocks_leap_over_is_refused() -> None:
    with pytest.raises(ScheduleRefused, match="does not exist"):
        parse_schedule("at 2027-03-28T01:30:00", NOW, "Europe/London")


@pytest.mark.parametrize(
    "text", ["2026-05-01T12:00:00Z", "2026-05-01T12:00:00.000", "2026-02-30T00:00:00.000Z", "x" * 24]
)
def test_a_time_in_the_file_has_one_spelling(text: str) -> None:
    with pytest.raises(ValueError):
        time_of(text)


def test_every_time_that_can_be_written_is_read_back() -> None:
    for text in ("0001-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"):
        assert text_of(time_of(text)) == text


def test_the_grid_of_an_interval_has_no_beginning() -> None:
    schedule, _ = parse_schedule("every 10s", NOW)
    assert next_occurrence(schedule, NOW, NOW - 25_000) == NOW - 20_000
    assert last_occurrence(schedule, NOW, NOW - 25_000) == NOW - 30_000
    assert next_occurrence(schedule, NOW, NOW + 10**12) == NOW + 10**12 + 10_000


def by_hand(minute: int, hour: int, zone: tzinfo, start: datetime, hours: int) -> Iterator[int]:
    """A second definition: each real minute is looked at. A local time that comes twice counts when it comes first; one
    that is left out counts at the first minute after the gap."""
    wanted = hour * 60 + minute
    done = None
    before = _shown((start - timedelta(minutes=1)).astimezone(zone))
    for passed in range(hours * 60):
        at = (start + timedelta(minutes=passed)).astimezone(zone)
        shown = _shown(at)
        leapt = shown[1] - before[1] > 1 and shown[0] == before[0]
        if (shown[1] == wanted or (leapt and before[1] < wanted < shown[1])) and done != shown[0]:
            done = shown[0]
            yield ms_of(at.astimezone(UTC))
        before = shown


def _shown(at: datetime) -> tuple[object, int]:
    return at.date(), at.hour * 60 + at.minute


NIGHTS = [
    ("Europe/London", datetime(2026, 3, 28, 12, tzinfo=UTC)),
    ("Europe/London", datetime(2026, 10, 24, 12, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 7, 17, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 10, 31, 17, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 0, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 0, tzinfo=UTC)),
    ("UTC", datetime(2026, 3, 28, 12, tzinfo=UTC)),
]


@pytest.mark.parametrize(("zone", "start"), NIGHTS)
def test_jobs_at_fixed_times_are_due_once_a_day_whatever_the_clocks_do(zone: str, start: datetime) -> None:
    for hour in range(4):
        for minute in (0, 15, 30, 59):
            schedule = Schedule("cron", f"CRON_TZ={zone} {minute} {hour} * * *", None)
            wanted = list(by_hand(minute, hour, ZoneInfo(zone), start, 48))
            found = list(forwards(schedule, ms_of(start) - 1, ms_of(start) + 48 * 3_600_000))
            assert found == wanted, schedule.expression
            assert len(found) == 2


@pytest.mark.parametrize(("zone", "start"), NIGHTS)
def test_from_every_minute_of_the_night_the_next_and_the_last_occurrence_are_neighbours(
    zone: str, start: datetime
) -> None:
    for text in ("30 1 * * *", "0 2 * * *", "*/20 * * * *", "15 * * * *", "0 1,2 * * *"):
        schedule = Schedule("cron", f"CRON_TZ={zone} {text}", None)
        begin = ms_of(start)
        all_of_them = list(forwards(schedule, begin - 86_400_000, begin + 3 * 86_400_000))
        for passed in range(0, 36 * 60, 7):
            at = begin + passed * 60_000
            assert next_occurrence(schedule, 0, at) == min(one for one in all_of_them if one > at)
            assert last_occurrence(schedule, 0, at) == max(one for one in all_of_them if one <= at), (text, passed)


def forwards(schedule: Schedule, after: int, until: int) -> Iterator[int]:
    at = next_occurrence(schedule, 0, after)
    while at is not None and at <= until:
        yield at
        at = next_occurrence(schedule, 0, at)


def test_a_job_every_so_often_goes_by_real_time_when_local_time_goes_back() -> None:
    schedule = Schedule("cron", "CRON_TZ=Europe/London */30 * * * *", None)
    start = time_of("2026-10-25T00:00:00.000Z")
    assert list(forwards(schedule, start, start + 7_200_000)) == [start + half * 1_800_000 for half in range(1, 5)]


def test_the_end_of_the_calendar_is_no_error() -> None:
    last = time_of("9999-12-31T23:59:30.000Z")
    assert next_occurrence(Schedule("cron", "* * * * *", None), 0, last) is None
    assert next_occurrence(Schedule("interval", "every 1m", 60_000), 0, last) is None
