"""The sessions of a directory: listing, importing, forking and deleting them, and the loop that sweeps.

`rules` is the part that decides what is listed and does no I/O.
"""

from eukhe.sessions.archive import ArchiveLoop
from eukhe.sessions.deletion import delete_session
from eukhe.sessions.fork import Forked, ForkPoint, fork_session
from eukhe.sessions.importing import Imported, import_session
from eukhe.sessions.listing import Listing, Skipped, list_sessions
from eukhe.sessions.rules import Row

__all__ = [
    "ArchiveLoop", "ForkPoint", "Forked", "Imported", "Listing", "Row", "Skipped", "delete_session", "fork_session",
    "import_session", "list_sessions",
]  # fmt: skip
