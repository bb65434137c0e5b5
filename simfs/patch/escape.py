"""What a run meets when simulated code reaches for the real machine.

`NotSimulated` (of the machine) says that a call has no model: the program must do without it. `EscapedToHost` says
that a real call was about to be made behind the machine's back, by a function that some object had captured or by
code that is not Python. Both derive from `BaseException`, so that `except Exception` in the program under test does
not turn them into an ordinary failure. A program that swallows even those does not get away: each is noted here, and
the explorer, which asks `taken_escapes()` when a process has ended, aborts the run with it.
"""

from __future__ import annotations

from simfs.machine.errors import NotSimulated
from simfs.machine.site import Site, call_site


class EscapedToHost(BaseException):
    """Simulated code was about to touch the real machine. `call` says how, `site` is the line that did it."""

    def __init__(self, call: str, advice: str, site: Site | None) -> None:
        where = f" at {site.file}:{site.line} in {site.function}" if site else ""
        super().__init__(f"{call}{where} would have reached the real machine: {advice}")
        self.call = call
        self.advice = advice
        self.site = site


_noted: list[EscapedToHost | NotSimulated] = []


def escaped(call: str, advice: str) -> EscapedToHost:
    """Note an escape and return the exception to raise."""
    error = EscapedToHost(call, advice, call_site(2))
    _noted.append(error)
    return error


def not_simulated(call: str, advice: str) -> NotSimulated:
    """Note a call without a model and return the exception to raise."""
    error = NotSimulated(call, advice)
    _noted.append(error)
    return error


def taken_escapes() -> list[EscapedToHost | NotSimulated]:
    """What was noted since the last time, oldest first; the note is empty afterwards."""
    taken = _noted.copy()
    _noted.clear()
    return taken
