"""Exchanging a rule for as long as a mutant is judged: a function of a module, or a method of a class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

__simfs_machinery__ = True


@contextmanager
def instead(place: Any, name: str, made: Callable[[Any], Any]) -> Iterator[None]:
    """Inside the block `place.name` is `made(what it was)`; `place` is a module or a class."""
    real = getattr(place, name)
    other = made(real)
    if callable(other):
        # A bound method is pickled by its name.
        other.__name__ = name
    setattr(place, name, other)
    try:
        yield
    finally:
        setattr(place, name, real)


def broken(place: Any, name: str, made: Callable[[Any], Any]) -> Callable[[], AbstractContextManager[Any]]:
    """What a mutant whose `place.name` is exchanged has as its `broken`."""
    return lambda: instead(place, name, made)
