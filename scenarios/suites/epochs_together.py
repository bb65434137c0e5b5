"""The suite of session epochs, several processes at once: every interleaving, and every crash of each.

| scenario | what happens |
|---|---|
| `epochs_old_descriptor` | one holds the session open and appends, while another compacts it |
| `epochs_reader_writer` | one compacts, one appends, one reads |
| `epochs_two_compacters` | two compact at the same time; each begins an epoch of its own |
| `epochs_two_menders` | two repair a torn line and write |
| `epochs_short_write` | one appends in two writes, others open and read |
| `epochs_dies_of_failure` | a flush fails, its process is killed, another opens |
| `epochs_two_creators` | two make the session at the same time; one is told that it is there |
"""

from __future__ import annotations

import errno

import simfs
from eukhe.epochs import Io, NotFound, Session, User, read_session, repair
from scenarios.laws import epochs
from scenarios.suites.epochs import DIR, HOME, ID, EpochScenario, ReadingScenario, summary_of
from simfs.machine.faults import Errno, Short


class EpochsOldDescriptor(ReadingScenario):
    """A process holds the session open and appends twice; another compacts meanwhile. No append goes astray."""

    name = "epochs_old_descriptor"
    tried = ("one", "early", "late")

    @simfs.process
    def holder(self, m: simfs.Handle) -> None:
        with self.open(m) as session:
            self.say(m, session, "early")
            self.say(m, session, "late")

    @simfs.process
    def compacter(self, m: simfs.Handle) -> None:
        with self.open(m) as session:
            self.compact(m, session)

    @simfs.recover(epochs.EPOCH_HALF_COMPACTION)
    def recovery(self, m: simfs.Handle) -> None:
        with self.open(m) as session:
            self.finish_compaction(m, session)


class EpochsReaderWriter(ReadingScenario):
    """One compacts, one appends, one reads: the reader sees the old epoch or the new one, and all that was in it."""

    name = "epochs_reader_writer"
    tried = ("one", "late")

    @simfs.process
    def compacter(self, m: simfs.Handle) -> None:
        with self.open(m) as session:
            self.compact(m, session)

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        with Session.open(HOME, ID, system=self.system(m)) as session:
            self.say(m, session, "late")

    @simfs.process
    def reader(self, m: simfs.Handle) -> None:
        view = read_session(DIR, system=self.system(m))
        said = tuple(record.text for record in view.records if isinstance(record, User))
        m.effect("read", (view.epoch, view.carry, view.baseline["of"], view.turns, view.slot, said))

    @simfs.law(epochs.EPOCH_COUNTS_SPAN)
    def counts_span_all_epochs(self, m: simfs.Handle) -> None:
        """What the reader saw is one of the states that there were."""
        super().counts_span_all_epochs(m)
        for event in m.history:
            if event.label == "read":
                assert event.value in LEGAL, f"the reader saw {event.value}"


LEGAL = (
    (0, None, 0, 1, 3, ("one",)),
    (0, None, 0, 2, 3, ("one", "late")),
    (1, summary_of(1), 1, 1, 3, ()),
    (1, summary_of(1), 1, 2, 3, ()),
    (1, summary_of(1), 1, 2, 3, ("late",)),
)
"""(epoch, carry, baseline, turns, slot, said in it): what a reader may see while one compacts and one appends."""


