"""The mutants of session epochs: each flush, lock, rename and cut removed, and the rules broken by hand.

The runs from which calls are taken cover what a session does: made in directories that are not there, opened, written,
compacted, a half compaction ended and another abandoned, a torn line repaired, a failed append taken back.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import simfs
from eukhe.epochs import EpochEnd, Io, Session, User, files, hold, read_session, rules
from eukhe.epochs.records import decode_record, encode_record
from scenarios.mutants.calls import removals
from scenarios.mutants.mutant import Mutant, Wrapped, exchanged
from scenarios.mutants.storage import FillsUpTornTails, LateFlush
from scenarios.suites.epochs import DIR, HOME, ID, EpochScenario
from scenarios.suites.epochs_compaction import EpochsAbandoned, EpochsCompact, EpochsCreate
from scenarios.suites.epochs_repair import EpochsRepair
from scenarios.suites.storage import Wrap, as_it_is
from simfs.machine.faults import Errno, FaultySystem
from simfs.machine.machine import Machine

__simfs_machinery__ = True

_CLOSED = "the descriptor is closed at once, and the lock goes with it"
ACCEPTED = {
    "no flock of epochs/s, 2nd in repair": _CLOSED,
    "no flock of epochs/s, 2nd in read_session": _CLOSED,
}
"""Of the calls removed by machine, those that may go, and why."""


FIRST = (
    ("flock of epochs/s, 1st in create", "epochs_two_creators"),
    ("flock of epochs/s, 1st in append", "epochs_old_descriptor"),
    ("flock of epochs/s, 3rd in append", "epochs_old_descriptor"),
    ("flock of epochs/s, 1st in open", "epochs_short_write"),
    ("flock of epochs/s, 1st in read_session", "epochs_short_write"),
    ("flock of epochs/s, 1st in compact", "epochs_old_descriptor"),
    ("flock of epochs/s, 1st in resume_compaction", "epochs_killed"),
    ("flock of epochs/s, 1st in repair", "epochs_two_menders"),
    ("flock", "epochs_rules"),
    ("fsync of epochs/s, 1st in resume_compaction", "epochs_killed"),
    ("fsync of epochs/s, 3rd in compact", "epochs_killed"),
    ("fsync of epochs/s, 1st in create", "epochs_create"),
    ("in resume_compaction", "epochs_resume"),
    ("fsync of s/0.jsonl, 1st in open", "epochs_killed"),
    ("fsync of epochs/s, 1st in open", "epochs_killed"),
    ("ftruncate of s/0.jsonl, 1st in append", "epochs_rules"),
)
"""Parts of the names of removed calls, and the entry that is to be asked first."""


def _first(name: str) -> tuple[str, ...]:
    return next(((entry,) for part, entry in FIRST if part in name), ())


def mutants() -> list[Mutant]:
    """All of them, those made by machine first."""
    made = removals((_create, _compact, _resume, _abandoned, _repair, _failed, _read))
    return [
        *(replace(one, first=_first(one.name), accepted=ACCEPTED.get(one.name, "")) for one in made),
        *BY_HAND,
    ]


def _handle(scenario: EpochScenario, wrap: Wrap) -> simfs.Handle:
    machine = Machine(record_sites=False)
    handle = simfs.Handle(machine, machine.spawn("noted"), ())
    scenario.setup(handle)
    scenario.wrap = wrap
    return handle


def _create(wrap: Wrap) -> None:
    scenario = EpochsCreate()
    scenario.maker(_handle(scenario, wrap))


def _compact(wrap: Wrap) -> None:
    scenario = EpochsCompact()
    scenario.writer(_handle(scenario, wrap))


def _half(scenario: EpochScenario) -> simfs.Handle:
    """A session whose last record ends its epoch, and nothing of the next is there."""
    m = _handle(scenario, as_it_is)
    with Session.open(HOME, ID, system=m.system) as session:
        session.append(EpochEnd(1, "up to 1"))
    return m


def _resume(wrap: Wrap) -> None:
    scenario = EpochScenario()
    m = _half(scenario)
    scenario.wrap = wrap
    with scenario.open(m) as session:
        session.resume_compaction()


def _abandoned(wrap: Wrap) -> None:
    scenario = EpochsAbandoned()
    scenario.writer(_handle(scenario, wrap))


def _repair(wrap: Wrap) -> None:
    scenario = EpochsRepair()
    scenario.mender(_handle(scenario, wrap))


def _read(wrap: Wrap) -> None:
    m = _handle(EpochScenario(), as_it_is)
    read_session(DIR, system=wrap(m.system, m.process))


def _failed(wrap: Wrap) -> None:
    """An append whose flush fails, and what is done about it."""
    scenario = EpochScenario()
    m = _handle(scenario, wrap)
    with scenario.open(m) as session:
        session._hold.system = FaultySystem(session._hold.system, [Errno(("fsync",), code=errno.EIO)])  # type: ignore
        try:
            session.append(User("gone"))
        except Io:
            pass


def _end_last(compact: Any) -> Any:
    """The end of the epoch is written when the next one's files are there."""

    def compacted(self: Session, summary: str, baseline: Any) -> int:
        held = self._hold
        following = held.view.epoch + 1
        with held.changing("compaction"):
            held.put(f"{following}.baseline.json", json.dumps(baseline).encode())
            held.put(f"{following}.jsonl", b'{"type":"session_start","slot":%d}\n' % held.view.slot)
            end = EpochEnd(following, summary)
            held.write_line(encode_record(end), end)
            held.load()
        return following

    return compacted


