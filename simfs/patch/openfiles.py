"""Real files that were open before the run: a log that a module opened when it was imported, a handler with its stream.

Such an object writes to the real disk without another call of `open`, and Python reports no write. So each is
exchanged, wherever it is held, for a `HostFile`, which passes everything through outside of a process and refuses it
inside by name. Standard streams are not touched: what a process prints is for the person who runs the exploration.

The search costs a walk over the heap, so the kernel is asked first whether any descriptor is open that was not
before.
"""

from __future__ import annotations

import gc
import io
import os
from typing import Any

from simfs.patch.escape import escaped
from simfs.patch.inside import simulated
from simfs.patch.places import Place
from simfs.patch.rawfile import RealFileIO
from simfs.patch.references import find_places
from simfs.patch.standin import StandIn

_KINDS = frozenset((io.TextIOWrapper, io.BufferedWriter, io.BufferedReader, io.BufferedRandom, RealFileIO))
_STREAMS = ("<stdin>", "<stdout>", "<stderr>", os.devnull)
_listdir, _readlink = os.listdir, os.readlink


class HostFile:
    """Stands in for a real file that is open. Passes for it, except inside a process."""

    __slots__ = ("_record",)

    def __init__(self, record: StandIn) -> None:
        self._record = record

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file(), name)

    def __iter__(self) -> Any:
        return iter(self._file())

    def __next__(self) -> Any:
        return next(self._file())

    def __enter__(self) -> Any:
        self._file().__enter__()
        return self

    def __exit__(self, *raised: Any) -> Any:
        return self._file().__exit__(*raised)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._record.real)

    def _file(self) -> Any:
        if simulated() is not None:
            raise escaped(
                f"use of the real file {self._record.name!r}",
                "it was opened before the process began; open it inside the process",
            )
        return self._record.real


def open_descriptors() -> frozenset[tuple[str, str]]:
    """Numbers of this interpreter's descriptors, with what they lead to, of files with a name."""
    found = set()
    for number in _listdir("/proc/self/fd"):
        try:
            target = _readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if target.startswith("/") and not target.startswith(("/dev/", "/proc/")):
            found.add((number, target))
    return frozenset(found)


def host_file_places() -> list[Place]:
    """Where a real file object with a name is held."""
    files = [x for x in gc.get_objects() if type(x) in _KINDS and _has_a_name(x)]
    return find_places([(file, _host_file(file)) for file in files]) if files else []


def _has_a_name(file: Any) -> bool:
    try:
        name = file.name
        return not file.closed and isinstance(name, str) and name not in _STREAMS and type(_raw(file)) is RealFileIO
    except (AttributeError, ValueError):
        return False


def _raw(file: Any) -> Any:
    while not isinstance(file, io.RawIOBase):
        file = file.raw if hasattr(file, "raw") else file.buffer
    return file


def _host_file(file: Any) -> HostFile:
    record = StandIn(str(file.name), file)
    return HostFile(record)
