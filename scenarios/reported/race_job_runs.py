"""C3: a job whose run is interrupted. NousResearch/hermes-agent PR#3396; the opposite: openclaw/openclaw#63657;
relative: NousResearch/hermes-agent#68211.

What happened. A scheduler saved the next due time after the run. A process that died during the run found the job still
due when it came back and ran it again; a host that came and went sent dozens of duplicates. Elsewhere the opposite: a
job that was interrupted by a restart was cleared at start-up, never run and never mentioned.

Why that is wrong. A run does something to the world that no crash undoes. If the note that it begins is not durable
before, the run may happen again; if the note is wiped without a trace, the run may never have happened and nobody
knows.

What is right. Choose: at most once, here. The claim of the occurrence is durable before the run begins and is closed
after it. A claim found open at start-up belongs to an interrupted run: that goes on record, and the occurrence is done.
"""

from __future__ import annotations

import time
from typing import Any

import simfs
from scenarios.reported.durable import replace_durably
from scenarios.reported.laws import CLM3, CLM4
from scenarios.reported.registry import ATOMIC_RENAMES, Case

STATE = "/job"
RUN_S = 600.0
DUE, RUNNING, RAN, INTERRUPTED, TOMORROW = "due", "run", "ran", "cut", "off"
"""The job on disk, for one occurrence: due; claimed; past and on record as either; past, with nothing on record."""


class _Job(simfs.Scenario):
    """A daily job is due; its run takes ten minutes; its scheduler is killed, or loses power, and starts again."""

    kills = 1

    def setup(self, m: Any) -> None:
        save(DUE)

    def tick(self, m: Any, state: str) -> None:
        raise NotImplementedError

    @simfs.process(restart=2)
    def scheduler(self, m: Any) -> None:
        self.tick(m, load())

    @simfs.law(CLM3)
    def runs_once(self, m: Any) -> None:
        assert m.effects("run") <= 1, f"the job ran {m.effects('run')} times for one occurrence"

    @simfs.law(CLM4)
    def run_or_on_record(self, m: Any) -> None:
        assert load() != TOMORROW, "the occurrence is past, and whether it was run is on no record"


class SavesAfterTheRun(_Job):
    """The next due time is saved when the run is over."""

    power = False

    def tick(self, m: Any, state: str) -> None:
        if state == DUE:
            run_job(m)
            save(RAN)


class ForgetsTheInterrupted(_Job):
    """Claims first; an open claim found at start-up is cleared."""

    power = False

    def tick(self, m: Any, state: str) -> None:
        if state == RUNNING:
            save(TOMORROW)
        elif state == DUE:
            claim_run_close(m)


class RecordsTheInterrupted(_Job):
    """Claims first; an open claim found at start-up is put on record as interrupted. At most once, also where a kill
    and a power loss come together."""

    disk = ATOMIC_RENAMES

    def tick(self, m: Any, state: str) -> None:
        if state == RUNNING:
            save(INTERRUPTED)
        elif state == DUE:
            claim_run_close(m)


class RecordsTheInterruptedFiveTimes(RecordsTheInterrupted):
    """The same, on a host that loses power five times in a row. A kill is no news there: it leaves what a power loss
    leaves that loses nothing."""

    kills = 0
    power_depth = 5

    @simfs.process(restart=5)
    def scheduler(self, m: Any) -> None:
        self.tick(m, load())


def claim_run_close(m: Any) -> None:
    """The claim, and with it that the occurrence is no longer due, is durable before the run begins."""
    save(RUNNING)
    run_job(m)
    save(RAN)


def run_job(m: Any) -> None:
    """What the job does to the world, and how long that takes."""
    m.effect("run")
    time.sleep(RUN_S)


def load() -> str:
    """The job as it is on disk."""
    with open(STATE) as file:
        return file.read()


def save(state: str) -> None:
    """Durable on return."""
    replace_durably(STATE, state.encode())


CASES = (
    Case(
        "C3-again",
        "a run that is not on record until it is over runs again after each crash",
        "NousResearch/hermes-agent#3396",
        SavesAfterTheRun,
        RecordsTheInterrupted,
        (CLM3,),
    ),
    Case(
        "C3-forgotten",
        "an interrupted run is cleared at start-up, and nobody knows",
        "openclaw/openclaw#63657",
        ForgetsTheInterrupted,
        RecordsTheInterruptedFiveTimes,
        (CLM4,),
    ),
)
