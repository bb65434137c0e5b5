"""One process's hold on a session directory: the lock, the current log, and what was last read of it.

Every change happens inside `changing`: it takes the lock, follows what other processes did since the last call,
lets the change happen, and gives the lock back. Loading a log writes its last line again and flushes it, for that
line may come from a process that died before its flush, or whose flush failed; all lines before it were promised by
someone.

From the first byte of a change to its end the hold counts as failed, so nothing that ends a change early leaves it
usable.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from eukhe.epochs import rules
from eukhe.epochs.errors import Io, NotFound
from eukhe.epochs.files import SessionView, exists, put_in_place, read_view, write_all
from eukhe.epochs.records import Record
from eukhe.system import System


class Hold:
    """The descriptors on a session directory and its current log, and the view that goes with them."""

    def __init__(self, system: System, path: str) -> None:
        self.system = system
        self.path = path
        self.id = os.path.basename(path)
        self._directory = -1
        self._log = -1
        self._length = 0
        self._view: SessionView | None = None
        self._failure: str | None = None

    @property
    def view(self) -> SessionView:
        """What was last read. The hold must have been loaded."""
        assert self._view is not None
        return self._view

    def place(self, name: str) -> str:
        """The path of a file in the session directory."""
        return f"{self.path}/{name}"

    def open_directory(self) -> None:
        """Get hold of the directory. Raises `NotFound` and `OSError`."""
        try:
            self._directory = self.system.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(self.path, self.id) from None

    @contextmanager
    def locked(self, operation: int = fcntl.LOCK_EX) -> Iterator[None]:
        """Hold the session's lock, waiting for it as long as others hold it."""
        self.system.flock(self._directory, operation)
        try:
            yield
        finally:
            try:
                self.system.flock(self._directory, fcntl.LOCK_UN)
            except OSError:
                # Others wait for this lock, and it goes for certain when its descriptor does.
                self.close()
                raise

    @contextmanager
    def changing(self, call: str) -> Iterator[None]:
        """Hold the lock for a change of the current state. Turns an `OSError` into `Io`, after which only `close` is
        left; an error from before the first byte leaves the hold as it was."""
        if self._failure is not None:
            raise Io(self.path, f"{self._failure}; close the session and open it again")
        try:
            with self.locked():
                self._follow()
                yield
        except OSError as error:
            self._failure = self._failure or f"{call} failed"
            why = f"{call} failed ({error.strerror or error}) and is not acknowledged; open the session again"
            raise Io(self.path, why) from error
        self._failure = None

    def load(self, durable: bool = False) -> None:
        """Read the current epoch, and make what was read durable, unless this process has just put it down durably.

        The lock is held. Raises what `read_view` raises.
        """
        view = read_view(self.system, self.path, self.id)
        log = self.system.open(self.place(rules.log_name(view.epoch)), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        if self._log >= 0:
            self.system.close(self._log)
        self._log, self._view, self._length = log, view, view.log.length
        if not durable:
            write_all(self.system, log, view.log.last_line, view.log.length - len(view.log.last_line))
            self.system.fsync(log)
            self.system.fsync(self._directory)
        self._failure = None

    def write_line(self, line: bytes, record: Record) -> None:
        """Append a record, given with its line, to the current log and flush it. What fails is taken back as well as
        can be. Raises `OSError`."""
        self._failure = "a change was interrupted"
        try:
            write_all(self.system, self._log, line, self._length)
            self.system.fsync(self._log)
        except OSError:
            self._take_back()
            raise
        self._length += len(line)
        self.view.records.append(record)

    def remove(self, name: str) -> None:
        """Remove a file for good. Raises `OSError`."""
        self._failure = "a change was interrupted"
        self.system.unlink(self.place(name))
        self.system.fsync(self._directory)

    def flush_directory(self) -> None:
        """Make the entries of the session directory durable. Raises `OSError`."""
        self.system.fsync(self._directory)

    def put(self, name: str, data: bytes) -> None:
        """Make a file appear whole and durable. Raises `OSError`."""
        self._failure = "a change was interrupted"
        put_in_place(self.system, self._directory, self.place(name), data)

    def close(self) -> None:
        """Close the descriptors. Closing again does nothing."""
        self._failure = self._failure or "the session is closed"
        for fd in (self._log, self._directory):
            if fd >= 0:
                try:
                    self.system.close(fd)
                except OSError:
                    # Everything that was promised was flushed before it was promised.
                    pass
        self._log = self._directory = -1

    def _follow(self) -> None:
        """Read again where another process has begun the next epoch or changed this one's log."""
        following = self.view.epoch + 1
        if (
            exists(self.system, self.place(rules.log_name(following)))
            and exists(self.system, self.place(rules.baseline_name(following)))
        ) or self.system.fstat(self._log).st_size != self._length:
            self.load()

    def _take_back(self) -> None:
        try:
            self.system.ftruncate(self._log, self._length)
            self.system.fsync(self._log)
        except OSError:
            # The failure that led here is what the caller hears of; a torn line is what the next open will say.
            pass
