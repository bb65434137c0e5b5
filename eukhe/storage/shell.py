"""The commit log, opened for writing.

A storage is a directory with `main.jsonl`, one line a commit, and a sidecar for each conversation with long entry
bodies. `Storage` reads the facts, asks the rules what to do, lets `Hands` do it, and decides nothing by itself.

What is promised. When `open` returns, every commit it found is durable, and so is the path to it from the home
down. When `commit` returns, that commit is durable. A call that raises has promised nothing, and what was
acknowledged before it stays. With `fsync=False` nothing is promised until `flush` returns. One writer at a time:
the lock is on main.jsonl and dies with the process.

What is not promised. The home itself has to be durable, unless this open made it. Pieces of the path below the home
may not be symbolic links: their targets lie elsewhere, and flushing by name would not reach them.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterable
from types import TracebackType
from typing import NoReturn

from eukhe import directories
from eukhe.directories import PathRefused
from eukhe.errors import (
    ChangeRefused,
    StorageClosed,
    StorageDamaged,
    StorageError,
    StorageFailed,
    StorageInUse,
    StorageUnusable,
)
from eukhe.storage import rules
from eukhe.storage.bodies import move_long_bodies
from eukhe.storage.codec import BODY_INLINE_BYTES, Change, Commit, LineError, encode_changes
from eukhe.storage.hands import Hands
from eukhe.storage.history import CommitHistory, HistoryKeeper
from eukhe.storage.reading import read_main, read_sidecar_facts
from eukhe.storage.rules import MAIN_NAME, LogState, OpenFacts, SidecarShort, Step
from eukhe.storage.view import read_storage
from eukhe.system import OsSystem, System


class Storage:
    """One open commit log. Make it with `Storage.open`; leave it with `close` or a `with` statement.

    Not for several threads at once.
    """

    def __init__(self, path: str, system: System, fsync: bool, inline_bytes: int) -> None:
        self.path = path
        self._inline_bytes = inline_bytes
        self._system = system
        self._fsync = fsync
        self._hands = Hands(system, path)
        self._state: LogState | None = None
        self._failure: str | None = None
        self._closed = False
        self._number = 0
        self._main_length = 0
        self._sidecar_lengths: dict[str, int] = {}
        self._history: HistoryKeeper | None = HistoryKeeper()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        system: System | None = None,
        fsync: bool = True,
        home: str | os.PathLike[str] | None = None,
        inline_bytes: int = BODY_INLINE_BYTES,
    ) -> Storage:
        """Open a storage for writing, made if it is missing, its directories up to the home (by default the one that
        holds it) too. An entry's body of more than `inline_bytes` of JSON goes to its conversation's sidecar; each
        open may choose another size.

        Raises `StorageInUse` for a second writer, `StorageDamaged` (nothing cut, nothing written), `StorageUnusable`
        where the path cannot be a storage, and `StorageFailed` where a call fails. Source: seed D2, 1 to 3.
        """
        place = os.path.normpath(os.fspath(path))
        home_place = directories.holder_of(place) if home is None else os.path.normpath(os.fspath(home))
        storage = cls(place, OsSystem() if system is None else system, fsync, inline_bytes)
        try:
            storage._open(home_place)
        except PathRefused as error:
            storage._give_up()
            raise StorageUnusable(error.path, error.why) from None
        except OSError as error:
            storage._give_up()
            storage._raise_open_failed(error)
        except BaseException:
            storage._give_up()
            raise
        return storage

    @property
    def last_commit(self) -> int:
        """The number of the last acknowledged commit, 0 before the first."""
        return self._number

    @property
    def commits(self) -> list[Commit]:
        """Every acknowledged commit, exactly as it was committed, read from the files at each use."""
        self._check_usable()
        return read_storage(self.path, system=self._system).commits[: self._number]

    def commit(self, changes: Iterable[Change]) -> int:
        """Append one commit and return its number when it is durable.

        Each change is `{"put": record}`, `{"retire": key}` or `{"copy": {"from": key, "record": document}}`. Raises
        `ChangeRefused` before anything is written, and `StorageFailed` where a step fails: then it is not
        acknowledged. Source: seed D2, 1.
        """
        state = self._check_usable()
        number = self._number + 1
        given = list(changes)
        line, commit = encoded(self.path, number, given)
        moved: dict[str, bytes] = {}
        if len(line) > self._inline_bytes:
            line, commit, moved = move_long_bodies(line, commit, self._sidecar_lengths, self._inline_bytes)
        steps, after = rules.plan_commit(state, tuple(moved))
        pending = {name: (data, self._sidecar_lengths.get(name, 0)) for name, data in moved.items()}
        pending[MAIN_NAME] = (line, self._main_length)
        self._hands.pending = pending
        self._run(f"commit {number}", steps)
        self._state = after
        self._number = number
        self._main_length += len(line)
        if moved:
            self._sidecar_lengths.update(commit.sidecars)
        if self._history is not None:
            self._history.add(line[:-1], commit)
        return number

    def flush(self) -> None:
        """Make everything in the storage durable, for builds with `fsync=False` that flush once at the end.

        The entry of the storage's own directory is left to whoever publishes it. Raises `StorageFailed`.
        """
        state = self._check_usable()
        names = tuple(name for name in sorted(self._sidecar_lengths) if name in state.present)
        steps, after = rules.plan_flush(state, names)
        self._run("flush", steps)
        self._state = after

    def take_history(self) -> CommitHistory:
        """Hand over the commits found at open and made since, and keep none from now on. A second call gets none.

        Source: seed S1, state tree, 2 and 7.
        """
        self._check_usable()
        kept, self._history = self._history, None
        return CommitHistory(kept.lines if kept is not None else [], self._number)

    def close(self) -> None:
        """Close the files and give up the lock. Closing again does nothing. Raises `StorageFailed`."""
        if self._closed:
            return
        self._closed = True
        try:
            self._hands.close()
        except OSError as error:
            if not self._failure and not self._fsync:
                raise StorageFailed(self.path, "close", _why(error)) from error

    def __enter__(self) -> Storage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self, home: str) -> None:
        missing = directories.look(self._system, self.path, home)
        making, owed = directories.plan_directories(self._fsync, self.path, home, missing)
        directories.carry_out(self._system, making)
        main = self._hands.open_main()
        try:
            self._system.flock(main, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StorageInUse(self.path) from None
        self._check_still_there(main)
        assert self._history is not None
        found = read_main(self._system, main, f"{self.path}/{MAIN_NAME}", self._history.add)
        sidecars = read_sidecar_facts(self._system, self.path, found.confirmed)
        try:
            steps, after = rules.plan_open(self._fsync, OpenFacts(found.length, found.last_newline, sidecars, owed))
        except SidecarShort as short:
            raise StorageDamaged(f"{self.path}/{short.facts.name}", 0, str(short)) from None
        self._number = found.commits
        self._main_length = rules.complete_length(found.length, found.last_newline)
        self._sidecar_lengths = found.confirmed
        self._hands.pending = {MAIN_NAME: (found.last_line, self._main_length - len(found.last_line))}
        for step in steps:
            self._hands.do(step)
        self._hands.end_plan()
        self._state = after

    def _check_still_there(self, main: int) -> None:
        """The lock is worth something only while the name leads to the locked file."""
        locked, named = self._system.fstat(main), None
        try:
            named = self._system.lstat(f"{self.path}/{MAIN_NAME}")
        except FileNotFoundError:
            pass
        if named is None or (named.st_dev, named.st_ino) != (locked.st_dev, locked.st_ino):
            raise StorageUnusable(self.path, "it was moved or removed while it was being opened; open it again")

    def _run(self, call: str, steps: tuple[Step, ...]) -> None:
        """Carry out a plan.

        From its first step to its last the storage counts as failed, so that nothing that ends it early, not even
        an interrupt, can leave it usable with unknown files.
        """
        self._failure = f"{call} was interrupted"
        begun = 0
        try:
            for step in steps:
                begun += 1
                self._hands.do(step)
            self._hands.end_plan()
        except OSError as error:
            step_name = steps[begun - 1].kind.replace("_", " ")
            self._failure = f"{call} failed: {step_name}, {_why(error)}"
            self._put_back(steps[:begun])
            raise StorageFailed(self.path, f"{call} ({step_name})", _why(error)) from error
        self._failure = None

    def _put_back(self, begun: tuple[Step, ...]) -> None:
        assert self._state is not None
        plan = rules.plan_put_back(self._state, begun, self._main_length, self._sidecar_lengths)
        for step in plan:
            try:
                self._hands.do(step)
            except OSError:
                # As well as can be: the failure that led here is what the caller hears of, and the next open cuts.
                break
        try:
            self._hands.end_plan()
        except OSError:
            pass

    def _check_usable(self) -> LogState:
        if self._closed:
            raise StorageClosed(self.path)
        if self._failure is not None:
            raise StorageFailed(self.path, "an earlier call", self._failure)
        assert self._state is not None
        return self._state

    def _give_up(self) -> None:
        self._closed = True
        try:
            self._hands.close()
        except OSError:
            pass

    def _raise_open_failed(self, error: OSError) -> NoReturn:
        place = error.filename if isinstance(error.filename, str) else self.path
        raised: StorageError
        if error.errno in (errno.ENOTDIR, errno.ELOOP, errno.EISDIR):
            raised = StorageUnusable(place, f"{_why(error)}; choose another path")
        else:
            raised = StorageFailed(self.path, "open", _why(error) if place == self.path else f"{place}: {_why(error)}")
        raise raised from error


def _why(error: OSError) -> str:
    return error.strerror or str(error)


def encoded(path: str, number: int, changes: list[Change]) -> tuple[bytes, Commit]:
    """The line of commit `number` of the storage at `path`, and the commit as it reads back. Raises `ChangeRefused`."""
    if not changes:
        raise ChangeRefused(path, -1, "a commit holds at least one change")
    try:
        line, commit = encode_changes(number, changes)
    except LineError as error:
        raise ChangeRefused(path, _first_bad(changes), str(error)) from None
    if b'"sidecar_body"' in line:
        for index, change in enumerate(commit.changes):
            if "sidecar_body" in change.get("put", {}) and change["put"]["type"] == "entry":
                raise ChangeRefused(path, index, "`sidecar_body` is a field that only the storage sets")
    return line, commit


def _first_bad(changes: list[Change]) -> int:
    for index, change in enumerate(changes):
        try:
            encode_changes(1, [change])
        except LineError:
            return index
    return -1
