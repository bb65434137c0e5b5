"""Who runs in each boot of a drawn history.

| kind | its boots |
|---|---|
| `ProgramLives` | up to `BOOTS_MAX` further ones; in each, drawn processes with drawn operations |
| `ScenarioLives` | the scenario's own processes; then, after a power loss, those that restart, as often as they do |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import simfs
from simfs.explore.program import LETTERS, PREFIX, WAYS, operations_of
from simfs.explore.spec import Part, Spec
from simfs.explore.stage import Before

BOOTS_MAX = 3
Draw = Callable[[int, str], int]


class Lives(Protocol):
    """The boots of one history."""

    renews: bool
    """Whether each boot may lose power as often as `power_depth` says; else that is for the whole history."""

    def boots(self, draw: Draw) -> int:
        """How many there are at most."""
        ...

    def parts(self, draw: Draw, before: Before, ran: Sequence[Part]) -> list[Part]:
        """The processes of the boot that begins here, after a boot with those that `ran`; none: the history ends."""
        ...


@dataclass(slots=True)
class ProgramLives:
    """Drawn processes."""

    program: Any
    names: tuple[str, ...]
    renews: bool = True

    def boots(self, draw: Draw) -> int:
        """A first one, and some more."""
        return 1 + draw(BOOTS_MAX, "further boots")

    def parts(self, draw: Draw, before: Before, ran: Sequence[Part]) -> list[Part]:
        """Each with operations of its own."""
        return [
            self._process(draw, before.boot, place) for place in range(1 + draw(self.program.processes_max, "more"))
        ]

    def _process(self, draw: Draw, boot: int, place: int) -> Part:
        ops = [
            (self.names[draw(len(self.names), "operation")], draw(WAYS, "which"))
            for _ in range(1 + draw(self.program.length_max, "further operations"))
        ]
        methods = tuple((PREFIX + name, (which,)) for name, which in ops)

        def call(program: Any, m: simfs.Handle) -> None:
            for name, given in methods:
                getattr(program, name)(m, *given)

        call.__doc__ = ", ".join(f"{name} {which}" for name, which in ops)
        return Part(f"p{boot}{LETTERS[place]}", call, 0, self.program.raises, methods)


@dataclass(slots=True)
class ScenarioLives:
    """The processes that the scenario has."""

    spec: Spec
    renews: bool = False

    def boots(self, draw: Draw) -> int:
        """As many as a process lives through, and one."""
        return 1 + max(part.restart for part in self.spec.processes)

    def parts(self, draw: Draw, before: Before, ran: Sequence[Part]) -> list[Part]:
        """All of them first; later those that restart once more."""
        if before.boot == 1:
            return list(self.spec.processes)
        return [part for part in ran if part.restart >= before.boot - 1]


def lives_of(spec: Spec) -> Lives:
    """Those of a program, or of any other scenario."""
    instance = spec.make()
    if isinstance(instance, simfs.Program):
        return ProgramLives(instance, operations_of(instance))
    return ScenarioLives(spec)
