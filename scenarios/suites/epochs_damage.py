"""The check `epochs_rules`: every small session directory, also such that no crash can leave, opened for real.

A directory is made on a simulated machine, a real open is run on it, and its answer is compared with the model's, which
sees the same bytes: the epoch with all that is read of it, or the error with its file and line. An open that refuses
changes no byte. What is tried:

- every set of the files of three epochs, with names beside them that only look like epochs';
- every short tail of the log before, with ends for this epoch, for another, several, or none;
- every way to spread turns and calls over three epochs;
- logs with no, one and two first records, and every slot that was asked for;
- each byte of baseline and logs exchanged, each line lost, doubled, emptied, or without its newline, in the current
  epoch and in the former one, and with no former one.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import simfs
from eukhe.epochs import Io, Session, SessionError, User
from scenarios.checks import Case, Check, Question
from scenarios.laws import epochs
from scenarios.suites import epoch_model
from scenarios.suites.epoch_model import Files
from scenarios.suites.epochs import DIR, HOME, ID, answer, read_raw
from scenarios.suites.storage import Wrap, as_it_is
from simfs.machine.errors import Deadlock
from simfs.machine.faults import Errno, Fault, FaultySystem, Short, by_count
from simfs.machine.machine import Machine

BASELINE = b'{"of":1}\n'
START = b'{"type":"session_start","slot":3}\n'
USER = b'{"type":"user","text":"hello"}\n'
SAYS = b'{"type":"assistant","text":"hi"}\n'


def end(following: int, summary: str) -> bytes:
    """The line that ends an epoch."""
    return b'{"type":"epoch_end","next":%d,"summary":"%s"}\n' % (following, summary.encode())


def result(call: int, untrusted: bool) -> bytes:
    """The line of a call's result."""
    return b'{"type":"tool_result","call":%d,"untrusted":%s,"output":[]}\n' % (call, b"true" if untrusted else b"false")


def whole(*logs: bytes) -> Files:
    """A directory with these logs, and a baseline for each."""
    named = {f"{n}.jsonl": log for n, log in enumerate(logs)}
    return named | {f"{n}.baseline.json": b'{"of":%d}\n' % n for n in range(len(logs))}


def file_sets() -> Iterator[tuple[str, Files]]:
    """Every set of the files of three epochs, alone and beside names that are none of theirs."""
    all_files = whole(START + end(1, "a"), START + end(2, "b"), START)
    names = sorted(all_files)
    strangers = {"x.jsonl": USER, "01.jsonl": USER, "1.jsonl.cut-7": USER, ".2.jsonl.new": USER, "-1.jsonl": USER}
    for chosen in product((False, True), repeat=len(names)):
        files = {name: all_files[name] for name, there in zip(names, chosen, strict=True) if there}
        yield f"the files {', '.join(files) or 'none'}", files
        yield f"the files {', '.join(files) or 'none'} and strangers", files | strangers
    too_large = {"4294967296.jsonl": START, "4294967296.baseline.json": b"{}"}
    yield "a number too large for an epoch", whole(START) | too_large


def tails() -> Iterator[tuple[str, Files]]:
    """Every log before with up to three lines that may end it."""
    lines = (USER, end(1, "for 1"), end(1, "again for 1"), end(2, "for 2"))
    for count in range(4):
        for tail in product(lines, repeat=count):
            yield f"the log before is {b''.join(tail)!r}", whole(b"".join(tail), START)


def spreads() -> Iterator[tuple[str, Files]]:
    """Turns, taint and calls, spread over up to three epochs."""
    pieces = (b"", USER, SAYS + USER + USER, result(4, False), result(2, True), result(7, True) + result(1, False))
    for first, second, third in product(pieces, repeat=3):
        told = [first + end(1, "a"), second + end(2, "b"), third]
        for count in (1, 2, 3):
            yield f"logs {told[:count]!r}", whole(*told[:count])


def slots() -> Iterator[tuple[str, Files]]:
    """Logs with no, one and two first records."""
    starts = (b"", START, b'{"type":"session_start","slot":0}\n', b'{"type":"session_start","slot":4294967295}\n')
    for before, one, other in product(starts, repeat=3):
        yield f"starts {before!r} and {one + USER + other!r}", whole(before + end(1, "a"), one + USER + other)


