"""What a caller of the sessions directory can meet, besides the errors of a storage and of staging."""

from __future__ import annotations

from eukhe.errors import RUNBOOK, EukheError


class SessionsError(EukheError):
    """Base of every error of the sessions directory."""


class SessionNotFound(SessionsError):
    """No session is listed under the name."""

    def __init__(self, path: str) -> None:
        super().__init__(path, f"{path}: no such session; `eukhe sessions list` shows those there are")


class SessionsFailed(SessionsError):
    """A step failed, so the call promises nothing. The failed `OSError` is the cause. `step` says what was done."""

    def __init__(self, path: str, step: str, why: str) -> None:
        super().__init__(path, f"{path}: {step} failed ({why}); remove the cause and try again")
        self.step = step
        self.why = why


class LegacyDamaged(SessionsError):
    """A complete line of a legacy file is not what it has to be. Nothing was imported; the file is as it was.

    `line` counts from 1.
    """

    def __init__(self, path: str, line: int, why: str) -> None:
        super().__init__(path, f"{path}:{line}: {why}; nothing was imported, see {RUNBOOK}#legacy-file-damaged")
        self.line = line
        self.why = why


class ForkPointUnknown(SessionsError):
    """The storage to fork holds no entry with this id."""

    def __init__(self, path: str, entry: int) -> None:
        super().__init__(path, f"{path}: holds no entry {entry}; `eukhe log` shows those there are")
        self.entry = entry


class SessionNotImported(SessionsError):
    """The session is still a legacy file, and only a storage will do."""

    def __init__(self, path: str) -> None:
        super().__init__(path, f"{path}: a legacy file; import it first (`eukhe sessions import`)")
