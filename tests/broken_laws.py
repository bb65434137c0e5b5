"""A law that is broken, and the token that breaks it again: one search for both."""

from __future__ import annotations

import simfs


def breaks_and_replays(kind: type[simfs.Scenario], law: str) -> simfs.Counterexample:
    """Search for one broken law, and replay what was found: the same law, and the first line of the same finding."""
    found = simfs.explore(kind, only=(law,)).counterexample
    assert found is not None, f"{kind.__name__} does not break {law}"
    again = simfs.replay(found.token, kind, only=(law,))
    assert (found.law, again.law) == (law, law)
    assert again.finding.message.splitlines()[:1] == found.finding.message.splitlines()[:1]
    return found
