"""A session on disk: one baseline and one log an epoch, and the log is the state.

The highest epoch that has both its files is the current one: `records` is its log, and `append` writes it. What is
promised: when `open` or `create` returns, what it holds is durable; when `append` returns, that record is durable
in the log of the epoch that is current at that moment; when `compact` returns, the next epoch is whole and durable,
and the logs before it stay. A call that raises has promised nothing.

Several processes may have one session open. Each change holds a lock on the session's directory, and first looks
whether another process has appended or compacted since; then it reads again. So nobody goes on writing the log of
an epoch that is over. Waiting for the lock is bounded by the length of another's append or compaction; it dies with
its process.

A failed append is taken back as well as can be and the session then refuses further changes: open it again. As in
the commit log, the last line found is written again and flushed before anything is promised on top of it, for it
may come from a process that died before, or after a failure of, its flush.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from eukhe import directories
from eukhe.directories import PathRefused
from eukhe.epochs import rules
from eukhe.epochs.errors import LOG_DAMAGED, Encode, Io, NotFound
from eukhe.epochs.files import SessionView, exists, list_names, read_baseline, read_view
from eukhe.epochs.hold import Hold
from eukhe.epochs.records import (
    BaselineObject,
    EpochEnd,
    LineError,
    Record,
    SessionStart,
    encode_baseline,
    encode_record,
)
from eukhe.system import OsSystem, System

Path = str | os.PathLike[str]


def directory_of(home: Path, id: str) -> str:
    """Where a session stands below a home. Raises `Io` for an id that is no file name."""
    place = os.path.normpath(os.fspath(home))
    if not id or id.startswith(".") or "/" in id or "\0" in id:
        raise Io(place, f"{id!r} cannot be a session's id (it is the name of a directory, not hidden)")
    return os.path.join(place, "epochs", id)


def read_session(path: Path, *, system: System | None = None) -> SessionView:
    """Look at a session without changing it. Raises what `Session.open` raises."""
    used: System = OsSystem() if system is None else system
    hold = Hold(used, os.path.normpath(os.fspath(path)))
    with _closing_on_error(hold):
        hold.open_directory()
        with hold.locked(fcntl.LOCK_SH):
            view = read_view(used, hold.path, hold.id)
    hold.close()
    return view


class Session:
    """A session open for appending. Make it with `create`, `open` or `open_at`. Not for several threads at once."""

    def __init__(self, hold: Hold) -> None:
        self._hold = hold

    @classmethod
    def create(
        cls, home: Path, id: str, baseline: BaselineObject, slot: int = 0, *, system: System | None = None
    ) -> Session:
        """Make a session with epoch 0.

        Raises `Io` where one is there already, `Encode` for a bad baseline or slot.
        """
        return cls.create_at(directory_of(home, id), baseline, slot, home=home, system=system)

    @classmethod
    def create_at(
        cls,
        path: Path,
        baseline: BaselineObject,
        slot: int = 0,
        *,
        home: Path | None = None,
        system: System | None = None,
    ) -> Session:
        """Make a session in a directory; the home is by default the directory that holds it.

        Raises as `create` does.
        """
        hold = Hold(OsSystem() if system is None else system, os.path.normpath(os.fspath(path)))
        data, start = _baseline_bytes(hold.path, baseline), _line(hold.path, SessionStart(slot))
        top = directories.holder_of(hold.path) if home is None else os.path.normpath(os.fspath(home))
        with _closing_on_error(hold):
            missing = directories.look(hold.system, hold.path, top)
            making, owed = directories.plan_directories(True, hold.path, top, missing)
            directories.carry_out(hold.system, making)
            hold.open_directory()
            with hold.locked():
                if rules.log_epochs(list_names(hold.system, hold.path)):
                    raise Io(hold.path, "a session is here already; open it, or choose another id")
                hold.put(rules.baseline_name(0), data)
                hold.put(rules.log_name(0), start)
                hold.load(durable=True)
            _flush_all(hold.system, owed)
        return cls(hold)

    @classmethod
    def open(cls, home: Path, id: str, *, system: System | None = None) -> Session:
        """Open a session. Raises `NotFound`, `Baseline`, `Torn`, `NoCarry`, `Io`. Source: boxmaker seed, S6."""
        return cls.open_at(directory_of(home, id), home=home, system=system)

    @classmethod
    def open_at(cls, path: Path, *, home: Path | None = None, system: System | None = None) -> Session:
        """Open the session in a directory; the home is by default the directory that holds it."""
        hold = Hold(OsSystem() if system is None else system, os.path.normpath(os.fspath(path)))
        top = directories.holder_of(hold.path) if home is None else os.path.normpath(os.fspath(home))
        with _closing_on_error(hold):
            missing = directories.look(hold.system, hold.path, top)
            if missing:
                raise NotFound(hold.path, hold.id)
            hold.open_directory()
            with hold.locked():
                hold.load()
            _flush_all(hold.system, directories.ancestors_from(top, hold.path))
        return cls(hold)

    @property
    def id(self) -> str:
        """The session's id, the name of its directory."""
        return self._hold.id

    @property
    def path(self) -> str:
        """The session's directory."""
        return self._hold.path

    @property
    def records(self) -> list[Record]:
        """The records of the current epoch's log."""
        return list(self._hold.view.records)

    @property
    def baseline(self) -> BaselineObject:
        """The current epoch's baseline."""
        return self._hold.view.baseline

    @property
    def epoch(self) -> int:
        """The current epoch, as of this session's last call."""
        return self._hold.view.epoch

    @property
    def slot(self) -> int:
        """The slot on the current log's `session_start`, 0 without one."""
        return self._hold.view.slot

    @property
    def carry(self) -> str | None:
        """The summary that the epoch before carries into this one, None in epoch 0."""
        return self._hold.view.carry

    @property
    def turns(self) -> int:
        """How many `user` records the session has, over all epochs."""
        return self._hold.view.turns

    @property
    def untrusted(self) -> bool:
        """Whether a result in any epoch came from an untrusted place."""
        return self._hold.view.untrusted

    @property
    def next_call(self) -> int:
        """One more than the highest call id in any epoch."""
        return self._hold.view.next_call

    @property
    def half_compacted(self) -> bool:
        """Whether the current log's last record ends it, so that `resume_compaction` has something to end."""
        view = self._hold.view
        return rules.half_compaction(view.epoch, view.records) is not None

    def append(self, record: Record) -> None:
        """Append a record to the current epoch's log; it is durable when this returns.

        Raises `Encode`, `Io`, and where another process left damage, what `open` raises.
        """
        line = _line(self.path, record)
        with self._hold.changing("append"):
            self._hold.write_line(line, record)

    def compact(self, summary: str, baseline: BaselineObject) -> int:
        """End the epoch and begin the next, whose number is returned. Raises as `append` does.

        A crash leaves the old epoch usable or the new one whole. Source: boxmaker seed, carry; design, `compact`.
        """
        data = _baseline_bytes(self.path, baseline)
        _line(self.path, EpochEnd(0, summary))
        with self._hold.changing("compaction"):
            following = self._hold.view.epoch + 1
            if self._has(rules.log_name(following)):
                why = f"{rules.log_name(following)} is there without its baseline; {LOG_DAMAGED}"
                raise Io(self.path, why)
            if self._has(rules.baseline_name(following)):
                # Left by a compaction that was abandoned; it must not be taken for a part of this one.
                self._hold.remove(rules.baseline_name(following))
            end = EpochEnd(following, summary)
            self._hold.write_line(_line(self.path, end), end)
            self._begin_epoch(following, data)
        return following

    def resume_compaction(self, baseline: BaselineObject | None = None) -> bool:
        """End a compaction that stopped half-way; False where there is none. Raises as `append` does.

        The baseline is the one given, else the one that the compaction had put down already, else the current one.
        """
        given = None if baseline is None else _baseline_bytes(self.path, baseline)
        with self._hold.changing("compaction"):
            view = self._hold.view
            end = rules.half_compaction(view.epoch, view.records)
            if end is None:
                return False
            if given is None and self._has(rules.baseline_name(end.next)):
                placed = self._hold.place(rules.baseline_name(end.next))
                given = _baseline_bytes(self.path, read_baseline(self._hold.system, placed))
            self._begin_epoch(end.next, given or _baseline_bytes(self.path, view.baseline))
        return True

    def close(self) -> None:
        """Close the files. Closing again does nothing."""
        self._hold.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _has(self, name: str) -> bool:
        return exists(self._hold.system, self._hold.place(name))

    def _begin_epoch(self, epoch: int, baseline: bytes) -> None:
        """Put the epoch's files in place, the log last, and go over to it.

        A log that is there without its baseline is kept: it may hold records that were promised.
        """
        start = _line(self.path, SessionStart(self._hold.view.slot))
        self._hold.put(rules.baseline_name(epoch), baseline)
        made = not self._has(rules.log_name(epoch))
        if made:
            self._hold.put(rules.log_name(epoch), start)
        self._hold.load(durable=made)


@contextmanager
def _closing_on_error(hold: Hold) -> Iterator[None]:
    """Close the hold if an opening fails, and turn what failed into `Io`."""
    try:
        yield
    except PathRefused as error:
        hold.close()
        raise Io(error.path, error.why) from None
    except OSError as error:
        hold.close()
        raise Io(str(error.filename or hold.path), error.strerror or str(error)) from error
    except BaseException:
        hold.close()
        raise


def _flush_all(system: System, paths: tuple[str, ...]) -> None:
    for path in paths:
        directories.flush_directory(system, path)


def _line(path: str, record: Record) -> bytes:
    try:
        return encode_record(record)
    except LineError as error:
        raise Encode(path, str(error)) from None


def _baseline_bytes(path: str, baseline: BaselineObject) -> bytes:
    try:
        return encode_baseline(baseline)
    except LineError as error:
        raise Encode(path, str(error)) from None
