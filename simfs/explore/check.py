"""`check`: a search as an assertion, for a test or a script."""

from __future__ import annotations

from typing import Any

from simfs.explore.failures import explore_known_first
from simfs.explore.verdict import Verdict


def check(scenario: Any, **options: Any) -> Verdict:
    """Explore, and raise AssertionError with the counterexample's text when a law is broken.

    Also raises AssertionError when the verdict is inconclusive: a search that did not end is no success. Failures of
    earlier checks are replayed first, and those of this one are kept below `.simfs` (`failures.py`; the environment
    variable `SIMFS_DATABASE` names another place, or `off`).
    """
    __tracebackhide__ = True
    verdict = explore_known_first(scenario, **options)
    if not verdict.ok:
        raise AssertionError(why_not(verdict))
    return verdict


def why_not(verdict: Verdict) -> str:
    """What a person is told of a verdict that is no success: the report, or why there is none."""
    if verdict.counterexample is None:
        return f"{verdict.scenario}: inconclusive on {verdict.disk}: {verdict.reason}"
    return f"{verdict.scenario}: {verdict.reason}\n{verdict.counterexample.text()}"