def _removes_first(begin: Any) -> Any:
    """The old epoch is removed before the new one is durable."""

    def begun(self: Session, epoch: int, baseline: bytes) -> None:
        self._hold.remove(rules.baseline_name(epoch - 1))
        begin(self, epoch, baseline)

    return begun


def _clears_first(begin: Any) -> Any:
    """The old log is emptied before the new epoch is durable; only its end is kept."""

    def begun(self: Session, epoch: int, baseline: bytes) -> None:
        held = self._hold
        held.system.ftruncate(held._log, 0)
        held.system.pwrite(held._log, held.view.log.last_line, 0)
        begin(self, epoch, baseline)

    return begun


def _log_first(begin: Any) -> Any:
    """The next log is there before its baseline."""

    def begun(self: Session, epoch: int, baseline: bytes) -> None:
        held = self._hold
        held.put(rules.log_name(epoch), b'{"type":"session_start","slot":%d}\n' % held.view.slot)
        held.put(rules.baseline_name(epoch), baseline)
        held.load()

    return begun


def _in_place(put: Any) -> Any:
    """A new file is written under its own name."""

    def placed(system: Any, directory: int, path: str, data: bytes) -> None:
        fd = system.open(path, 0o1102, 0o600)
        files.write_all(system, fd, data, 0)
        system.fsync(fd)
        system.close(fd)
        system.fsync(directory)

    return placed


def _without_rewriting(write_all: Any) -> Any:
    """An open does not write the last line again."""

    def written(system: Any, fd: int, data: bytes, offset: int) -> None:
        if offset + len(data) > system.fstat(fd).st_size:
            write_all(system, fd, data, offset)

    return written


class DeafToFlushes(Wrapped):
    """A flush that fails goes unheard."""

    def fsync(self, fd: int) -> None:
        """Never raises."""
        try:
            self.system.fsync(fd)
        except OSError:
            pass


def _records(real: Any) -> Any:
    """A torn last line is passed over when a log is read."""

    def read(system: Any, path: str) -> files.LogFile:
        data = files.read_whole(system, path)
        whole = data[: data.rfind(b"\n") + 1]
        found = [decode_record(line) for line in whole.split(b"\n")[:-1]]
        return files.LogFile(found, len(whole), whole.splitlines(keepends=True)[-1] if whole else b"")

    return read


