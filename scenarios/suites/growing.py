"""Worlds that grow: for each store that keeps something on a disk, world 0, 1, 2, ... without end.

World `n` of a store begins with what some acknowledged changes have left, durably, `n` of them where no more is said,
and makes one change more: the power may go at any call and at any byte of it. Texts hold `n`. So no two worlds leave
the same disks. The changes are long on purpose: here it is numbers that count, and each torn byte is a disk of its
own. The small worlds in which processes meet, die and see calls fail are the suites themselves.

| worlds | the change |
|---|---|
| `log_growing` | two long commits, and the log is opened after the crash |
| `sidecars_growing` | one commit whose two bodies stand in two sidecars: each may be torn anywhere beside the other |
| `epochs_growing` | a text, a compaction, and a text of the next epoch |
| `staging_growing` | a build of a storage with a sidecar, published |
| `cron_growing` | one job more in the file of jobs |
| `wire_growing` | a daemon, its worker and two clients on one more of the ways that their messages may take |
| `corpus_growing` | one entry more in the fuzzer's corpus |

`simfs run NAME` searches the first `FEW` of them; the record run goes on until it has met as many disks as it was
asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import simfs
from scenarios.entries import Ask, Family, Progress
from scenarios.laws import log
from scenarios.suites import fuzz_corpus, log_model, wire_stored
from scenarios.suites.cron_updates import CronAdding
from scenarios.suites.epochs import EpochScenario
from scenarios.suites.log_sidecars import SidecarScenario, entries
from scenarios.suites.staging import MAIN, SESSIONS
from scenarios.suites.staging_publish import PublishScenario
from scenarios.suites.storage import StorageScenario
from simfs.errors import UsageError
from simfs.explore.explorer import replay
from simfs.explore.law import Law
from simfs.explore.scenario import Scenario
from simfs.explore.token import Token
from simfs.explore.verdict import Counterexample, Verdict

FEW = 2
HISTORY = 6
"""The log's worlds begin with up to so many commits, for each open reads them all; their texts are their own."""
LONG_TEXT = 1_500
SIDECAR_TEXT = 200
SIDECAR = "c1.entries.jsonl"


class _AfterSome(StorageScenario):
    """The first `before` commits were made before anything can fail; what is left is opened."""

    before: int

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        with self.open(m) as storage:
            for number in range(1, self.before + 1):
                self.commit(m, storage, number)

    @simfs.recover(log.LOG_OPENS_AFTER_CRASH)
    def recovery(self, m: simfs.Handle) -> None:
        self.reopen(m)


class LogGrowing(_AfterSome):
    """Two long commits to a log of n % HISTORY commits; it is opened after the crash."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.before = before = n % HISTORY
        short = tuple(log_model.entry(at, f"{n}.{at}") for at in range(1, before + 1))
        long = f"{n}:" + "é" * (LONG_TEXT // 2)
        self.tried = (*short, *(log_model.entry(at, long) for at in (before + 1, before + 2)))

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        with self.open(m) as storage:
            for number in range(self.before + 1, len(self.tried) + 1):
                self.commit(m, storage, number)


class SidecarsGrowing(_AfterSome, SidecarScenario):
    """One commit with two sidecars to a storage of n % HISTORY such commits; it is opened after the crash."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.before = n % HISTORY
        lengths = (*(1 for _ in range(self.before)), SIDECAR_TEXT)
        self.tried = tuple(
            entries((2 * at - 1, 1, f"{n}:" + "a" * length), (2 * at, 2, f"{n}:" + "b" * length))
            for at, length in enumerate(lengths, 1)
        )

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        self.go_on(m)


class EpochsGrowing(EpochScenario):
    """A text, a compaction and a text more in a session in which n things were said, over n // 3 epochs."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.before = n + 1
        self.tried = tuple(f"{at} says " + "x" * 60 for at in range(n + 3))

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        with self.open(m) as session:
            for at in range(1, self.before):
                if at % 3 == 0:
                    self.compact(m, session)
                self.say(m, session, self.tried[at])

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        with self.open(m) as session:
            self.say(m, session, self.tried[self.before])
            self.compact(m, session)
            self.say(m, session, self.tried[self.before + 1])


class _AfterN:
    """World number n begins with n changes."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.before = n


