"""Scenarios that look for a damage: their law says that it never comes to be, so a counterexample is how it did.

A story does what the store is for (opens, commits, compacts) and may lose its power at any point; after a crash it
opens again and goes on, for damage that takes two. The name of a story holds the damage that is looked for, so that its
tokens can be replayed: `scenarios.image_stories:log__reads__torn`.
"""

from __future__ import annotations

import os
from typing import Any

import simfs
from eukhe.epochs import Session, User, repair
from eukhe.errors import EukheError
from eukhe.storage import Storage
from scenarios.images import Damage, examine, parse_slug
from scenarios.suites import log_model
from simfs.errors import UsageError
from simfs.explore.law import Law

HOME = "/home/me/.eukhe"
PLACES = {"log": f"{HOME}/sessions/one", "epochs": f"{HOME}/epochs/s"}
NEVER = Law("never_so_damaged", "The store is never found in this state")
COMMITS = (log_model.SESSION, log_model.entry(1, "one " * 30), log_model.entry(2, "two " * 30))
BOUNDS = {
    "log": f"one writer that opens and makes {len(COMMITS)} commits, one power loss, or two with an open between them",
    "epochs": "one writer that makes a session, says three things and compacts once, one power loss, or two with an"
    " open between them",
}
"""What is tried, in words."""


class Story(simfs.Scenario):
    """Looks for a damage."""

    damage: Damage
    power_depth = 1

    def setup(self, m: simfs.Handle) -> None:
        os.makedirs("/home/me")

    def examined(self) -> Damage | None:
        """What is wrong now; None where there is no directory to look at."""
        place = PLACES[self.damage.store]
        return examine(self.damage.store, place) if os.path.isdir(place) else None

    @simfs.law(NEVER)
    def never_so_damaged(self, m: simfs.Handle) -> None:
        assert self.examined() != self.damage, str(self.damage)


class LogStory(Story):
    """A commit log is written."""

    @simfs.process(restart=1)
    def writer(self, m: simfs.Handle) -> None:
        try:
            with Storage.open(PLACES["log"], home=HOME) as storage:
                for number, changes in enumerate(COMMITS, 1):
                    if number > storage.last_commit:
                        storage.commit(changes)
                        m.effect("committed", number)
        except EukheError as error:
            m.effect("refused", type(error).__name__)


class EpochsStory(Story):
    """A session is written and compacted."""

    @simfs.process(restart=1)
    def writer(self, m: simfs.Handle) -> None:
        try:
            if m.boot == 1:
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
        except EukheError as error:
            m.effect("refused", type(error).__name__)


KINDS: dict[str, type[Story]] = {"log": LogStory, "epochs": EpochsStory}


def story(damage: Damage) -> Story:
    """The story that looks for a damage, under the name that its tokens have."""
    made = KINDS[damage.store]()
    made.damage = damage
    made.name = damage.slug
    made.__simfs_reference__ = f"{__name__}:{damage.slug}"  # type: ignore[attr-defined]
    return made


def __getattr__(name: str) -> Any:
    """A story by the slug of its damage, for `simfs replay`."""
    try:
        return story(parse_slug(name))
    except UsageError as error:
        raise AttributeError(str(error)) from None