def _rule(name: str, kind: str, rule: str, instead: Callable[[Any], Any], *made_for: str) -> Mutant:
    return replace(_part(name, kind, rules, rule, instead, *made_for), first=("epochs_rules",))


def _part(name: str, kind: str, of: Any, part: str, instead: Callable[[Any], Any], *made_for: str) -> Mutant:
    return Mutant(name, kind, broken=lambda: exchanged(of, part, instead), made_for=made_for)


def _wrapped(name: str, kind: str, wrapper: Callable[[Any], Any], *made_for: str) -> Mutant:
    return Mutant(name, kind, lambda system, process: wrapper(system), made_for=made_for)


def _first_end(real: Any) -> Any:
    """The first fitting end of the log before, and not the last."""

    def carried(epoch: int, records: Any) -> str | None:
        ends = [one.summary for one in records if isinstance(one, EpochEnd) and one.next == epoch]
        return ends[0] if ends else None

    return carried


def _any_end(real: Any) -> Any:
    """The last end of the log before, whatever epoch it names."""

    def carried(epoch: int, records: Any) -> str | None:
        ends = [one.summary for one in records if isinstance(one, EpochEnd)]
        return ends[-1] if ends else None

    return carried


def _highest_log(real: Any) -> Any:
    """The highest log, with a baseline or without."""
    return lambda names: max(rules.log_epochs(names), default=None)


def _lowest(real: Any) -> Any:
    """The lowest whole epoch."""
    return lambda names: min((n for n in rules.log_epochs(names) if rules.baseline_name(n) in names), default=None)


def _last_slot(real: Any) -> Any:
    """The slot on the last first record."""
    return lambda records: next((one.slot for one in reversed(records) if hasattr(one, "slot")), 0)


def _epoch_0(real: Any) -> Any:
    """Each epoch writes the log of epoch 0."""
    return lambda epoch: "0.jsonl"


BY_HAND = (
    _part("the epoch's end after the new files", "order", Session, "compact", _end_last, "epoch_half_compaction"),
    _part("the old baseline removed first", "order", Session, "_begin_epoch", _removes_first, "epoch_half_compaction"),
    _part("the old log emptied first", "order", Session, "_begin_epoch", _clears_first, "epoch_acked_survive"),
    _part("the next log before its baseline", "order", Session, "_begin_epoch", _log_first),
    _part("new files written in place", "order", hold, "put_in_place", _in_place),
    replace(
        _part("the last line is not written again", "order", hold, "write_all", _without_rewriting),
        first=("epochs_dies_of_failure",),
    ),
    _part("a holder does not look what others did", "lock", hold.Hold, "_follow", lambda real: lambda self: None),
    _part("a torn last line is passed over", "reading", files, "read_log", _records, "epoch_acked_survive"),
    _wrapped("an append acknowledged before its flush", "order", LateFlush, "epoch_acked_survive"),
    _wrapped("a torn line is taken for whole", "reading", FillsUpTornTails, "epoch_acked_survive"),
    _wrapped("a failed flush of a session goes unheard", "failure", DeafToFlushes, "epoch_acked_survive"),
    _rule("the first end's summary is carried", "rule", "carry_into", _first_end, "epoch_carry"),
    _rule("any end's summary is carried", "rule", "carry_into", _any_end, "epoch_carry"),
    _rule("the highest log is read", "rule", "current_epoch", _highest_log, "epoch_opens_highest"),
    _rule("the lowest epoch is read", "rule", "current_epoch", _lowest, "epoch_opens_highest"),
    _rule("results of former epochs are trusted", "rule", "any_untrusted", lambda real: lambda records: False),
    _rule("calls are counted without gaps", "rule", "highest_call", lambda real: len, "epoch_counts_span"),
    _rule("turns count everything said", "rule", "count_users", lambda real: len, "epoch_counts_span"),
    _rule("the last slot is taken", "rule", "slot_of", _last_slot, "epoch_slot"),
    _rule("each epoch writes the log of epoch 0", "rule", "log_name", _epoch_0, "epoch_append_current"),
)