class StagingGrowing(_AfterN, PublishScenario):
    """A build of a storage with a sidecar is published beside n others."""

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        for at in range(self.before):
            m.system.mkdir(f"{SESSIONS}/before{at}")
            self.put(m, f"{SESSIONS}/before{at}/{MAIN}", self.content(f"before{at}"))

    def content(self, who: str) -> bytes:
        return f"{who} {self.before} ".encode() + b"m" * 30 + b"\n"

    def fill(self, m: simfs.Handle, path: str) -> None:
        self.put(m, f"{path}/{SIDECAR}", self.content("sidecar"))
        super().fill(m, path)

    @simfs.process
    def ann(self, m: simfs.Handle) -> None:
        self.build(m)


class CronGrowing(_AfterN, CronAdding):
    """One job more in a file of n jobs."""

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        for at in range(self.before):
            self.add(m, at)

    def add(self, m: simfs.Handle, at: int) -> None:
        """Add a job, and promise it."""
        self.store(m).create("in 1h", "run", job_id=f"job{at}")
        m.ack(f"job{at}")

    @simfs.process
    def adder(self, m: simfs.Handle) -> None:
        self.add(m, self.before)


class CorpusGrowing(fuzz_corpus.CorpusScenario):
    """One entry more in a corpus of n."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.numbers = range(n + 1)

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        self.add(m, *self.numbers[:-1])

    @simfs.process
    def adder(self, m: simfs.Handle) -> None:
        self.add(m, self.numbers[-1])


_ways = wire_stored.paths()
_found: list[wire_stored.Path] = []


def wire_growing(n: int) -> Scenario:
    """Way number n. There are some hundred, found one after the other; then they begin again, and add nothing."""
    _found.extend(islice(_ways, max(0, n + 1 - len(_found))))
    return wire_stored.WireStored(_found[n % len(_found)])


@dataclass(frozen=True, slots=True)
class Growing:
    """The worlds of one store under one name; each is `name[n]`."""

    name: str
    statement: str
    make: Callable[[int], Scenario]

    def world(self, n: int) -> Scenario:
        """World number n."""
        made: Any = self.make(n)
        made.name = made.__simfs_reference__ = f"{self.name}[{n}]"
        return cast(Scenario, made)

    @property
    def few(self) -> Family:
        """The first of them."""
        return Family(self.name, self.statement, lambda: map(self.world, range(FEW)))

    @property
    def laws(self) -> list[Law]:
        return self.few.laws

    def run(self, ask: Ask, progress: Progress | None = None) -> Verdict:
        """The first few, as bounded as that is."""
        verdict = self.few.run(ask, progress)
        if verdict.status == "proved":
            verdict.status, verdict.reason = "bounded", f"the first {FEW} worlds of a series without end"
        return verdict

    def scenario(self, member: str) -> Scenario:
        """World number `member`. Raises UsageError."""
        if not member.isdigit():
            raise UsageError(f"{self.name} has worlds by number, as {self.name}[3]")
        return self.world(int(member))

    def replay(self, token: Token) -> Counterexample | str:
        return replay(token, self.scenario(token.scenario[len(self.name) + 1 : -1]))


GROWING = (
    Growing("log_growing", "Two long commits to a log of some commits", LogGrowing),
    Growing("sidecars_growing", "One commit with two sidecars to a storage of some such commits", SidecarsGrowing),
    Growing("epochs_growing", "A text, a compaction and a text more in a session of n texts", EpochsGrowing),
    Growing("staging_growing", "A build with a sidecar is published beside n others", StagingGrowing),
    Growing("cron_growing", "One job more in a file of n jobs", CronGrowing),
    Growing("wire_growing", "Daemon, worker and clients on the n-th way of their messages", wire_growing),
    Growing("corpus_growing", "One entry more in a corpus of n", CorpusGrowing),
)
