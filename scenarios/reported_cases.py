"""The suite `reported`: faults that people really had, each as a wrong program and its right twin, in one entry.

An entry holds when both halves do: the right twin breaks no law on any disk model that it claims, and the wrong one is
caught by the law that its report is about. A wrong twin that nobody catches says that this harness is blind to a fault
that cost somebody data, so the entry is then "violated" without a counterexample, and its reason says which law slept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scenarios.entries import Ask, One, Progress
from scenarios.reported.registry import Case, cases
from simfs.errors import UsageError
from simfs.explore.explorer import explore, replay
from simfs.explore.law import Law
from simfs.explore.token import Token
from simfs.explore.verdict import Counterexample, Verdict


@dataclass(frozen=True, slots=True)
class Reported:
    """One case of the registry as an entry of the catalogue."""

    case: Case

    @property
    def name(self) -> str:
        """`reported_` and the id of the case."""
        return f"reported_{self.case.id}"

    @property
    def statement(self) -> str:
        """What was reported, and where."""
        return f"{self.case.title} ({self.case.reference}): the wrong program is caught, its right twin is silent."

    @property
    def laws(self) -> list[Law]:
        """None of the stores' laws: a case judges by laws of its own, which speak of the programs of the report."""
        return []

    def run(self, ask: Ask, progress: Progress | None = None) -> Verdict:
        """The verdict of the right twin; violated as well when the wrong one is not caught by its law."""
        verdict = One(self.case.right).run(ask, progress)
        verdict.scenario = self.name
        if not verdict.ok:
            return verdict
        law = self.case.law
        seed = 0 if ask.seed is None else ask.seed
        caught = explore(self.case.wrong, only=(law.id,), seed=seed)
        if caught.counterexample is None:
            verdict.status, verdict.reason = "violated", f"law {law.id} does not notice the wrong program"
        verdict.tags["wrong"] = caught.reason
        return verdict

    def scenario(self, member: str) -> Any:
        """`reported_ID[wrong]` or `reported_ID[right]`."""
        if member not in ("wrong", "right"):
            raise UsageError(f"{self.name} is two programs: {self.name}[wrong] and {self.name}[right]")
        return self.case.wrong if member == "wrong" else self.case.right

    def replay(self, token: Token) -> Counterexample | str:
        """Run what a token of the right twin says."""
        return replay(token, self.case.right)


def reported_suite() -> tuple[Reported, ...]:
    """Every reported case, by id."""
    return tuple(Reported(case) for case in cases())
