"""A unit of fuzzing: so many histories of one target on one disk model. It is a value, and so is its result.

The same unit gives the same result wherever it is run, as often as it is run, so a unit whose worker died is simply
done again, and results may come in any order. What a unit needs to know of the night so far is in it: the lists from
which it may start (`parents`), and the failures that need not be made smaller once more (`met`).

A history is drawn from scratch, or a parent is changed in a few places and drawn on from its end. Of the histories that
show something new within the unit the list is kept. One that breaks a law is shrunk, then its failure is described.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from scenarios.fuzz.branches import RULES, counted
from scenarios.fuzz.guided import Clamped, Guided, changed
from scenarios.fuzz.marks import Watching
from scenarios.fuzz.planted import planting
from scenarios.fuzz.shrinking import TRIES, shrunk, stripped
from scenarios.histories import Broken, Failed, Histories, no_escapes
from simfs.disk.models import models_named
from simfs.errors import UsageError
from simfs.explore.choices import Choices
from simfs.explore.token import Token
from simfs.explore.verdict import Leg
from simfs.patch import taken_escapes

FRESH = 3
"""One history in so many is drawn from scratch, the others from a parent, where there is one."""
CAUSE_MAX = 120
_NUMBERS = re.compile(r"p\d+[a-z]\b|[0-9a-f]{8,}|\d+")

List = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """`count` histories from number `first` on; or, with `replay`, the parents just as they are."""

    target: str
    disk: str
    seed: str
    first: int
    count: int
    parents: tuple[List, ...] = ()
    met: frozenset[str] = frozenset()
    replay: bool = False
    planted: tuple[str, ...] = ()
    """Names of faults planted on purpose."""
    stop_at_first: bool = False
    """End when a law was broken."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A list that showed something, and the marks of all that it showed."""

    choices: List
    marks: frozenset[int]


@dataclass(frozen=True, slots=True)
class Failure:
    """A broken law, after shrinking. `cause` is what was found, without numbers and names of processes."""

    target: str
    disk: str
    law: str
    cause: str
    choices: List
    text: str

    @property
    def id(self) -> str:
        """Eight digits for the target, the law and the cause: equal ones are one failure."""
        return blake2b(f"{self.target}\n{self.law}\n{self.cause}".encode(), digest_size=4).hexdigest()

    @property
    def token(self) -> str:
        """What `simfs replay` takes."""
        return str(Token(self.target, self.disk, "", (Leg(self.choices, None),)))


@dataclass(slots=True)
class Result:
    """What a unit showed. `times` counts the histories that broke a law, by target, law and unshrunk cause."""

    unit: Unit
    histories: int = 0
    states: int = 0
    """Disks recovered and judged after a power loss or a kill."""
    seconds: float = 0.0
    classes: set[int] = field(default_factory=set)
    kept: list[Kept] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    times: dict[str, int] = field(default_factory=dict)
    trouble: str = ""
    """Why the unit could not be done, or not to its end; what it showed until then counts."""


def run_unit(unit: Unit, seconds: float | None = None, target: Histories | None = None) -> Result:
    """Do a unit; after so many seconds of real time it ends early. What the harness signals is `trouble`.

    `target` is looked up by its name when it is not given.
    """
    with planting(unit.planted):
        try:
            found = target or _target_named(unit.target)
        except UsageError as error:
            return Result(unit, trouble=f"{unit.target}: {error}")
        with counted(RULES if found.modules is None else found.modules) as hits, found.stage():
            taken_escapes()
            run = _Run(unit, found, hits, seconds)
            try:
                return run.run()
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                run.result.trouble = f"{unit.target} on {unit.disk}: {type(error).__name__}: {error}"
                return run.result


def _target_named(name: str) -> Histories:
    from scenarios.fuzz.lookup import target_named  # it loads the catalogue, which whoever gives a target does without

    return target_named(name)


