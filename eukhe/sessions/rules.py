"""The rules of the listing: which entries are sessions, and the rows that are shown. No I/O.

1. *Scan.* A directory that is not hidden is a candidate under its own name. A regular file `<stem>.jsonl`, not hidden
   and with a stem, is one under its stem, unless a directory has the stem's name: what that directory is does not
   matter. So an id has one place, and a session keeps its id when it is imported. Symbolic links are no sessions and
   hide none. An import takes exactly the legacy files that are candidates.
2. *Rows.* A candidate has a row if its file is there (main.jsonl of a directory; a legacy file itself) and its working
   directory can be read. Rows go by time, newest first, then by id, then by place. What is known of the others
   plays no part.

Names are compared by their characters, and bytes that are not UTF-8 count as the lone surrogates Python reads them as.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from eukhe.staging.rules import EntryKind, is_session_name

LEGACY_SUFFIX = ".jsonl"

CandidateKind = Literal["storage", "legacy"]


class Candidate(NamedTuple):
    """What may be a session: its id, the name of its entry, and which of the two kinds."""

    id: str
    place: str
    kind: CandidateKind


class Facts(NamedTuple):
    """What was found out about a candidate. `cwd` is None where it could not be read, `modified_ns` None where there is
    no file."""

    id: str
    place: str
    cwd: str | None
    modified_ns: int | None


class Row(NamedTuple):
    """One session of the listing. `modified_ns` is when its file was last written, in nanoseconds since 1970."""

    id: str
    place: str
    cwd: str
    modified_ns: int


def scan(entries: Iterable[tuple[str, EntryKind]]) -> list[Candidate]:
    """The candidates among the entries of a sessions directory, by id. Source: seed D2, listing."""
    listed = list(entries)
    directories = {name for name, kind in listed if kind in ("directory", "storage")}
    found = [Candidate(name, name, "storage") for name in directories if is_session_name(name)]
    for name, kind in listed:
        stem = name.removesuffix(LEGACY_SUFFIX)
        if kind == "file" and stem != name and is_session_name(name) and stem not in directories:
            found.append(Candidate(stem, name, "legacy"))
    return sorted(found)


def rows(candidates: Iterable[Facts]) -> list[Row]:
    """The rows of a listing. Source: seed D2, listing."""
    found = [
        Row(facts.id, facts.place, facts.cwd, facts.modified_ns)
        for facts in candidates
        if facts.cwd is not None and facts.modified_ns is not None
    ]
    return sorted(found, key=lambda row: (-row.modified_ns, row.id, row.place))


def import_name(entries: Iterable[tuple[str, EntryKind]], file_name: str) -> str | None:
    """The id under which an import takes a file of the sessions directory; None where it takes no such file."""
    for candidate in scan(entries):
        if candidate.kind == "legacy" and candidate.place == file_name:
            return candidate.id
    return None
