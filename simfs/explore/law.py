"""Laws: what must be true after every crash, as values that live outside the thing they judge.

A `Law` has an id, the store it speaks of, and one sentence. The same law may be checked in several scenarios; a
scenario binds it to the code that decides it with `@simfs.law(LAW)`, or makes one on the spot from a method's name and
docstring with a plain `@simfs.law`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Law:
    """`id` is unique in a catalogue, `statement` one sentence in plain words, `store` what it speaks of."""

    id: str
    statement: str
    store: str = ""
    planned: bool = False
    """The store it speaks of is not built yet: shown as planned, never as passed."""


RECOVERS = Law("recovers", "Recovery runs on every disk that a crash may leave")
COMPLETES = Law("completes", "No process raises while nothing fails")
