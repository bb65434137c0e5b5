"""The commits of the suite `log_sidecars`: three of them, two conversations, two sidecars."""

from __future__ import annotations

from scenarios.suites import log_model
from scenarios.suites.log_model import Changes


def entries(*placed: tuple[int, int, str]) -> Changes:
    """A commit that puts entries, each given as (id, conversation, body)."""
    return [change for number, talk, body in placed for change in log_model.entry(number, body, talk)]


THREE: tuple[Changes, ...] = (
    entries((1, 1, "é")),
    entries((2, 1, "a"), (3, 2, "b")),
    entries((4, 2, "c")),
)
"""One sidecar made; one made and one grown; one grown."""
