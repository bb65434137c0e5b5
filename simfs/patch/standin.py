"""Stand-ins: the objects that take the place of real functions.

A stand-in asks whether a simulated process is running. If not, it calls the real function with the same arguments;
if so, it answers from the machine. It is a bound method, not a function, for the sake of code such as

    class Store:
        rename = os.rename        # a builtin is not bound to the instance; a Python function would be

because a bound method, too, stays as it is when it is read from a class. The real function lives in the `StandIn`
record and nowhere else in this package: that is how the search for further references tells ours from theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

from simfs.patch.escape import not_simulated
from simfs.patch.inside import simulated


class StandIn:
    """One real function and what stands in for it. `known` counts the references to `real` that are accounted for."""

    __slots__ = ("fake", "known", "name", "real")

    def __init__(self, name: str, real: Any) -> None:
        self.name = name
        """As a person would write it: `os.rename`."""
        self.real = real
        self.fake: Any = None
        self.known = -1


Answer = Callable[..., Any]


def stand_in(name: str, real: Any, body: Callable[..., Any]) -> StandIn:
    """A stand-in whose `body` gets the record and the caller's arguments."""
    record = StandIn(name, real)
    body.__name__ = body.__qualname__ = getattr(real, "__name__", name.rpartition(".")[2])
    body.__module__ = getattr(real, "__module__", None) or name.rpartition(".")[0]
    body.__doc__ = getattr(real, "__doc__", None)
    record.fake = MethodType(body, record)
    return record


def answered_by(name: str, real: Any, answer: Answer) -> StandIn:
    """Inside a process `answer(system, *args, **kwargs)` takes the call."""

    def body(record: StandIn, /, *args: Any, **kwargs: Any) -> Any:
        system = simulated()
        if system is None:
            return record.real(*args, **kwargs)
        return answer(system, *args, **kwargs)

    return stand_in(name, real, body)


def modelled(name: str, real: Any, call: str, retried: bool = False) -> StandIn:
    """Inside a process the machine's system call `call` takes it, again after EINTR if Python does so (`retried`)."""

    def body(record: StandIn, /, *args: Any, **kwargs: Any) -> Any:
        system = simulated()
        if system is None:
            return record.real(*args, **kwargs)
        return getattr(system, call)(*args, **kwargs)

    def retrying(record: StandIn, /, *args: Any, **kwargs: Any) -> Any:
        system = simulated()
        if system is None:
            return record.real(*args, **kwargs)
        while True:
            try:
                return getattr(system, call)(*args, **kwargs)
            except InterruptedError:
                continue

    return stand_in(name, real, retrying if retried else body)


def refused(name: str, real: Any, advice: str) -> StandIn:
    """Inside a process the call raises `NotSimulated` with its name and what to do instead."""

    def body(record: StandIn, /, *args: Any, **kwargs: Any) -> Any:
        if simulated() is None:
            return record.real(*args, **kwargs)
        raise not_simulated(name, advice)

    return stand_in(name, real, body)
