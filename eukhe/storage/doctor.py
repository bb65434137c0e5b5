"""What is wrong with a storage, where, and what a repair would keep. Examining never writes; a repair writes
elsewhere.

`examine` reads every line, also past a damaged one, and keeps each commit that is whole and comes after the ones
before it. Findings that a crash may leave (a torn tail, unconfirmed sidecar bytes) are notes: the next open cuts
them. The others are damage, and open refuses the storage until someone decides.

`repair` builds a new storage from what is kept and never touches the old one. Its commits are numbered anew without
a gap; an entry whose long body is lost keeps all its other fields. It is built under a hidden name and takes its
own only when all of it is durable, so a target that exists is whole.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from eukhe.directories import flush_directory, holder_of
from eukhe.errors import StorageDamaged, StorageExists, StorageFailed, StorageNotFound
from eukhe.storage.codec import Change, Commit, LineError, decode_commit
from eukhe.storage.reading import READ_BYTES, open_main, read_sidecar_facts
from eukhe.storage.rules import MAIN_NAME
from eukhe.storage.shell import Storage
from eukhe.storage.view import fetch_bodies
from eukhe.system import RENAME_NOREPLACE, OsSystem, System


@dataclass(frozen=True)
class Finding:
    """One thing found.

    `line` counts from 1, 0 where it is not about a line; `damage` is False for what a crash leaves.
    """

    file: str
    line: int
    why: str
    damage: bool = True


@dataclass
class Diagnosis:
    """All that was found, in the order of the files, and the commits that a repair would keep, long bodies in
    place.
    """

    path: str
    findings: list[Finding] = field(default_factory=list)
    lines: int = 0
    kept: list[Commit] = field(default_factory=list)

    @property
    def damaged(self) -> bool:
        """Whether an open would refuse this storage."""
        return any(finding.damage for finding in self.findings)


def examine(path: str | os.PathLike[str], *, system: System | None = None) -> Diagnosis:
    """Look at a storage, damaged or not. Raises `StorageNotFound`, and `StorageFailed` where reading fails."""
    place = os.fspath(path)
    used: System = OsSystem() if system is None else system
    try:
        return _examine(used, place)
    except (FileNotFoundError, NotADirectoryError):
        raise StorageNotFound(place) from None
    except OSError as error:
        raise StorageFailed(place, "reading", error.strerror or str(error)) from error


def repair(path: str | os.PathLike[str], target: str | os.PathLike[str], *, system: System | None = None) -> Diagnosis:
    """Write what can be kept of a storage to a new one. Raises `StorageExists` where `target` is taken, and what
    `examine` raises. Returns the diagnosis of the old one."""
    used: System = OsSystem() if system is None else system
    place = os.path.normpath(os.fspath(target))
    diagnosis = examine(path, system=used)
    above, name = holder_of(place), os.path.basename(place)
    built = os.path.join(above, f".{name}.repair-{used.urandom(16).hex()}")
    try:
        used.lstat(place)
    except FileNotFoundError:
        pass
    else:
        raise StorageExists(place)
    with Storage.open(built, system=used, fsync=False) as storage:
        for commit in diagnosis.kept:
            if commit.changes:
                storage.commit(commit.changes)
        storage.flush()
    try:
        used.renameat2(built, place, RENAME_NOREPLACE)
        flush_directory(used, above)
    except FileExistsError:
        raise StorageExists(place) from None
    except OSError as error:
        raise StorageFailed(place, f"giving {built} its name", error.strerror or str(error)) from error
    return diagnosis


def _examine(system: System, path: str) -> Diagnosis:
    diagnosis = Diagnosis(path)
    main = f"{path}/{MAIN_NAME}"
    data = _read_all(system, path)
    lines = data.split(b"\n")
    torn = lines.pop()
    diagnosis.lines = len(lines)
    last = 0
    confirmed: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        try:
            commit = decode_commit(line)
        except LineError as error:
            diagnosis.findings.append(Finding(main, number, str(error)))
            continue
        if commit.number <= last:
            diagnosis.findings.append(Finding(main, number, f"commit {commit.number} comes again; not kept"))
            continue
        if commit.number != last + 1:
            why = f"commit {commit.number} follows commit {last}: what was between them is lost"
            diagnosis.findings.append(Finding(main, number, why))
        last = commit.number
        for name, length in commit.sidecars.items():
            if length <= confirmed.get(name, 0):
                diagnosis.findings.append(Finding(main, number, f"the confirmed length of {name} does not grow"))
            confirmed[name] = max(length, confirmed.get(name, 0))
        diagnosis.kept.append(commit)
    if torn:
        why = f"{len(torn)} bytes after the last newline: a commit that was never acknowledged, cut by the next open"
        diagnosis.findings.append(Finding(main, len(lines) + 1, why, damage=False))
    _examine_sidecars(system, diagnosis, confirmed)
    _examine_bodies(system, diagnosis)
    return diagnosis


def _examine_sidecars(system: System, diagnosis: Diagnosis, confirmed: dict[str, int]) -> None:
    try:
        facts = read_sidecar_facts(system, diagnosis.path, confirmed)
    except StorageDamaged as damage:
        diagnosis.findings.append(Finding(damage.path, 0, damage.why))
        return
    for sidecar in facts:
        file = f"{diagnosis.path}/{sidecar.name}"
        if sidecar.length < sidecar.confirmed:
            why = f"{sidecar.length} bytes, but the log confirms {sidecar.confirmed}"
            diagnosis.findings.append(Finding(file, 0, why))
        elif sidecar.length > sidecar.confirmed:
            why = f"{sidecar.length - sidecar.confirmed} bytes that no commit confirms, cut by the next open"
            diagnosis.findings.append(Finding(file, 0, why, damage=False))


def _examine_bodies(system: System, diagnosis: Diagnosis) -> None:
    """Fetch each long body by itself; where one is lost, keep its entry without it. A body that could not be read for
    another reason (no permission, a failing disk) is not taken for lost: that error ends the examination."""
    for index, commit in enumerate(diagnosis.kept):
        changes: list[Change] = []
        for change in commit.changes:
            one = [Commit(commit.number, [change])]
            try:
                fetch_bodies(system, diagnosis.path, one, [0])
                changes += one[0].changes
            except (StorageDamaged, FileNotFoundError) as error:
                file = error.path if isinstance(error, StorageDamaged) else str(error.filename)
                why = error.why if isinstance(error, StorageDamaged) else (error.strerror or str(error))
                entry = change["put"]["id"]
                diagnosis.findings.append(Finding(file, 0, f"{why}; entry {entry} is kept without its body"))
                changes.append({"put": {k: v for k, v in change["put"].items() if k != "sidecar_body"}})
        diagnosis.kept[index] = Commit(commit.number, changes)


def _read_all(system: System, path: str) -> bytes:
    fd = open_main(system, path, os.O_RDONLY)
    try:
        pieces: list[bytes] = []
        offset = 0
        while piece := system.pread(fd, READ_BYTES, offset):
            pieces.append(piece)
            offset += len(piece)
        return b"".join(pieces)
    finally:
        system.close(fd)
