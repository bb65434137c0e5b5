"""The check `listing_rules`: the rules of the listing and the entry of staging, every small case of each.

Bounds: directories of up to four entries out of eleven that get in each other's way; rows of up to three candidates
with every mix of facts, in every order; each operation of the entry, asked well and asked badly.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations, permutations, product
from typing import Any

from eukhe.entry import answer_line
from eukhe.sessions import rules as listing_rules
from eukhe.sessions.entry import StagingEntry
from eukhe.sessions.rules import Facts
from eukhe.staging import rules
from eukhe.staging.rules import EntryKind, JudgeFacts, Probe
from scenarios.checks import Case, Check, Question
from scenarios.laws import listing, staging_entry
from scenarios.suites.staging_model import DAY, HEX
from scenarios.suites.staging_rules import KINDS

ENTRIES: tuple[tuple[str, EntryKind], ...] = (
    ("a", "directory"), ("a", "storage"), ("a", "symlink"), ("a", "file"), ("a.jsonl", "file"),
    ("a.jsonl", "directory"), ("a.jsonl.jsonl", "file"), (".a.jsonl", "file"), (".jsonl", "file"),
    ("b.jsonl", "symlink"), (".b", "directory"),
)  # fmt: skip


def listings() -> Iterator[tuple[tuple[str, EntryKind], ...]]:
    """Every directory of up to four of these entries; a name stands in it once."""
    for count in range(5):
        for entries in combinations(ENTRIES, count):
            if len({name for name, _ in entries}) == count:
                yield entries


def scans() -> Iterator[Case]:
    """Which entries are sessions, where, and what an import takes; whatever order they are listed in."""
    for entries in listings():
        folders = {name for name, kind in entries if kind in ("directory", "storage")}
        wanted = {(name, name, "storage") for name in folders if name[0] != "."}
        for name, kind in entries:
            if kind == "file" and name.endswith(".jsonl") and name[0] != "." and name[:-6] not in folders:
                wanted.add((name[:-6], name, "legacy"))
        for order in (entries, entries[::-1]):
            found = listing_rules.scan(order)
            wrong = None if len(found) == len(wanted) and set(found) == wanted else f"the scan finds {found}"
            for name, _ in entries:
                taken = listing_rules.import_name(order, name)
                due = next((id for id, place, kind in wanted if place == name and kind == "legacy"), None)
                if taken != due:
                    wrong = f"an import takes {name} as {taken}"
            yield str(order), wrong


def one_location() -> Iterator[Case]:
    """No id twice, and a directory hides the legacy file of its name."""
    for entries in listings():
        found = listing_rules.scan(entries)
        ids = [candidate.id for candidate in found]
        folders = {name for name, kind in entries if kind in ("directory", "storage")}
        hidden = [c.place for c in found if c.kind == "legacy" and c.id in folders]
        wrong = f"{ids} are listed" if len(set(ids)) != len(ids) else f"{hidden} is not hidden" if hidden else None
        yield str(entries), wrong


def imports_list_storages() -> Iterator[Case]:
    """After the import of a legacy file its id is a storage's."""
    for entries in listings():
        for candidate in _importable(entries):
            found = [c for c in listing_rules.scan(_imported(entries, candidate.id)) if c.id == candidate.id]
            wrong = None if [c.kind for c in found] == ["storage"] else f"it is listed as {found}"
            yield f"{candidate.place} of {entries}", wrong


def imports_keep_others() -> Iterator[Case]:
    """The import of a legacy file leaves every other candidate as it was."""
    for entries in listings():
        before = listing_rules.scan(entries)
        for candidate in _importable(entries):
            after = listing_rules.scan(_imported(entries, candidate.id))
            rest = [c for c in before if c.id != candidate.id]
            kept = [c for c in after if c.id != candidate.id]
            yield f"{candidate.place} of {entries}", None if kept == rest else f"{rest} became {kept}"


def _imported(entries: tuple[tuple[str, EntryKind], ...], id: str) -> list[tuple[str, EntryKind]]:
    """The directory after an import has published `id`."""
    return [*entries, (id, "directory")]


def _importable(entries: tuple[tuple[str, EntryKind], ...]) -> list[listing_rules.Candidate]:
    """The legacy candidates whose import can succeed: a name that anything has cannot be published."""
    taken = {name for name, _ in entries}
    return [c for c in listing_rules.scan(entries) if c.kind == "legacy" and c.id not in taken]


def all_rows() -> Iterator[Case]:
    """Up to three candidates with every mix of facts, in every order."""
    places = (("a", "p"), ("a", "q"), ("b", "p"))
    menu = [Facts(*place, cwd, at) for place, cwd, at in product(places, (None, "/c"), (None, 1, 2))]
    for count in range(4):
        for chosen in combinations(menu, count):
            wanted = [fact for fact in chosen if fact.cwd and fact.modified_ns]
            wanted.sort(key=lambda fact: fact.place)
            wanted.sort(key=lambda fact: fact.id)
            wanted.sort(key=lambda fact: fact.modified_ns or 0, reverse=True)
            for order in permutations(chosen):
                found = [tuple(row) for row in listing_rules.rows(order)]
                yield str(order), None if found == [tuple(fact) for fact in wanted] else f"the rows are {found}"


