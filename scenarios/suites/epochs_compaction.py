"""The suite of session epochs, one process at a time: made, written, compacted, cut at every call and every byte.

| scenario | what happens |
|---|---|
| `epochs_create` | a session is made in directories that are not there yet, and written; recovery too is crashed |
| `epochs_append` | three appends over two opens; recovery repairs, opens, and is crashed as well |
| `epochs_compact` | an append, a compaction, an append; recovery ends what is half done, and is crashed as well |
| `epochs_two_compactions` | two compactions in a row, and a crash in each |
| `epochs_three_losses` | the same, and one more crash in what ends them |
| `epochs_resume` | a compaction that stopped half-way is ended; recovery ends it too, and is crashed as well |
| `epochs_abandoned` | a half compaction is given up by an append, and made anew later |
| `epochs_killed` | one compacts, one writes, one of them is killed at any call; then the power goes |
| `epochs_fault` | one call fails; the process opens again and goes on; then the power goes, twice |
"""

from __future__ import annotations

import errno

import simfs
from eukhe.epochs import EpochEnd, Io, NotFound, Session, User
from scenarios.laws import epochs
from scenarios.suites.epochs import DIR, HOME, ID, EpochScenario, ReadingScenario, summary_of
from simfs.machine.faults import Errno, Short

FAULTS = (
    Errno(("fsync",), code=errno.EIO),
    Errno(("pwrite",), code=errno.ENOSPC),
    Errno(("rename", "ftruncate", "unlink"), code=errno.EIO),
    Short(("pwrite",), keep=9),
)
"""What may go wrong once."""


class EpochsCreate(ReadingScenario):
    """A session is made in directories that are not there yet, and written; recovery goes on and is crashed too."""

    name = "epochs_create"
    power_depth = 2
    made_before = False
    tried = ("one", "zwei é")

    @simfs.process
    def maker(self, m: simfs.Handle) -> None:
        with self.create(m) as session:
            for text in self.tried:
                self.say(m, session, text)

    @simfs.recover(epochs.EPOCH_HALF_COMPACTION)
    def recovery(self, m: simfs.Handle) -> None:
        """Open it, or make it anew if it is not there."""
        try:
            session = self.open(m)
        except NotFound:
            session = self.create(m)
        session.close()


class EpochsAppend(EpochScenario):
    """Three things are said over two opens; recovery repairs and opens, and is crashed as well."""

    name = "epochs_append"
    power_depth = 2
    tried = ("one", "zwei é", "three", "four")

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        with self.open(m) as session:
            self.say(m, session, self.tried[1])
        with self.open(m) as session:
            self.say(m, session, self.tried[2])
            self.say(m, session, self.tried[3])

    @simfs.recover(epochs.EPOCH_HALF_COMPACTION)
    def recovery(self, m: simfs.Handle) -> None:
        self.open(m).close()


class EpochsCompact(ReadingScenario):
    """Something is said, the epoch compacted, something said again; recovery ends what is half done and goes on."""

    name = "epochs_compact"
    power_depth = 2
    tried = ("one", "zwei é", "three", "again")

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        with self.open(m) as session:
            self.say(m, session, self.tried[1])
            self.compact(m, session)
            self.say(m, session, self.tried[2])

    @simfs.recover(epochs.EPOCH_HALF_COMPACTION)
    def recovery(self, m: simfs.Handle) -> None:
        with self.open(m) as session:
            self.finish_compaction(m, session)
            if "again" not in [value for _, value in m.acks]:
                self.say(m, session, "again")


class EpochsTwoCompactions(EpochScenario):
    """Two compactions in a row, and a crash in each; recovery goes on until both are done."""

    name = "epochs_two_compactions"
    power_depth = 2
    tried = ("one", "in 1")

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        self.go_on(m)

    def go_on(self, m: simfs.Handle) -> None:
        """Whatever is still to do until epoch 2 is there."""
        with self.open(m) as session:
            self.finish_compaction(m, session)
            while session.epoch < 2:
                if session.epoch == 1 and session.turns == 1:
                    self.say(m, session, "in 1")
                self.compact(m, session)

    @simfs.recover(epochs.EPOCH_HALF_COMPACTION)
    def recovery(self, m: simfs.Handle) -> None:
        self.go_on(m)


