"""A session's epochs as a person would describe them: the model that the real sessions are judged against.

Written without a look at the store. A session directory is a set of files with bytes in them. Epoch n is there if both
`<n>.baseline.json` and `<n>.jsonl` are; the highest that is there is read. A log is lines, a line a JSON object; bytes
after the last newline are a torn line. The carry is the summary of the last `epoch_end` that names the epoch, in the
log before. Turns, taint and calls are counted over every log from 0 on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

Files = dict[str, bytes]
"""Name -> content of the files in a session directory."""


@dataclass(frozen=True, slots=True)
class Read:
    """What a session directory says. `error` is empty, or what must be answered instead of all else: "NotFound",
    "Baseline NAME", "Torn NAME LINE", "NoCarry NAME"."""

    error: str = ""
    epoch: int = 0
    baseline: dict[str, Any] = field(default_factory=dict)
    lines: tuple[dict[str, Any], ...] = ()
    carry: str | None = None
    turns: int = 0
    untrusted: bool = False
    next_call: int = 1
    slot: int = 0


class Broken(Exception):
    """A file that cannot be read; the text is the error that must be answered."""


def read(files: Files) -> Read:
    """What the directory says."""
    current = highest(files)
    if current is None:
        return Read("NotFound")
    try:
        return _read(files, current)
    except Broken as broken:
        return Read(str(broken))


def highest(files: Files) -> int | None:
    """The highest epoch that has both its files."""
    there = [n for n in numbers(files) if f"{n}.baseline.json" in files]
    return max(there, default=None)


def numbers(files: Files) -> list[int]:
    """The epochs that have a log."""
    stems = [name.removesuffix(".jsonl") for name in files if name.endswith(".jsonl")]
    plain = [int(stem) for stem in stems if stem.isascii() and stem.isdigit() and str(int(stem)) == stem]
    return sorted(number for number in plain if number < 2**32)


def lines_of(name: str, raw: bytes) -> tuple[dict[str, Any], ...]:
    """The records of a log. Raises `Broken` for its first bad line."""
    *whole, rest = raw.split(b"\n")
    found = []
    for number, line in enumerate(whole, 1):
        try:
            value = json.loads(line.decode())
        except ValueError:
            raise Broken(f"Torn {name} {number}") from None
        if not isinstance(value, dict) or not _is_record(value):
            raise Broken(f"Torn {name} {number}")
        found.append(value)
    if rest:
        raise Broken(f"Torn {name} {len(whole) + 1}")
    return tuple(found)


def torn(files: Files) -> dict[str, bytes]:
    """The logs that end in a torn line, without it."""
    logs = {f"{n}.jsonl": files[f"{n}.jsonl"] for n in numbers(files)}
    return {name: raw[: raw.rfind(b"\n") + 1] for name, raw in logs.items() if raw and not raw.endswith(b"\n")}


def texts(files: Files) -> list[str]:
    """What the user said, in every log, in order; torn lines left out."""
    found = []
    for n in numbers(files):
        name = f"{n}.jsonl"
        whole = files[name][: files[name].rfind(b"\n") + 1]
        found += [line["text"] for line in lines_of(name, whole) if line["type"] == "user"]
    return found


FIELDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "session_start": {"slot": int},
    "user": {"text": str},
    "assistant": {"text": str},
    "tool_result": {"call": int, "untrusted": bool, "output": object},
    "epoch_end": {"next": int, "summary": str},
}


def _is_record(value: dict[str, Any]) -> bool:
    wanted = FIELDS.get(value.get("type", ""))
    return wanted is not None and all(name in value and isinstance(value[name], kind) for name, kind in wanted.items())


def _read(files: Files, current: int) -> Read:
    try:
        baseline = json.loads(files[f"{current}.baseline.json"].decode())
    except ValueError:
        raise Broken(f"Baseline {current}.baseline.json") from None
    if not isinstance(baseline, dict):
        raise Broken(f"Baseline {current}.baseline.json")
    lines = lines_of(f"{current}.jsonl", files[f"{current}.jsonl"])
    carry = None
    before: list[dict[str, Any]] = []
    for n in range(current):
        name = f"{n}.jsonl"
        if name not in files:
            raise Broken(f"NoCarry {name}")
        earlier = lines_of(name, files[name])
        before += earlier
        if n == current - 1:
            ends = [line for line in earlier if line["type"] == "epoch_end" and line["next"] == current]
            if not ends:
                raise Broken(f"NoCarry {name}")
            carry = ends[-1]["summary"]
    everything = [*before, *lines]
    results = [line for line in everything if line["type"] == "tool_result"]
    starts = [line["slot"] for line in lines if line["type"] == "session_start"]
    return Read(
        epoch=current,
        baseline=baseline,
        lines=lines,
        carry=carry,
        turns=sum(line["type"] == "user" for line in everything),
        untrusted=any(line["untrusted"] for line in results),
        next_call=1 + max((line["call"] for line in results), default=0),
        slot=starts[0] if starts else 0,
    )
