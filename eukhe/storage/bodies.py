"""Moving the long bodies of entries out of a commit and into the sidecars of their conversations.

The marker line keeps all of the entry's record but the body, and says where the body stands: `"sidecar_body":
{"offset": 0, "length": 20480}`, in bytes, the line's newline included. The file follows from the entry's
conversation. Only entries have sidecars; a long body of another record stays in main.jsonl.
"""

from __future__ import annotations

from eukhe.storage.codec import Change, Commit, body_length, encode_commit, encode_sidecar_line
from eukhe.storage.rules import sidecar_name


def move_long_bodies(
    line: bytes, commit: Commit, lengths: dict[str, int], inline_bytes: int
) -> tuple[bytes, Commit, dict[str, bytes]]:
    """The marker line and its commit, and what each sidecar gets, in the order of first use.

    `lengths` gives the confirmed length of each sidecar, in bytes; a body is long if it takes more than
    `inline_bytes`. Without a long body the commit comes back as it is.
    """
    moved: dict[str, list[bytes]] = {}
    ends: dict[str, int] = {}
    changes: list[Change] = []
    for change in commit.changes:
        record = change.get("put")
        if (
            record is None
            or record["type"] != "entry"
            or "body" not in record
            or body_length(record["body"]) <= inline_bytes
        ):
            changes.append(change)
            continue
        name = sidecar_name(record["conversation"])
        data = encode_sidecar_line(commit.number, record["id"], record["body"])
        place = {"offset": ends.get(name, lengths.get(name, 0)), "length": len(data)}
        moved.setdefault(name, []).append(data)
        ends[name] = place["offset"] + place["length"]
        marked = {("sidecar_body" if key == "body" else key): value for key, value in record.items()}
        changes.append({"put": marked | {"sidecar_body": place}})
    if not moved:
        return line, commit, {}
    marker = Commit(commit.number, changes, ends)
    return encode_commit(marker), marker, {name: b"".join(pieces) for name, pieces in moved.items()}
