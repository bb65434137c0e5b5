"""The token of a broken law breaks that law again.

What a search has found is only as good as its token: a person who is shown a counterexample has nothing else. So it is
taken as text, taken apart, and run on a machine of its own, from the setup on. A search, a generated history and a
member of a family all have tokens; a check of rules has none, because it runs without a machine.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from scenarios.checks import Check
from scenarios.entries import Entry
from scenarios.histories import Histories
from simfs.errors import SimfsError
from simfs.explore.explorer import replay
from simfs.explore.token import Token, parse
from simfs.explore.verdict import Verdict


class NotReplayed(AssertionError):
    """A law was found broken, and the token of that does not break it."""


def replayed(entry: Entry, verdict: Verdict, law: str, only: Sequence[str] = ()) -> str:
    """Run the token of a verdict that says that `law` is broken; answers the token, "" where there can be none.

    `only` are the laws that were judged, all when empty. Raises `NotReplayed` for every other outcome.
    """
    if isinstance(entry, Check):
        return ""
    text = token_of(verdict)
    try:
        again = law_broken_by(entry, parse(text), only)
    except SimfsError as error:
        raise NotReplayed(f"{entry.name} broke law {law}, and its token {text!r} does not: {error}") from error
    if again != law:
        raise NotReplayed(f"{entry.name} broke law {law}, and its token {text} breaks {again}")
    return text


def token_of(verdict: Verdict) -> str:
    """The token that the report of a verdict ends with; "" where it has none."""
    if verdict.counterexample is not None:
        return verdict.counterexample.token
    match = re.search(r"simfs replay (\S+)", str(verdict.tags.get("text", "")))
    return match[1] if match else ""


def law_broken_by(entry: Entry, token: Token, only: Sequence[str] = ()) -> str:
    """The id of the law that a token breaks. Raises what replaying raises."""
    if isinstance(entry, Histories):
        match = re.match(r"LAW BROKEN: (\w+)", entry.replay(token))
        return match[1] if match else ""
    scenario = entry.scenario(token.scenario.partition("[")[2].rstrip("]"))
    return replay(token, scenario, only=tuple(only)).law
