"""The commit log: a directory with `main.jsonl`, one line a commit, that keeps what it acknowledged.

`Storage` opens one for writing, `read_storage` looks at one without touching it. `rules` is the part that decides
and does no I/O, `hands` the part that acts and decides nothing.
"""

from eukhe.storage.codec import Commit
from eukhe.storage.doctor import Diagnosis, Finding, examine, repair
from eukhe.storage.history import CommitHistory
from eukhe.storage.records import copy, put, retire, session_meta
from eukhe.storage.shell import Storage
from eukhe.storage.view import StorageView, read_storage

__all__ = [
    "Commit",
    "CommitHistory",
    "Diagnosis",
    "Finding",
    "Storage",
    "StorageView",
    "copy",
    "examine",
    "put",
    "read_storage",
    "repair",
    "retire",
    "session_meta",
]
