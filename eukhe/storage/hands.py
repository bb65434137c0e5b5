"""Carrying out the steps of a plan on one storage: one call of the system, on a line of its own, for each kind of
step.

`Hands` holds the descriptors and decides nothing: the rules say which steps and in which order, and a step that
fails raises its `OSError`. A write goes on until all its bytes are in, so a short write by itself is no failure;
one that makes no progress is.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from eukhe.directories import flush_directory
from eukhe.storage.reading import open_main
from eukhe.storage.rules import MAIN_NAME, Step
from eukhe.system import System


class Hands:
    """The descriptors of one storage directory and the bytes that a plan is about to write.

    `pending` gives, for main.jsonl and for each sidecar, the bytes that its next write step puts there and the
    offset.
    """

    def __init__(self, system: System, path: str) -> None:
        self._system = system
        self._path = path
        self._main = -1
        self._sidecars: dict[str, int] = {}
        self.pending: dict[str, tuple[bytes, int]] = {}

    def open_main(self) -> int:
        """Open main.jsonl for this storage, made if it is missing, and return its descriptor."""
        self._main = open_main(self._system, self._path, os.O_RDWR | os.O_CREAT)
        return self._main

    def do(self, step: Step) -> None:
        """Carry out one step. Raises `OSError`."""
        _ACTIONS[step.kind](self, step)

    def end_plan(self) -> None:
        """Forget the bytes of the plan and close the sidecars, of which a storage may have many."""
        self.pending = {}
        sidecars, self._sidecars = self._sidecars, {}
        for fd in sidecars.values():
            self._system.close(fd)

    def close(self) -> None:
        """Close main.jsonl, and with it give up the lock."""
        main, self._main = self._main, -1
        try:
            self.end_plan()
        finally:
            if main >= 0:
                self._system.close(main)

    def sidecar(self, name: str) -> int:
        """The descriptor of a sidecar, made if it is missing."""
        fd = self._sidecars.get(name)
        if fd is None:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            fd = self._sidecars[name] = self._system.open(f"{self._path}/{name}", flags, 0o600)
        return fd

    def _flush_ancestor(self, step: Step) -> None:
        flush_directory(self._system, step.name)

    def _flush_directory(self, _step: Step) -> None:
        fd = self._system.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._system.fsync(fd)
        finally:
            self._system.close(fd)

    def _cut_main(self, step: Step) -> None:
        self._system.ftruncate(self._main, step.length)

    def _cut_sidecar(self, step: Step) -> None:
        self._system.ftruncate(self.sidecar(step.name), step.length)

    def _rewrite_last_line(self, _step: Step) -> None:
        data, offset = self.pending[MAIN_NAME]
        while data:
            written = self._system.pwrite(self._main, data, offset)
            data, offset = _rest(data, offset, written)

    def _write_marker(self, _step: Step) -> None:
        data, offset = self.pending[MAIN_NAME]
        while data:
            written = self._system.pwrite(self._main, data, offset)
            data, offset = _rest(data, offset, written)

    def _write_sidecar(self, step: Step) -> None:
        data, offset = self.pending[step.name]
        fd = self.sidecar(step.name)
        while data:
            written = self._system.pwrite(fd, data, offset)
            data, offset = _rest(data, offset, written)

    def _flush_sidecar(self, step: Step) -> None:
        self._system.fsync(self.sidecar(step.name))

    def _flush_main(self, _step: Step) -> None:
        self._system.fsync(self._main)

    def _remove_entry(self, step: Step) -> None:
        self._system.unlink(f"{self._path}/{step.name}")

    def _acknowledge(self, _step: Step) -> None:
        """Nothing to do: the caller's call returns after this step, and that is the promise."""


def _rest(data: bytes, offset: int, written: int) -> tuple[bytes, int]:
    if written <= 0:
        raise OSError(errno.EIO, "a write put no byte down")
    return data[written:], offset + written


_ACTIONS: dict[str, Callable[[Hands, Step], None]] = {
    "flush_ancestor": Hands._flush_ancestor,
    "flush_directory": Hands._flush_directory,
    "cut_main": Hands._cut_main,
    "cut_sidecar": Hands._cut_sidecar,
    "rewrite_last_line": Hands._rewrite_last_line,
    "write_marker": Hands._write_marker,
    "write_sidecar": Hands._write_sidecar,
    "flush_sidecar": Hands._flush_sidecar,
    "flush_main": Hands._flush_main,
    "remove_entry": Hands._remove_entry,
    "acknowledge": Hands._acknowledge,
}
