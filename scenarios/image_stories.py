"""Scenarios that look for a damage: their law says that it never comes to be, so a counterexample is how it did.

A story does what the store is for (opens, commits, compacts, claims, imports) and may lose its power at any point;
after a crash it opens again and goes on, for damage that takes two. A call may fail, and a second process may do the
same at the same time, where a `Stage` of the search says so. The name of a story holds the damage that is looked for,
so that its tokens can be replayed: `scenarios.image_stories:log__reads__torn`, or `log_together__reads__torn` for two.
"""

from __future__ import annotations

import errno
import json
import os
from dataclasses import dataclass
from typing import Any

import simfs
from eukhe.cron import CronStore, Outcome
from eukhe.epochs import Session, User, repair
from eukhe.errors import EukheError
from eukhe.sessions import delete_session, fork_session, import_session
from eukhe.storage import Storage
from scenarios.images import Damage, examine, parse_slug
from scenarios.suites import log_model
from simfs.errors import UsageError
from simfs.explore.law import Law
from simfs.machine.faults import FLUSHES, WRITES, Errno, Short

HOME = "/home/me/.eukhe"
PLACES = {"log": f"{HOME}/sessions/one", "epochs": f"{HOME}/epochs/s", "cron": HOME, "staging": f"{HOME}/sessions"}
LEGACY = "/home/me/old.jsonl"
NEVER = Law("never_so_damaged", "The store is never found in this state")
COMMITS = (log_model.SESSION, log_model.entry(1, "one " * 30), log_model.entry(2, "two " * 30))
WORKLOADS = {
    "log": f"one writer that opens and makes {len(COMMITS)} commits",
    "epochs": "one writer that makes a session, says three things and compacts once",
    "cron": "one process that adds a job, claims it and records the result of its run",
    "staging": "one process that imports a session, forks it and deletes the first",
}
"""What a story does, in words."""
TOGETHER = "_together"


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the search: what may go wrong, in words and as options of `explore`."""

    words: str
    power_depth: int = 1
    max_faults: int = 0
    kills: int = 0
    preemptions: int | None = None
    together: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """As keyword arguments of `explore`."""
        return {
            "power_depth": self.power_depth,
            "max_faults": self.max_faults,
            "kills": self.kills,
            "preemptions": self.preemptions,
        }


STAGES = (
    Stage("one power loss"),
    Stage("two power losses with an open between them", power_depth=2),
    Stage("a call that fails (no space, a short write, a failed flush), then a power loss", max_faults=1),
    Stage("two processes at once, one killed, at most 1 preemption, then a power loss", 1, 0, 1, 1, together=True),
)
"""What is tried, the fewest assumptions first."""


class Story(simfs.Scenario):
    """Looks for a damage."""

    damage: Damage
    faults = (Errno(WRITES, code=errno.ENOSPC), Short(WRITES), Errno(FLUSHES))

    def setup(self, m: simfs.Handle) -> None:
        os.makedirs("/home/me")

    def examined(self) -> Damage | None:
        """What is wrong now; None where there is no directory to look at."""
        place = PLACES[self.damage.store]
        return examine(self.damage.store, place) if os.path.isdir(place) else None

    def work(self, m: simfs.Handle) -> None:
        """What a process does with the store."""
        raise NotImplementedError

    def tried(self, m: simfs.Handle) -> None:
        """The work, and what a caller is told where it is refused."""
        try:
            self.work(m)
        except EukheError as error:
            m.effect("refused", type(error).__name__)

    @simfs.process(restart=1)
    def writer(self, m: simfs.Handle) -> None:
        self.tried(m)

    @simfs.law(NEVER)
    def never_so_damaged(self, m: simfs.Handle) -> None:
        assert self.examined() != self.damage, str(self.damage)


class LogStory(Story):
    """A commit log is written."""

    def work(self, m: simfs.Handle) -> None:
        with Storage.open(PLACES["log"], home=HOME) as storage:
            for number, changes in enumerate(COMMITS, 1):
                if number > storage.last_commit:
                    storage.commit(changes)
                    m.effect("committed", number)


class EpochsStory(Story):
    """A session is written and compacted."""

    def work(self, m: simfs.Handle) -> None:
        if not os.path.isdir(PLACES["epochs"]):
            session = Session.create(HOME, "s", {"of": 0}, 3)
        else:
            repair(PLACES["epochs"])
            session = Session.open(HOME, "s")
        with session:
            for text in ("one", "two"):
                session.append(User(text))
                m.effect("said", text)
            session.compact("so far", {"of": 1})
            session.append(User("three"))
            m.effect("said", "three")


class CronStory(Story):
    """Jobs are added, claimed and run."""

    def work(self, m: simfs.Handle) -> None:
        path = f"{PLACES['cron']}/cron-jobs.json"
        store = CronStore(path, system=m.system, home="/home/me", lock_wait_s=None, notice=lambda text: None)
        m.effect("added", store.create("every 10s", "run", job_id=f"{m.process}-{m.boot}").id)
        for claim in store.claim_due(store.now_ms() + 20_000, limit=1):
            m.effect("run", claim.job.id)
            store.record_dispatch_result(claim.dispatch.id, Outcome())


class StagingStory(Story):
    """A session is imported, forked and deleted."""

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        header = {"type": "session", "id": "old", "cwd": "/", "timestamp": "2026-01-01T00:00:00Z"}
        with open(LEGACY, "w") as file:
            file.write(f"{json.dumps(header)}\n{json.dumps({'text': 'one'})}\n")

    def work(self, m: simfs.Handle) -> None:
        sessions = PLACES["staging"]
        name = f"{m.process}-{m.boot}"
        import_session(LEGACY, sessions, name, system=m.system, home=HOME)
        m.effect("imported", name)
        fork_session(sessions, name, f"{name}-fork", system=m.system, home=HOME)
        m.effect("forked", name)
        delete_session(sessions, name, system=m.system)
        m.effect("deleted", name)


KINDS: dict[str, type[Story]] = {"log": LogStory, "epochs": EpochsStory, "cron": CronStory, "staging": StagingStory}


def _with_another(kind: type[Story]) -> type[Story]:
    class Together(kind):  # type: ignore[misc, valid-type]
        @simfs.process
        def writer(self, m: simfs.Handle) -> None:
            self.tried(m)

        @simfs.process
        def another(self, m: simfs.Handle) -> None:
            self.tried(m)

    Together.__doc__ = kind.__doc__
    return Together


TWO = {store: _with_another(kind) for store, kind in KINDS.items()}
"""The same with a second process that does the same."""


def story(damage: Damage, together: bool = False) -> Story:
    """The story that looks for a damage, under the name that its tokens have."""
    made = (TWO if together else KINDS)[damage.store]()
    made.damage = damage
    made.name = damage.slug.replace(damage.store, damage.store + TOGETHER, 1) if together else damage.slug
    made.__simfs_reference__ = f"{__name__}:{made.name}"  # type: ignore[attr-defined]
    return made


def __getattr__(name: str) -> Any:
    """A story by the slug of its damage, for `simfs replay`."""
    store, _, rest = name.partition("__")
    try:
        return story(parse_slug(f"{store.removesuffix(TOGETHER)}__{rest}"), store.endswith(TOGETHER))
    except UsageError as error:
        raise AttributeError(str(error)) from None