class EpochsTwoCompacters(ReadingScenario):
    """Two processes compact at the same time: two epochs begin, one after the other."""

    name = "epochs_two_compacters"
    tried = ("one",)

    @simfs.process
    def first(self, m: simfs.Handle) -> None:
        with self.open(m) as session:
            self.compact_whichever(m, session)

    @simfs.process
    def second(self, m: simfs.Handle) -> None:
        with self.open(m) as session:
            self.compact_whichever(m, session)

    def compact_whichever(self, m: simfs.Handle, session: Session) -> None:
        """Begin the next epoch, whatever its number turns out to be; the summary does not name it."""
        m.ack("epoch", session.compact("up to here", {"of": 1}))

    @simfs.law(epochs.EPOCH_HALF_COMPACTION)
    def an_epoch_is_usable(self, m: simfs.Handle) -> None:
        begun = [value for label, value in m.acks if label == "epoch"]
        with self.open(m) as session:
            assert session.epoch >= max(begun, default=0), f"epoch {session.epoch}, and {begun} were promised"
            assert session.carry == ("up to here" if session.epoch else None), f"the carry is {session.carry}"
            if session.half_compacted:
                assert session.resume_compaction(), "the compaction cannot be taken up again"
            session.append(User("and on"))
            assert session.turns == 2, f"{session.turns} turns"

    @simfs.law(epochs.EPOCH_OPENS_HIGHEST)
    def the_highest_is_read(self, m: simfs.Handle) -> None:
        """No two compactions begin the same epoch."""
        super().the_highest_is_read(m)
        compacted = [e.value for e in m.history if e.label == "epoch" and e.kind == "ack" and e.value]
        assert len(compacted) - len(set(compacted)) <= self.reopened(m), f"one epoch was begun twice: {compacted}"

    def reopened(self, m: simfs.Handle) -> int:
        """How many opens found an epoch that somebody else had begun."""
        return sum(1 for e in m.history if e.label == "opened later")

    def promise(self, m: simfs.Handle, session: Session) -> None:
        """What an open found is promised; here also that it was an open which found it."""
        if session.epoch:
            m.effect("opened later", session.epoch)
        super().promise(m, session)


class EpochsTwoCreators(EpochScenario):
    """Two processes make the session at the same time: one is told that it is there, and opens it."""

    name = "epochs_two_creators"
    made_before = False
    tried = ("first", "second")

    @simfs.process
    def first(self, m: simfs.Handle) -> None:
        self.make_or_open(m)

    @simfs.process
    def second(self, m: simfs.Handle) -> None:
        self.make_or_open(m)

    def make_or_open(self, m: simfs.Handle) -> None:
        """Make it; where it is there already, open it; then say one's name."""
        try:
            session = self.create(m)
        except Io:
            session = self.open(m)
        with session:
            self.say(m, session, m.process)

    @simfs.recover(epochs.EPOCH_HALF_COMPACTION)
    def recovery(self, m: simfs.Handle) -> None:
        try:
            session = self.open(m)
        except NotFound:
            session = self.create(m)
        session.close()


class EpochsShortWrite(EpochScenario):
    """An append takes two writes; whoever opens or reads meanwhile waits, and never takes its half for a torn line."""

    name = "epochs_short_write"
    tried = ("one", "late")
    faults = (Short(("pwrite",), keep=9, process="writer"),)

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        with self.open(m) as session:
            self.say(m, session, "late")

    @simfs.process
    def opener(self, m: simfs.Handle) -> None:
        Session.open(HOME, ID, system=self.system(m)).close()

    @simfs.process
    def reader(self, m: simfs.Handle) -> None:
        read_session(DIR, system=self.system(m))


class EpochsDiesOfFailure(EpochScenario):
    """A flush fails and its process is killed before it can take its line back: whoever opens next finds that line, and
    promises it only when it is durable."""

    name = "epochs_dies_of_failure"
    tried = ("one", "late")
    kills = 1
    faults = (Errno(("fsync",), kind="file", process="writer", code=errno.EIO),)

    @simfs.process(raises=Io)
    def writer(self, m: simfs.Handle) -> None:
        with Session.open(HOME, ID, system=self.system(m)) as session:
            self.say(m, session, "late")

    @simfs.process
    def opener(self, m: simfs.Handle) -> None:
        self.open(m).close()


class EpochsTwoMenders(EpochScenario):
    """Two processes find a torn last line; both repair it, open, and say something."""

    name = "epochs_two_menders"
    tried = ("one", "first", "second")

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        fd = m.system.open(f"{DIR}/0.jsonl", 0o2001)
        m.system.write(fd, b'{"type"')
        m.system.close(fd)

    @simfs.process
    def first(self, m: simfs.Handle) -> None:
        self.mend_and_say(m)

    @simfs.process
    def second(self, m: simfs.Handle) -> None:
        self.mend_and_say(m)

    def mend_and_say(self, m: simfs.Handle) -> None:
        """Repair, whether it is needed or not, and say one's name."""
        repair(DIR, system=self.system(m))
        with Session.open(HOME, ID, system=self.system(m)) as session:
            self.say(m, session, m.process)


SCENARIOS: tuple[type[EpochScenario], ...] = (
    EpochsOldDescriptor, EpochsReaderWriter, EpochsTwoCompacters, EpochsTwoCreators,
    EpochsTwoMenders, EpochsShortWrite, EpochsDiesOfFailure,
)  # fmt: skip