@dataclass(slots=True)
class _Run:
    unit: Unit
    target: Histories
    hits: set[int]
    limit_s: float | None
    result: Result = field(init=False)
    seen: set[int] = field(default_factory=set)
    met: set[str] = field(default_factory=set)
    model: Any = None

    def __post_init__(self) -> None:
        self.result = Result(self.unit)

    def run(self) -> Result:
        unit, started = self.unit, time.monotonic()
        (self.model,) = models_named(unit.disk)
        self.met = set(unit.met)
        for number in range(unit.first, unit.first + (len(unit.parents) if unit.replay else unit.count)):
            if self.limit_s is not None and time.monotonic() - started > self.limit_s:
                break
            if unit.stop_at_first and self.result.failures:
                break
            if unit.replay:
                own = unit.parents[number - unit.first]
                self.one(Clamped(own), own)
            else:
                self.one(self.drawn(number))
        self.result.seconds = time.monotonic() - started
        return self.result

    def drawn(self, number: int) -> Guided:
        """The choices of history `number`."""
        unit, seed = self.unit, f"{self.unit.seed} {self.unit.target} {number}"
        plan: Sequence[int] = ()
        if unit.parents and number % FRESH:
            one, other = (unit.parents[(number * step) % len(unit.parents)] for step in (1, 7))
            plan = changed(one, other, seed)
        return Guided(plan, seed)

    def one(self, choices: Choices, own: List = ()) -> None:
        """Run a history, and note what it showed; as that of the list `own`, where it is the replay of one."""
        self.result.histories += 1
        watching = Watching(self.model)
        self.hits.clear()
        history = self.target.make(watching, choices)
        try:
            history.run()
            no_escapes()
        except Broken as broken:
            self.failed(broken, choices.taken)
        else:
            marks = frozenset(self.hits) | watching.marks | getattr(history, "marks", frozenset())
            self.result.classes |= getattr(history, "classes", set())
            if self.unit.replay or not marks <= self.seen:
                self.seen |= marks
                self.result.kept.append(Kept(own or tuple(stripped(choices.taken)), marks))
        self.result.states += history.crashes

    def failed(self, broken: Broken, taken: list[int]) -> None:
        """Shrink a failing list, unless one like it has been; describe it."""
        like = f"{self.target.name} {broken.law.id} {cause_of(broken)}"
        self.result.times[like] = self.result.times.get(like, 0) + 1
        if like in self.met:
            return
        self.met.add(like)
        tries = TRIES // 10 if self.unit.replay else TRIES
        best = shrunk(taken, self.fails(broken.law.id), tries)
        history, again = self.again(best)
        if again is None or again.law.id != broken.law.id:
            raise AssertionError(f"{self.target.name} broke {broken.law.id} once, and not when it was run again")
        text = self.target.text(self.model, Failed(again, history, best))
        self.result.failures.append(
            Failure(self.target.name, self.model.name, again.law.id, cause_of(again), tuple(best), text)
        )

    def fails(self, law: str) -> Any:
        """Whether a list breaks a law: what was taken then."""

        def run(proposal: Sequence[int]) -> list[int] | None:
            choices = Clamped(proposal)
            broken = self.again(proposal, choices)[1]
            return choices.taken if broken is not None and broken.law.id == law else None

        return run

    def again(self, plan: Sequence[int], choices: Clamped | None = None) -> tuple[Any, Broken | None]:
        """Run a list: the history, and what broke."""
        history = self.target.make(self.model, choices or Clamped(plan))
        try:
            history.run()
            no_escapes()
        except Broken as broken:
            return history, broken
        return history, None


def cause_of(broken: Broken) -> str:
    """What was found, so that the same fault in another history reads the same: no numbers, no names of processes, and
    nothing of what a list or a dict holds."""
    text = _NUMBERS.sub("#", re.split(r"[\[{]", str(broken), maxsplit=1)[0])
    return re.sub(r"#(, #)+", "#", text)[:CAUSE_MAX].strip()
