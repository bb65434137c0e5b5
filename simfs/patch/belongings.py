"""What one simulated process owns inside Python and not in the kernel: its random stream and what is drawn from it.

Two processes of one interpreter share `random`'s hidden generator, `tempfile`'s name sequence and `uuid`'s memory of
the last timestamp; a draw of one would show in the other. So each process gets its own, seeded by the number of its
stream, which is a function of boot and position: the same process draws the same numbers in every run, whoever ran
before it.

The stream is not the kernel's random source: `random.seed(1)` in a program must not make its `os.urandom`
predictable.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from simfs.machine.process import Process
from simfs.patch.inside import current_process

_KEPT_MAX = 64
_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"


class Belongings:
    """Of one process. Made when first asked for."""

    __slots__ = ("names", "node", "random")

    def __init__(self, process: Process) -> None:
        self.random = random.Random(0x51F5 + process.stream)
        self.names = temporary_names(random.Random(0x7E3D + process.stream))
        self.node = random.Random(0xA0DE + process.stream).getrandbits(48) | 1 << 40
        """For uuid1: a random node id, marked as one by the multicast bit."""


_belongings: dict[Process, Belongings] = {}


def belongings() -> Belongings:
    """Those of the process that runs now."""
    process = current_process()
    mine = _belongings.get(process)
    if mine is None:
        if len(_belongings) >= _KEPT_MAX:
            _forget_the_dead()
        mine = _belongings[process] = Belongings(process)
    return mine


def forget_belongings() -> None:
    """When an exploration ends."""
    _belongings.clear()


def temporary_names(stream: random.Random) -> Iterator[str]:
    """Names as `tempfile` makes them: eight characters."""
    while True:
        yield "".join(stream.choices(_CHARACTERS, k=8))


def _forget_the_dead() -> None:
    for process in [p for p in _belongings if p.dead]:
        del _belongings[process]
