"""The op journal of one boot: every op, in order, append-only.

The machine appends; the disk models, the time line and the laws read. `append` stamps the op with its position, its
process, the call site and the wall clock. `record_sites` may be switched off where nobody will look (recovery runs
that only decide a verdict are run again, with sites, when something is to be shown).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

from simfs.machine.ops import Ack, Effect, Op
from simfs.machine.site import call_site

OpT = TypeVar("OpT", bound=Op)


class OpJournal(Sequence[Op]):
    """Append-only list of ops. `op.index` is its position."""

    __slots__ = ("ops", "record_sites")

    def __init__(self, record_sites: bool = True) -> None:
        self.ops: list[Op] = []
        self.record_sites = record_sites

    def append(self, op: OpT, process: int, time_ns: int) -> OpT:
        """Stamp and keep `op`."""
        op.index = len(self.ops)
        op.process = process
        op.time_ns = time_ns
        if self.record_sites:
            op.site = call_site(2)
        self.ops.append(op)
        return op

    @overload
    def __getitem__(self, index: int) -> Op: ...
    @overload
    def __getitem__(self, index: slice) -> list[Op]: ...
    def __getitem__(self, index: int | slice) -> Op | list[Op]:
        return self.ops[index]

    def __len__(self) -> int:
        return len(self.ops)

    def __iter__(self) -> Iterator[Op]:
        return iter(self.ops)

    def promises(self, upto: int | None = None) -> list[Ack]:
        """Promises made among the first `upto` ops (all by default), in order."""
        return [op for op in self.ops[:upto] if isinstance(op, Ack)]

    def effects(self, upto: int | None = None) -> list[Effect]:
        """Effects among the first `upto` ops (all by default), in order."""
        return [op for op in self.ops[:upto] if isinstance(op, Effect)]