def entry_answers() -> Iterator[Case]:
    """Each operation answers what its rule says, and everything else gets the error form."""
    good: list[tuple[str, dict[str, Any], Any]] = []
    for name, kind in product(("a", f".a.fork-{HEX}", f".a.fork-{HEX}.lock"), KINDS):
        good.append(("meet", {"name": name, "kind": kind}, {"meeting": rules.meet(name, kind)}))
    probes: tuple[Probe, ...] = ("free", "held", "missing", "unknown")
    for lock, there, age in product(probes, (True, False), (None, 0, DAY)):
        args = {"lock": lock, "directory_there": there, "touched_ns": age, "now_ns": DAY}
        facts = JudgeFacts(lock, there, age, DAY)
        for op, judge in (("judge_leftover", rules.judge_leftover), ("judge_lock", rules.judge_lock)):
            found = judge(facts)
            good.append((op, args, {"steps": list(found.steps), "why": found.why}))
    good += [("settle", {"errno": code}, {"settled": rules.settle(code)}) for code in (None, 17, 22, 38, 95, 5)]
    good += [
        ("mint", {"name": "é", "purpose": p, "hex": HEX}, {"name": rules.mint("é", p, HEX)}) for p in rules.PURPOSES
    ]
    for entries in (((),), (("a", "directory"), ("b.jsonl", "file"))):
        listed = [list(entry) for entry in entries if entry]
        scan = [list(candidate) for candidate in listing_rules.scan([entry for entry in entries if entry])]
        good.append(("scan", {"entries": listed}, {"candidates": scan}))
    good.append(("import_name", {"entries": [["b.jsonl", "file"]], "file": "b.jsonl"}, {"id": "b"}))
    good.append(("import_name", {"entries": [], "file": "b.jsonl"}, {"id": None}))
    good.append(("rows", {"candidates": [["a", "a", "/c", 1], ["b", "b", None, 2]]}, {"rows": [["a", "a", "/c", 1]]}))
    for number, (op, args, wanted) in enumerate(good, 1):
        answer = _ask({"id": number, "op": op, "args": args})
        right = answer == {"id": number, "ok": wanted}
        yield f"{op} {args}", None if right else f"the answer is {answer}, and the rule says {wanted}"
        spoils: tuple[dict[str, Any], ...] = (
            {**args, "more": 1},
            dict(list(args.items())[1:]),
            {key: {} for key in args},
        )
        for spoiled in spoils:
            answer = _ask({"id": number, "op": op, "args": spoiled})
            yield f"{op} {spoiled}", None if _is_error(answer, number) else f"the answer is {answer}"
    for op, args in REFUSED:
        answer = _ask({"id": 7, "op": op, "args": args})
        yield f"{op} {args}", None if _is_error(answer, 7) else f"the answer is {answer}"
    for raw in (
        b"{}\n",
        b"[1]\n",
        b"x\n",
        b'{"id":1,"op":"meet"}\n',
        b'{"id":1,"op":"settle","args":{"errno":17}} x\n',
    ):
        answer = json.loads(answer_line(StagingEntry(), raw))
        yield repr(raw), None if "error" in answer else f"the answer is {answer}"
    answer = json.loads(answer_line(StagingEntry(), b'{"id":1,"op":"settle","args":{"errno":17}}'))
    yield "a line without its end", None if "error" in answer else f"the answer is {answer}"


REFUSED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("sweep", {}), ("mint", {"name": ".a", "purpose": "import", "hex": HEX}),
    ("mint", {"name": "a", "purpose": "import", "hex": HEX.upper()}), ("meet", {"name": "a/b", "kind": "file"}),
    ("meet", {"name": "", "kind": "file"}), ("scan", {"entries": [["a", "file"], ["a", "directory"]]}),
)  # fmt: skip


def _ask(request: dict[str, Any]) -> Any:
    return json.loads(answer_line(StagingEntry(), json.dumps(request).encode() + b"\n"))


def _is_error(answer: Any, number: int) -> bool:
    return set(answer) == {"id", "error"} and answer["id"] == number and set(answer["error"]) == {"code", "message"}


RULES = Check(
    "listing_rules",
    "The rules of the listing decide as their laws say, and the entry answers as they do, in every small case.",
    (
        Question(listing.SCAN_EXACT, scans),
        Question(listing.LIST_ONE_LOCATION, one_location),
        Question(listing.LIST_IMPORT_LISTS_STORAGE, imports_list_storages),
        Question(listing.LIST_IMPORT_KEEPS_OTHERS, imports_keep_others),
        Question(listing.ROWS_EXACT, all_rows),
        Question(staging_entry.STAGING_ENTRY_ANSWERS, entry_answers),
    ),
)
