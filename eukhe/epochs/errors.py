"""What a caller of a session's epochs can meet. Damage points at the runbook's section on damaged session logs."""

from __future__ import annotations

from eukhe.errors import RUNBOOK, EukheError

LOG_DAMAGED = f"see {RUNBOOK}#session-log-damaged"


class SessionError(EukheError):
    """Base of every error of a session's epochs."""


class NotFound(SessionError):
    """The directory holds no epoch with both a baseline and a log. `id` is the session's."""

    def __init__(self, path: str, id: str) -> None:
        super().__init__(path, f"{path}: no session {id} here (it needs <n>.baseline.json and <n>.jsonl of one epoch)")
        self.id = id


class Baseline(SessionError):
    """The current epoch's baseline is not one JSON object."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, f"{path}: {why}; {LOG_DAMAGED}")
        self.why = why


class Io(SessionError):
    """A call failed; the `OSError` is the cause. An append or compaction that met this was not acknowledged."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, f"{path}: {why}")
        self.why = why


class Torn(SessionError):
    """A line of a log is no record, or the last line has no newline. `line` counts from 1 in that file."""

    def __init__(self, path: str, line: int, why: str) -> None:
        super().__init__(path, f"{path}:{line}: {why}; {LOG_DAMAGED}")
        self.line = line
        self.why = why


class Encode(SessionError):
    """A record or baseline has no exact form in JSON. Nothing was written."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, f"{path}: {why}; nothing was written")
        self.why = why


class NoCarry(SessionError):
    """A log of an earlier epoch is missing, or the one before the current does not end it."""

    def __init__(self, path: str) -> None:
        super().__init__(path, f"{path}: compacted epoch is missing its EpochEnd; {LOG_DAMAGED}")
