"""A mutant: one store, broken in one way, with no hook in the store.

Either a wrapper over the `System` that the store is given (a flush that does not happen, a lock that is not taken), or
a rule exchanged in the store's module for as long as the mutant is judged. `kind` groups the table; `accepted` gives
the reason why a mutant may live, and is empty for all that must die.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from scenarios.suites.storage import Wrap, as_it_is

__simfs_machinery__ = True


@dataclass(frozen=True, slots=True)
class Mutant:
    """`name` says in words what is broken; `wrap` and `broken` are how."""

    name: str
    kind: str
    wrap: Wrap = as_it_is
    broken: Callable[[], AbstractContextManager[Any]] = field(default=nullcontext)
    accepted: str = ""
    made_for: tuple[str, ...] = ()
    """Ids of the laws that must notice it, each of them alone."""
    first: tuple[str, ...] = ()
    """Names of the entries that are asked first, where the usual order would take long."""
    site: str = ""
    """The line of the store that makes the call which was removed."""


@contextmanager
def exchanged(module: Any, name: str, instead: Callable[[Any], Any]) -> Iterator[None]:
    """Inside the block `module.name` (of a module or a class) is `instead(what it was)`."""
    real = getattr(module, name)
    setattr(module, name, instead(real))
    try:
        yield
    finally:
        setattr(module, name, real)


class Wrapped:
    """A `System` that passes every call on; a mutant overrides the ones it breaks."""

    def __init__(self, system: Any) -> None:
        self.system = system

    def __getattr__(self, name: str) -> Any:
        return getattr(self.system, name)
