"""The plan of a run: what will go wrong in it besides power, decided before it starts.

Kills are counted by the process's own calls, so that a plan means the same in every schedule. As text, for tokens:
`k0.3` the process at place 0 dies instead of its noticeable call number 3; `k0.3.4096` in the middle of that call, a
write, after 4,096 bytes; `j1` the scenario's clock jump number 1 happens; `f0.1.2` its fault number 0 strikes the
matching call number 2 of the process at place 1; `i`: new inodes get the numbers of freed ones. Parts are joined
by "+". Everything counts from 0."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from simfs.errors import BadToken


class Kill(NamedTuple):
    """The process at `place` dies instead of its `call`-th noticeable call; with `kept_bytes` in the middle of that
    call, a write, after so many bytes."""

    place: int
    call: int
    kept_bytes: int = 0


class Strike(NamedTuple):
    """Fault number `fault` of the scenario strikes the matching call number `match` of the process at `place`."""

    fault: int
    place: int
    match: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Kills, faults, the clock jump (its number, or None) of one run, and whether numbers of inodes are reused."""

    kills: tuple[Kill, ...] = ()
    strikes: tuple[Strike, ...] = ()
    jump: int | None = None
    reuse: bool = False

    def __str__(self) -> str:
        parts = [f"k{k.place}.{k.call}" + (f".{k.kept_bytes}" if k.kept_bytes else "") for k in self.kills]
        parts += [f"f{s.fault}.{s.place}.{s.match}" for s in self.strikes]
        if self.jump is not None:
            parts.append(f"j{self.jump}")
        if self.reuse:
            parts.append("i")
        return "+".join(parts)

    @staticmethod
    def parse(text: str) -> Plan:
        """The plan that `str` made. Raises BadToken."""
        kills: list[Kill] = []
        strikes: list[Strike] = []
        jump = None
        reuse = False
        for part in filter(None, text.split("+")):
            match = re.match(r"^([kfj])(\d+(?:\.\d+)*)$", part)
            numbers = tuple(map(int, match[2].split("."))) if match else ()
            if match and match[1] == "k" and len(numbers) in (2, 3):
                kills.append(Kill(*numbers))
            elif match and match[1] == "f" and len(numbers) == 3:
                strikes.append(Strike(*numbers))
            elif match and match[1] == "j" and len(numbers) == 1:
                jump = numbers[0]
            elif part == "i":
                reuse = True
            else:
                raise BadToken(f"broken token: {part!r} is no kill (k0.3), fault (f0.1.2), jump (j0) or reuse (i)")
        return Plan(tuple(kills), tuple(strikes), jump, reuse)


NOTHING = Plan()
"""Nothing goes wrong."""
