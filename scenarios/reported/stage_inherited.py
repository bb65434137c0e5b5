"""matplotlib/matplotlib#16677: a child removes the temporary directory of its parent. And pypa/pip#1141: a cache entry
of two files, of which the second is half-written and believed.

*matplotlib*: a process makes a temporary directory and has it removed at its exit. A child begins as a copy of it, the
exit hook included; it ends first, and the directory of the parent is gone. Right: the hook asks whether it runs in the
process that made the directory. (A fork is shown here by two processes that know the same: who made it.)

*pip*: a download and its content type are kept in two files, written in place. A reader finds both and believes them;
the second is cut off after some bytes. Right: each file appears whole, the one that vouches for the other comes last,
and each is durable before the next.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

import simfs
from scenarios.reported.durable import replace_durably
from scenarios.reported.laws import DUR7, STG1
from scenarios.reported.registry import ATOMIC_RENAMES, Case

TEMPORARY, MAKER = "/tmp-dir", "/maker"
BODY, KIND = "/cache.body", "/cache.type"
PAYLOAD, TYPE = b"zip", b"zip/x"


class _ExitHook(simfs.Scenario):
    """A process works in its temporary directory while its child ends; both run the exit hook."""

    power = False

    def hook(self, maker: int) -> None:
        raise NotImplementedError

    @simfs.process
    def parent(self, m: Any) -> None:
        os.mkdir(TEMPORARY)
        replace_durably(MAKER, b"%d" % os.getpid())
        try:
            with open(f"{TEMPORARY}/figure", "w"):
                pass
        except FileNotFoundError:
            m.effect("lost")
        self.hook(os.getpid())

    @simfs.process
    def child(self, m: Any) -> None:
        if os.path.exists(MAKER):
            with open(MAKER) as file:
                self.hook(int(file.read()))

    @simfs.law(STG1)
    def the_living_keep_their_directory(self, m: Any) -> None:
        assert not m.effects("lost"), "the child has removed the directory in which its parent works"


class HookOfEverybody(_ExitHook):
    """The hook removes the directory, whoever runs it."""

    def hook(self, maker: int) -> None:
        shutil.rmtree(TEMPORARY, ignore_errors=True)


class HookOfTheMaker(_ExitHook):
    """The hook removes the directory in the process that made it."""

    def hook(self, maker: int) -> None:
        if maker == os.getpid():
            shutil.rmtree(TEMPORARY, ignore_errors=True)


class _TwoFiles(simfs.Scenario):
    """A download is kept with its type; whoever finds both believes them."""

    kills = 1

    def keep(self) -> None:
        raise NotImplementedError

    @simfs.process
    def downloader(self, m: Any) -> None:
        self.keep()
        m.ack("kept")

    @simfs.law(DUR7, anytime=True)
    def both_fit(self, m: Any) -> None:
        found = [read(path) for path in (BODY, KIND)]
        assert None in found or found == [PAYLOAD, TYPE], f"{found} is believed"
        assert not m.acked("kept") or found == [PAYLOAD, TYPE], f"it was kept, and there is {found}"


class WritesBothInPlace(_TwoFiles):
    """One file after the other, in place."""

    def keep(self) -> None:
        for path, data in ((BODY, PAYLOAD), (KIND, TYPE)):
            with open(path, "wb") as file:
                file.write(data)


class EachWholeAndInOrder(_TwoFiles):
    """The download whole and durable, and then its type."""

    disk = ATOMIC_RENAMES

    def keep(self) -> None:
        replace_durably(BODY, PAYLOAD)
        replace_durably(KIND, TYPE)


def read(path: str) -> bytes | None:
    """A file's bytes, None where there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


CASES = (
    Case(
        "matplotlib",
        "a child's exit hook removes its parent's directory",
        "matplotlib/matplotlib#16677",
        HookOfEverybody,
        HookOfTheMaker,
        (STG1,),
    ),
    Case(
        "pip", "half of a pair of files is believed", "pypa/pip#1141", WritesBothInPlace, EachWholeAndInOrder, (DUR7,)
    ),
)
