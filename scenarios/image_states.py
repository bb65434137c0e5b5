"""How the files of a store stand there, each in a word: empty, torn, ending in NULs, doubled, left over.

Functions of a directory's bytes and names alone, with plain calls, so that they read a real directory and, inside a
scenario, a simulated one. The states of a store are in a fixed order, and empty when all is whole.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from json import JSONDecodeError
from typing import Any

from eukhe.doctor import CRON_NAME
from eukhe.staging.rules import is_leftover_name, is_session_name, leftover_of_lock

_LOG, _BASELINE = re.compile(r"^(\d+)\.jsonl$"), re.compile(r"^(\d+)\.baseline\.json$")


BEGUN = ("true", "false", "null", "-", ".", "e+", "e-")
"""What a document may stop in, besides a string."""


def files_of(directory: str) -> dict[str, bytes]:
    """The bytes of each file of a flat directory."""
    found = {}
    for name in sorted(os.listdir(directory)):
        path = f"{directory}/{name}"
        if os.path.isfile(path) and not os.path.islink(path):
            with open(path, "rb") as file:
                found[name] = file.read()
    return found


def log_states(directory: str) -> list[str]:
    """Of a commit log: how `main.jsonl` stands there."""
    files = files_of(directory)
    if "main.jsonl" not in files:
        return ["missing"]
    state = state_of(files["main.jsonl"])
    return [state] if state != "whole" else []


def epochs_states(directory: str) -> list[str]:
    """Of a session's epochs: how the newest log stands there; the others must have ended, and baselines need logs."""
    files = files_of(directory)
    logs = {int(match[1]): data for name, data in files.items() if (match := _LOG.match(name))}
    baselines = {int(match[1]) for name in files if (match := _BASELINE.match(name))}
    if not logs:
        return ["baseline-alone"] if baselines else ["missing"]
    newest = max(logs)
    states = [state] if (state := state_of(logs[newest])) != "whole" else []
    if any(b'"epoch_end"' not in data for epoch, data in logs.items() if epoch < newest):
        states.append("no-epoch-end")
    if max(baselines, default=newest) > newest:
        states.append("baseline-alone")
    return states


def cron_states(directory: str) -> list[str]:
    """Of the scheduled jobs: how the file stands there, what is wrong with its records, what writers left beside it."""
    files = files_of(directory)
    states = []
    data = files.get(CRON_NAME)
    state = "missing" if data is None else document_state(data)
    if state != "whole":
        states.append(state)
    elif data is not None:
        states += _record_states(json.loads(data))
    if any(name.startswith(f".{CRON_NAME}.tmp-") for name in files):
        states.append("leftover")
    if any(name.startswith(f"{CRON_NAME}.corrupt-") for name in files):
        states.append("kept-aside")
    return states


def _record_states(document: Any) -> Iterator[str]:
    if not isinstance(document, dict) or not all(isinstance(document.get(key), list) for key in ("jobs", "dispatches")):
        yield "no-lists"
        return
    for word, records in (("job", document["jobs"]), ("claim", document["dispatches"])):
        ids = [record.get("id") if isinstance(record, dict) else None for record in records]
        if None in ids:
            yield f"no-{word}"
        if len(set(map(repr, ids))) < len(ids):
            yield f"doubled-{word}"
    jobs = {record.get("id") for record in document["jobs"] if isinstance(record, dict)}
    if any(isinstance(claim, dict) and claim.get("jobId") not in jobs for claim in document["dispatches"]):
        yield "claim-alone"


def staging_states(directory: str) -> list[str]:
    """Of a directory of sessions: how the worst session and legacy file stand there, and what dead builds left."""
    found = set()
    names = sorted(os.listdir(directory))
    for name in names:
        path = f"{directory}/{name}"
        leftover = leftover_of_lock(name)
        if is_leftover_name(name):
            found.add(f"{name.rpartition('.')[2].partition('-')[0]}-left")
        elif leftover is not None:
            if leftover not in names:
                found.add("lock-left")
        elif is_session_name(name) and os.path.isdir(path) and not os.path.islink(path):
            found |= {f"session-{state}" for state in log_states(path)}
        elif name.endswith(".jsonl") and is_session_name(name):
            with open(path, "rb") as file:
                state = state_of(file.read())
            found |= {f"legacy-{state}"} - {"legacy-whole", "legacy-duplicate"}
    return sorted(found)


STATES: dict[str, Callable[[str], list[str]]] = {
    "log": log_states,
    "epochs": epochs_states,
    "cron": cron_states,
    "staging": staging_states,
}


def state_of(data: bytes) -> str:
    """How a file of JSON lines stands there, in a word."""
    if (state := _bytes_state(data)) != "whole":
        return state
    lines = data.split(b"\n")
    if lines.pop():
        return "torn"
    for line in lines:
        try:
            json.loads(line)
        except JSONDecodeError as error:
            return "glued" if error.msg == "Extra data" else "garbled"
        except UnicodeDecodeError:
            return "garbled"
    return "duplicate" if len(set(lines)) < len(lines) else "whole"


def document_state(data: bytes) -> str:
    """How a file that is one JSON document stands there, in a word. Torn: it stops before the document has ended."""
    if (state := _bytes_state(data)) != "whole":
        return state
    try:
        json.loads(data)
    except JSONDecodeError as error:
        if error.msg == "Extra data":
            return "glued"
        rest = data.decode()[error.pos :].rstrip()
        inside = error.msg.startswith("Unterminated") or (error.msg.startswith("Invalid \\") and '"' not in rest)
        stopped = inside or any(word.startswith(rest) for word in BEGUN)
        return "torn" if stopped else "garbled"
    except UnicodeDecodeError as error:
        return "torn" if error.reason == "unexpected end of data" else "garbled"
    return "whole"


def _bytes_state(data: bytes) -> str:
    if not data:
        return "empty"
    if data.endswith(b"\0"):
        return "nul-tail"
    return "nul-inside" if b"\0" in data else "whole"
