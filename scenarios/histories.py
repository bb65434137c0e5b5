"""Generated histories as an entry of the catalogue: drawn by Hypothesis, shrunk by it, and replayed without it.

A history is a function of one list of choices. Hypothesis draws so many lists from a seed; the first that breaks a law
is shrunk, and the shrunk list is the token: `simfs replay` plays it back, with no Hypothesis in between. The verdict
is "sampled": that many histories, and no claim beyond them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import strategies as st

from scenarios.entries import Ask, Progress
from simfs.disk.model import DiskModel
from simfs.disk.models import models_named
from simfs.errors import StaleToken, UsageError
from simfs.explore.choices import Choices, Replayed
from simfs.explore.law import Law
from simfs.explore.token import Token
from simfs.explore.verdict import Leg, Searched, Verdict, together
from simfs.patch import taken_escapes, tripwire
from simfs.strategies import Drawn


class Broken(AssertionError):
    """A law does not hold in a history. `law` is which; the text says what was found."""

    def __init__(self, law: Law, text: str) -> None:
        super().__init__(text)
        self.law = law


class History(Protocol):
    """One history: `run()` raises `Broken`; `story` tells it line by line; `crashes` counts what was judged."""

    story: list[str]
    crashes: int

    def run(self) -> None: ...


Make = Callable[[DiskModel, Choices], History]


class OutOfTime(Exception):
    """Ends the drawing when the budget does."""


@dataclass(slots=True)
class Failed:
    """The smallest failing history so far."""

    broken: Broken
    history: History
    taken: list[int]


@dataclass(frozen=True, slots=True)
class Histories:
    """`count` histories on each model, made by `make(model, choices)`."""

    name: str
    statement: str
    make: Make
    laws_judged: tuple[Law, ...]
    disk: tuple[str, ...]
    count: int = 120
    stage: Callable[[], AbstractContextManager[None]] = tripwire
    """Within it the code under test runs."""
    modules: tuple[str, ...] | None = None
    """Those whose branches guide `simfs fuzz`; None: those of the stores."""

    @property
    def laws(self) -> list[Law]:
        return list(self.laws_judged)

    def run(self, ask: Ask, progress: Progress | None = None) -> Verdict:
        models = models_named(self.disk if ask.disk is None else ask.disk)
        taken_escapes()
        with self.stage():
            return together([self._on(model, ask, progress) for model in models])

    def _on(self, model: DiskModel, ask: Ask, progress: Progress | None) -> Verdict:
        started, seed = time.monotonic(), ask.seed or 0
        searched = Searched()
        verdict = Verdict(self.name, "sampled", searched, disk=model.name)
        failed: list[Failed] = []

        def one(data: Any) -> None:
            if ask.budget is not None and not failed and time.monotonic() > started + ask.budget:
                raise OutOfTime
            choices = Drawn(data)
            history = self.make(model, choices)
            searched.executions += 1
            try:
                history.run()
                no_escapes()
            except Broken as broken:
                if not ask.only or broken.law.id in ask.only:
                    failed.append(Failed(broken, history, choices.taken))
                    raise
            searched.crash_points += history.crashes
            searched.images += history.crashes
            searched.distinct_images += history.crashes
            if progress is not None:
                progress(searched)

        try:
            self._drawn(one, seed)
            verdict.reason = f"{searched.executions} histories, seed {seed}"
        except OutOfTime:
            verdict.status = "inconclusive"
            done = f"{searched.executions} of {self.count} histories"
            verdict.reason = f"the budget of {ask.budget:g} s ended after {done}"
        except Broken:
            verdict.status = "violated"
            least = failed[-1]
            verdict.reason = f"law {least.broken.law.id} is broken"
            verdict.tags["law"] = least.broken.law.id
            verdict.tags["text"] = self.text(model, least, seed)
        searched.seconds = time.monotonic() - started
        return verdict

    def _drawn(self, one: Callable[[Any], None], seed: int) -> None:
        drawn = hypothesis.given(st.data())(one)
        drawn = settings(
            max_examples=self.count,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
            report_multiple_bugs=False,
            print_blob=False,
        )(drawn)
        hypothesis.seed(seed)(drawn)()

    def text(self, model: DiskModel, failed: Failed, seed: int | None = None) -> str:
        """A failing history for a person, with the line that replays it."""
        token = Token(self.name, model.name, "", (Leg(tuple(failed.taken), None),))
        law = failed.broken.law
        return "\n".join([
            f"LAW BROKEN: {law.id}   (disk model {model.name})",
            f"  {law.statement}",
            f"Scenario: {self.name}" + (f", seed {seed}" if seed is not None else ""),
            "",
            f"Found:     {failed.broken}",
            "",
            "What happened:",
            *(f"  {line}" for line in failed.history.story),
            "",
            "Replay:",
            f"  simfs replay {token}",
        ])  # fmt: skip

    def scenario(self, member: str) -> Any:
        raise UsageError(f"{self.name} is generated and has no fixed scenario; replay it with simfs replay")

    def replay(self, token: Token) -> str:
        """Play the choices of a token back. Raises StaleToken when no law is broken any more."""
        models = models_named(token.disk)
        if len(models) != 1 or len(token.path) != 1:
            raise UsageError("the token of a history names one disk model and has one leg")
        choices = Replayed(token.path[0].schedule)
        history = self.make(models[0], choices)
        try:
            with self.stage():
                history.run()
                no_escapes()
        except Broken as broken:
            return self.text(models[0], Failed(broken, history, list(choices.taken)))
        raise StaleToken(
            f"stale token: no law of {self.name} is broken by this history any more. Run {self.name} to learn whether"
            " another one breaks it."
        )


def no_escapes() -> None:
    """Raises what a process met and swallowed: a call without a model, a reach for the real machine."""
    for escape in taken_escapes():
        raise escape
