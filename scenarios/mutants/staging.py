"""The mutants of staging and of the listing: calls taken away, put in the wrong order, and rules broken by hand.

A name in staging has random digits, so calls are told by what they are made on: a build's main.jsonl, a staging
directory, the sessions directory, a lock file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from eukhe.sessions import entry
from eukhe.sessions import rules as listing_rules
from eukhe.staging import lock, rules, sweeping, tree
from scenarios.mutants.mutant import Mutant, Wrapped, exchanged

__simfs_machinery__ = True

LEFTOVER = re.compile(r".*/\.[^/]*-[0-9a-f]{32}")
LOCK = re.compile(r".*-[0-9a-f]{32}\.lock")


class Without(Wrapped):
    """A system in which one call does nothing where the path it is made on matches; by descriptor too."""

    def __init__(self, system: Any, call: str, pattern: str) -> None:
        super().__init__(system)
        self.call = call
        self.pattern = re.compile(pattern)
        self.paths: dict[int, str] = {}

    def open(self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """As the system's, remembering which path a descriptor stands for."""
        fd: int = self.system.open(path, flags, mode, dir_fd=dir_fd)
        self.paths[fd] = path if dir_fd is None else f"{self.paths.get(dir_fd, '?')}/{path}"
        return fd

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.system, name)
        if name != self.call:
            return call

        def perhaps(first: Any, *arguments: Any) -> Any:
            path = self.paths.get(first, "?") if isinstance(first, int) else first
            return None if self.pattern.fullmatch(path) else call(first, *arguments)

        return perhaps


class Replaces(Wrapped):
    """A publish that may replace."""

    def renameat2(self, src: str, dst: str, flags: int) -> None:
        """A plain rename."""
        self.system.rename(src, dst)


