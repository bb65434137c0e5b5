"""The files of a session directory: reading a log, reading all that an open needs, and putting a whole new file in
place.

Reading changes nothing. A log's lines are read in order; the first that is no record is `Torn` with its line
number, and so is a last line without a newline. A new file appears whole or not at all: it is written beside its
place, flushed, renamed, and its entry flushed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from eukhe.epochs import rules
from eukhe.epochs.errors import Baseline, NoCarry, NotFound, Torn
from eukhe.epochs.records import BaselineObject, LineError, Record, decode_baseline, decode_record
from eukhe.system import System

READ_BYTES = 1 << 20


@dataclass(frozen=True)
class LogFile:
    """A log as read: its records, its length in bytes, and its last line with the newline (empty without one)."""

    records: list[Record]
    length: int
    last_line: bytes


@dataclass(frozen=True)
class SessionView:
    """What a session directory holds, read at one moment.

    `records` are the current epoch's; `prior_users`, `prior_untrusted` and `prior_call` (the highest call id) speak
    of the epochs before it.
    """

    id: str
    path: str
    epoch: int
    baseline: BaselineObject
    log: LogFile
    carry: str | None
    prior_users: int
    prior_untrusted: bool
    prior_call: int

    @property
    def records(self) -> list[Record]:
        """The records of the current epoch's log."""
        return self.log.records

    @property
    def slot(self) -> int:
        """The slot on the current log's `session_start`, 0 without one."""
        return rules.slot_of(self.records)

    @property
    def turns(self) -> int:
        """How many `user` records there are, over all epochs."""
        return self.prior_users + rules.count_users(self.records)

    @property
    def untrusted(self) -> bool:
        """Whether a result in any epoch came from an untrusted place."""
        return self.prior_untrusted or rules.any_untrusted(self.records)

    @property
    def next_call(self) -> int:
        """One more than the highest call id in any epoch."""
        return max(self.prior_call, rules.highest_call(self.records)) + 1


def read_whole(system: System, path: str) -> bytes:
    """All bytes of a file. Raises `OSError`."""
    fd = system.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        pieces: list[bytes] = []
        offset = 0
        while piece := system.pread(fd, READ_BYTES, offset):
            pieces.append(piece)
            offset += len(piece)
        return b"".join(pieces)
    finally:
        system.close(fd)


def read_log(system: System, path: str) -> LogFile:
    """The records of a log. Raises `Torn`, and `OSError` (a missing file too)."""
    data = read_whole(system, path)
    lines = data.split(b"\n")
    rest = lines.pop()
    records: list[Record] = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(decode_record(line))
        except LineError as error:
            raise Torn(path, number, str(error)) from None
    if rest:
        raise Torn(path, len(lines) + 1, "last line does not end in a newline")
    return LogFile(records, len(data), lines[-1] + b"\n" if lines else b"")


def list_names(system: System, path: str) -> list[str]:
    """The names in a session directory; none where there is no directory. Raises `OSError`."""
    try:
        with system.scandir(path) as entries:
            return sorted(entry.name for entry in entries)
    except FileNotFoundError:
        return []


def read_view(system: System, path: str, id: str) -> SessionView:
    """Read the current epoch and what the earlier ones carry into it.

    Raises `NotFound`, `Baseline`, `Torn`, `NoCarry` and `OSError`. Source: boxmaker seed, "Facts you need".
    """
    epoch = rules.current_epoch(list_names(system, path))
    if epoch is None:
        raise NotFound(path, id)
    baseline = read_baseline(system, f"{path}/{rules.baseline_name(epoch)}")
    log = read_log(system, f"{path}/{rules.log_name(epoch)}")
    carry: str | None = None
    users, untrusted, call = 0, False, 0
    for earlier in range(epoch):
        earlier_path = f"{path}/{rules.log_name(earlier)}"
        try:
            records = read_log(system, earlier_path).records
        except FileNotFoundError:
            raise NoCarry(earlier_path) from None
        users += rules.count_users(records)
        untrusted = untrusted or rules.any_untrusted(records)
        call = max(call, rules.highest_call(records))
        if earlier + 1 == epoch:
            carry = rules.carry_into(epoch, records)
            if carry is None:
                raise NoCarry(earlier_path)
    return SessionView(id, path, epoch, baseline, log, carry, users, untrusted, call)


def read_baseline(system: System, path: str) -> BaselineObject:
    """A baseline. Raises `Baseline` for bytes that are no JSON object, and `OSError`."""
    try:
        return decode_baseline(read_whole(system, path))
    except LineError as error:
        raise Baseline(path, str(error)) from None


def exists(system: System, path: str) -> bool:
    """Whether a name is taken, by anything. Raises `OSError`."""
    try:
        system.lstat(path)
    except FileNotFoundError:
        return False
    return True


def write_all(system: System, fd: int, data: bytes, offset: int) -> None:
    """Write all bytes at an offset, however many calls it takes. Raises `OSError`."""
    while data:
        written = system.pwrite(fd, data, offset)
        if written <= 0:
            raise OSError(5, "a write put no byte down")
        data, offset = data[written:], offset + written


def put_in_place(system: System, directory: int, path: str, data: bytes) -> None:
    """Make a file appear whole: written and flushed under another name, renamed, and the entry flushed through the
    directory's descriptor. The caller holds the session's lock, so the other name is nobody else's.

    Raises `OSError`. Where the last flush fails the file is removed as well as can be: a later flush would not cover
    its entry, and put in place anew it is covered.
    """
    above, name = os.path.split(path)
    fresh = f"{above}/.{name}.new"
    fd = system.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        write_all(system, fd, data, 0)
        system.fsync(fd)
    finally:
        system.close(fd)
    system.rename(fresh, path)
    try:
        system.fsync(directory)
    except OSError:
        try:
            system.unlink(path)
        except OSError:
            # What the caller hears of is the flush that failed.
            pass
        raise
