"""Small programs of a few calls, and ways to run all their schedules: shared by the tests of the interleaving search.

A program is a list of processes, a process a list of calls, a call a tuple: its name and arguments. `results` of a run
are what each call answered (or its errno), by process; an outcome is the results together with the tree left.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Sequence
from typing import Any

import simfs
from simfs.disk.models import models_named
from simfs.explore.boot import cut_off
from simfs.explore.explorer import stage_set
from simfs.explore.group import for_model
from simfs.explore.ready import prepare
from simfs.explore.search import Search
from simfs.explore.spec import Spec, spec_of
from simfs.explore.strategy import Runs

Call = tuple[Any, ...]
Program = Sequence[Sequence[Call]]


def do(m: Any, fds: dict[str, int], call: Call) -> object:
    """Make one call; answer what it answered, or the name of its errno."""
    s, (name, *args) = m.system, call
    try:
        if name == "open":
            fds[args[0]] = s.open(f"/d/{args[0]}", os.O_RDWR | os.O_CREAT)
            return None
        if name == "excl":
            fds[args[0]] = s.open(f"/d/{args[0]}", os.O_RDWR | os.O_CREAT | os.O_EXCL)
            return None
        if name == "opendir":
            fds["dir"] = s.open("/d", os.O_RDONLY)
            return None
        if name == "write":
            return s.pwrite(fds[args[0]], args[1], 0)
        if name == "append":
            return s.pwrite(fds[args[0]], args[1], s.fstat(fds[args[0]]).st_size)
        if name == "read":
            return s.pread(fds[args[0]], 8, 0)
        if name == "add":
            value = int(s.pread(fds[args[0]], 8, 0) or b"0")
            return s.pwrite(fds[args[0]], b"%d" % (value + 1), 0)
        if name == "fsync":
            return s.fsync(fds[args[0]])
        if name == "close":
            return s.close(fds.pop(args[0]))
        if name == "list":
            return sorted(s.listdir("/d"))
        if name == "stat":
            return s.stat(f"/d/{args[0]}").st_size
        if name == "exists":
            return s.stat(f"/d/{args[0]}") is not None
        if name in ("rename", "link"):
            return getattr(s, name)(f"/d/{args[0]}", f"/d/{args[1]}")
        if name in ("unlink", "mkdir", "rmdir"):
            return getattr(s, name)(f"/d/{args[0]}")
        if name == "truncate":
            return s.truncate(f"/d/{args[0]}", args[1])
        if name == "lock":
            return s.flock(fds[args[0]], fcntl.LOCK_EX)
        if name == "share":
            return s.flock(fds[args[0]], fcntl.LOCK_SH)
        if name == "trylock":
            return s.flock(fds[args[0]], fcntl.LOCK_EX | fcntl.LOCK_NB)
        if name == "unlock":
            return s.flock(fds[args[0]], fcntl.LOCK_UN)
        if name == "sleep":
            return s.sleep(args[0])
        if name == "clock":
            return s.monotonic_ns()
        if name == "ack":
            return m.ack(args[0])
    except OSError as error:
        return errno.errorcode[error.errno]
    raise AssertionError(f"no such call: {call}")


def scenario_of(program: Program, **options: Any) -> tuple[type[simfs.Scenario], list[list[object]]]:
    """The program as a scenario without laws, and where a run leaves its results."""
    results: list[list[object]] = [[] for _ in program]

    def setup(m: Any) -> None:
        m.system.mkdir("/d")
        for name in ("a", "b"):
            fd = m.system.open(f"/d/{name}", os.O_RDWR | os.O_CREAT)
            m.system.write(fd, b"0")

    def process(place: int, calls: Sequence[Call]) -> Any:
        def run(m: Any) -> None:
            results[place] = mine = []
            fds: dict[str, int] = {}
            for call in calls:
                mine.append(do(m, fds, call))

        return run

    processes = [process(place, calls) for place, calls in enumerate(program)]
    made = simfs.scenario(setup=setup, processes=processes, law=lambda: None, interpose=False, **options)
    return made, results


def outcomes(program: Program, strategy: str, **options: Any) -> tuple[set[str], int]:
    """Every outcome of the program under a strategy, and how many runs that took."""
    made, results = scenario_of(program, strategy=strategy, **options)
    spec = spec_of(made)
    found: set[str] = set()
    count = 0
    with stage_set(spec):
        ready = prepare(spec)
        for run, _ in Runs(spec, spec.processes, ready.attributes, ready.base):
            assert not cut_off(run)
            count += 1
            dead = sorted(p.name for p in run.machine.processes if p.dead and not p.exited)
            end = type(run.stuck).__name__
            found.add(repr((results, sorted(run.machine.freeze().tree().items()), dead, end)))
    return found, count


def images(program: Program, strategy: str, disk: str, **options: Any) -> set[tuple[int, tuple[str, ...]]]:
    """Every (digest of a crash image, promises made by then) over all runs of a strategy."""
    made, _ = scenario_of(program, strategy=strategy, disk=disk, lazy=False, **options)
    spec: Spec = spec_of(made)
    (model,) = models_named(disk)
    spec = for_model(spec, model)
    with stage_set(spec):
        ready = prepare(spec)
        search = Search(spec, model, ready.attributes, ready.base)
        search.run()
    found = set()
    for key in search._seen:
        digest, rest = key  # type: ignore[misc]
        found.add((digest, tuple(sorted(event[1] for event in rest[0]))))
    return found
