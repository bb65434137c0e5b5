"""The check `log_entry`: what `eukhe rules log` answers, byte for byte, to good lines, bad ones and ones out of place.

A request is what a person reads off the protocol: an object of exactly `id`, `op`, `args`; each operation has its
fields and their types; each state takes its operations. `wanted` says so with `json` and asks the rules themselves for
the decision, so the two must agree on every line: every short sequence of good requests, and, in every state, every
good line with each byte dropped or exchanged, cut short, doubled, with fields added, removed and of another type.

After each line that is refused the entry must go on as if it had not come.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from eukhe import directories
from eukhe.directories import PathRefused
from eukhe.entry import answer_line
from eukhe.storage import rules
from eukhe.storage.entry import LogEntry
from scenarios.checks import Case, Check, Question
from scenarios.laws import log_entry

Answer = Callable[[LogEntry, bytes], bytes]

C1, C2 = "c1.entries.jsonl", "c2.entries.jsonl"
SIDECAR = {"name": C1, "length": 5, "confirmed": 4}
STEP = {"kind": "write_marker", "name": "main.jsonl", "length": 0}
GOOD: tuple[tuple[str, dict[str, Any]], ...] = (
    ("complete_length", {"length": 9, "last_newline": 7}),
    ("directories", {"fsync": True, "storage": "/h/s/a", "home": "/h", "missing": ["/h/s", "/h/s/a"]}),
    ("open", {"fsync": True, "length": 9, "last_newline": 7, "sidecars": [SIDECAR], "ancestors": ["/h"]}),
    ("open", {"fsync": False, "length": 0, "last_newline": None, "sidecars": [], "ancestors": []}),
    ("commit", {"sidecars": []}),
    ("commit", {"sidecars": [C1, C2]}),
    ("flush", {"sidecars": [C1]}),
    ("fail", {"begun": [STEP], "main_length": 4, "sidecar_lengths": {C1: 2}}),
    ("close", {}),
)
REFUSED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("complete_length", {"length": 3, "last_newline": 3}),
    ("complete_length", {"length": -1, "last_newline": None}),
    ("directories", {"fsync": True, "storage": "/x/a", "home": "/h", "missing": []}),
    ("open", {"fsync": True, "length": 9, "last_newline": 7, "sidecars": [SIDECAR, SIDECAR], "ancestors": []}),
    ("open", {"fsync": True, "length": 9, "last_newline": 7, "sidecars": [SIDECAR | {"length": 3}], "ancestors": []}),
    ("commit", {"sidecars": [C1, C1]}),
    ("commit", {"sidecars": ["main.jsonl"]}),
    ("flush", {"sidecars": ["x"]}),
)
FIELDS: dict[str, dict[str, str]] = {
    "complete_length": {"length": "int", "last_newline": "int?"},
    "directories": {"fsync": "bool", "storage": "str", "home": "str", "missing": "strs"},
    "open": {"fsync": "bool", "length": "int", "last_newline": "int?", "sidecars": "sidecars", "ancestors": "strs"},
    "commit": {"sidecars": "strs"},
    "flush": {"sidecars": "strs"},
    "fail": {"begun": "steps", "main_length": "int", "sidecar_lengths": "lengths"},
    "close": {},
}
KINDS = (
    "flush_ancestor", "cut_main", "cut_sidecar", "rewrite_last_line", "write_sidecar", "write_marker",
    "flush_sidecar", "flush_main", "flush_directory", "remove_entry", "acknowledge",
)  # fmt: skip


def line_of(op: str, args: Any, number: Any = 1) -> bytes:
    """A request, as a client writes it."""
    return json.dumps({"id": number, "op": op, "args": args}, separators=(",", ":")).encode() + b"\n"


class Model:
    """The stepper as the protocol's page has it."""

    def __init__(self) -> None:
        self.state: rules.LogState | None = None
        self.failed = False

    def wanted(self, line: bytes) -> tuple[str, Any]:
        """("ok", the answer) or ("error", its code); a refused request changes nothing."""
        if not line.endswith(b"\n"):
            return "error", "trailing"
        try:
            request = json.loads(line.decode())
        except (ValueError, RecursionError):
            return "error", "malformed"
        if not _is(request, {"id": "int", "op": "str", "args": "any"}):
            return "error", "malformed"
        if request["op"] not in FIELDS:
            return "error", "unknown_op"
        if not _is(request["args"], FIELDS[request["op"]]):
            return "error", "bad_args"
        try:
            return "ok", getattr(self, request["op"])(**request["args"])
        except OutOfPlace:
            return "error", "out_of_place"
        except (rules.RuleRefused, rules.SidecarShort, PathRefused):
            return "error", "refused"

    def complete_length(self, length: int, last_newline: int | None) -> Any:
        """As the rule says."""
        return {"length": rules.complete_length(length, last_newline)}

    def directories(self, fsync: bool, storage: str, home: str, missing: list[str]) -> Any:
        """As the rule says."""
        steps, owed = directories.plan_directories(fsync, storage, home, tuple(missing))
        return {"steps": [{"kind": step.kind, "path": step.path} for step in steps], "owed": list(owed)}

    def open(self, fsync: bool, length: int, last_newline: int | None, sidecars: Any, ancestors: Any) -> Any:
        """Only while closed."""
        if self.state is not None:
            raise OutOfPlace
        found = tuple(rules.SidecarFacts(one["name"], one["length"], one["confirmed"]) for one in sidecars)
        steps, self.state = rules.plan_open(fsync, rules.OpenFacts(length, last_newline, found, tuple(ancestors)))
        return _told(steps)

    def commit(self, sidecars: list[str]) -> Any:
        """Only while open."""
        steps, self.state = rules.plan_commit(self._usable(), tuple(sidecars))
        return _told(steps)

    def flush(self, sidecars: list[str]) -> Any:
        """Only while open."""
        steps, self.state = rules.plan_flush(self._usable(), tuple(sidecars))
        return _told(steps)

    def fail(self, begun: Any, main_length: int, sidecar_lengths: dict[str, int]) -> Any:
        """Only while open; then only `close` is left."""
        steps = tuple(rules.Step(step["kind"], step["name"], step["length"]) for step in begun)
        plan = rules.plan_put_back(self._usable(), steps, main_length, sidecar_lengths)
        self.failed = True
        return _told(plan)

    def close(self) -> Any:
        """Unless closed."""
        if self.state is None:
            raise OutOfPlace
        self.state, self.failed = None, False
        return {}

    def _usable(self) -> rules.LogState:
        if self.state is None or self.failed:
            raise OutOfPlace
        return self.state


