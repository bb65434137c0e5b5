"""Session epochs: a conversation's log that is compacted into the next epoch and never loses what it acknowledged.

`Session` opens one for appending, `read_session` looks at one, `repair` cuts a torn last line. The rules of which
epoch is read when are in `eukhe.epochs.rules`.
"""

from eukhe.epochs.errors import Baseline, Encode, Io, NoCarry, NotFound, SessionError, Torn
from eukhe.epochs.files import SessionView
from eukhe.epochs.records import Assistant, EpochEnd, Record, SessionStart, ToolResult, User
from eukhe.epochs.repair import Cut, examine, repair
from eukhe.epochs.session import Session, directory_of, read_session

__all__ = [
    "Assistant",
    "Baseline",
    "Cut",
    "Encode",
    "EpochEnd",
    "Io",
    "NoCarry",
    "NotFound",
    "Record",
    "Session",
    "SessionError",
    "SessionStart",
    "SessionView",
    "ToolResult",
    "Torn",
    "User",
    "directory_of",
    "examine",
    "read_session",
    "repair",
]
