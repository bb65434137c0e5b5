"""Faults: making chosen calls fail, as a wrapper over a `SimSystem`.

The filesystem knows nothing of them. A rule says which calls it matches (names; a pattern for the path; files or
directories; which process) and what happens to one: an errno instead of the call, or less data than asked. Which of
the matching calls it hits is decided by `nth`, counted from 1 for each process by itself, so that a count never
depends on how processes interleave; by 0 for every one; or by `decide`, which an explorer supplies to draw it.

A failed call has no effect on the machine, with two exceptions that Linux has as well: a flush that fails leaves
`FailedFlush` behind and is reported once to each open description (see `flushes`), and a disk that fills up (`Full`)
takes what still fits. The call is a step like any other: the process gives way before it, and the fault leaves a
`Note` for the time line.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from simfs.machine.errors import os_error
from simfs.machine.paths import path_text
from simfs.machine.system import SimSystem

READS = ("read", "pread", "readv", "preadv")
WRITES = ("write", "pwrite", "writev", "pwritev")
FLUSHES = ("fsync", "fdatasync", "syncfs")
LOSES_PAGES = (errno.EIO, errno.ENOSPC, errno.EDQUOT)
"""What a flush answers when something was to be written and was not; with any other errno it did not begin."""
_TWO_PATHS = frozenset({"rename", "replace", "renameat2", "link", "symlink"})


@dataclass(frozen=True, slots=True)
class Fault:
    """Which calls a rule matches. `path` is a shell pattern for the path as the call, or the earlier open, gave it."""

    calls: tuple[str, ...]
    nth: int = 1
    path: str = "*"
    kind: Literal["file", "dir"] | None = None
    """Only descriptors of files, or of directories; None for both, and for calls on paths."""
    process: str | None = None


@dataclass(frozen=True, slots=True)
class Errno(Fault):
    """The call fails with `code` and does nothing."""

    code: int = errno.EIO


@dataclass(frozen=True, slots=True)
class Short(Fault):
    """A read or write moves only `keep` bytes, if it was asked for more. `keep` is at least 1."""

    keep: int = 1


@dataclass(frozen=True, slots=True)
class Full(Fault):
    """The disk is full once the matching writes have put `after` bytes in all: a short write, then ENOSPC for ever."""

    after: int = 0


Decide = Callable[[Fault, str, int], bool]
"""(rule, call, how many matching calls this process has made, this one included) -> whether it is hit."""


def by_count(fault: Fault, call: str, count: int) -> bool:
    """The rule's own `nth` decides; 0 means every matching call."""
    return fault.nth in (0, count)


class FaultySystem:
    """A `SimSystem` some of whose calls fail. Calls that no rule names are the system's own methods, at full speed."""

    def __init__(self, system: SimSystem, faults: Sequence[Fault], decide: Decide = by_count) -> None:
        self.system = system
        self.machine = system.machine
        self.faults = tuple(faults)
        self.decide = decide
        self.counts: dict[tuple[int, int], int] = {}
        """(which rule, process index) -> matching calls so far."""
        self.room = {i: fault.after for i, fault in enumerate(self.faults) if isinstance(fault, Full)}

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.system, name)
        mine = [(i, fault) for i, fault in enumerate(self.faults) if name in fault.calls]
        if mine:
            call = self._guarded(name, call, mine)
        self.__dict__[name] = call
        return call

    def _guarded(self, name: str, call: Callable[..., Any], faults: list[tuple[int, Fault]]) -> Callable[..., Any]:
        def guarded(*args: Any, **keywords: Any) -> Any:
            filling = []
            for i, fault in faults:
                if not self._matches(fault, args):
                    continue
                if self._due(i, fault, name, args):
                    return self._strike(i, fault, name, call, args, keywords)
                if isinstance(fault, Full):
                    filling.append(i)
            answer = call(*args, **keywords)
            for i in filling:
                self.room[i] -= answer
            return answer

        guarded.__name__ = name
        return guarded

    def _matches(self, fault: Fault, args: tuple[Any, ...]) -> bool:
        process = self.machine.current
        if process is None or (fault.process is not None and fault.process != process.name):
            return False
        if not args:
            return fault.path == "*" and fault.kind is None
        if isinstance(args[0], int) or hasattr(args[0], "fileno"):
            number = args[0] if isinstance(args[0], int) else args[0].fileno()
            desc = process.fds.get(number)
            if desc is None:
                return False
            if fault.kind is not None and (fault.kind == "dir") != desc.is_dir:
                return False
            return fnmatchcase(desc.path, fault.path)
        return fault.kind is None and fnmatchcase(path_text(args[0]), fault.path)

    def _due(self, i: int, fault: Fault, name: str, args: tuple[Any, ...]) -> bool:
        if isinstance(fault, Full):
            return self._asked(name, args) > self.room[i]
        process = self.machine.current
        assert process is not None
        count = self.counts[i, process.index] = self.counts.get((i, process.index), 0) + 1
        return self.decide(fault, name, count)

    def _asked(self, name: str, args: tuple[Any, ...]) -> int:
        """How many bytes a read or write was asked to move."""
        what = args[1]
        if isinstance(what, int):
            return what
        return (
            sum(len(memoryview(b).cast("B")) for b in what) if name.endswith("v") else len(memoryview(what).cast("B"))
        )

    def _strike(
        self, i: int, fault: Fault, name: str, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        m = self.machine
        if isinstance(fault, Errno):
            p = self.system.enter(name)
            m.note(p, f"fault: {name} fails with {errno.errorcode.get(fault.code, fault.code)}")
            if name in FLUSHES and fault.code in LOSES_PAGES:
                self.system.fail_flush(p, args[0], fault.code)
            raise os_error(fault.code, *self._blame(name, args))
        keep = self.room[i] if isinstance(fault, Full) else fault.keep if isinstance(fault, Short) else 0
        if keep == 0:
            p = self.system.enter(name)
            m.note(p, f"fault: {name} fails with ENOSPC")
            raise os_error(errno.ENOSPC)
        m.note(m.current, f"fault: {name} moves {keep} bytes at most")
        moved = call(*self._shortened(name, args, keep), **keywords)
        if isinstance(fault, Full):
            self.room[i] -= moved
        return moved

    def _blame(self, name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if not args or isinstance(args[0], int) or hasattr(args[0], "fileno"):
            return ()
        return (args[0], None, args[1]) if name in _TWO_PATHS else (args[0],)

    def _shortened(self, name: str, args: tuple[Any, ...], keep: int) -> tuple[Any, ...]:
        what = args[1]
        if isinstance(what, int):
            return (args[0], min(what, keep), *args[2:])
        if not name.endswith("v"):
            return (args[0], bytes(memoryview(what).cast("B")[:keep]), *args[2:])
        pieces = []
        for buffer in what:
            piece = memoryview(buffer).cast("B")[:keep]
            keep -= len(piece)
            pieces.append(piece)
        return (args[0], pieces, *args[2:])
