"""The suite `staging`: the real builds, publishes and sweeps on a machine whose processes meet, die and lose power.

Every scenario runs `eukhe.staging` and `eukhe.sessions` as they ship, over the machine's system calls. A scenario
reaches the machine through `system(m)`: that is where a mutant puts its wrapper.

Here is what the scenarios share: who builds, who sweeps, and the laws of what they leave. Publishing is in
`staging_publish`, what a sweep meets and what time does in `staging_sweeps`, the whole import, fork and delete in
`listing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import simfs
from eukhe.errors import StorageError, StorageExists, StorageUnusable
from eukhe.staging import Build, SweepReport, sweep
from eukhe.staging.rules import DAY_NS, is_leftover_name, leftover_of_lock
from eukhe.storage.codec import encode_changes
from eukhe.storage.records import session_meta
from eukhe.system import System
from scenarios.laws import staging
from scenarios.suites.storage import Wrap, as_it_is

SESSIONS = "/home/sessions"
NAME = "one"
PLACE = f"{SESSIONS}/{NAME}"
MAIN = "main.jsonl"
DAY_S = DAY_NS / 1e9

CLAIMED = ("scc", "synced-only", "prefix", "ext4")
"""The disk models that staging claims to survive."""


def line_of(text: str) -> bytes:
    """The first commit of a storage that works in `/text`."""
    return encode_changes(1, [session_meta(f"/{text}", "2026-01-01T00:00:00Z")])[0]


class Watched:
    """A system that notes what each rename that may not replace has met."""

    def __init__(self, system: Any, m: simfs.Handle) -> None:
        self._system = system
        self._m = m

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def renameat2(self, src: str, dst: str, flags: int, /) -> None:
        """As the system's."""
        code = 0
        try:
            self._system.renameat2(src, dst, flags)
        except OSError as error:
            code = error.errno or -1
            raise
        finally:
            self._m.effect("renamed", (self._m.process, code))


class StagingScenario(simfs.Scenario):
    """What the scenarios share: who builds, who sweeps, and the laws of what they leave."""

    interpose = False
    disk: Sequence[str] = CLAIMED
    patience_s = DAY_S
    """After how long what the dead left is old, in seconds."""
    watched = False
    """Note what each rename that may not replace has met."""
    wrap: Wrap
    """What a mutant puts between the machine and the store."""

    def __init__(self, wrap: Wrap = as_it_is) -> None:
        self.wrap = wrap

    def setup(self, m: simfs.Handle) -> None:
        """A sessions directory, and nothing in it."""
        m.system.mkdir("/home")
        m.system.mkdir(SESSIONS)

    def system(self, m: simfs.Handle) -> System:
        """The system calls that the store is given in this process."""
        wrapped: System = self.wrap(m.system, m.process)
        return wrapped

    def content(self, who: str) -> bytes:
        """What a build puts into its main.jsonl. Two bytes are enough to be torn, and keep the disks few."""
        return who[:1].encode() + b"\n"

    def put(self, m: simfs.Handle, path: str, data: bytes) -> None:
        """Make a file, without any flush: what a build does inside its staging directory."""
        fd = m.system.open(path, 0o101)
        m.system.write(fd, data)
        m.system.close(fd)

    def read(self, m: simfs.Handle, path: str) -> bytes | None:
        """The bytes of a file, None where there is none."""
        try:
            fd = m.system.open(path, 0)
        except (FileNotFoundError, NotADirectoryError):
            return None
        data = m.system.read(fd, 1 << 20)
        m.system.close(fd)
        return data

    def build(self, m: simfs.Handle, name: str = NAME) -> None:
        """Build a storage that says who built it, and publish it."""
        system = Watched(self.system(m), m) if self.watched else self.system(m)
        m.ask("publish", m.process)
        try:
            with Build.begin(system, SESSIONS, name, "import", SESSIONS) as build:
                self.fill(m, build.path)
                build.publish()
                m.ack("published", (m.process, build.path))
        except StorageExists:
            m.fail("exists", m.process)
        except StorageUnusable as error:
            m.fail("unusable", error.why)
        except (StorageError, OSError) as error:
            m.effect("lost", f"{m.process}: {error}")

    def fill(self, m: simfs.Handle, path: str) -> None:
        """What a build does between its beginning and its publish."""
        self.put(m, f"{path}/{MAIN}", self.content(m.process))

    def sweep(self, m: simfs.Handle) -> SweepReport:
        """Sweep, and say what went."""
        report = sweep([SESSIONS], system=self.system(m))
        for entry in report.removed:
            m.effect("swept", entry.path)
        return report

    def leftovers(self, m: simfs.Handle) -> list[str]:
        """Names in the sessions directory that belong to a build or a deletion."""
        names = m.system.listdir(SESSIONS)
        return [name for name in names if is_leftover_name(name) or leftover_of_lock(name) is not None]

    @simfs.law(staging.SWEEP_NEVER_LIVE_REAL)
    def nobody_loses_what_he_builds(self, m: simfs.Handle) -> None:
        lost = [event.value for event in m.history if event.label == "lost"]
        assert not lost, f"a build failed though nothing did: {lost[0]}"

    @simfs.law(staging.SWEEP_TAKES_STALE_FREE_REAL)
    def what_the_dead_left_goes(self, m: simfs.Handle) -> None:
        m.sleep(self.patience_s)
        report = sweep([SESSIONS], system=self.system(m))
        assert not report.failed, f"the sweep failed at {report.failed[0]}"
        left = self.leftovers(m)
        assert not left, f"nobody lives, a day has passed, a sweep has been, and {left} stays"
