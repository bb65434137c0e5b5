"""The commit log as a person would describe it: the model that the real store is judged against.

It is written without a look at the store. A log file is bytes; a line ends with a newline; a commit is a line; what
stands after the last newline is a torn tail and is nothing. A log is a list of commits, and a commit the list of its
changes. Nothing here opens, cuts or flushes: what survived a crash is the disk model's to say, what was promised is
read off the run.
"""

from __future__ import annotations

import json
from typing import Any

Changes = list[dict[str, Any]]

SESSION = [
    {
        "put": {
            "type": "document",
            "kind": "session",
            "key": "meta",
            "scope": "session",
            "body": {"cwd": "/work", "created": "2026-01-01T00:00:00.000Z"},
        }
    }
]
"""What a session's first commit holds."""


def entry(number: int, body: str, conversation: int = 1) -> Changes:
    """A commit that puts one entry of a conversation."""
    return [{"put": {"type": "entry", "id": number, "conversation": conversation, "body": body}}]


def complete(raw: bytes) -> bytes:
    """The bytes of a log file that stand in complete lines."""
    return raw[: raw.rfind(b"\n") + 1]


def lines_of(raw: bytes) -> list[Changes]:
    """The commits that a log file holds: its complete lines, in order."""
    commits = []
    for number, line in enumerate(complete(raw).splitlines(), 1):
        commit = json.loads(line)
        assert commit["commit"] == number, f"line {number} is commit {commit['commit']}"
        commits.append(commit["changes"])
    return commits


def line_of(number: int, changes: Changes) -> bytes:
    """The line of a commit, written by this model and not by the store."""
    text = json.dumps({"commit": number, "changes": changes}, ensure_ascii=False, separators=(",", ":"))
    return text.encode() + b"\n"


def confirmed(raw: bytes) -> dict[str, int]:
    """How long each sidecar is, by the last complete line of a log that names it."""
    found: dict[str, int] = {}
    for line in complete(raw).splitlines():
        found.update(json.loads(line).get("sidecars", {}))
    return found


def with_bodies(commits: list[Changes], sidecars: dict[str, bytes]) -> list[Changes]:
    """Commits as they were made: bodies that stand in sidecars put back in their places."""
    return [[_with_body(change, sidecars) for change in changes] for changes in commits]


def _with_body(change: dict[str, Any], sidecars: dict[str, bytes]) -> dict[str, Any]:
    record = change.get("put", {})
    if "sidecar_body" not in record:
        return change
    place = record["sidecar_body"]
    raw = sidecars.get(f"c{record['conversation']}.entries.jsonl", b"")
    line = raw[place["offset"] : place["offset"] + place["length"]]
    whole = {("body" if key == "sidecar_body" else key): value for key, value in record.items()}
    return {"put": whole | {"body": json.loads(line)["body"]}}


def is_first_part(found: list[Changes], whole: list[Changes]) -> bool:
    """Whether `found` is the first so-and-so many of `whole`, each unchanged."""
    return found == whole[: len(found)]


def differs_at(found: list[Changes], wanted: list[Changes]) -> str:
    """Where two logs part, in words, for the text of a broken law."""
    for number, (one, other) in enumerate(zip(found, wanted, strict=False), 1):
        if one != other:
            return f"commit {number} is {short(one)} and not {short(other)}"
    return f"the log holds {commits(len(found))}, not {len(wanted)}"


def commits(count: int) -> str:
    """ "no commit", "1 commit", "3 commits"."""
    return "no commit" if count == 0 else f"{count} commit{'s' * (count > 1)}"


def short(changes: Changes) -> str:
    """A commit in a few words."""
    text = json.dumps(changes, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text)} characters)"
