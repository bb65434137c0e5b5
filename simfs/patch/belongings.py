"""What one simulated process owns inside Python and not in the kernel: its random streams and its open file objects.

Two processes of one interpreter share `random`'s hidden generator, `tempfile`'s name sequence and `uuid`'s memory of
the last timestamp; a draw of one would show in the other. So each process gets its own, seeded by the number of its
stream, which is a function of boot and position: the same process draws the same numbers in every run, whoever ran
before it. The streams are not the kernel's random source: `random.seed(1)` in a program must not make its
`os.urandom` predictable.

File objects: when a Python process ends by itself, the interpreter flushes those that are still open. A simulated one
ends and the interpreter goes on, so `end_of_process` does it. A killed process gets no such chance.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cached_property
from typing import Any
from weakref import ref

from simfs.machine.process import Process
from simfs.patch.inside import current_process

_KEPT_MAX = 64
_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"


class Belongings:
    """Of one process. Each part is made when first asked for."""

    def __init__(self, process: Process) -> None:
        self._stream = process.stream
        self.files: list[ref[Any]] = []
        """File objects opened for writing, oldest first; some may be gone."""

    @cached_property
    def random(self) -> random.Random:
        """What the functions of `random` draw from."""
        return random.Random(0x51F5 + self._stream)

    @cached_property
    def names(self) -> Iterator[str]:
        """What `tempfile` calls its files: eight characters."""
        stream = random.Random(0x7E3D + self._stream)
        return iter(lambda: "".join(stream.choices(_CHARACTERS, k=8)), None)

    @cached_property
    def node(self) -> int:
        """For uuid1: a random node id, marked as one by the multicast bit."""
        return random.Random(0xA0DE + self._stream).getrandbits(48) | 1 << 40

    def keep(self, file: Any) -> None:
        """Remember a file object that the end of the process must flush."""
        if len(self.files) >= _KEPT_MAX:
            self.files = [kept for kept in self.files if kept() is not None]
        self.files.append(ref(file))


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


def end_of_process() -> None:
    """To be called as the process, once its code has returned: what Python does when it exits by itself."""
    mine = _belongings.pop(current_process(), None)
    if mine is None:
        return
    for kept in mine.files:
        file = kept()
        if file is not None and not file.closed:
            try:
                file.flush()
            except (OSError, ValueError):
                pass  # Python, too, only complains on stderr.


def forget_belongings() -> None:
    """When an exploration ends."""
    _belongings.clear()


def _forget_the_dead() -> None:
    for process in [p for p in _belongings if p.dead]:
        del _belongings[process]