def spoilt() -> Iterator[tuple[str, Files]]:
    """Each byte and each line of a session spoilt, with a former epoch and without one."""
    grown = START + USER + result(4, True)
    for told, files in (("one epoch", whole(grown)), ("two epochs", whole(grown + end(1, "so far"), START + USER))):
        for name, raw in sorted(files.items()):
            for how, bad in _spoil(raw):
                yield f"{told}, in {name} {how}", files | {name: bad}
            rest = {other: content for other, content in files.items() if other != name}
            yield f"{told}, {name} is gone", rest


def _spoil(raw: bytes) -> Iterator[tuple[str, bytes]]:
    for at in range(len(raw)):
        for byte, word in ((b"\0", "NUL"), (b"\xff", "0xFF"), (b"\n", "a newline")):
            if raw[at : at + 1] != byte:
                yield f"byte {at} is {word}", raw[:at] + byte + raw[at + 1 :]
        yield f"all from byte {at} on is gone", raw[:at]
    lines = raw.splitlines(keepends=True)
    for at, line in enumerate(lines):
        before, after = b"".join(lines[:at]), b"".join(lines[at + 1 :])
        yield f"line {at + 1} is lost", before + after
        yield f"line {at + 1} stands twice", before + line + line + after
        yield f"line {at + 1} is empty", before + b"\n" + after
        yield f"line {at + 1} has lost its newline", before + line[:-1] + after


def _machine(files: Files) -> tuple[Machine, simfs.Handle]:
    machine = Machine(record_sites=False)
    handle = simfs.Handle(machine, machine.spawn("opener"), ())
    at = ""
    for piece in DIR.split("/")[1:]:
        at = f"{at}/{piece}"
        handle.system.mkdir(at)
    for name, content in files.items():
        fd = handle.system.open(f"{DIR}/{name}", 0o102, 0o600)
        handle.system.write(fd, content)
        handle.system.close(fd)
    return machine, handle


def _files(m: simfs.Handle) -> Files:
    return {name: read_raw(m.system, f"{DIR}/{name}") for name in sorted(m.system.listdir(DIR))}


def opened(cases: Iterator[tuple[str, Files]], wrap: Wrap) -> Iterator[Case]:
    """Each directory opened, and what is wrong with the answer."""
    for told, files in cases:
        yield told, _wrong(files, wrap)


def _wrong(files: Files, wrap: Wrap) -> str | None:
    machine, m = _machine(files)
    before = machine.freeze().tree()
    model = epoch_model.read(files)
    found: list[Session] = []

    def open_it() -> Session:
        found.append(Session.open(HOME, ID, system=wrap(m.system, m.process)))
        return found[0]

    told = answer(open_it)
    if told != model.error:
        return f"it answers {told or 'nothing'}, and the files say {model.error or 'nothing'}"
    if machine.freeze().tree() != before:
        return "the open changed the directory"
    if not found:
        return None
    session = found[0]
    answered = (session.epoch, session.baseline, session.carry, session.turns, session.untrusted, session.next_call)
    wanted = (model.epoch, model.baseline, model.carry, model.turns, model.untrusted, model.next_call)
    if (*answered, session.slot, len(session.records)) != (*wanted, model.slot, len(model.lines)):
        return f"it reads {answered}, slot {session.slot}, and the files say {wanted}, slot {model.slot}"
    return None


def created(wrap: Wrap) -> Iterator[Case]:
    """A session made for each slot keeps it; one that no slot can be is refused."""
    for slot in (0, 1, 3, 2**32 - 1):
        machine, m = _machine({})
        del machine
        m.system.rmdir(DIR)
        with Session.create(HOME, ID, {}, slot, system=wrap(m.system, m.process)) as session:
            kept = session.slot, epoch_model.read(_files(m)).slot
        yield f"slot {slot}", None if kept == (slot, slot) else f"the session says {kept[0]}, its log {kept[1]}"


def appended(wrap: Wrap) -> Iterator[Case]:
    """In a session of one to four epochs, an append grows the current log and nothing else."""
    for count in range(1, 5):
        logs = [START + end(n + 1, "a") for n in range(count - 1)]
        _, m = _machine(whole(*logs, START))
        before = _files(m)
        with Session.open(HOME, ID, system=wrap(m.system, m.process)) as session:
            session.append(User("hello"))
        name = f"{count - 1}.jsonl"
        wrong = None if _files(m) == before | {name: START + USER} else f"{name} did not just grow by the line"
        yield f"{count} epochs", wrong


