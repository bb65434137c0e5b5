"""Programs: scenarios whose processes are drawn, for `simfs fuzz` and the pytest fixture `simfs_fuzz`.

Model. A program says what a process may do, one operation a method, and which laws hold whatever was done. How many
processes there are, which operations each does and in what order, how often the machine boots again, and what goes
wrong on the way is drawn. There is no end to that, so a program is sampled and never proved: `explore` and `check`
refuse it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from simfs.errors import UsageError
from simfs.explore.scenario import Scenario

PREFIX = "op_"
WAYS = 8
"""An operation is given a number below this."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
"""The process at place 0 of boot 1 is called p1a, the next one p1b."""


class Program(Scenario):
    """A scenario whose processes are drawn: lists of operations, over several boots, with all that goes wrong.

        class Saves(simfs.Program):
            def op_save(self, m, n):        # n: a number from 0 to 7, drawn anew for each operation
                save("/settings", {"size": n})
                m.ack("saved", n)

            @simfs.law
            def what_was_saved_is_there(self, m): ...

    An operation is a method `op_NAME(self, m, n)`; `m.process` is who does it. Attributes that it sets on `self` live
    as long as the process. `setup`, `recover` and laws are those of any scenario, and so are the options `disk`,
    `faults`, `clock_jumps`, `reuse_inodes`, `interpose` and `isolate`; `kills`, `max_faults` and `power_depth` bound
    what is drawn for one boot. Fuzz it with `simfs fuzz FILE.py:CLASS` or the pytest fixture `simfs_fuzz`.
    """

    operations: ClassVar[tuple[str, ...]] = ()
    """Names of the operations, the plainest first; all methods `op_NAME` in the order written when empty."""
    length_max: ClassVar[int] = 4
    """Operations of one process at most."""
    processes_max: ClassVar[int] = 3
    """Processes of one boot at most, not above 26."""
    raises: ClassVar[tuple[type[BaseException], ...]] = ()
    """Errors that may end a process."""
    kills: int = 2
    max_faults: int = 2
    power_depth: int = 4


def operations_of(program: Any) -> tuple[str, ...]:
    """The names of a program's operations. Raises UsageError where there is none, or one that cannot be called."""
    kind = program if isinstance(program, type) else type(program)
    written = dict.fromkeys(
        name.removeprefix(PREFIX) for above in reversed(kind.__mro__) for name in vars(above) if name.startswith(PREFIX)
    )
    names: tuple[str, ...] = tuple(program.operations) or tuple(written)
    if not names:
        raise UsageError(f"program {kind.__name__} has no operation: write a method op_NAME(self, m, n)")
    for name in names:
        _check(kind, name, getattr(kind, PREFIX + name, None))
    if not (1 <= program.processes_max <= len(LETTERS) and program.length_max >= 1):
        raise UsageError(
            f"program {kind.__name__}: processes_max is 1 to {len(LETTERS)} and length_max at least 1, not"
            f" {program.processes_max} and {program.length_max}"
        )
    return names


def _check(kind: type, name: str, function: Callable[..., Any] | None) -> None:
    if not callable(function):
        raise UsageError(f"program {kind.__name__} has no method {PREFIX}{name}, which its `operations` names")
    try:
        inspect.signature(function).bind(None, None, 0)
    except TypeError:
        raise UsageError(
            f"program {kind.__name__}: {PREFIX}{name}{inspect.signature(function)} must take (self, m, n)"
        ) from None
