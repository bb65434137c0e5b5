"""The check `tree_entry`: what `eukhe rules tree` answers, byte for byte, to good and bad lines and ones out of place.

The entry and the protocol as a person reads it (`tree_entry_model`) must agree on every line. Lines: every sequence of
four good requests; every good line with each byte dropped or exchanged, cut short, doubled, with fields added, removed
and of another type, in every state. After each line everything that can be asked is asked, and must be answered as the
protocol says: for a line that was refused, as without it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from eukhe.entry import answer_line
from eukhe.tree.entry import TreeEntry
from eukhe.tree.records import Put, decode_record, encode_record
from scenarios.checks import Case, Check, Question
from scenarios.laws import tree_entry as laws
from scenarios.suites import tree_cases
from scenarios.suites.tree_entry_model import Model

Answer = Callable[[TreeEntry, bytes], bytes]

OPEN = ("open", {"bits": 2})
PUT = ("push", {"record": {"put": [1, 0, {"b": 1, "a": [None, "é"]}]}})
GOOD: tuple[tuple[str, dict[str, Any]], ...] = (
    OPEN,
    PUT,
    ("push", {"record": {"put": [2, 1, 1.5]}}),
    ("push", {"record": {"put": [3, 3, "rejected"]}}),
    ("push", {"record": {"del": 1}}),
    ("push", {"record": {"rewind": [[1, None], [3, [0, True]]]}}),
    ("snapshot", {"cursor": 0}),
    ("plan", {"cursor": 1}),
    ("close", {}),
)
REFUSED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("push", {"record": {"put": [4, 0, "out of range"]}}),
    ("push", {"record": {"rewind": [[4, [0, 1]]]}}),
    ("snapshot", {"cursor": 9}),
    ("plan", {"cursor": -1}),
)
MIXED = Put(5, 0, {"k": [1, 1.5, None, True, "é\n", {}]})
EXAMPLE = (
    (b'{"id":1,"op":"open","args":{"bits":63}}\n', b'{"id":1,"ok":{"cursor":0,"nodes":[]}}\n'),
    (
        b'{"id":2,"op":"push","args":{"record":{"put":[1,0,{"kind":"entry"}]}}}\n',
        b'{"id":2,"ok":{"taken":true,"removed":[]}}\n',
    ),
    (b'{"id":3,"op":"push","args":{"record":{"put":[2,1,"x"]}}}\n', b'{"id":3,"ok":{"taken":true,"removed":[]}}\n'),
    (b'{"id":4,"op":"push","args":{"record":{"del":1}}}\n', b'{"id":4,"ok":{"taken":true,"removed":[1,2]}}\n'),
    (
        b'{"id":5,"op":"push","args":{"record":{"rewind":[[1,null],[5,[0,"y"]]]}}}\n',
        b'{"id":5,"ok":{"taken":true,"removed":[]}}\n',
    ),
    (
        b'{"id":6,"op":"snapshot","args":{"cursor":1}}\n',
        b'{"id":6,"ok":{"cursor":1,"nodes":[[1,0,{"kind":"entry"}]]}}\n',
    ),
    (
        b'{"id":7,"op":"plan","args":{"cursor":2}}\n',
        b'{"id":7,"ok":{"cursor":2,"stops":[5],"starts":[[1,0,{"kind":"entry"}],[2,1,"x"]],"restores":[]}}\n',
    ),
    (b'{"id":8,"op":"close","args":{}}\n', b'{"id":8,"ok":{}}\n'),
)


def line_of(op: str, args: Any, number: Any = 1) -> bytes:
    """A request, as a client writes it."""
    return (
        json.dumps({"id": number, "op": op, "args": args}, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    )


def differs(entry: TreeEntry, plain: Model, line: bytes, answer: Answer) -> str | None:
    """What is wrong with the entry's answer to a line, or None."""
    raw = answer(entry, line)
    kind, wanted = plain.wanted(line)
    if kind == "ok":
        told = {"id": json.loads(line)["id"], "ok": wanted}
        exact = json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        return None if raw == exact else f"answered {raw!r}, and the tree says {exact!r}"
    try:
        error = json.loads(raw)["error"]
    except (ValueError, KeyError):
        return f"answered {raw!r}, and not in the error form with {wanted}"
    if not error["message"] or raw.count(b"\n") != 1:
        return f"answered {raw!r}"
    return None if error["code"] == wanted else f"the code is {error['code']}, and not {wanted}"


STATES: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("closed", ()),
    ("open", (0,)),
    ("open, with nodes", (0, 1, 2, 3)),
    ("closed again", (0, 1, 8)),
)
"""What was asked before, as places in `GOOD`."""


def _at(before: tuple[int, ...], answer: Answer) -> tuple[TreeEntry, Model]:
    entry, plain = TreeEntry(), Model()
    for place in before:
        line = line_of(*GOOD[place])
        answer(entry, line)
        plain.wanted(line)
    return entry, plain


def kept(lines: Callable[[], Iterator[bytes]], answer: Answer) -> Iterator[Case]:
    """In every state each line, and then everything that can be asked."""
    after = [line_of("snapshot", {"cursor": n}) for n in (0, 3)]
    after += [line_of("plan", {"cursor": 0}), line_of(*PUT), line_of("close", {}), line_of(*OPEN)]
    for told, before in STATES:
        for line in lines():
            entry, plain = _at(before, answer)
            if (wrong := differs(entry, plain, line, answer)) is None:
                for asked in after:
                    wrong = wrong or differs(entry, plain, asked, answer)
            yield f"{told}: {line[:90]!r}", wrong


