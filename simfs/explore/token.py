"""Replay tokens: one run as a short line of text.

`s1~SCENARIO~DISK~CODE~PATH`. SCENARIO is how the command line names it (a catalogue name, module:Class or
file.py:Class), DISK the model. CODE is a fingerprint of the op journal of the first boot: eight digits of the whole,
then two each of its first 1, 2, 4, 8, ... ops, which say where another run leaves it. It may be cut to eight digits, or
left empty by hand: then it is not checked. PATH is one leg for each boot, separated by "/": `plan=schedule@cut.pick`.
The plan says who is killed and what fails (`plan.py`); nothing and no "=" when nothing is. The schedule lists the
answers that were not 0, as `skip-answer` pairs joined by ",". The cut is how many ops the crash follows, one number for
each process where several ran, joined by "-"; `w1` after it: the next op of process 1, a write, was in progress. The
pick is the survivors' numbers; a cut with a bare "." is an instant at which readers look and no power is lost. A leg
without "@" ran to its end; one that begins with "r" struck recovery. Every part can be edited; a part that fits no run
is refused, never ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b

from simfs.errors import BadToken
from simfs.explore.plan import Plan
from simfs.explore.verdict import Crash, Leg, Path
from simfs.machine.ops import Op

VERSION = "s1"
WHOLE = 8
"""Digits of a fingerprint that stand for all ops."""
SHOWN_MAX = 60
"""Of a text that is no token, so many characters are shown."""
_LEG = re.compile(
    r"^(?P<recovery>r?)((?P<plan>[kfij][0-9.kfij+]*)=)?(?P<schedule>(\d+-\d+(,\d+-\d+)*)?)"
    r"(@(?P<cut>\d+(-\d+)*)(?P<during>w\d+)?(?P<pick>(\.\d+)+|\.))?$"
)
_SKIPPED = frozenset(("index", "site", "clock"))


@dataclass(frozen=True, slots=True)
class Token:
    """A token taken apart. `code` is empty when it is not to be checked."""

    scenario: str
    disk: str
    code: str
    path: Path

    def __str__(self) -> str:
        return "~".join((VERSION, self.scenario, self.disk, self.code, "/".join(map(_leg_text, self.path))))


def parse(text: str) -> Token:
    """Read a token. Raises BadToken saying which part is wrong."""
    parts = text.strip().split("~")
    if parts[0] != VERSION:
        if re.match(r"^s\d+$", parts[0]) and len(parts) > 1:
            raise BadToken(f"token of version {parts[0]}, this program reads {VERSION}: run the scenario again")
        shown = text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}..."
        raise BadToken(f"{shown!r} is no replay token: one begins with {VERSION}~ and stands at the end of a report")
    if len(parts) != 5:
        raise BadToken(f"broken token: {len(parts)} parts between ~ instead of 5 (was it cut when it was copied?)")
    if not re.match(r"^[0-9a-f]*$", parts[3]):
        raise BadToken(f"broken token: {parts[3]!r} is no code fingerprint (hexadecimal, or empty)")
    return Token(parts[1], parts[2], parts[3], tuple(map(_leg, parts[4].split("/"))))


def _leg(text: str) -> Leg:
    match = _LEG.match(text)
    if match is None:
        raise BadToken(f"broken token: {text!r} is no leg of a path, as in 3-1@17.0.2 or k0.3=@5-2.0")
    schedule: list[int] = []
    for pair in filter(None, match["schedule"].split(",")):
        skip, answer = map(int, pair.split("-"))
        if skip > 1_000_000:
            raise BadToken(f"broken token: {skip} choices skipped in {text!r}")
        schedule += [0] * skip + [answer]
    plan = Plan.parse(match["plan"] or "")
    if match["cut"] is None:
        return Leg(tuple(schedule), None, bool(match["recovery"]), plan)
    pick = tuple(int(part) for part in match["pick"].split(".")[1:] if part)
    cut = tuple(map(int, match["cut"].split("-")))
    during = int(match["during"][1:]) if match["during"] else -1
    return Leg(tuple(schedule), Crash(cut, pick, during), bool(match["recovery"]), plan)


def _leg_text(leg: Leg) -> str:
    pairs, skip = [], 0
    for answer in leg.schedule:
        if answer:
            pairs.append(f"{skip}-{answer}")
            skip = 0
        else:
            skip += 1
    head = ("r" if leg.recovery else "") + (f"{leg.plan}=" if str(leg.plan) else "") + ",".join(pairs)
    if leg.crash is None:
        return head
    during = f"w{leg.crash.during}" if leg.crash.during >= 0 else ""
    return f"{head}@{'-'.join(map(str, leg.crash.cut))}{during}.{'.'.join(map(str, leg.crash.pick))}"


def fingerprint(ops: Iterable[Op]) -> str:
    """Hexadecimal digits that stand for what the ops do; call sites are left out, so moving code is no change.

    Eight for all of them, then two each for the first 1, 2, 4, 8, ... of them.
    """
    hasher = blake2b(digest_size=4)
    marks, mark = "", 1
    for number, op in enumerate(ops, 1):
        hasher.update(op_text(op).encode("utf-8", "surrogateescape"))
        if number == mark:
            marks, mark = marks + hasher.hexdigest()[:2], 2 * mark
    return hasher.hexdigest() + marks


def departure(recorded: str, ops: Sequence[Op]) -> range | None:
    """Where ops leave what a fingerprint was made of: the first one that is not as recorded is among these numbers of
    ops, counted from 0; None where they do not leave it. Where ops are missing, the last number is that of none."""
    made = fingerprint(ops)
    if made[: len(recorded)] == recorded and (len(recorded) == WHOLE or len(made) == len(recorded)):
        return None
    if len(recorded) == WHOLE:
        return range(max(1, len(ops)))
    same = 0
    for power in range(max(len(recorded), len(made))):
        at = WHOLE + 2 * power
        pieces = (recorded[at : at + 2], made[at : at + 2])
        if pieces[0] != pieces[1] or not pieces[0]:
            return range(same, max(same + 1, min(2**power, len(ops))))
        same = 2**power
    return range(same, max(same + 1, len(ops)))


def difference(one: Op, other: Op) -> str:
    """In what two ops differ, for a person; both in full where they are of two kinds."""
    if type(one) is not type(other):
        return f"{op_text(one)}, and then {op_text(other)}"
    names = [f.name for f in fields(one) if f.name not in _SKIPPED and getattr(one, f.name) != getattr(other, f.name)]
    first, second = (", ".join(f"{name} {getattr(op, name)!r}" for name in names) for op in (one, other))
    return f"a {type(one).__name__} with {first}, and then one with {second}"


def op_text(op: Op) -> str:
    """All that an op does, as text; the same on every machine and hash seed."""
    shown = ((f.name, getattr(op, f.name)) for f in fields(op) if f.name not in _SKIPPED)
    return type(op).__name__ + repr(tuple(shown))