class OutOfPlace(Exception):
    """The request is a good one at another time."""


def _told(steps: tuple[rules.Step, ...]) -> Any:
    return {"steps": [{"kind": step.kind, "name": step.name, "length": step.length} for step in steps]}


def _is(value: Any, fields: dict[str, str]) -> bool:
    """Whether a value is an object of exactly these fields."""
    return (
        isinstance(value, dict) and value.keys() == fields.keys() and all(_has(value[f], k) for f, k in fields.items())
    )


def _has(value: Any, kind: str) -> bool:
    if kind == "any":
        return True
    if kind == "int?":
        return value is None or _has(value, "int")
    if kind == "int":
        return type(value) is int or (type(value) is float and value.is_integer())
    if kind in ("bool", "str"):
        return type(value).__name__ == kind
    if kind == "strs":
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    if kind == "lengths":
        return isinstance(value, dict) and all(_has(one, "int") for one in value.values())
    if kind == "sidecars":
        fields = {"name": "str", "length": "int", "confirmed": "int"}
        return isinstance(value, list) and all(_is(one, fields) for one in value)
    fields = {"kind": "str", "name": "str", "length": "int"}
    return isinstance(value, list) and all(_is(one, fields) and one["kind"] in KINDS for one in value)


STATES: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("closed", ()),
    ("open", (2,)),
    ("open without flushing", (3,)),
    ("open, one commit", (2, 5)),
    ("failed", (3, 4, 7)),
    ("closed again", (3, 7, 8)),
)
"""What was asked before, as places in `GOOD`."""


def sequences(answer: Answer) -> Iterator[Case]:
    """Every sequence of three requests, good ones and ones that a rule refuses."""
    for asked in product((*GOOD, *REFUSED), repeat=3):
        entry, model, wrong = LogEntry(), Model(), None
        for op, args in asked:
            wrong = wrong or _differs(entry, model, line_of(op, args), answer)
        yield " ".join(op for op, _ in asked), wrong