def in_turn(wrap: Wrap) -> Iterator[Case]:
    """Two hold the session open and append in turn; in between one compacts, or ends a compaction, or repairs. Nobody
    waits for one who has nothing to do, and nothing goes astray."""
    for told, log, between in (
        ("nothing", START, lambda session: None),
        ("a compaction", START, lambda session: session.compact("so far", {"of": 1})),
        ("the end of a compaction", START + end(1, "so far"), lambda session: session.resume_compaction()),
    ):
        _, m = _machine(whole(log))
        one, other = (Session.open(HOME, ID, system=wrap(m.system, m.process)) for _ in range(2))
        wrong = None
        try:
            between(one)
            for session in (other, one, other, one):
                session.append(User("hello"))
        except Deadlock:
            wrong = "one waits for the other, though that has nothing to do"
        current = f"{int(told != 'nothing')}.jsonl"
        yield f"two in turn, and {told}", wrong or _lacks(_files(m).get(current, b""), START + USER * 4)
    _, m = _machine({})
    m.system.rmdir(DIR)
    with Session.create(HOME, ID, {}, 3, system=wrap(m.system, m.process)) as one:
        wrong = None
        try:
            with Session.open(HOME, ID, system=wrap(m.system, m.process)) as other:
                other.append(User("hello"))
            one.append(User("hello"))
        except Deadlock:
            wrong = "one waits for the other, though that has nothing to do"
        yield "two in turn after a creation", wrong or _lacks(_files(m).get("0.jsonl", b""), START + USER * 2)


def _lacks(raw: bytes, wanted: bytes) -> str | None:
    return None if raw == wanted else f"the log is {raw!r}"


@dataclass
class Switch:
    """Whether faults strike already."""

    on: bool = False

    def decide(self, fault: Fault, call: str, count: int) -> bool:
        """By the count of matching calls, once it is on."""
        return self.on and by_count(fault, call, count)


def failed(wrap: Wrap) -> Iterator[Case]:
    """An append whose flush fails, or whose write is short and then fails, is taken back to the byte."""
    cases: tuple[tuple[str, Sequence[Fault]], ...] = (
        ("its flush fails", [Errno(("fsync",), code=errno.EIO)]),
        ("its write fails", [Errno(("pwrite",), code=errno.ENOSPC)]),
        ("its write is short, then fails", [Short(("pwrite",), keep=9), Errno(("pwrite",), code=errno.ENOSPC)]),
    )
    for told, faults in cases:
        machine, m = _machine(whole(START))
        switch = Switch()
        faulty = FaultySystem(machine.system, faults, switch.decide)
        with Session.open(HOME, ID, system=wrap(faulty, m.process)) as session:
            before, switch.on = _files(m), True
            faulty.counts.clear()
            try:
                session.append(User("hello"))
            except Io:
                yield told, None if _files(m) == before else f"the files are {_files(m)}"
            else:
                yield told, "the caller was told that it is done"


def without_errors(cases: Iterator[Case]) -> Iterator[Case]:
    """The cases, and one more for an error that ends them."""
    try:
        yield from cases
    except (SessionError, Deadlock) as error:
        yield "the next case", f"{type(error).__name__}: {error}"


def rules(wrap: Wrap = as_it_is) -> Check:
    """The check; `wrap` is what a mutant puts between the machine and the store."""
    return Check(
        "epochs_rules",
        "Every small session directory, spoilt ones too, is read as the rules say or refused by file and line.",
        (
            Question(epochs.EPOCH_OPENS_HIGHEST, lambda: opened(file_sets(), wrap)),
            Question(epochs.EPOCH_CARRY, lambda: opened(tails(), wrap)),
            Question(epochs.EPOCH_COUNTS_SPAN, lambda: opened(spreads(), wrap)),
            Question(epochs.EPOCH_SLOT, lambda: opened(slots(), wrap)),
            Question(epochs.EPOCH_SLOT, lambda: without_errors(created(wrap))),
            Question(epochs.EPOCH_APPEND_CURRENT, lambda: without_errors(appended(wrap))),
            Question(epochs.EPOCH_APPEND_CURRENT, lambda: without_errors(in_turn(wrap))),
            Question(epochs.EPOCH_ACKED_SURVIVE, lambda: without_errors(failed(wrap))),
            Question(epochs.EPOCH_ACKED_SURVIVE, lambda: opened(spoilt(), wrap)),
        ),
    )
