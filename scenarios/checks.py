"""Checks: laws decided without a machine that loses power, by trying every small case of a rule.

A `Check` stands in the catalogue beside the scenarios and answers with the same `Verdict`: "proved" when every case
of its questions was tried (the counts say how many), "violated" with the first case that breaks a law. A question is
a law and a generator of its cases; each case is a pair: what was tried, in words, and what is wrong, or None.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scenarios.entries import Ask, Progress
from simfs.errors import UsageError
from simfs.explore.law import Law
from simfs.explore.token import Token
from simfs.explore.verdict import Searched, Verdict

Case = tuple[str, str | None]
"""(what was tried, what is wrong with the answer or None)."""

TELL_EVERY = 256
"""Cases between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class Question:
    """A law and every case that decides it."""

    law: Law
    cases: Callable[[], Iterator[Case]]


@dataclass(frozen=True, slots=True)
class Check:
    """Several questions about one rule book. `statement` is one sentence in plain words."""

    name: str
    statement: str
    questions: Sequence[Question]

    @property
    def laws(self) -> list[Law]:
        """The laws that it decides."""
        return [question.law for question in self.questions]

    def run(self, ask: Ask, progress: Progress | None = None) -> Verdict:
        """Try every case; disk models and seeds mean nothing here."""
        budget, only = ask.budget, ask.only
        started = time.monotonic()
        searched = Searched()
        verdict = Verdict(self.name, "proved", searched, disk="rules")
        for question in self.questions:
            if only and question.law.id not in only:
                continue
            for tried, wrong in question.cases():
                searched.executions += 1
                searched.laws_judged += 1
                if wrong is not None:
                    verdict.status = "violated"
                    verdict.reason = f"law {question.law.id} is broken: {tried}: {wrong}"
                    verdict.tags["law"] = question.law.id
                    break
                if searched.executions % TELL_EVERY == 0:
                    if progress is not None:
                        progress(searched)
                    if budget is not None and time.monotonic() > started + budget:
                        verdict.status, verdict.reason = "inconclusive", f"the budget of {budget:g} s ended first"
                        break
            if verdict.status != "proved":
                break
        searched.seconds = time.monotonic() - started
        return verdict

    def scenario(self, member: str) -> Any:
        raise UsageError(f"{self.name} is a check of rules, not a scenario: it has no power loss and no token")

    def replay(self, token: Token) -> str:
        return str(self.scenario(""))