class EpochsResume(ReadingScenario):
    """A compaction stopped behind the end of its epoch; it is taken up again, and something is said in the new one."""

    name = "epochs_resume"
    power_depth = 2
    tried = ("one", "in 1")

    def setup(self, m: simfs.Handle) -> None:
        """The log of epoch 0 has its end, and nothing of epoch 1 is there."""
        super().setup(m)
        with Session.open(HOME, ID, system=m.system) as session:
            session.append(EpochEnd(1, summary_of(1)))

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        with self.open(m) as session:
            self.finish_compaction(m, session)
            self.say(m, session, "in 1")

    @simfs.recover(epochs.EPOCH_HALF_COMPACTION)
    def recovery(self, m: simfs.Handle) -> None:
        with self.open(m) as session:
            self.finish_compaction(m, session)


class EpochsAbandoned(EpochScenario):
    """A compaction stopped half-way; somebody goes on in the old epoch, and compacts later with another baseline."""

    name = "epochs_abandoned"
    power_depth = 2
    tried = ("one", "after all")

    def setup(self, m: simfs.Handle) -> None:
        """The former compaction got as far as the next baseline."""
        super().setup(m)
        with Session.open(HOME, ID, system=m.system) as session:
            log = f"{DIR}/0.jsonl"
            session.append(User("gone"))
        rest = b'{"type":"epoch_end","next":1,"summary":"abandoned"}\n'
        first = m.system.stat(log).st_size - len(b'{"type":"user","text":"gone"}\n')
        for path, data, at in ((log, rest, first), (f"{DIR}/1.baseline.json", b'{"of":-1}\n', 0)):
            fd = m.system.open(path, 0o102, 0o600)
            m.system.pwrite(fd, data, at)
            m.system.close(fd)

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        with self.open(m) as session:
            self.say(m, session, "after all")
            self.compact(m, session)

    @simfs.recover(epochs.EPOCH_HALF_COMPACTION)
    def recovery(self, m: simfs.Handle) -> None:
        self.open(m).close()

    @simfs.law(epochs.EPOCH_HALF_COMPACTION)
    def an_epoch_is_usable(self, m: simfs.Handle) -> None:
        """The abandoned compaction may be ended as long as nothing was said after it; never mixed with the new one."""
        with self.open(m) as session:
            if session.half_compacted:
                assert session.resume_compaction(), "the compaction cannot be taken up again"
            if session.epoch == 1:
                told = session.carry, session.baseline["of"]
                legal = [("abandoned", -1)] if session.turns == 1 else [(summary_of(1), 1), (summary_of(1), 0)]
                assert told in legal, f"summary and baseline of two compactions: {told}"
            session.append(User("and on"))


class EpochsThreeLosses(EpochsTwoCompactions):
    """Two compactions in a row with three power losses: one in each, and one in what ends them."""

    name = "epochs_three_losses"
    disk = ("scc", "synced-only", "ext4")
    power_depth = 3


class EpochsKilled(EpochScenario):
    """One compacts and one writes; either is killed at any of its calls, and the other goes on; then the power goes."""

    name = "epochs_killed"
    kills = 1
    tried = ("one", "late")

    @simfs.process
    def compacter(self, m: simfs.Handle) -> None:
        with Session.open(HOME, ID, system=self.system(m)) as session:
            self.compact(m, session)

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        """End what is half done, and say something."""
        with self.open(m) as session:
            session.resume_compaction()
            self.say(m, session, "late")

    @simfs.recover(epochs.EPOCH_HALF_COMPACTION)
    def recovery(self, m: simfs.Handle) -> None:
        self.open(m).close()


class EpochsFault(EpochScenario):
    """One call fails once; whoever is told opens the session again and goes on; the power goes twice."""

    name = "epochs_fault"
    power_depth = 2
    faults = FAULTS
    tried = ("one", "zwei é", "in 1")

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        try:
            self.go_on(m)
        except Io:
            self.go_on(m)

    def go_on(self, m: simfs.Handle) -> None:
        """Whatever is still to do until all was said, the last of it in epoch 1."""
        with self.open(m) as session:
            self.finish_compaction(m, session)
            if session.epoch < 1:
                if session.turns == 1:
                    self.say(m, session, self.tried[1])
                self.compact(m, session)
            if session.turns == 2:
                self.say(m, session, "in 1")

    @simfs.recover(epochs.EPOCH_HALF_COMPACTION)
    def recovery(self, m: simfs.Handle) -> None:
        self.open(m).close()


SCENARIOS: tuple[type[EpochScenario], ...] = (
    EpochsCreate, EpochsAppend, EpochsCompact, EpochsTwoCompactions, EpochsThreeLosses, EpochsResume,
    EpochsAbandoned, EpochsKilled, EpochsFault,
)  # fmt: skip
