"""Advice on flushes: the smallest set that makes a scenario hold, why each is needed, and which ones are not.

How it is found. Candidates are all flushes that could follow a call of the recorded runs: of the file just written, of
the directory just changed. A flush only ever takes images away, so if the scenario fails with every candidate added,
none exists: the order of the writes is wrong. Otherwise a candidate without which all the others fail is in every
solution; if those alone do not suffice, ever larger sets of the rest are tried beside them, so that the first that
holds is a smallest one. "Holds" means: the whole search, on every run, crash point and image, with the flushes added to
the op journals (`flushpatch.py`), found no broken law.

The cause in program terms is found by moving: each flush of the solution is delayed until it no longer helps. The call
that it could not be delayed past is what must not come before it.

A flush that a holding scenario makes is redundant on a model if the whole search still finds nothing without it. Each
is tried by itself: two redundant flushes may be needed in turn for each other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

from simfs.disk.model import DiskModel
from simfs.disk.models import models_named
from simfs.errors import UsageError
from simfs.explore.boot import run_boot
from simfs.explore.choices import Replayed
from simfs.explore.explorer import stage_set
from simfs.explore.flushpatch import AddedFlush, Key, PatchedModel, call_of, flushes_after, key_of
from simfs.explore.group import for_model
from simfs.explore.judge import Inconclusive
from simfs.explore.ready import Ready, prepare
from simfs.explore.search import Found, OutOfBudget, Search
from simfs.explore.spec import spec_of
from simfs.machine.faults import FLUSHES
from simfs.machine.ops import Ack, Close, Effect, FailedFlush, Flush, FlushAll, Lock, Note, Op, Rename, Write
from simfs.machine.site import Site

WRONG_ORDER = "the order of the writes is wrong"
NO_DIRECTORIES = "the order of the writes is wrong, or it takes the flush of a directory, which this system refuses"
MAY_FAIL = "it takes a flush that fails, and an added one may fail like any other"
SILENT = (Flush, FlushAll, FailedFlush, Note, Lock, Close)
"""Ops that nothing has to be durable before."""
ADVICE_BUDGET_S = 10.0
"""Real time that a report spends on advice."""
SIZE_MAX = 4
"""Flushes added beside the necessary ones before a set that is only irreducible is taken."""


@dataclass(frozen=True, slots=True)
class Cause:
    """`first` must be durable before `second`: both in words, with their call sites."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.first} must be durable before {self.second}"


