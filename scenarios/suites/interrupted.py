"""A system that is interrupted: something happens before, instead of or in the middle of one of its calls.

What happens is the scenario's to say (`strike`); here calls are counted, and a process that died stays dead: its
descriptors are closed, and each call that its unwinding code still tries meets `Died`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__simfs_machinery__ = True

CHANGING = ("mkdir", "open", "pwrite", "ftruncate", "fsync", "flock")
"""The calls of the storage at which something may happen."""


class Died(BaseException):
    """The death of a process in the middle of its scenario; no `except Exception` stops it."""


@dataclass(frozen=True, slots=True)
class Spot:
    """One call of the counted-out run: its number among the changing calls, its name, and how many bytes it writes."""

    number: int
    call: str
    size: int = 0
    directory: bool = False
    """Whether it is called on a directory."""


Strike = Callable[["Interrupted", int, str, tuple[Any, ...]], Any]
"""(system, number of the changing call, its name, its arguments) -> None to let it happen, or the answer instead."""


class Interrupted:
    """A system that asks `strike` before each changing call. Once dead, each further call meets `Died`."""

    def __init__(self, system: Any, strike: Strike) -> None:
        self.system = system
        self.strike = strike
        self.count = 0
        self.dead = False
        self.descriptors: set[int] = set()

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.system, name)

        def guarded(*arguments: Any, **keywords: Any) -> Any:
            if self.dead:
                raise Died
            if name in CHANGING:
                self.count += 1
                instead = self.strike(self, self.count, name, arguments)
                if instead is not None:
                    return instead
            answer = call(*arguments, **keywords)
            if name == "open":
                self.descriptors.add(answer)
            elif name == "close":
                self.descriptors.discard(arguments[0])
            return answer

        return guarded

    def die(self) -> None:
        """The process is gone: its descriptors are closed and its lock with them; what was written stays readable."""
        self.note("kill: the process is gone")
        self.dead = True
        for fd in sorted(self.descriptors):
            self.system.close(fd)
        raise Died

    def note(self, text: str) -> None:
        """A line for the time line."""
        machine = self.system.machine
        machine.note(machine.current, text)
