"""Generated histories of three processes that share one file of jobs: after each step the file is the model's."""

from __future__ import annotations

from scenarios.histories import Histories
from scenarios.laws import cron
from scenarios.suites.cron_bridge import JOBS, Bridge
from scenarios.suites.storage import Wrap, as_it_is
from simfs.disk.model import DiskModel
from simfs.explore.choices import Choices

HISTORIES = 500
"""How many a search draws; `tests/test_scenarios_cron.py` can run ten thousand."""
STEPS_MAX = 14
LEAPS_S = (5, 30, 70, 150, 3600, -2, -120, -3600, -21_600)
"""By how much the time moves, in seconds."""


class BridgeHistory(Bridge):
    """A generated history."""

    crashes = 0

    def __init__(self, choices: Choices, wrap: Wrap = as_it_is) -> None:
        super().__init__(wrap)
        self.draw = choices.draw

    def run(self) -> None:
        """Jobs, then so many drawn steps. Raises `Broken`."""
        for which in range(len(JOBS)):
            if self.draw(4, "is there a job of this kind"):
                self.do(0, "create", which)
        for _ in range(3 + self.draw(STEPS_MAX - 2, "steps")):
            self.one()

    def one(self) -> None:
        """One drawn step."""
        who, kind = self.draw(3, "who"), self.draw(20, "what")
        job = JOBS[self.draw(3, "which job")][0] if kind >= 14 else ""
        if kind < 4:
            self.do(who, "wait", LEAPS_S[self.draw(len(LEAPS_S), "how far")])
        elif kind < 7:
            self.do(who, "claim", (None, 1)[self.draw(2, "limit")])
        elif kind < 10:
            self.do(who, "finish", self.draw(3, "which"), (None, "it failed", 'naïve "雪"\n')[self.draw(3, "how")])
        elif kind < 12:
            self.do(who, "recover")
        elif kind < 14:
            self.do(who, ("forget", "die", "late")[self.draw(3, "which end")])
        elif kind < 18:
            self.do(who, ("pause", "resume", "cancel", "run_now")[kind - 14], job)
        elif kind == 18:
            self.do(who, "defer", job, (1, 25, 4000)[self.draw(3, "how long")])
        else:
            self.do(who, "create", self.draw(3, "which kind"))


def histories(wrap: Wrap = as_it_is, count: int = HISTORIES) -> Histories:
    """The entry `cron_bridge_histories`."""

    def make(model: DiskModel, choices: Choices) -> BridgeHistory:
        return BridgeHistory(choices, wrap)

    return Histories(
        name="cron_bridge_histories",
        statement="Generated histories of three processes with clocks of their own: the file is the model's each time.",
        make=make,
        laws_judged=(cron.CRON_MODEL_BRIDGE,),
        disk=("scc",),
        count=count,
    )