def bad_lines() -> Iterator[bytes]:
    """Every good line, spoilt in every way."""
    for op, args in GOOD:
        good = line_of(op, args)
        for at in range(len(good)):
            yield good[:at] + good[at + 1 :]
            yield good[:at]
            for byte in (b"\0", b"\xff", b'"', b"}", b"x", b"0", b" ", b"\n"):
                yield good[:at] + byte + good[at + 1 :]
        yield from (good[:-1] + rest for rest in (b"", b"x\n", b" {}\n", good, b"\r\n", b"  \n"))
        yield from _other_fields(op, args)
    yield from (b"\n", b"[]\n", b"null\n", b"{}\n", b'"open"\n', b"[" * 3000 + b"\n", b"1e999\n", b"\xef\xbb\xbf{}\n")
    numbers: tuple[Any, ...] = (None, "1", 1.5, True, [], -1, 2**70)
    yield from (line_of("close", {}, number) for number in numbers)


def _other_fields(op: str, args: dict[str, Any]) -> Iterator[bytes]:
    yield line_of(op, args | {"more": 1})
    yield line_of(op.upper(), args)
    for args_of_another_kind in (None, [], 1, "x", [args]):
        yield line_of(op, args_of_another_kind)
    for field in args:
        yield line_of(op, {name: value for name, value in args.items() if name != field})
        others: tuple[Any, ...] = (None, True, -1, 1.5, "x", ["x"], [1], {}, {"x": "y"}, [{}])
        yield from (line_of(op, args | {field: other}) for other in others)


def spoilt(answer: Answer) -> Iterator[Case]:
    """In every state, every bad line."""
    lines = sorted(set(bad_lines()))
    for told, before in STATES:
        for line in lines:
            entry, model = _at(before)
            yield f"{told}: {line[:80]!r}", _differs(entry, model, line, answer)


def kept(answer: Answer) -> Iterator[Case]:
    """In every state, a line that is refused, and then each good request: the answers are as without it."""
    lines = [line_of(op, args) for op, args in (*GOOD, *REFUSED)]
    lines += [line_of("close", {"x": 1}), b"{\n", b'{"id":1,"op":"commit","args":{"sidecars":["c1.entries.jsonl"]}}']
    for told, before in STATES:
        for line in lines:
            entry, model = _at(before)
            if copy.deepcopy(model).wanted(line)[0] == "ok":
                continue
            answer(entry, line)
            for op, args in GOOD:
                after = copy.deepcopy(entry), copy.deepcopy(model)
                wrong = _differs(*after, line_of(op, args), answer)
                yield f"{told}: {line[:60]!r}, then {op}", wrong


def _at(before: tuple[int, ...]) -> tuple[LogEntry, Model]:
    entry, model = LogEntry(), Model()
    for place in before:
        line = line_of(*GOOD[place])
        answer_line(entry, line)
        assert model.wanted(line)[0] == "ok"
    return entry, model


def _differs(entry: LogEntry, model: Model, line: bytes, answer: Answer) -> str | None:
    """What is wrong with the entry's answer to a line, or None."""
    raw = answer(entry, line)
    kind, wanted = model.wanted(line)
    try:
        told = json.loads(raw)
    except ValueError:
        return f"the answer is no JSON: {raw!r}"
    if not raw.endswith(b"\n") or raw.count(b"\n") != 1:
        return f"the answer is not one line: {raw!r}"
    if kind == "ok":
        exact = json.dumps({"id": json.loads(line)["id"], "ok": wanted}, separators=(",", ":")).encode() + b"\n"
        return None if raw == exact else f"answered {raw!r}, and the rule says {exact!r}"
    if list(told) != ["id", "error"] or list(told["error"]) != ["code", "message"] or not told["error"]["message"]:
        return f"answered {raw!r}, and not in the error form with {wanted}"
    return None if told["error"]["code"] == wanted else f"the code is {told['error']['code']}, and not {wanted}"


def entry_check(answer: Answer = answer_line) -> Check:
    """The check; `answer` is what a mutant puts in the place of the entry."""
    return Check(
        "log_entry",
        "Each line that `eukhe rules log` may be given gets the rule's decision or the error form, and nothing else.",
        (
            Question(log_entry.LOG_FFI_ANSWERS, lambda: sequences(answer)),
            Question(log_entry.LOG_FFI_ANSWERS, lambda: spoilt(answer)),
            Question(log_entry.LOG_STEPPER_KEEPS, lambda: kept(answer)),
        ),
    )
