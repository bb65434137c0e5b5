"""What an exploration answers: a verdict, exactly what was searched, and the counterexample if there is one.

Five words: "violated"; "proved", everything within the scenario was searched; "bounded", everything within a named
bound; "sampled", that many runs drawn at random; "inconclusive", the budget ended first or something could not be
judged. A budget that runs out never reads as success."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any

from simfs.explore.handle import Event
from simfs.explore.law import Law
from simfs.explore.plan import NOTHING, Plan
from simfs.explore.reads import Read
from simfs.machine.inode import Image
from simfs.machine.ops import Op
from simfs.machine.site import Site

STATUSES = ("violated", "inconclusive", "sampled", "bounded", "proved")
"""Worst first: the status of several explorations together is the worst of theirs."""


COUNTS = (
    "executions", "crash_points", "images", "recoveries", "laws_judged", "lazy_images", "lazy_leaves", "blocked",
)  # fmt: skip
"""The counts that are sums over runs."""


@dataclass(slots=True)
class Searched:
    """Counts of one exploration. `images` are leaves, distinct or not; `recoveries` the ones recovered and judged."""

    executions: int = 0
    crash_points: int = 0
    images: int = 0
    distinct_images: int = 0
    recoveries: int = 0
    laws_judged: int = 0
    lazy_images: int = 0
    """How many images were judged for all others that differ from them only where nobody looked."""
    lazy_leaves: int = 0
    """Of `images`, those that the `lazy_images` stand for, themselves included."""
    blocked: int = 0
    """Runs that were cut off because their class was known already."""
    classes: int = 0
    """Distinct happens-before classes among sampled runs."""
    estimate: float | None = None
    """While a search goes on: how many runs it may take in all."""
    bounds: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def since(self, earlier: Searched) -> Searched:
        """What was added to the counts since `earlier`, a copy of them; the bounds are all that there are."""
        out = Searched(bounds=list(self.bounds))
        for name in (*COUNTS, "classes"):
            setattr(out, name, getattr(self, name) - getattr(earlier, name))
        return out

    def __add__(self, other: Searched) -> Searched:
        return Searched(
            self.executions + other.executions,
            self.crash_points + other.crash_points,
            self.images + other.images,
            self.distinct_images + other.distinct_images,
            self.recoveries + other.recoveries,
            self.laws_judged + other.laws_judged,
            self.lazy_images + other.lazy_images,
            self.lazy_leaves + other.lazy_leaves,
            self.blocked + other.blocked,
            self.classes + other.classes,
            None,
            list(dict.fromkeys([*self.bounds, *other.bounds])),
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Crash:
    """Where the power went in one boot, and with which pick of survivors.

    `cut` has one number, how many ops of the journal had been made; or, where several processes ran, one for each
    process. `during` is the process whose next op was in progress and may have been cut, -1 for none. An empty pick is
    no power loss: at that instant readers looked, and a law that holds at any time was broken.
    """

    cut: tuple[int, ...]
    pick: tuple[int, ...]
    during: int = -1


@dataclass(frozen=True, slots=True)
class Leg:
    """One boot of a path: the schedule's answers, and the crash that ended it (None: it ran to its end).

    `recovery`: the crash struck while recovery ran on the image that the leg before left.
    """

    schedule: tuple[int, ...]
    crash: Crash | None
    recovery: bool = False
    plan: Plan = NOTHING


Path = tuple[Leg, ...]


@dataclass(slots=True)
class BootRecord:
    """What happened in one boot, for people: `kind` is "run" or "recovery". Trees are {path: "dir" | text | bytes}."""

    boot: int
    kind: str
    processes: list[str]
    ops: list[Op]
    crash: Crash | None
    issued: list[Op]
    """The ops that had been made when the boot ended, in order."""
    fates: dict[int, str]
    seen: dict[str, str | bytes]
    """What a reader saw the moment before the end of the boot."""
    left: dict[str, str | bytes]
    """What the disk held after the crash; the same as `seen` when nothing crashed."""
    start: Image | None = None
    """The disk at the beginning of the boot; None in a boot that was read from a file."""


@dataclass(slots=True)
class Finding:
    """A broken law: which, what was found, and where the judging code said so."""

    law: Law
    message: str
    error: str
    """Type of the exception, as "AssertionError"."""
    site: Site | None
    who: str
    """Name of the function that raised."""


@dataclass(slots=True)
class Counterexample:
    """One way to break a law, complete: replayable by `token`, shown by `text()`."""

    scenario: str
    statement: str
    disk: str
    finding: Finding
    promised: list[Event]
    boots: list[BootRecord]
    recovered: dict[str, str | bytes]
    """The tree that the law was judged on."""
    path: Path
    token: str
    searched: Searched
    reads: list[Read] = field(default_factory=list)
    """What recovery and the broken law looked at, in order."""
    image: Image | None = None
    """The disk that the last power loss left, before recovery; without one, what the processes left."""
    replays: int = 0
    """How often the path was run again with the same outcome before it was shown."""
    advisor: Callable[[], Any] | None = field(default=None, repr=False, compare=False)
    """Searches for advice (`advice.py`) when somebody asks."""
    _advice: Any = field(default=None, repr=False, compare=False)

    @property
    def advice(self) -> Any:
        """The smallest set of added flushes that would help, as an `Advice`; searched for when first asked for. None
        where nobody can search, as for a counterexample read from a file."""
        if self._advice is None and self.advisor is not None:
            self._advice = self.advisor()
        return self._advice

    @property
    def law(self) -> str:
        """Id of the broken law."""
        return self.finding.law.id

    def text(self, width: int = 80, colour: bool = False) -> str:
        """The report for a person. The renderer is found through the entry point group `simfs.renderer`."""
        return renderer()(self, width=width, colour=colour)


def renderer() -> Callable[..., str]:
    """The installed text renderer, or a plain one when none is."""
    return installed("simfs.renderer", "text") or _plain


def installed(group: str, name: str) -> Callable[..., Any] | None:
    """What is installed under a name of an entry point group, None for nothing: simfs imports no package above it."""
    for entry in entry_points(group=group):
        if entry.name == name:
            loaded: Callable[..., Any] = entry.load()
            return loaded
    return None


def _plain(found: Counterexample, width: int = 80, colour: bool = False) -> str:
    return f"{found.scenario}: law {found.law} broken: {found.finding.message}\nsimfs replay {found.token}"


@dataclass(slots=True)
class Verdict:
    """The answer of `explore`. `by_model` has one verdict for each disk model when several were asked for."""

    scenario: str
    status: str
    searched: Searched
    counterexample: Counterexample | None = None
    reason: str = ""
    """Why it is bounded, sampled or inconclusive."""
    disk: str = ""
    by_model: dict[str, Verdict] = field(default_factory=dict)
    tags: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """No violation, and as much searched as was asked for: proved, bounded or sampled."""
        return self.status in ("proved", "bounded", "sampled")

    @property
    def survived(self) -> list[str]:
        """Names of the disk models on which no law was broken."""
        return [name for name, verdict in self.by_model.items() if verdict.ok]


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict for several models of one scenario: the worst status, the first counterexample, counts added; runs
    and time, which the models share, are those of the one that took most."""
    assert verdicts
    if len(verdicts) == 1:
        only = verdicts[0]
        only.by_model = {only.disk: only}
        return only
    worst = min(verdicts, key=lambda v: STATUSES.index(v.status))
    total = verdicts[0].searched
    for verdict in verdicts[1:]:
        total = total + verdict.searched
    total.executions = max(v.searched.executions for v in verdicts)
    total.blocked = max(v.searched.blocked for v in verdicts)
    total.classes = max(v.searched.classes for v in verdicts)
    total.seconds = max(v.searched.seconds for v in verdicts)
    return Verdict(
        worst.scenario,
        worst.status,
        total,
        worst.counterexample,
        worst.reason,
        ", ".join(v.disk for v in verdicts),
        {v.disk: v for v in verdicts},
    )
