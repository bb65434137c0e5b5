"""The rules of session epochs: names and records in, an answer out. No I/O.

A session directory holds `<n>.baseline.json` and `<n>.jsonl` for each epoch n from 0. An epoch is complete when
both are there. *The highest complete epoch is the current one*: its log is what `records` gives and what `append`
writes.

Compaction of epoch n: an `epoch_end` {next: n+1, summary} at the end of log n; then the baseline of n+1; then the
log of n+1, each of these two durable before the next step. The log comes last, so until it is there epoch n is the
current one, and then n+1 is whole. An `epoch_end` as the last record of the current epoch is a compaction that
stopped half-way; a record after it abandons that compaction. The carry of epoch n is the summary of the last
`epoch_end` for n in log n-1.

Turns, taint and call ids span all epochs, so every log from 0 on is read; where one is missing nothing can be
counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from eukhe.epochs.records import U32_MAX, EpochEnd, Record, SessionStart, ToolResult, User

_LOG_NAME = re.compile(r"(0|[1-9][0-9]{0,9})\.jsonl")


def log_name(epoch: int) -> str:
    """The file of an epoch's log."""
    return f"{epoch}.jsonl"


def baseline_name(epoch: int) -> str:
    """The file of an epoch's baseline."""
    return f"{epoch}.baseline.json"


def log_epochs(names: Iterable[str]) -> list[int]:
    """The epochs that have a log, from the lowest."""
    numbers = (int(match[1]) for match in map(_LOG_NAME.fullmatch, names) if match)
    return sorted(number for number in numbers if number <= U32_MAX)


def current_epoch(names: Iterable[str]) -> int | None:
    """The highest epoch that has both its files, None where there is none."""
    held = set(names)
    complete = [epoch for epoch in log_epochs(held) if baseline_name(epoch) in held]
    return complete[-1] if complete else None


def carry_into(epoch: int, records: Sequence[Record]) -> str | None:
    """The summary that the log before an epoch carries into it, None where no record ends that log for it."""
    for record in reversed(records):
        if isinstance(record, EpochEnd) and record.next == epoch:
            return record.summary
    return None


def half_compaction(epoch: int, records: Sequence[Record]) -> EpochEnd | None:
    """The last record of the current epoch's log, if it ends it and the next epoch is not there yet."""
    last = records[-1] if records else None
    return last if isinstance(last, EpochEnd) and last.next == epoch + 1 else None


def count_users(records: Iterable[Record]) -> int:
    """How many turns these records hold."""
    return sum(isinstance(record, User) for record in records)


def any_untrusted(records: Iterable[Record]) -> bool:
    """Whether a result among these records came from an untrusted place."""
    return any(isinstance(record, ToolResult) and record.untrusted for record in records)


def highest_call(records: Iterable[Record]) -> int:
    """The highest call id among these records, 0 without one."""
    return max((record.call for record in records if isinstance(record, ToolResult)), default=0)


def slot_of(records: Iterable[Record]) -> int:
    """The slot on the first `session_start`, 0 without one."""
    return next((record.slot for record in records if isinstance(record, SessionStart)), 0)