def spoilt(op: str, args: dict[str, Any]) -> Iterator[bytes]:
    """A good line, spoilt in every way but by what comes after it."""
    good = line_of(op, args)
    for at in range(len(good) - 1):
        yield good[:at] + good[at + 1 :]
        for byte in (b"\0", b"\xff", b'"', b"}", b"]", b"0", b"9", b"-", b" "):
            yield good[:at] + byte + good[at + 1 :]
    yield line_of(op, args | {"more": 1})
    yield line_of(op.upper(), args)
    others: tuple[Any, ...] = (None, True, -1, 0, 64, 2**63, 2**70, 1.5, "x", [], {}, {"put": [1, 0, 1], "del": 1})
    for other in (None, [], 1, "x", [args]):
        yield line_of(op, other)
    for field in args:
        yield line_of(op, {name: value for name, value in args.items() if name != field})
        yield from (line_of(op, args | {field: value}) for value in others)
    yield from (line_of(op, args, number) for number in others)


def trailing(op: str, args: dict[str, Any]) -> Iterator[bytes]:
    """A good line with something after it, or cut short."""
    good = line_of(op, args)
    yield from (good[:at] for at in range(1, len(good)))
    yield from (good[:-1] + rest for rest in (b"x\n", b" {}\n", b",\n", b"\0\n", b"]\n", b"}\n", good, b"\n\n"))


def _lines(of: Callable[[str, dict[str, Any]], Iterator[bytes]], opens: bool) -> Callable[[], Iterator[bytes]]:
    return lambda: (line for op, args in GOOD if (op == "open") == opens for line in of(op, args))


def malformed() -> Iterator[bytes]:
    """Every spoilt line that is no open, and lines that are no request at all."""
    yield from _lines(spoilt, False)()
    yield from (b"\n", b"[]\n", b"null\n", b"{}\n", b'"open"\n', b"[" * 3000 + b"\n", b"1e999\n", b"\xef\xbb\xbf{}\n")


def out_of_place() -> Iterator[bytes]:
    """Good requests, some of which are out of place in every state, and refused ones."""
    yield from (line_of(op, args) for op, args in (*GOOD, *REFUSED))


def steps(answer: Answer) -> Iterator[Case]:
    """Every sequence of four requests, good ones and ones out of place."""
    for asked in product((*GOOD, *REFUSED), repeat=4):
        entry, plain, wrong = TreeEntry(), Model(), None
        for op, args in asked:
            wrong = wrong or differs(entry, plain, line_of(op, args), answer)
        yield " ".join(op for op, _ in asked), wrong


def opened(answer: Answer) -> Iterator[Case]:
    """An opened entry is empty, and takes exactly the ids of its range."""
    for bits in range(1, 64):
        entry, plain = TreeEntry(), Model()
        lines = [
            line_of("open", {"bits": bits}),
            line_of("snapshot", {"cursor": 0}),
            line_of("snapshot", {"cursor": 1}),
        ]
        lines += [line_of("push", {"record": {"put": [i, 0, 1]}}) for i in (2**bits, 2**bits - 1, 1)]
        wrong = None
        for line in lines:
            wrong = wrong or differs(entry, plain, line, answer)
        yield f"{bits} bits", wrong


def round_trip(answer: Answer) -> Iterator[Case]:
    """Every record that the cases know is read back as itself, alone and by the entry."""
    for record in (*tree_cases.PUTS, *tree_cases.DELETES, *tree_cases.REWINDS, *tree_cases.LETTERS, MIXED):
        text = encode_record(record)
        entry, wrong = TreeEntry(), None
        if decode_record(text) != record:
            wrong = f"{text!r} is read as {decode_record(text)}"
        answer(entry, line_of("open", {"bits": 63}))
        answer(entry, b'{"id":1,"op":"push","args":{"record":%b}}\n' % text)
        if entry.journal is None or entry.journal.records_since(0) != [record]:
            wrong = wrong or f"the entry does not read {text!r} back"
        yield f"{record}", wrong


def example(answer: Answer) -> Iterator[Case]:
    """The example, line by line."""
    entry = TreeEntry()
    for line, wanted in EXAMPLE:
        found = answer(entry, line)
        yield f"{line!r}", None if found == wanted else f"answered {found!r}, pinned is {wanted!r}"


def entry_check(answer: Answer | None = None) -> Check:
    """The check; `answer` is what a mutant puts in the place of the entry."""

    def used(entry: TreeEntry, line: bytes) -> bytes:
        return (answer or answer_line)(entry, line)

    return Check(
        "tree_entry",
        "Each line that `eukhe rules tree` may be given gets the tree's answer or the error form, and nothing else.",
        (
            Question(laws.TREE_FFI_EXAMPLE, lambda: example(used)),
            Question(laws.TREE_FFI_OPEN, lambda: opened(used)),
            Question(laws.TREE_FFI_ASK_ROUND_TRIP, lambda: round_trip(used)),
            Question(laws.TREE_FFI_REFUSED, lambda: kept(out_of_place, used)),
            Question(laws.TREE_FFI_TRAILING, lambda: kept(_lines(trailing, False), used)),
            Question(laws.TREE_FFI_OPEN_TRAILING, lambda: kept(_lines(trailing, True), used)),
            Question(laws.TREE_FFI_OPEN_MALFORMED, lambda: kept(_lines(spoilt, True), used)),
            Question(laws.TREE_FFI_MALFORMED, lambda: kept(malformed, used)),
            Question(laws.TREE_FFI_STEP, lambda: steps(used)),
        ),
    )
