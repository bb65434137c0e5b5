"""Families of the suite `storage`: one scenario for each place where something may happen to a writer.

A family is counted out, not guessed: a writer runs once with nothing happening, and each of its calls that changes
something, flushes or locks makes members of the family. So a call that is added to the store makes new members.

| family | what happens at the call |
|---|---|
| `storage_killed` | the process dies before it, or in the middle of a write; another opens what it left and commits |
| `storage_failed` | the call fails, or a write is short and then fails; the process opens again and commits |

In both, what the later open returned is a promise, and then the power goes.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any

import simfs
from eukhe.errors import StorageError
from scenarios.laws import log
from scenarios.suites.interrupted import Died, Interrupted, Spot
from scenarios.suites.storage import StorageScenario, Wrap, as_it_is
from simfs.machine.machine import Machine


class StorageStruck(StorageScenario):
    """What both families share: a writer to whom something happens, and who or whatever opens the storage next."""

    def __init__(self, spot: Spot, kept: int, wrap: Wrap = as_it_is) -> None:
        super().__init__(wrap)
        self.spot = spot
        self.kept = kept
        self.machine_system: Any = None

    def strike(self, system: Interrupted, count: int, call: str, arguments: tuple[Any, ...]) -> Any:
        """What happens before the changing call number `count`."""
        raise NotImplementedError

    def first_writer(self, m: simfs.Handle) -> None:
        """Three commits, until it strikes."""
        plain, self.machine_system = self.wrap, m.system
        self.wrap = lambda system, process: Interrupted(plain(system, process), self.strike)
        try:
            self.write_three(m)
        finally:
            self.wrap = plain

    def next_writer(self, m: simfs.Handle) -> None:
        """Open, promise what the open returned, and make one more commit."""
        with self.open(m) as storage:
            if storage.last_commit:
                m.ack("open returned", storage.last_commit)
            self.commit(m, storage, storage.last_commit + 1)

    @simfs.recover(log.LOG_OPENS_AFTER_CRASH)
    def recovery(self, m: simfs.Handle) -> None:
        self.reopen(m)


class StorageKilled(StorageStruck):
    """A writer is killed; another process opens the storage that it left, and commits; then the power goes."""

    def __init__(self, spot: Spot, kept: int, wrap: Wrap = as_it_is) -> None:
        super().__init__(spot, kept, wrap)
        self.name = f"storage_killed[{spot.number}{f'.{kept}' if kept else ''}]"

    def strike(self, system: Interrupted, count: int, call: str, arguments: tuple[Any, ...]) -> Any:
        if count == self.spot.number:
            if self.kept:
                fd, data, offset = arguments
                system.system.pwrite(fd, data[: self.kept], offset)
            system.die()

    @simfs.process
    def writers(self, m: simfs.Handle) -> None:
        try:
            self.first_writer(m)
        except Died:
            pass
        self.next_writer(m)


class StorageFailed(StorageStruck):
    """A call of a writer fails; the writer is told, opens the storage again and goes on; then the power goes."""

    def __init__(self, spot: Spot, kept: int, code: int, wrap: Wrap = as_it_is) -> None:
        super().__init__(spot, kept, wrap)
        self.code = code
        self.name = f"storage_failed[{spot.number}{f'.{kept}' if kept else ''}]"

    def strike(self, system: Interrupted, count: int, call: str, arguments: tuple[Any, ...]) -> Any:
        if count == self.spot.number and self.kept:
            fd, data, offset = arguments
            return system.system.pwrite(fd, data[: self.kept], offset)
        if count == self.spot.number + bool(self.kept):
            system.note(f"fault: {call} fails with {errno.errorcode[self.code]}")
            if call == "fsync":
                machine = self.machine_system.machine
                machine.system.fail_flush(machine.current, arguments[0], self.code)
            raise OSError(self.code, errno.errorcode[self.code])
        return None

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        try:
            self.first_writer(m)
        except StorageError:
            pass
        else:
            m.effect("nobody was told")
        self.next_writer(m)

    @simfs.law(log.LOG_FAILED_FLUSH_NEVER_ACKED)
    def a_failure_is_told(self, m: simfs.Handle) -> None:
        assert m.effects("nobody was told") == 0, "a call failed, and three commits were acknowledged all the same"
        self.acknowledged_commits_are_there(m)


def spots() -> list[Spot]:
    """Every changing call of a writer that nothing happens to."""
    machine = Machine(record_sites=False)
    handle = simfs.Handle(machine, machine.spawn("counted out"), ())
    found: list[Spot] = []

    def note(system: Interrupted, count: int, call: str, arguments: tuple[Any, ...]) -> None:
        size = len(arguments[1]) if call == "pwrite" else 0
        directory = call == "fsync" and machine.processes[0].fds[arguments[0]].is_dir
        found.append(Spot(count, call, size, directory))

    scenario = StorageScenario()
    scenario.setup(handle)
    scenario.wrap = lambda system, process: Interrupted(system, note)
    scenario.write_three(handle)
    return found


def killed(wrap: Wrap = as_it_is) -> Iterator[StorageKilled]:
    """A member before each changing call; in a write also after its first byte, at its half and before its last."""
    for spot in spots():
        for kept in sorted({0, *((1, spot.size // 2, spot.size - 1) if spot.size else ())}):
            yield StorageKilled(spot, kept, wrap)


def failed(wrap: Wrap = as_it_is) -> Iterator[StorageFailed]:
    """A member for each changing call that can fail; for a write one more, which fails after half its bytes.

    Left out: a failed flush of a directory. The next open flushes the directory again and trusts it, while an entry
    that was pending at a failed flush is not covered by a later one. Nothing short of making the entry anew is safe.
    """
    for spot in spots():
        if spot.call == "flock" or spot.directory:
            continue
        code = errno.ENOSPC if spot.call in ("pwrite", "mkdir") else errno.EIO
        yield StorageFailed(spot, 0, code, wrap)
        if spot.size:
            yield StorageFailed(spot, spot.size // 2, code, wrap)