@dataclass(frozen=True, slots=True)
class Advice:
    """What flushes would do. `added` is empty when none helps; `smallest` says whether every smaller set was tried."""

    disk: str
    added: tuple[AddedFlush, ...] = ()
    causes: tuple[Cause, ...] = ()
    smallest: bool = True
    decided: bool = True
    """False when the time ended before an answer was found."""
    searches: int = 0
    why: str = WRONG_ORDER
    """Why no set helps, where none does."""
    still: str = ""
    """What a law finds with every flush added, where none helps."""

    @property
    def exists(self) -> bool:
        """Whether some set of added flushes makes the scenario hold."""
        return bool(self.added)

    def lines(self) -> list[str]:
        """The advice as sentences, for a report."""
        if not self.decided:
            return ["Whether added flushes would help was not found in the time given."]
        if not self.added:
            return [f"No set of added flushes makes it hold: {self.why}."]
        which = "smallest set of" if self.smallest else "set of needed"
        return [
            f"The {which} added flushes that makes it hold on {self.disk}: {'; '.join(map(str, self.added))}.",
            *(f"{str(cause)[0].upper()}{str(cause)[1:]}." for cause in self.causes),
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def as_values(self) -> dict[str, Any]:
        """The advice as plain values, for JSON."""
        return {
            "disk": self.disk,
            "exists": self.exists,
            "decided": self.decided,
            "smallest": self.smallest,
            "added": [
                {"flush": f.what, "path": f.path, "after": f.call, "file": f.site.file, "line": f.site.line}
                for f in self.added
            ],
            "causes": [{"first": cause.first, "second": cause.second} for cause in self.causes],
            "text": str(self),
        }


@dataclass(frozen=True, slots=True)
class RedundantFlush:
    """A flush without which the scenario holds just as well on this model."""

    disk: str
    site: Site
    path: str
    what: str

    def __str__(self) -> str:
        return f"the flush of {self.path or 'everything'} at {self.site} is redundant on {self.disk}"


def advise(scenario: Any, disk: str | None = None, budget: float = 20.0, **options: Any) -> Advice | None:
    """Advice for a scenario on one disk model; None when no law is broken there. `budget` is real time, in seconds."""
    spec = spec_of(scenario, **options)
    model = _one_model(disk if disk is not None else spec.options["disk"])
    with stage_set(spec):
        return advice_for(prepare(for_model(spec, model)), model, budget)


def redundant_flushes(
    scenario: Any, disk: str | None = None, budget: float = 20.0, **options: Any
) -> list[RedundantFlush]:
    """The flushes of a scenario that holds which it could do without on one model. Raises UsageError if it fails."""
    spec = spec_of(scenario, **options)
    model = _one_model(disk if disk is not None else spec.options["disk"])
    with stage_set(spec):
        trials = Trials(prepare(for_model(spec, model)), model, time.monotonic() + budget)
        if not trials.holds(()):
            raise UsageError(f"{spec.name} does not hold on {model.name}: no flush of it can be called redundant")
        made = {op.site: op for op in trials.recorded() if isinstance(op, Flush | FlushAll) and op.site is not None}
        found = []
        for site, op in made.items():
            if site is not None and trials.holds((), frozenset({site})):
                what = "everything" if isinstance(op, FlushAll) else "directory" if op.is_dir else "file"
                found.append(RedundantFlush(model.name, site, op.path, what))
        return found


def _one_model(disk: Any) -> DiskModel:
    models = models_named(disk)
    if len(models) != 1:
        raise UsageError(f"advice is for one disk model, not {disk!r}")
    return models[0]


def advice_for(ready: Ready, model: DiskModel, budget: float) -> Advice | None:
    """Advice for a prepared scenario; its stage must be set. None when it holds."""
    trials = Trials(ready, model, time.monotonic() + budget)
    try:
        return _find(trials)
    except (OutOfBudget, Inconclusive):
        return Advice(model.name, decided=False, searches=trials.count)


def _find(trials: Trials) -> Advice | None:
    if trials.holds(()):
        return None
    if trials.without_failing_flushes() and trials.holds(()):
        return Advice(trials.model.name, searches=trials.count, why=MAY_FAIL)
    ops = trials.recorded()
    kinds = {"file"} if not trials.flushes_directories else {"file", "directory", "source directory"}
    candidates = list(dict.fromkeys(flush for op in ops for flush in flushes_after(op) if flush.what in kinds))
    if not candidates or not trials.holds(tuple(candidates)):
        why = WRONG_ORDER if trials.flushes_directories else NO_DIRECTORIES
        still = trials.found(tuple(candidates)) if candidates else ""
        return Advice(trials.model.name, searches=trials.count, why=why, still=still)
    added, smallest = _smallest(trials, candidates)
    causes = tuple(cause for flush in added for cause in _causes(trials, ops, added, flush))
    return Advice(trials.model.name, added, causes, smallest, searches=trials.count)


def _smallest(trials: Trials, candidates: list[AddedFlush]) -> tuple[tuple[AddedFlush, ...], bool]:
    """A smallest set that holds, and whether that is known; all of them together are known to hold."""
    needed = tuple(c for c in candidates if not trials.holds(tuple(other for other in candidates if other != c)))
    rest = [c for c in candidates if c not in needed]
    for size in range(min(SIZE_MAX, len(rest)) + 1):
        for chosen in combinations(rest, size):
            wanted = tuple(c for c in candidates if c in needed or c in chosen)
            if trials.holds(wanted):
                return wanted, True
    kept = list(candidates)
    for candidate in rest:
        fewer = [c for c in kept if c != candidate]
        if trials.holds(tuple(fewer)):
            kept = fewer
    return tuple(kept), False


def _causes(trials: Trials, ops: Sequence[Op], added: tuple[AddedFlush, ...], flush: AddedFlush) -> Iterator[Cause]:
    """The call that this flush may not come after."""
    made = [(at, flush.flush_for(op)) for at, op in enumerate(ops)]
    start = max((at for at, found in made if found is not None and found.path == flush.path), default=None)
    if start is None:
        return
    first = ops[start]
    others = tuple(other for other in added if other != flush)
    later: dict[Key, Op] = {}
    for op in ops[start + 1 :]:
        key = key_of(op)
        own = key in (None, (flush.site, flush.call))
        if op.process == first.process and key is not None and not own and not isinstance(op, SILENT):
            later.setdefault(key, op)
    following = list(later.items())
    for (_, op), (key, _) in pairwise(following):
        if not trials.holds((*others, replace(flush, until=key))):
            yield Cause(_words(first), _words(op))
            return
    if following:
        yield Cause(_words(first), _words(following[-1][1]))


def _words(op: Op) -> str:
    """An op for people, with its call site."""
    if isinstance(op, Ack | Effect):
        return f"the {'promise' if isinstance(op, Ack) else 'effect'} {op.label!r} at {op.site}"
    if isinstance(op, Write):
        return f"the {len(op.data)} byte{'s' if len(op.data) != 1 else ''} written to {op.path} at {op.site}"
    if isinstance(op, Rename):
        return f"the rename of {op.path} to {op.to_path} at {op.site}"
    return f"the {call_of(op)} of {op.path} at {op.site}"


class Trials:
    """Whole searches of one scenario with other flushes, none of them made twice."""

    def __init__(self, ready: Ready, model: DiskModel, deadline: float) -> None:
        self.ready = Ready(replace(ready.spec, sites=True), ready.attributes, ready.base)
        self.model = model
        self.deadline = deadline
        self.count = 0
        self._known: dict[tuple[frozenset[AddedFlush], frozenset[Site]], bool] = {}
        self._found: dict[frozenset[AddedFlush], str] = {}

    @property
    def flushes_directories(self) -> bool:
        """Whether a directory can be flushed on this system at all."""
        return not any(fault.kind == "dir" and "fsync" in fault.calls for fault in self.ready.spec.refusals)

    def without_failing_flushes(self) -> bool:
        """Go on as if no flush could fail; answers whether any could. What was found out before is forgotten."""
        spec = self.ready.spec
        own = tuple(fault for fault in spec.options["faults"] if not set(fault.calls) & set(FLUSHES))
        brought = tuple(fault for fault in spec.faults if not set(fault.calls) & set(FLUSHES))
        if len(own) == len(spec.options["faults"]) and len(brought) == len(spec.faults):
            return False
        options = {**spec.options, "faults": own}
        self.ready = Ready(replace(spec, options=options, faults=brought), self.ready.attributes, self.ready.base)
        self._known.clear()
        return True

    def holds(self, added: tuple[AddedFlush, ...], dropped: frozenset[Site] = frozenset()) -> bool:
        """Whether no law is broken. Raises OutOfBudget, or Inconclusive where a run cannot be judged."""
        key = (frozenset(added), dropped)
        if key not in self._known:
            self.count += 1
            model = PatchedModel(self.model, added, dropped) if added or dropped else self.model
            search = Search(self.ready.spec, model, self.ready.attributes, self.ready.base, self.deadline)
            try:
                search.run()
                self._known[key] = True
            except Found as found:
                self._known[key] = False
                self._found[frozenset(added)] = found.violation.finding.message.split("\n")[0]
        return self._known[key]

    def found(self, added: tuple[AddedFlush, ...]) -> str:
        """What a law said where it did not hold with these flushes, in a line."""
        return self._found.get(frozenset(added), "")

    def recorded(self) -> list[Op]:
        """The op journal of the first run, and of recovery on the disk that it ended with."""
        spec = self.ready.spec
        run = run_boot(spec, spec.processes, self.ready.attributes, self.ready.base, Replayed(()), sites=True)
        ops = list(run.ops)
        search = Search(spec, self.model, self.ready.attributes, self.ready.base)
        solo = search.judge.recovery(run.end, sites=True)
        if solo is not None:
            ops.extend(solo.machine.journal.ops)
        return ops
