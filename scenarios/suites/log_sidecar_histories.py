"""Generated histories of commits with sidecars: opens, kills, power losses, and calls that fail.

As `storage_histories`, with two conversations whose bodies go to sidecars from 16 bytes on, one entry or two in a
commit, and now and then a call that fails once: a flush of a file, a write, a cut. A writer that is told of a failure
ends; the next one opens what it left.

Left out is a failing flush of a directory: where the process dies before it could take the entries back, no later
flush covers them, and no rule of the store can know. Bodies stay below a block, because a failed flush may keep one
block of a long line and lose another.
"""

from __future__ import annotations

import errno

from eukhe.errors import StorageFailed
from eukhe.storage import Storage
from scenarios.histories import Broken, Histories
from scenarios.suites import log_model
from scenarios.suites.log_model import Changes
from scenarios.suites.log_sidecars import SIDECARS_CLAIMED
from scenarios.suites.storage import HOME, PATH, Wrap, as_it_is
from scenarios.suites.storage_histories import CALLS_MAX, Expected, StorageHistory, inside
from scenarios.suites.storage_histories import histories as plain_histories
from simfs.disk.model import DiskModel
from simfs.explore.choices import Choices
from simfs.machine.faults import Errno, Fault, FaultySystem, Short
from simfs.machine.inode import Image
from simfs.machine.process import Process

SIZES = (1, 12, 60, 700, 3000)
"""Bytes of text in a body: drawn up to one of these; about half of them go to a sidecar."""
INLINE_BYTES = 16


def faults(nth: int) -> tuple[Fault, ...]:
    """What may go wrong, in the order in which it is drawn: the `nth` such call of a process fails."""
    return (
        Errno(("fsync",), nth, kind="file", code=errno.EIO),
        Errno(("pwrite",), nth, code=errno.ENOSPC),
        Short(("pwrite",), nth, keep=3),
        Errno(("ftruncate",), nth, code=errno.EIO),
    )


class SidecarHistory(StorageHistory):
    """One history with sidecars on one disk model. `failures` counts what the writers were told."""

    def __init__(self, model: DiskModel, choices: Choices, wrap: Wrap = as_it_is) -> None:
        self.failures = 0
        self.tries: list[tuple[int, list[Changes]]] = []
        """(position in the op journal of this boot, what somebody began to commit there)."""
        super().__init__(model, choices, self.failing)
        self.plain = wrap
        self.fault: Fault | None = None

    def failing(self, system: object, process: str) -> object:
        """The system that the store is given: a mutant's, over one of whose calls one may fail."""
        faulty = system if self.fault is None else FaultySystem(self.machine.system, [self.fault])
        return self.plain(faulty, process)

    def writer(self) -> None:
        """As it is, but one call may fail; whoever is told stops there."""
        self.fault = None
        if not self.choices.draw(3, "a call fails"):
            nth = 1 + self.choices.draw(CALLS_MAX // 4, "which")
            fault = faults(nth)[self.choices.draw(4, "what fails")]
            self.fault = fault
            self.story.append(f"  call {nth} of {', '.join(fault.calls)} will fail: {type(fault).__name__}")
        try:
            super().writer()
        except StorageFailed as failed:
            self.told(failed)
        except Broken as broken:
            if self.fault is None or not isinstance(broken.__cause__, StorageFailed):
                raise
            self.told(broken.__cause__)
        self.fault = None

    def told(self, failed: StorageFailed) -> None:
        """The writer ends; its locks and descriptors go with it."""
        self.failures += 1
        self.story.append(f"  told: {failed.step}")
        self.machine.gate = None
        self.machine.kill(self.machine.processes[-1])

    def storage(self) -> Storage:
        system = self.wrap(self.machine.system, "writer")
        return Storage.open(PATH, system=system, home=HOME, inline_bytes=INLINE_BYTES)

    def lines(self, raw: bytes) -> list[Changes]:
        """The model's commits, with the bodies out of the sidecars."""
        held = {path: bytes(node.data) for path, node in self.machine.freeze().walk() if path.startswith(f"{PATH}/")}
        sidecars = {path.rpartition("/")[2]: data for path, data in held.items()}
        return log_model.with_bodies(log_model.lines_of(raw), sidecars)

    def boot(self, image: Image) -> None:
        super().boot(image)
        self.tries = [(0, list(self.expected.tried))]

    def expected_at(self, point: int) -> Expected:
        """A commit that failed was tried all the same, as long as no later open has found it gone."""
        tried: list[Changes] = []
        promised, since = self.durable, 0
        for position, commits in self.acked:
            if position <= point:
                promised, since = commits, position
        for position, changes in self.tries:
            if since <= position <= point:
                tried = changes
        return Expected(promised, tried)

    def commit(self, process: Process, storage: Storage) -> None:
        """One or two entries of drawn sizes, in drawn conversations."""
        changes: Changes = []
        for _ in range(1 + self.choices.draw(2, "a second entry")):
            most = SIZES[self.choices.draw(len(SIZES), "size of the body")]
            size = most - self.choices.draw(min(most, 8), "less")
            talk = 1 + self.choices.draw(2, "conversation")
            self.number += 1
            changes += log_model.entry(self.number, "é" * (size // 2) + "." * (size % 2), talk)
            self.story.append(f"  entry of {size} bytes in conversation {talk}")
        self.expected.tried = [changes]
        self.tries.append((len(self.machine.journal), [changes]))
        with inside(self.machine, process):
            storage.commit(changes)
            self.promise([*self.expected.promised, changes])


def histories(wrap: Wrap = as_it_is) -> Histories:
    """The entry of the catalogue; `wrap` is what a mutant puts between the machine and the store."""
    return Histories(
        name="sidecars_histories",
        statement="Generated histories with sidecars: opens, commits, kills, power losses and calls that fail.",
        make=lambda model, choices: SidecarHistory(model, choices, wrap),
        laws_judged=plain_histories().laws_judged,
        disk=SIDECARS_CLAIMED,
    )
