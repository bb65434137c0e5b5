"""The suite `corpus`: the corpus of the fuzzer, which workers share, on a machine that may stop anywhere.

| scenario | what happens |
|---|---|
| `corpus_shared` | two workers add entries to a corpus that is not there yet, one of them the same; one may be killed |
| `corpus_pruned` | one adds what another takes away |
| `corpus_full` | a call fails, as on a full or a failing disk |

What `add` has answered is there, whole and once; nothing that is listed is damaged; and who was told of a failure finds
the corpus as usable as before. Not claimed: a directory whose flush fails for the worker that made it, while another
already adds to it.
"""

from __future__ import annotations

import errno
from typing import Any

import simfs
from scenarios.entries import Entry as Listed
from scenarios.entries import One
from scenarios.fuzz.corpus import Corpus, Entry
from scenarios.laws.corpus import CORPUS_KEEPS, CORPUS_WHOLE
from scenarios.suites.storage import Wrap, as_it_is
from simfs.machine.faults import Errno, Short

PLACE = "/home/nights/corpus"
CLAIMED = ("scc", "synced-only", "prefix", "ext4")


def entry(number: int) -> Entry:
    """An entry; equal numbers give equal ones."""
    return Entry("epochs_programs", "ext4", (number, 0, 7))


class CorpusScenario(simfs.Scenario):
    """What the scenarios share."""

    interpose = False
    disk = CLAIMED
    numbers = range(4)
    """Who may have been added."""
    wrap: Wrap

    def __init__(self, wrap: Wrap = as_it_is) -> None:
        self.wrap = wrap

    def setup(self, m: simfs.Handle) -> None:
        m.system.mkdir("/home")

    def corpus(self, m: simfs.Handle) -> Corpus:
        """The corpus as a worker has it."""
        return Corpus(PLACE, self.wrap(m.system, m.process))

    def add(self, m: simfs.Handle, *numbers: int) -> None:
        """Add entries, and promise each."""
        corpus = self.corpus(m)
        for number in numbers:
            corpus.add(entry(number))
            m.ack("added", number)

    @simfs.law(CORPUS_KEEPS)
    def what_was_added_is_there(self, m: simfs.Handle) -> None:
        found, _ = self.corpus(m).entries()
        removed = [event.value for event in m.history if event.label == "remove"]
        lost = [n for label, n in m.acks if label == "added" and entry(n) not in found and n not in removed]
        assert not lost, f"entry {lost[0]} was added and is gone" if lost else ""

    @simfs.law(CORPUS_WHOLE, anytime=True)
    def what_is_listed_is_whole(self, m: simfs.Handle) -> None:
        found, skipped = self.corpus(m).entries()
        assert not skipped, f"listed and damaged: {skipped[0]}" if skipped else ""
        assert len(set(found)) == len(found), "an entry is listed twice"
        assert set(found) <= {entry(n) for n in self.numbers}, "an entry is listed that nobody added"


class CorpusShared(CorpusScenario):
    """Two workers share a corpus that is not there yet; both add one entry, and each adds another."""

    name = "corpus_shared"
    kills = 1
    preemptions: int | None = 1

    @simfs.process
    def first(self, m: simfs.Handle) -> None:
        self.add(m, 0, 1)

    @simfs.process
    def second(self, m: simfs.Handle) -> None:
        self.add(m, 0)


class CorpusPruned(CorpusScenario):
    """One takes away what was there, another adds beside it."""

    name = "corpus_pruned"

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        Corpus(PLACE, m.system).add(entry(0))

    @simfs.process
    def pruner(self, m: simfs.Handle) -> None:
        m.ask("remove", 0)
        self.corpus(m).remove(entry(0))

    @simfs.process
    def adder(self, m: simfs.Handle) -> None:
        self.add(m, 2)


class CorpusFull(CorpusScenario):
    """A call fails once; who is told tries again, with what was found in the meantime."""

    name = "corpus_full"
    faults = (
        Errno(("open", "mkdir", "pwrite", "rename"), code=errno.ENOSPC),
        Errno(("fsync",), code=errno.EIO),
        Short(("pwrite",), keep=5),
    )

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        corpus = self.corpus(m)
        for number in (0, 1):
            try:
                corpus.add(entry(number))
                m.ack("added", number)
            except OSError:
                m.fail("add", number)


SCENARIOS: tuple[type[CorpusScenario], ...] = (CorpusShared, CorpusPruned, CorpusFull)


def corpus_suite(wrap: Wrap = as_it_is) -> tuple[Listed, ...]:
    """The suite; `wrap` is what a mutant puts between the machine and the corpus."""
    found: list[Any] = [kind(wrap) for kind in SCENARIOS]
    for scenario in found:
        scenario.__simfs_reference__ = scenario.name
    return tuple(map(One, found))
