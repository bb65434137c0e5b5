"""Steps: what the scheduler, the policies and the happens-before order speak about.

A step is one visible call of a process with all code up to its next one, or a move of the clock. Its footprint says
which resources it touched, and how: "R" reads, "W" writes, "C" adds in a way that commutes with other "C"s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

CLOCK = -1
"""Who makes the steps of the clock."""
JUMP = -2
"""Who makes the wall clock jump."""
QUIET = frozenset(
    {"read", "pread", "readv", "preadv", "stat", "lstat", "fstat", "access", "listdir", "scandir", "readlink"}
    | {"getcwd", "time", "monotonic", "is_alive", "process_identity", "statvfs", "getxattr", "listxattr", "lseek"}
    | {"chdir", "open existing"}
)
"""Calls before which a kill would leave the same world as before the next one: nobody could have noticed them."""

Footprint = Mapping[tuple[Any, ...], str]


@dataclass(slots=True, eq=False)
class Step:
    """One step: who, what it touched, which ops it appended (`ops_from` to `ops_to`), whether it had been waiting."""

    who: int
    footprint: Footprint
    ops_from: int
    ops_to: int
    waited: bool
    call: int = -1
    """Which noticeable call of its process it is, counting from 0; -1 for one that nobody could notice."""
    parent: int = CLOCK
    """Who must have ended for this process to exist: the life that a restart follows. CLOCK for none."""


@runtime_checkable
class Policy(Protocol):
    """Who goes on. `choose` is offered at least one; `stepped` is told each step."""

    def choose(self, enabled: Sequence[int]) -> int: ...

    def stepped(self, step: Step) -> None: ...


class Blocked(BaseException):
    """Raised by a policy to end a run early: every way on has been explored elsewhere."""


def compact(footprint: Sequence[tuple[tuple[Any, ...], str]]) -> dict[tuple[Any, ...], str]:
    """The strongest mode for each resource; reading and adding to the same one is as strong as writing it."""
    out: dict[tuple[Any, ...], str] = {}
    for resource, mode in footprint:
        known = out.get(resource)
        out[resource] = mode if known is None or known == mode else "W"
    return out
