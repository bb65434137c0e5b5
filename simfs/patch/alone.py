"""A block of code as one simulated process: for tests, for looking around on a machine, for small tools.

    with interposed(), process_of(machine):
        open("/x", "w").close()             # on the machine

The explorer runs processes in its own way; what it shares with this is `end_of_process`, without which a file object
that outlives its process would lose what it had buffered.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from simfs.machine import running
from simfs.machine.machine import Machine
from simfs.machine.process import Process
from simfs.patch.belongings import end_of_process


@contextmanager
def process_of(machine: Machine, name: str = "main") -> Iterator[Process]:
    """The block is the code of a new process of `machine`, which runs alone and exits when the block ends."""
    outer, before, process = running.active, machine.current, machine.spawn(name)
    running.active, machine.current = machine, process
    try:
        yield process
    finally:
        running.active, machine.current = machine, process
        if not process.dead:
            end_of_process()
            machine.exit(process)
        running.active, machine.current = outer, before
