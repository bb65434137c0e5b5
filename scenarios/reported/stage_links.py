"""D9: a clean-up that follows links out of the directory it cleans. deepseek-ai/DeepJIT#2; relatives:
giuspen/cherrytree#2920, capnproto/capnproto#1610 (looked at as a directory, a link by the time it was entered).

What happened. A staging directory that was given up holds a link to a directory elsewhere. The clean-up asks whether
it is a directory, is told yes, goes in, and removes the files it finds: those of the other directory. Links that lead
nowhere are neither file nor directory to it, so they stay, and the staging directory with them.

Why that is wrong. The question follows the link, and the answer is about something else. Even a question that does not
follow is worth nothing a moment later.

What is right. Ask about the entry itself; remove links, wherever they lead; go down by open descriptors that refuse to
follow, so that an exchange between the question and the descent is an error and no way out.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import simfs
from scenarios.reported.holding import make_empty
from scenarios.reported.laws import STG2, STG4
from scenarios.reported.registry import Case

STAGE, OUTSIDE, KEPT = "/stage", "/outside", "/outside/keep"


class _Links(simfs.Scenario):
    """A stage full of links is cleaned up, and a link that stands where a stage is expected."""

    power = False

    def setup(self, m: Any) -> None:
        os.mkdir(OUTSIDE)
        make_empty(KEPT)
        os.makedirs(f"{STAGE}/deep")
        make_empty(f"{STAGE}/deep/file")
        for name, target in (("dir", OUTSIDE), ("file", KEPT), ("none", "/nowhere"), ("self", f"{STAGE}/self")):
            os.symlink(target, f"{STAGE}/{name}")
        os.symlink(OUTSIDE, "/other-stage")

    def clean(self, path: str) -> None:
        raise NotImplementedError

    @simfs.process
    def cleaner(self, m: Any) -> None:
        self.clean(STAGE)
        self.clean("/other-stage")

    @simfs.law(STG4)
    def what_is_outside_stays(self, m: Any) -> None:
        assert os.path.exists(KEPT), "a file outside of the stage was removed"

    @simfs.law(STG2)
    def the_stage_goes(self, m: Any) -> None:
        self.clean(STAGE)
        assert not os.path.lexists(STAGE), f"the stage stays, with {os.listdir(STAGE)}"


class FollowsLinks(_Links):
    """Asks about what a link leads to."""

    def clean(self, path: str) -> None:
        if os.path.isdir(path):
            for name in os.listdir(path):
                self.clean(f"{path}/{name}")
            with suppress(OSError):
                os.rmdir(path)
        elif os.path.exists(path):
            os.unlink(path)


class LooksBeforeItGoesIn(_Links):
    """Asks about the entry itself, and goes in by name a moment later; somebody exchanges it in between."""

    def clean(self, path: str) -> None:
        if os.path.isdir(path) and not os.path.islink(path):
            for name in os.listdir(path):
                self.clean(f"{path}/{name}")
            with suppress(OSError):
                os.rmdir(path)
        else:
            with suppress(FileNotFoundError, IsADirectoryError):
                os.unlink(path)

    @simfs.process
    def swapper(self, m: Any) -> None:
        swap()


class GoesDownByDescriptor(_Links):
    """Goes down from descriptor to name and never follows, whatever is exchanged meanwhile; may be killed."""

    kills = 1

    def clean(self, path: str) -> None:
        top = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
        try:
            remove_below(top, path[1:])
        finally:
            os.close(top)

    @simfs.process
    def swapper(self, m: Any) -> None:
        swap()


def swap() -> None:
    """Put a link where a directory of the stage was."""
    with suppress(FileNotFoundError):
        os.rename(f"{STAGE}/deep", "/moved")
        os.symlink(OUTSIDE, f"{STAGE}/deep")


def remove_below(parent: int, name: str) -> None:
    """Remove an entry of an open directory, and what is in it."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    except NotADirectoryError:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=parent)
        return
    except FileNotFoundError:
        return
    try:
        for below in os.listdir(fd):
            remove_below(fd, below)
    finally:
        os.close(fd)
    with suppress(OSError):
        # Gone, exchanged, or filled again meanwhile: the next clean-up finds what stays.
        os.rmdir(name, dir_fd=parent)


CASES = (
    Case(
        "D9", "a clean-up that follows links", "deepseek-ai/DeepJIT#2", FollowsLinks, GoesDownByDescriptor, (STG4, STG2)
    ),
    Case(
        "D9-exchanged",
        "a directory exchanged for a link before the clean-up goes in",
        "capnproto/capnproto#1610",
        LooksBeforeItGoesIn,
        GoesDownByDescriptor,
        (STG4,),
    ),
)
