"""What the machine raises, by blame.

Failures of the simulated world are real `OSError`s with the errno that Linux gives (`os_error`). The three other types
are signals of the harness: they say that the run itself cannot be judged, so they derive from `BaseException`. A
store that catches `Exception` around a write, as stores do, must not turn "this call is not modelled" or "nothing
can ever run again" into an ordinary failure and go on; the verdict would then be about a program that does not exist.
"""

from __future__ import annotations

import os
from typing import Any


class NotSimulated(BaseException):
    """The program made a call that the machine does not model. `call` names it, `advice` says what to do instead."""

    def __init__(self, call: str, advice: str) -> None:
        super().__init__(f"{call} is not simulated: {advice}")
        self.call = call
        self.advice = advice


class Deadlock(BaseException):
    """Every process waits and no deadline is left. The text names who waits for what."""


class StepLimit(BaseException):
    """A process made more calls than the machine allows: an endless loop, or too small a limit."""


def os_error(code: int, *paths: Any) -> OSError:
    """The `OSError` that the `os` module would raise: `paths` is (), (path,) or (source, None, target)."""
    return OSError(code, os.strerror(code), *[os.fspath(p) if hasattr(p, "__fspath__") else p for p in paths])
