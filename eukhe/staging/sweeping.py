"""Sweeping what builders and deleters left behind.

The sweep reads the facts of each entry, asks the rules, and does their steps; it decides nothing. First it tries the
lock, then it looks at the directory: a builder that holds no lock any more will not publish any more, so what is
found under the name afterwards is a leftover and nothing else. Everything is reached from open descriptors, never
through a symbolic link (`tree`). The clock is read last, after the times.

A failure at one entry (no permission, a vanished entry, another filesystem) is told and stops no other. A sweep
promises nothing that a power loss could take away: what comes back is swept again.

The directory that is swept may itself be a symbolic link: whoever names it means what it leads to.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from eukhe.staging import rules
from eukhe.staging.lock import ProbedLock
from eukhe.staging.rules import EntryKind, JudgeFacts, Judgement
from eukhe.staging.tree import DIRECTORY_FLAGS, names_in, newest_in, remove_tree
from eukhe.storage.rules import MAIN_NAME
from eukhe.system import OsSystem, System


@dataclass(frozen=True)
class Entry:
    """An entry that a sweep met: its path, and why it went, stays, or could not be dealt with."""

    path: str
    why: str


@dataclass
class SweepReport:
    """What a sweep removed (or, in a dry run, would remove), what stays, and what failed, in the order of the walk.

    `kept` holds each entry that was met and not entered; `failed` what somebody has to look at.
    """

    removed: list[Entry] = field(default_factory=list)
    kept: list[Entry] = field(default_factory=list)
    failed: list[Entry] = field(default_factory=list)


WHY_KEPT: dict[EntryKind, str] = {
    "storage": "it is a storage",
    "symlink": "it is a symbolic link, which a sweep never follows",
    "file": "it is a file of no build",
    "other": "it is neither a file nor a directory",
}


def sweep(directories: Sequence[str], *, system: System | None = None, dry_run: bool = False) -> SweepReport:
    """Sweep some directories, every depth. A directory that is missing has nothing in it.

    Raises nothing that one entry is the cause of. Source: seed D2, staging, 3.
    """
    sweeper = _Sweeper(OsSystem() if system is None else system, dry_run)
    for directory in directories:
        sweeper.sweep(directory)
    return sweeper.report


class _Sweeper:
    """One sweep. `report` is what it has found so far."""

    def __init__(self, system: System, dry_run: bool) -> None:
        self._system = system
        self._dry_run = dry_run
        self.report = SweepReport()

    def sweep(self, directory: str) -> None:
        try:
            fd = self._system.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        except OSError as error:
            self._fail(directory, error)
            return
        levels = [(fd, directory, self._listed(fd, directory))]
        try:
            while levels:
                fd, path, entries = levels[-1]
                if not entries:
                    levels.pop()
                    self._system.close(fd)
                    continue
                name, kind = entries.pop()
                below = self._meet(fd, path, name, kind)
                if below >= 0:
                    levels.append((below, f"{path}/{name}", self._listed(below, f"{path}/{name}")))
        finally:
            while levels:
                self._system.close(levels.pop()[0])

    def _listed(self, fd: int, path: str) -> list[tuple[str, EntryKind]]:
        """The entries in reverse, to be popped. A lock file whose directory is there goes with it."""
        try:
            found = names_in(self._system, fd)
        except OSError as error:
            self._fail(path, error)
            return []
        there = {name for name, _ in found}
        for name, _ in found:
            if rules.leftover_of_lock(name) in there:
                self.report.kept.append(Entry(f"{path}/{name}", "it goes with what it belongs to"))
        found = [entry for entry in found if rules.leftover_of_lock(entry[0]) not in there]
        return found[::-1]

    def _meet(self, parent: int, above: str, name: str, kind: EntryKind) -> int:
        """Deal with one entry; answers an open descriptor where it is to be entered, else -1."""
        path = f"{above}/{name}"
        try:
            if kind == "directory" and not rules.is_leftover_name(name) and self._is_storage(parent, name):
                kind = "storage"
            meeting = rules.meet(name, kind)
            if meeting == "enter":
                return self._system.open(name, DIRECTORY_FLAGS, dir_fd=parent)
            if meeting == "judge_leftover":
                self._judge_leftover(parent, path, name)
            elif meeting == "judge_lock":
                self._judge_lock(parent, path, name)
            else:
                self.report.kept.append(Entry(path, WHY_KEPT[kind]))
        except FileNotFoundError:
            # It went while we looked at it, which is what happens to leftovers.
            pass
        except OSError as error:
            self._fail(path, error)
        return -1

    def _is_storage(self, parent: int, name: str) -> bool:
        try:
            self._system.lstat(f"{name}/{MAIN_NAME}", dir_fd=parent)
        except FileNotFoundError:
            return False
        return True

    def _judge_leftover(self, parent: int, path: str, name: str) -> None:
        lock = ProbedLock.take(self._system, parent, name + rules.LOCK_SUFFIX)
        try:
            touched: int | None = None
            if lock.probe in ("free", "missing"):
                touched = self._touched(newest_in(self._system, parent, name), lock)
            judgement = rules.judge_leftover(JudgeFacts(lock.probe, True, touched, self._system.time_ns()))
            self._carry_out(parent, path, name, judgement)
        finally:
            lock.give_up(self._system)

    def _judge_lock(self, parent: int, path: str, name: str) -> None:
        leftover = rules.leftover_of_lock(name)
        assert leftover is not None
        lock = ProbedLock.take(self._system, parent, name)
        try:
            there = lock.probe == "free" and self._is_there(parent, leftover)
            facts = JudgeFacts(lock.probe, there, lock.touched_ns, self._system.time_ns())
            self._carry_out(parent, path, leftover, rules.judge_lock(facts))
        finally:
            lock.give_up(self._system)

    def _carry_out(self, parent: int, path: str, name: str, judgement: Judgement) -> None:
        """Do what was judged; `name` is the leftover's, without the suffix of its lock."""
        if not judgement.steps:
            self.report.kept.append(Entry(path, judgement.why))
            return
        if not self._dry_run:
            for step in judgement.steps:
                if step == "remove_lock":
                    self._system.unlink(name + rules.LOCK_SUFFIX, dir_fd=parent)
                elif problems := remove_tree(self._system, parent, name):
                    where, error = problems[0]
                    self.report.failed.append(Entry(path, f"{where}: {error.strerror or error}; the rest of it went"))
                    return
        self.report.removed.append(Entry(path, judgement.why))

    def _is_there(self, parent: int, name: str) -> bool:
        try:
            self._system.lstat(name, dir_fd=parent)
        except FileNotFoundError:
            return False
        return True

    @staticmethod
    def _touched(inside_ns: int | None, lock: ProbedLock) -> int | None:
        if inside_ns is None or lock.touched_ns is None:
            return None
        return max(inside_ns, lock.touched_ns)

    def _fail(self, path: str, error: OSError) -> None:
        self.report.failed.append(Entry(path, error.strerror or str(error)))
