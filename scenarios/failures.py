"""Known failures first, for every kind of entry: the database itself is in `simfs.explore.failures`.

A scenario's own failures are found by its name and its bounds. What is many (a family, generated histories) is asked by
the names of its members, and one member that still breaks a law is the verdict of the whole.
"""

from __future__ import annotations

from dataclasses import replace

from scenarios.entries import Ask, Entry, One, Progress
from simfs.disk.models import models_named
from simfs.explore.failures import Failures, known_first, still_broken, verdict_again
from simfs.explore.token import Token
from simfs.explore.verdict import Verdict, together


def run_known_first(entry: Entry, ask: Ask, progress: Progress | None, failures: Failures) -> Verdict:
    """An entry's verdict: what is known to break a law on some model stands, the other models are searched."""
    if isinstance(entry, One):
        return known_first(
            entry.kind, ask.options(), failures, entry.replay, lambda disk: entry.run(replace(ask, disk=disk), progress)
        )
    wanted = None if ask.disk is None else [model.name for model in models_named(ask.disk)]
    for token in failures.known(lambda token: is_of(entry, token)):
        if wanted is None or token.disk in wanted:
            found = still_broken(token, ask.only, failures, entry.replay)
            if found is not None:
                return together([verdict_again(entry.name, token, found)])
    verdict = entry.run(ask, progress)
    failures.remember(verdict)
    return verdict


def is_of(entry: Entry, token: Token) -> bool:
    """Whether a token is of an entry of many, or of a member of it."""
    return token.scenario == entry.name or token.scenario.startswith(f"{entry.name}[")
