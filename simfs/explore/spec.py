"""A scenario read once: its parts in the order they are written, its laws, and its options.

`spec_of` reads a `Scenario` class or object; everything downstream works on the `Spec`. An override stands in the place
of the method that it overrides, so a subclass that changes one process keeps the order of all. A `Program` has no parts
of its own and is read by `drawn_spec_of`, for whoever draws them.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from simfs.errors import UsageError
from simfs.explore.law import RECOVERS, Law
from simfs.explore.program import Program
from simfs.explore.reference import reference_of
from simfs.explore.scenario import OPTIONS, STRATEGIES, Function, Scenario
from simfs.machine.faults import Fault
from simfs.patch.isolate import Isolation


@dataclass(frozen=True, slots=True)
class Part:
    """A function of a scenario, with what it is called in reports. `call(self, m)` runs it."""

    name: str
    call: Callable[[Any, Any], Any]
    restart: int = 0
    raises: tuple[type[BaseException], ...] = ()
    methods: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    """Of a drawn process: the methods that it calls in turn, and what each is given after `m`; `call` does the same."""


@dataclass(frozen=True, slots=True)
class BoundLaw:
    """A law and the code that judges it in this scenario."""

    law: Law
    part: Part
    ordered: bool
    anytime: bool = False


@dataclass(slots=True)
class Spec:
    """A scenario read once: its parts in the order they are written, and its options."""

    name: str
    statement: str
    make: Callable[[], Scenario]
    setup: Part
    processes: list[Part]
    recover: Part | None
    recovers: Law
    """The law that is broken when recovery raises."""
    laws: list[BoundLaw]
    options: dict[str, Any]
    reference: str = ""
    """How `simfs run` and tokens name it: module:attribute, or the name in a catalogue."""
    refusals: tuple[Fault, ...] = ()
    """Calls that the system refuses, because the disk model says so."""
    faults: tuple[Fault, ...] = ()
    """Faults that the disk model brings along, numbered after the scenario's own."""
    sites: bool = False
    """Record call sites also in runs that only decide a verdict."""
    flush_order: bool = False
    """The disk model is one on which a flush that covers more may lose more: runs tell flushes' orders apart."""
    isolation: Isolation | None = None
    """Gives each process its own copy of some modules, while the scenario is explored."""
    kept: dict[str, Any] = field(default_factory=dict)

    def run(self, part: Part, instance: Scenario, handle: Any) -> None:
        """Run a part of the scenario, as the process that is current."""
        if self.isolation is None:
            part.call(instance, handle)
            return
        for name, given in part.methods or ((part.name, ()),):
            self.isolation.own(getattr(type(instance), name))(instance, handle, *given)

    @property
    def ordered(self) -> bool:
        """Some law needs real-time order between promises of different processes."""
        return any(bound.ordered for bound in self.laws)

    def instance(self, attributes: dict[str, Any]) -> Scenario:
        """A fresh object with the attributes that setup left."""
        made = self.make()
        made.__dict__.update(copy.copy(attributes))
        return made


def spec_of(scenario: Any, **options: Any) -> Spec:
    """Read a Scenario class or object. Raises UsageError where it has no process, no law, or an unknown option, and for
    a Program, whose processes are drawn."""
    kind = scenario if isinstance(scenario, type) else type(scenario)
    if issubclass(kind, Program):
        raise UsageError(
            f"{kind.__name__} is a Program: its processes are drawn, so it cannot be searched. Fuzz it:"
            f" simfs fuzz {reference_of(scenario)}, or the fixture simfs_fuzz in a test"
        )
    spec = _read(scenario, options)
    if not spec.processes:
        raise UsageError(f"scenario {spec.name} has no process: mark a method with @simfs.process")
    return spec


def drawn_spec_of(scenario: Any) -> Spec:
    """Read a Program, which has no part of its own then, or any other scenario. Raises UsageError as `spec_of` does."""
    kind = scenario if isinstance(scenario, type) else type(scenario)
    if not issubclass(kind, Program):
        return spec_of(scenario)
    spec = _read(scenario, {})
    spec.processes = []
    return spec


def _read(scenario: Any, options: dict[str, Any]) -> Spec:
    kind = scenario if isinstance(scenario, type) else type(scenario)
    if not issubclass(kind, Scenario):
        raise UsageError(f"{scenario!r} is no Scenario: pass a subclass of simfs.Scenario or use simfs.scenario(...)")
    original = None if isinstance(scenario, type) else scenario
    unknown = set(options) - OPTIONS
    if unknown:
        raise UsageError(f"unknown option {', '.join(sorted(unknown))}; there are {', '.join(sorted(OPTIONS))}")
    merged = {name: options.get(name, getattr(original or kind, name)) for name in OPTIONS}
    if merged["strategy"] not in STRATEGIES:
        raise UsageError(f"no strategy {merged['strategy']!r}; there are {', '.join(STRATEGIES)}")
    processes, laws, recovery, recovers = _parts(kind)
    name = (original or kind).name or kind.__name__
    if not laws:
        raise UsageError(f"scenario {name} has no law: mark a method with @simfs.law")
    if merged["only"]:
        laws = [bound for bound in laws if bound.law.id in merged["only"]]
    make: Callable[[], Scenario] = kind if original is None else (lambda: copy.copy(original))
    return Spec(
        name=name,
        statement=inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].replace("\n", " "),
        make=make,
        setup=Part("setup", lambda self, m: self.setup(m)),
        processes=processes,
        recover=recovery,
        recovers=recovers,
        laws=laws,
        options=merged,
        reference=reference_of(original or kind),
    )


def _parts(kind: type[Scenario]) -> tuple[list[Part], list[BoundLaw], Part | None, Law]:
    processes: list[Part] = []
    laws: list[BoundLaw] = []
    recovery: Part | None = None
    recovers = RECOVERS
    for name, function in _methods(kind):
        mark = getattr(function, "__simfs_process__", None)
        if mark is not None:
            processes.append(Part(name, _method(name), mark.restart, mark.raises))
        judged = getattr(function, "__simfs_law__", None)
        if judged is not None:
            doc = inspect.cleandoc(function.__doc__ or "").replace("\n", " ")
            found = judged.law or Law(name, doc or _first_sentence(kind) or name.replace("_", " "))
            laws.append(BoundLaw(found, Part(name, _method(name)), judged.ordered, judged.anytime))
        if getattr(function, "__simfs_recover__", None):
            recovers = function.__simfs_recover__  # type: ignore[attr-defined]
            if recovery is not None:
                raise UsageError(f"scenario {kind.__name__} has two @simfs.recover methods: {recovery.name} and {name}")
            recovery = Part(name, _method(name))
    return processes, laws, recovery, recovers


def _first_sentence(kind: type) -> str:
    return inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].replace("\n", " ")


def _method(name: str) -> Callable[[Any, Any], Any]:
    return lambda self, m: getattr(self, name)(m)


def _methods(kind: type) -> list[tuple[str, Function]]:
    """Methods in the order they are written, those of base classes first, an override in its base's place."""
    found: dict[str, Function] = {}
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items():
            if callable(value) and not name.startswith("__"):
                found[name] = value
    return list(found.items())
