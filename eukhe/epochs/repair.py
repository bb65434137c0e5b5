"""Examining a session directory, and cutting a torn last line off its logs.

A crash in the middle of an append leaves a last line without its newline; it was never acknowledged. `open` refuses
such a log and `repair` is the answer: the bytes after the last newline are first kept in `<n>.jsonl.cut-<ms>`,
durably, and then cut. A crash in between leaves kept bytes, perhaps not all of them, and the torn log; the repair is
then done again, into a file of its own: the clock may stand where it stood.
Nothing else is changed: a complete line that is no record stays, and is named.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from eukhe.epochs import rules
from eukhe.epochs.errors import Baseline, Io, NotFound, SessionError
from eukhe.epochs.files import list_names, read_baseline, read_log, read_whole, write_all
from eukhe.epochs.hold import Hold
from eukhe.epochs.session import read_session
from eukhe.system import OsSystem, System


@dataclass(frozen=True)
class Cut:
    """One log that was cut: how many bytes were taken off, and the file that keeps them."""

    log: str
    bytes_cut: int
    kept_in: str


def repair(path: str | os.PathLike[str], *, system: System | None = None) -> list[Cut]:
    """Cut the torn last line of each log in a session directory. Raises `NotFound` and `Io`."""
    used: System = OsSystem() if system is None else system
    hold = Hold(used, os.path.normpath(os.fspath(path)))
    try:
        hold.open_directory()
        with hold.locked():
            epochs = rules.log_epochs(list_names(used, hold.path))
            if not epochs:
                raise NotFound(hold.path, hold.id)
            cuts = [_cut_torn_line(used, hold, rules.log_name(epoch)) for epoch in epochs]
    except OSError as error:
        raise Io(str(error.filename or hold.path), error.strerror or str(error)) from error
    finally:
        hold.close()
    return [cut for cut in cuts if cut is not None]


def examine(path: str | os.PathLike[str], *, system: System | None = None) -> list[SessionError]:
    """Every damage in a session directory, in the order of the epochs: each log's first bad line, bad baselines,
    and what else keeps `open` from opening it. Never writes. Raises `NotFound` and `Io`.
    """
    used: System = OsSystem() if system is None else system
    place = os.path.normpath(os.fspath(path))
    found: list[SessionError] = []
    try:
        names = list_names(used, place)
        epochs = rules.log_epochs(names)
        if not epochs:
            raise NotFound(place, os.path.basename(place))
        for epoch in epochs:
            try:
                baseline = f"{place}/{rules.baseline_name(epoch)}"
                if rules.baseline_name(epoch) not in names:
                    found.append(Baseline(baseline, "it is missing, so its log is not read as an epoch"))
                else:
                    read_baseline(used, baseline)
                read_log(used, f"{place}/{rules.log_name(epoch)}")
            except SessionError as error:
                found.append(error)
    except OSError as error:
        raise Io(str(error.filename or place), error.strerror or str(error)) from error
    try:
        read_session(place, system=used)
    except SessionError as error:
        if all(str(error) != str(other) for other in found):
            found.append(error)
    return found


def _cut_torn_line(system: System, hold: Hold, name: str) -> Cut | None:
    log = hold.place(name)
    data = read_whole(system, log)
    keep = data.rfind(b"\n") + 1
    if keep == len(data):
        return None
    kept_in, fd = _new_file(system, hold, name)
    try:
        write_all(system, fd, data[keep:], 0)
        system.fsync(fd)
    finally:
        system.close(fd)
    hold.flush_directory()
    fd = system.open(log, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        system.ftruncate(fd, keep)
        system.fsync(fd)
    finally:
        system.close(fd)
    return Cut(log, len(data) - keep, kept_in)


def _new_file(system: System, hold: Hold, name: str) -> tuple[str, int]:
    """A file for the bytes cut off a log, by the current millisecond or, where that is taken, the next free one."""
    milliseconds = system.time_ns() // 1_000_000
    while True:
        place = hold.place(f"{name}.cut-{milliseconds}")
        try:
            return place, system.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            milliseconds += 1
