"""Scenarios: what runs, what recovers, which laws hold, within which bounds.

Model. `setup` runs alone and everything it did is durable. Then the processes run, under every interleaving that the
strategy asks for. After each possible power loss, and at the end of each run, the laws are judged, each by a fresh
process on its own copy of the machine; `recover`, if there is one, has run on the image before, in a process of its
own.

A scenario is a class with decorated methods, or the same built from functions by `scenario(...)`. Attributes that
`setup` puts on `self` are seen by processes and laws; what a process puts there dies with it, like any memory.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from simfs.errors import UsageError
from simfs.explore.law import RECOVERS, Law

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)

STRATEGIES = ("exhaustive", "naive", "random", "pct", "pos", "portfolio")


@dataclass(frozen=True, slots=True)
class ProcessMark:
    """What `@process` leaves on a method: how often it is started again, and which errors are part of its life."""

    restart: int = 0
    raises: tuple[type[BaseException], ...] = ()


@dataclass(frozen=True, slots=True)
class LawMark:
    """What `@law` leaves on a method."""

    law: Law | None
    ordered: bool = False
    anytime: bool = False


@overload
def process(function: F, /) -> F: ...
@overload
def process(
    *, restart: int = 0, raises: type[BaseException] | Sequence[type[BaseException]] = ()
) -> Callable[[F], F]: ...
def process(
    function: Function | None = None,
    /,
    *,
    restart: int = 0,
    raises: type[BaseException] | Sequence[type[BaseException]] = (),
) -> Any:
    """Mark a method as a simulated process.

    `restart`: how many times it starts again after a power loss (or a kill). `raises`: errors that may end it without
    that being a failure of the scenario; any other error that escapes is one.
    """
    expected = (raises,) if isinstance(raises, type) else tuple(raises)

    def mark(wrapped: F) -> F:
        wrapped.__simfs_process__ = ProcessMark(restart, expected)  # type: ignore[attr-defined]
        return wrapped

    return mark(function) if function is not None else mark


@overload
def law(function: F, /) -> F: ...
@overload
def law(bound: Law | None = None, /, *, ordered: bool = False, anytime: bool = False) -> Callable[[F], F]: ...
def law(function: Function | Law | None = None, /, *, ordered: bool = False, anytime: bool = False) -> Any:
    """Mark a method as the judge of a law: it raises AssertionError, or any error, when the law is broken.

    `@law` names the law after the method, with its docstring as the statement; `@law(LAW)` binds an existing `Law`.
    `ordered=True`: the law needs real-time order between promises of different processes.
    `anytime=True`: it also holds at every instant of every run, on what a reader sees while the processes stand still.
    """
    bound = function if isinstance(function, Law) else None

    def mark(wrapped: F) -> F:
        wrapped.__simfs_law__ = LawMark(bound, ordered, anytime)  # type: ignore[attr-defined]
        return wrapped

    return mark if function is None or bound is not None else mark(function)  # type: ignore[type-var]


@overload
def recover(function: F, /) -> F: ...
@overload
def recover(bound: Law, /) -> Callable[[F], F]: ...
def recover(function: Function | Law, /) -> Any:
    """Mark the method that runs first on each crash image, in a process of its own; it may be crashed in turn.

    `@recover` says with the law `recovers` that it may not raise; `@recover(LAW)` says it with a law of your own.
    """
    bound = function if isinstance(function, Law) else RECOVERS

    def mark(wrapped: F) -> F:
        wrapped.__simfs_recover__ = bound  # type: ignore[attr-defined]
        return wrapped

    return mark if isinstance(function, Law) else mark(function)


class Scenario:
    """Base class of scenarios. Class attributes are the bounds; see `explore` for what each means."""

    name: str | None = None
    disk: str | Sequence[str] = "prefix"
    power: bool = True
    power_depth: int = 1
    kills: int = 0
    faults: Sequence[Any] = ()
    max_faults: int = 1
    clock_jumps: Sequence[float] = ()
    reuse_inodes: bool = False
    """Whether each run is also made with new inodes that get the numbers of freed ones, as most filesystems do at once:
    what compares `st_ino` to tell whether a file is still the same one may then be wrong."""
    preemptions: int | None = None
    strategy: str = "exhaustive"
    budget: float | None = None
    seed: int | str = 0
    interpose: bool = True
    isolate: Sequence[str] = ()
    early_ticks: int = 2
    """How often in a run the clock may move although somebody could still go on (a time-out that races, a pause)."""
    steps_max: int = 10_000
    """Calls that one process may make before its run counts as endless."""
    lazy: bool | None = None
    """Whether what a power loss kept is decided when recovery or a law first looks at it, so that one image stands for
    all that differ only where nobody looks: always, never, or (None) where a crash point has many images."""
    shrink: bool = True
    """Whether a smaller story is looked for where a law is broken."""
    image: str | None = None
    """A real directory whose content `setup` finds as the root of the disk, as `simfs replay --save` writes it."""
    only: Sequence[str] = ()
    """Ids of the laws to judge; all of the scenario's when empty."""

    def setup(self, m: Any) -> None:
        """Runs alone before the processes; everything it did is durable when it ends. Does nothing by default."""


OPTIONS = frozenset(name for name in Scenario.__annotations__ if name != "name")


def _takes_machine(function: Function) -> Function:
    """`function` as a method: called with `m` if it takes an argument, with nothing otherwise."""
    try:
        wants = len(inspect.signature(function).parameters) > 0
    except (TypeError, ValueError):
        wants = True
    if wants:
        return lambda self, m: function(m)
    return lambda self, m: function()


def scenario(
    *,
    processes: Sequence[Function] | Function,
    law: Function | Sequence[Function] = (),
    setup: Function | None = None,
    recover: Function | None = None,
    name: str | None = None,
    **options: Any,
) -> type[Scenario]:
    """A scenario built from functions; each takes the machine handle `m`, or nothing.

    `law` is one function or several. Options are those of `explore`. Raises UsageError for an unknown option.
    """
    unknown = set(options) - OPTIONS
    if unknown:
        raise UsageError(f"unknown option {', '.join(sorted(unknown))}; there are {', '.join(sorted(OPTIONS))}")
    runs = [processes] if callable(processes) else list(processes)
    laws = [law] if callable(law) else list(law)
    body: dict[str, Any] = dict(options)
    if setup is not None:
        body["setup"] = _takes_machine(setup)
    for function in runs:
        body[_free_name(function, body)] = _marked(function, "__simfs_process__", ProcessMark())
    for function in laws:
        body[_free_name(function, body)] = _marked(function, "__simfs_law__", LawMark(None))
    if recover is not None:
        body[_free_name(recover, body)] = _marked(recover, "__simfs_recover__", RECOVERS)
    body["__doc__"] = inspect.cleandoc((laws[0].__doc__ if laws else "") or "")
    body["__module__"] = getattr(runs[0], "__module__", __name__) if runs else __name__
    title = name or "+".join(getattr(f, "__name__", "process") for f in runs) or "scenario"
    return type(title, (Scenario,), body)


def _marked(function: Function, mark: str, value: object) -> Function:
    method = _takes_machine(function)
    method.__doc__ = function.__doc__
    setattr(method, mark, value)
    return method


def _free_name(function: Function, body: dict[str, Any]) -> str:
    name = getattr(function, "__name__", "function").replace("<lambda>", "function")
    taken, number = name, 2
    while taken in body or hasattr(Scenario, taken):
        taken, number = f"{name}_{number}", number + 1
    return taken
