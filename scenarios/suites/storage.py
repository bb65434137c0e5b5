"""The suite `storage`: the real commit log on a machine that loses power, is killed, or answers with an error.

Every scenario runs `eukhe.storage` as it ships, over the machine's system calls; nothing in the store knows of it.
What each process does is a few lines; what must be true is in the laws, which compare what a real open finds with the
model in `log_model`. A scenario reaches the machine through `system(m)`: that is where a mutant puts its wrapper.

| scenario | what happens |
|---|---|
| `storage_epoch` | directories made, opened, three commits; after a crash a real open, which is crashed as well |
| `storage_reads` | the same, judged before anything was recovered: what an open reads and cuts |
| `storage_reopen` | two opens of one storage, with a commit or two each |
| `storage_new_home` | the directory above the home was made by someone who flushed nothing |
| `storage_build` | a build that does not flush, and flushes once at its end |
| `storage_one_writer` | a second writer while the first one is there |

Families, one scenario for each place where something happens, are in `storage_families`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import simfs
from eukhe.errors import StorageInUse
from eukhe.storage import Storage
from eukhe.storage.codec import BODY_INLINE_BYTES
from eukhe.system import System
from scenarios.laws import log
from scenarios.suites import log_model
from scenarios.suites.log_model import Changes

HOME = "/home/me/.eukhe"
PATH = f"{HOME}/sessions/one"
MAIN = f"{PATH}/main.jsonl"

CLAIMED = ("scc", "synced-only", "prefix", "ext4")
"""The disk models that the storage claims to survive. Not `posix-weakest`: there the blocks of an unflushed line may
survive in any subset, so a line that spans two of them may come back with its newline and without its middle. That is
damage, refused by name, and what was acknowledged before it is still there for `eukhe doctor`."""

TRIED: tuple[Changes, ...] = (
    log_model.SESSION,
    log_model.entry(1, "plain text"),
    log_model.entry(2, "naïve Ωμέγα 雪 🙂"),
    *(log_model.entry(number, f"entry {number}") for number in range(3, 7)),
)
"""What the processes commit, in this order; the third holds characters of two, three and four bytes."""

Wrap = Callable[[Any, str], Any]
"""(system, name of the process) -> the system that the store is given."""


def as_it_is(system: Any, process: str) -> Any:
    """No mutant."""
    return system


class StorageScenario(simfs.Scenario):
    """What the scenarios share: the store over the machine, and the laws of what a crash may leave."""

    interpose = False
    disk: str | Sequence[str] = CLAIMED
    tried: tuple[Changes, ...] = TRIED
    """What the processes commit, in this order."""
    inline_bytes: int = BODY_INLINE_BYTES
    wrap: Wrap
    """What a mutant puts between the machine and the store."""

    def __init__(self, wrap: Wrap = as_it_is) -> None:
        self.wrap = wrap

    def setup(self, m: simfs.Handle) -> None:
        """A home directory of the user, and nothing in it."""
        m.system.mkdir("/home")
        m.system.mkdir("/home/me")

    def system(self, m: simfs.Handle) -> System:
        """The system calls that the store is given in this process."""
        wrapped: System = self.wrap(m.system, m.process)
        return wrapped

    def open(self, m: simfs.Handle, fsync: bool = True) -> Storage:
        """A real open for writing."""
        return Storage.open(PATH, system=self.system(m), fsync=fsync, home=HOME, inline_bytes=self.inline_bytes)

    def found(self, m: simfs.Handle) -> list[Changes]:
        """The log that a real open finds now."""
        with self.open(m) as storage:
            return [commit.changes for commit in storage.commits]

    def commit(self, m: simfs.Handle, storage: Storage, number: int) -> None:
        """Commit number `number`, and promise it when the call has returned."""
        storage.commit(self.tried[number - 1])
        m.ack("commit", number)

    def write_three(self, m: simfs.Handle) -> None:
        """Open and make three commits."""
        with self.open(m) as storage:
            for number in (1, 2, 3):
                self.commit(m, storage, number)

    def reopen(self, m: simfs.Handle) -> None:
        """What somebody does after a crash: open. What the open returned is as safe as what was acknowledged."""
        with self.open(m) as storage:
            if storage.last_commit:
                m.ack("open returned", storage.last_commit)

    @simfs.law(log.LOG_ACK_DURABLE)
    def acknowledged_commits_are_there(self, m: simfs.Handle) -> None:
        promised = max((value for _, value in m.acks), default=0)
        found = self.found(m)
        wanted = list(self.tried[:promised])
        assert found[:promised] == wanted, (
            f"{log_model.commits(promised)} promised, but {log_model.differs_at(found, wanted)}"
        )

    @simfs.law(log.LOG_ONLY_COMMITS)
    def nothing_but_commits_is_there(self, m: simfs.Handle) -> None:
        found = self.found(m)
        assert log_model.is_first_part(found, list(self.tried)), log_model.differs_at(found, list(self.tried))


class StorageEpoch(StorageScenario):
    """Three commits of a new storage, in directories that are not there yet; the open after a crash may crash too."""

    name = "storage_epoch"
    power_depth = 2

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        self.write_three(m)

    @simfs.recover(log.LOG_OPENS_AFTER_CRASH)
    def recovery(self, m: simfs.Handle) -> None:
        self.reopen(m)


class StorageReads(StorageScenario):
    """What an open reads and what it leaves, judged on the disks that a crash left, before anything was recovered."""

    name = "storage_reads"

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        self.write_three(m)

    def raw(self, m: simfs.Handle) -> bytes:
        """The bytes of main.jsonl, read by the scenario and not by the store; none where there is no file."""
        try:
            fd = m.system.open(MAIN, 0)
        except FileNotFoundError:
            return b""
        raw = m.system.read(fd, 1 << 20)
        m.system.close(fd)
        return raw

    @simfs.law(log.LOG_OPENS_AFTER_CRASH)
    def it_opens(self, m: simfs.Handle) -> None:
        self.found(m)

    @simfs.law(log.LOG_READS_LINES)
    def it_reads_the_complete_lines(self, m: simfs.Handle) -> None:
        written = log_model.lines_of(self.raw(m))
        found = self.found(m)
        assert found == written, log_model.differs_at(found, written)

    @simfs.law(log.LOG_OPEN_CUTS_THE_TORN_TAIL)
    def it_cuts_a_torn_tail(self, m: simfs.Handle) -> None:
        raw = self.raw(m)
        if not raw.endswith(b"\n"):
            self.found(m)
            left = self.raw(m)
            assert left == log_model.complete(raw), (
                f"{len(log_model.complete(raw))} of {len(raw)} bytes stood in complete lines, {len(left)} are left"
            )

    @simfs.law(log.LOG_OPEN_KEEPS_THE_COMPLETE_LINES)
    def it_keeps_a_whole_file(self, m: simfs.Handle) -> None:
        raw = self.raw(m)
        if raw.endswith(b"\n"):
            self.found(m)
            left = self.raw(m)
            assert left == raw, f"the file had {len(raw)} bytes in complete lines, and {len(left)} are left"


class StorageReopen(StorageScenario):
    """Two opens of one storage by one process: one commit, then two; recovery goes on with the next commit."""

    name = "storage_reopen"
    power_depth = 2

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        with self.open(m) as storage:
            self.commit(m, storage, 1)
        with self.open(m) as storage:
            self.commit(m, storage, 2)
            self.commit(m, storage, 3)

    @simfs.recover(log.LOG_OPENS_AFTER_CRASH)
    def recovery(self, m: simfs.Handle) -> None:
        """Open, and go on with the next commit, which has to survive the next crash as well."""
        with self.open(m) as storage:
            number = storage.last_commit
            if number:
                m.ack("open returned", number)
            self.commit(m, storage, number + 1)


class StorageNewHome(StorageScenario):
    """Someone makes a home directory and flushes nothing; the first storage in it survives all the same."""

    name = "storage_new_home"

    def setup(self, m: simfs.Handle) -> None:
        """Nothing but the root of all homes."""
        m.system.mkdir("/home")

    @simfs.process
    def newcomer(self, m: simfs.Handle) -> None:
        m.system.mkdir("/home/me")
        with self.open(m) as storage:
            self.commit(m, storage, 1)

    @simfs.recover(log.LOG_OPENS_AFTER_CRASH)
    def recovery(self, m: simfs.Handle) -> None:
        if "me" in m.system.listdir("/home"):
            self.reopen(m)

    @simfs.law(log.LOG_ACK_DURABLE)
    def acknowledged_commits_are_there(self, m: simfs.Handle) -> None:
        if m.acks:
            super().acknowledged_commits_are_there(m)

    @simfs.law(log.LOG_ONLY_COMMITS)
    def nothing_but_commits_is_there(self, m: simfs.Handle) -> None:
        if "me" in m.system.listdir("/home"):
            super().nothing_but_commits_is_there(m)


class StorageBuild(StorageScenario):
    """A build without flushes: nothing is promised until its one flush, and everything after it."""

    name = "storage_build"

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        for place in (HOME, f"{HOME}/sessions", PATH):
            m.system.mkdir(place)

    @simfs.process
    def builder(self, m: simfs.Handle) -> None:
        with self.open(m, fsync=False) as storage:
            for number in (1, 2, 3):
                storage.commit(TRIED[number - 1])
            storage.flush()
            m.ack("flushed", 3)

    @simfs.recover(log.LOG_OPENS_AFTER_CRASH)
    def recovery(self, m: simfs.Handle) -> None:
        self.reopen(m)


class StorageOneWriter(StorageScenario):
    """A second writer is told that the storage is in use, and what the first one commits is not disturbed."""

    name = "storage_one_writer"

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        with self.open(m) as storage:
            self.commit(m, storage, 1)
            try:
                second = self.open(m)
            except StorageInUse:
                pass
            else:
                second.close()
                m.effect("two writers")
            self.commit(m, storage, 2)

    @simfs.law(log.LOG_ONE_WRITER)
    def there_is_one_writer(self, m: simfs.Handle) -> None:
        assert m.effects("two writers") == 0, "a second open for writing returned while the first writer was there"


SCENARIOS: tuple[type[StorageScenario], ...] = (
    StorageEpoch, StorageReads, StorageReopen, StorageNewHome, StorageBuild, StorageOneWriter,
)  # fmt: skip