class FollowsLinks(Wrapped):
    """Every open follows symbolic links."""

    def open(self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """As the system's, but for the flag."""
        fd: int = self.system.open(path, flags & ~os.O_NOFOLLOW, mode, dir_fd=dir_fd)
        return fd


class Builder(Wrapped):
    """A builder that knows its lock: its descriptor and its path."""

    lock = -1
    lock_path = ""

    def open(self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """As the system's."""
        fd: int = self.system.open(path, flags, mode, dir_fd=dir_fd)
        if flags & os.O_EXCL and LOCK.fullmatch(path):
            self.lock, self.lock_path = fd, path
        return fd


class LocksLate(Builder):
    """The lock is taken when the directory is there already."""

    owed: tuple[int, int] | None = None

    def flock(self, fd: int, operation: int) -> None:
        """Later, if it is a builder's."""
        if fd == self.lock:
            self.owed = (fd, operation)
        else:
            self.system.flock(fd, operation)

    def mkdir(self, path: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """The directory first, then the lock."""
        self.system.mkdir(path, mode, dir_fd=dir_fd)
        if self.owed is not None:
            self.system.flock(*self.owed)


class UnlocksEarly(Builder):
    """The lock is given up before the publish."""

    def renameat2(self, src: str, dst: str, flags: int) -> None:
        """As the system's, but without the lock."""
        self.system.flock(self.lock, 8)
        self.system.renameat2(src, dst, flags)


class UnlinksLockFirst(Builder):
    """The lock file is removed before the publish."""

    def renameat2(self, src: str, dst: str, flags: int) -> None:
        """As the system's, but without the lock file."""
        self.system.unlink(self.lock_path)
        self.system.renameat2(src, dst, flags)


def _wrapped(kind: Callable[[Any], Any]) -> Callable[[Any, str], Any]:
    return lambda system, process: kind(system)


def _without(call: str, pattern: str, *, process: str = "") -> Callable[[Any, str], Any]:
    return lambda system, who: Without(system, call, pattern) if process in ("", who) else system


def _rule(name: str, instead: Callable[[Any], Any], module: Any = rules) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: exchanged(module, name, instead)


def _meeting(kind: str, wrong: str) -> Callable[[Any], Any]:
    """A sweep that does something else with entries of a kind that are no leftovers."""

    def instead(real: Any) -> Any:
        def meet(name: str, found: str) -> Any:
            right = real(name, found)
            return right if found != kind or right.startswith("judge") else wrong

        return meet

    return instead


def _settling(code: int | None, wrong: str) -> Callable[[Any], Any]:
    return lambda real: lambda found: wrong if found == code else real(found)


def _by_modification(real: Any) -> Any:
    return lambda found: found.st_mtime_ns


def _by_directory(real: Any) -> Any:
    return lambda system, parent, name: system.lstat(name, dir_fd=parent).st_ctime_ns


def _deaf(real: Any) -> Any:
    """Whether somebody holds the lock plays no part."""
    return lambda facts: real(facts._replace(lock="free") if facts.lock == "held" else facts)


def _both_listed(real: Any) -> Any:
    """A directory hides no legacy file."""

    def scan(entries: Any) -> Any:
        listed = list(entries)
        folders = [entry for entry in listed if entry[1] in ("directory", "storage")]
        rest = [entry for entry in listed if entry not in folders]
        return sorted([*real(folders), *real(rest)])

    return scan


def _legacy_first(real: Any) -> Any:
    """A legacy file hides the directory of its name."""

    def scan(entries: Any) -> Any:
        files = {name for name, kind in entries if kind == "file"}
        return real([entry for entry in entries if f"{entry[0]}.jsonl" not in files])

    return scan


def _storages_hide_all(real: Any) -> Any:
    """As soon as there is a storage no legacy file is listed."""

    def scan(entries: Any) -> Any:
        found = real(entries)
        storages = [candidate for candidate in found if candidate.kind == "storage"]
        return storages or found

    return scan


def _ways_exchanged(operations: Any) -> Any:
    return {**operations, "judge_lock": operations["judge_leftover"]}


FLUSHES = (
    Mutant("no flush of a built file", "flush", _without("fsync", r".*-[0-9a-f]{32}/main\.jsonl"),
           made_for=("publish_durable", "build_all_or_nothing"), first=("staging_durable",)),
    Mutant("no flush of the staging directory", "flush", _without("fsync", LEFTOVER.pattern),
           made_for=("publish_durable", "build_all_or_nothing"), first=("staging_durable",)),
    Mutant("no flush of the directory that holds it", "flush", _without("fsync", r"/home/sessions"),
           made_for=("publish_durable",), first=("staging_durable",)),
    Mutant("a tombstone is not flushed", "flush", _without("fsync", r"/home/sessions", process="deleter"),
           made_for=("delete_whole_or_gone",), first=("listing_delete",)),
)  # fmt: skip

ORDER = (
    Mutant("a publish may replace", "rename", _wrapped(Replaces), made_for=("publish_never_overwrites",),
           first=("staging_taken",)),
    Mutant("no rename at a publish", "rename", _without("renameat2", r".*"), made_for=("publish_moves",),
           first=("staging_durable",)),
    Mutant("a builder takes no lock", "lock", _without("flock", LOCK.pattern, process="builder"),
           made_for=("sweep_never_live_real",), first=("staging_long_build",)),
    Mutant("a publish does not hold the storage's own lock", "lock",
           _without("flock", r".*-[0-9a-f]{32}/main\.jsonl", process="ann"), made_for=("log_ack_durable",),
           first=("staging_writer",)),
    Mutant("the lock is taken after the directory is made", "order", _wrapped(LocksLate),
           made_for=("sweep_never_live_real",), first=("staging_clock",)),
    Mutant("the lock is released before the publish", "order", _wrapped(UnlocksEarly),
           made_for=("sweep_never_live_real",), first=("staging_long_build",)),
    Mutant("the lock file is unlinked before the publish", "order", _wrapped(UnlinksLockFirst),
           made_for=("sweep_never_live_real",), first=("staging_long_build",)),
    Mutant("opens follow symbolic links", "links", _wrapped(FollowsLinks),
           made_for=("sweep_stays_out_real",), first=("staging_ways_out",)),
)  # fmt: skip

SWEEPS = (
    Mutant("age without the time of the last change", "age",
           broken=lambda: _Both(*(exchanged(module, "newest", _by_modification) for module in (lock, tree))),
           made_for=("sweep_never_young_real",), first=("staging_old_times",)),
    Mutant("age by the directory's time alone", "age", broken=_rule("newest_in", _by_directory, sweeping),
           made_for=("sweep_never_young_real",), first=("staging_one_young",)),
    Mutant("a day is a nanosecond short", "age", broken=_rule("DAY_NS", lambda real: real - 1),
           made_for=("judge_exact", "sweep_never_young", "sweep_never_young_real"),
           first=("staging_rules", "staging_old_times")),
    Mutant("a day is a nanosecond long", "age", broken=_rule("DAY_NS", lambda real: real + 1),
           made_for=("sweep_takes_stale_free_real",), first=("staging_dead",)),
    Mutant("who holds a lock plays no part", "rule", broken=_rule("_keeps", _deaf),
           made_for=("sweep_never_live", "judge_exact"), first=("staging_rules",)),
    Mutant("a sweep enters storages", "rule", broken=_rule("meet", _meeting("storage", "enter")),
           made_for=("meet_exact", "sweep_stays_out_real"), first=("staging_rules", "staging_ways_out")),
    Mutant("a sweep judges everything that is a directory", "rule",
           broken=_rule("meet", _meeting("directory", "judge_leftover")), made_for=("sweep_stays_out",),
           first=("staging_rules",)),
    Mutant("a sweep enters nothing", "rule", broken=_rule("meet", _meeting("directory", "keep")),
           made_for=("sweep_reaches_every_depth",), first=("staging_rules",)),
    Mutant("of a leftover only the lock file goes", "rule",
           broken=_rule("judge_leftover", lambda real: lambda facts: real(facts)._replace(steps=real(facts).steps[1:])),
           made_for=("judge_refines",), first=("staging_rules",)),
    Mutant("names are made up that no sweep knows", "rule",
           broken=_rule("mint", lambda real: lambda *args: real(*args) + "0"), made_for=("meet_minted",),
           first=("staging_rules",)),
)  # fmt: skip

RULES = (
    Mutant("a publish that met an entry says it has published", "rule",
           broken=_rule("settle", _settling(17, "published")), made_for=("publish_settles", "publish_settle_refines"),
           first=("staging_rules", "staging_publishers")),
    Mutant("a directory hides no legacy file", "listing", broken=_rule("scan", _both_listed, listing_rules),
           made_for=("list_one_location", "scan_exact"), first=("listing_rules",)),
    Mutant("a legacy file hides the storage of its name", "listing", broken=_rule("scan", _legacy_first, listing_rules),
           made_for=("list_import_lists_storage",), first=("listing_rules",)),
    Mutant("storages hide every legacy file", "listing", broken=_rule("scan", _storages_hide_all, listing_rules),
           made_for=("list_import_keeps_others",), first=("listing_rules",)),
    Mutant("rows go by time, oldest first", "listing",
           broken=_rule("rows", lambda real: lambda facts: real(facts)[::-1], listing_rules), made_for=("rows_exact",),
           first=("listing_rules",)),
    Mutant("the entry judges a lock file as a leftover", "entry", broken=_rule("_OPERATIONS", _ways_exchanged, entry),
           made_for=("staging_entry_answers",), first=("listing_rules",)),
)  # fmt: skip


def mutants() -> list[Mutant]:
    """All of them."""
    return [*FLUSHES, *ORDER, *SWEEPS, *RULES]


class _Both(AbstractContextManager[None]):
    """Two exchanges at once."""

    def __init__(self, *parts: AbstractContextManager[Any]) -> None:
        self.parts = parts

    def __enter__(self) -> None:
        for part in self.parts:
            part.__enter__()

    def __exit__(self, *error: Any) -> None:
        for part in self.parts:
            part.__exit__(*error)
