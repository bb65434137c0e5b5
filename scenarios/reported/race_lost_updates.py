"""C1: one job list, changed by a ticker and by commands. NousResearch/hermes-agent#18003.

What happened. The list of jobs is one JSON file. Each change loads it, changes it, and puts a whole new file in its
place, so it is never torn. The ticker does so under a lock; the commands that add, change or pause a job did not.

Why that is wrong. A command that loaded before the ticker saved writes back what it knows: the job that was added, the
pause, or the time of the last run is gone, and nobody is told. A lock excludes only those who take it.

What is right. Everybody who changes the list holds the lock from before the load until after the save.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import simfs
from scenarios.reported.durable import replace_durably
from scenarios.reported.holding import locked, make_empty
from scenarios.reported.laws import CLM2, DUR6
from scenarios.reported.registry import ATOMIC_RENAMES, Case

JOBS, LOCK = "/jobs.json", "/jobs.lock"
Jobs = dict[str, dict[str, Any]]


class _JobList(simfs.Scenario):
    """A ticker runs job A while a person adds B and then pauses C: all three are in the file afterwards."""

    def setup(self, m: Any) -> None:
        make_empty(LOCK)
        replace_durably(JOBS, json.dumps({"A": {"ran": 0}, "C": {"paused": False}}).encode())

    def lock_of_commands(self) -> AbstractContextManager[None]:
        return locked(LOCK)

    @simfs.process
    def ticker(self, m: Any) -> None:
        with locked(LOCK):
            change_jobs(lambda jobs: jobs["A"].update(ran=1))
        m.ack("ran A")

    @simfs.process
    def commands(self, m: Any) -> None:
        with self.lock_of_commands():
            change_jobs(lambda jobs: jobs.update(B={"ran": 0}))
        m.ack("added B")
        with self.lock_of_commands():
            change_jobs(lambda jobs: jobs["C"].update(paused=True))
        m.ack("paused C")

    @simfs.law(CLM2)
    def nothing_is_undone(self, m: Any) -> None:
        jobs = load_jobs()
        assert jobs["A"]["ran"] or not m.acked("ran A"), "the run of A is forgotten, it will run again"
        assert "B" in jobs or not m.acked("added B"), "job B was added and is not there"
        assert jobs["C"]["paused"] or not m.acked("paused C"), "job C was paused and still runs"

    @simfs.law(DUR6)
    def whole(self, m: Any) -> None:
        load_jobs()


class CommandsWithoutTheLock(_JobList):
    """Only the ticker takes the lock; a command loads, changes and saves beside it."""

    power = False

    def lock_of_commands(self) -> AbstractContextManager[None]:
        return nullcontext()


class EverybodyTakesTheLock(_JobList):
    """Ticker and commands hold the lock from load to save."""

    disk = ATOMIC_RENAMES


def load_jobs() -> Jobs:
    """The job list as it is now."""
    with open(JOBS) as file:
        jobs: Jobs = json.load(file)
    return jobs


def change_jobs(change: Callable[[Jobs], Any]) -> None:
    """Load, change, save."""
    jobs = load_jobs()
    change(jobs)
    replace_durably(JOBS, json.dumps(jobs).encode())


CASES = (
    Case(
        "C1",
        "a job list that commands change without the ticker's lock",
        "NousResearch/hermes-agent#18003",
        CommandsWithoutTheLock,
        EverybodyTakesTheLock,
        (CLM2,),
    ),
)
