"""What the scenarios of session epochs share: the real sessions, what is said and promised, and the laws.

A scenario says things (`user` records with texts of its own), compacts, and promises what returned: each text, and the
number of each epoch that a compaction began. Opening promises as well: what an open found is as safe as what was
acknowledged. The laws look at the bytes of the session directory, which the scenario reads behind the store's back,
and compare a real open with what `epoch_model` makes of the same bytes.

A crash may leave a last line torn. Then `open` refuses with the file and the line, `repair` cuts it, and `open` is
tried again: a law checks that this is so and that nothing else ever stands in the way.

The scenarios themselves are in `epochs_compaction` (one process at a time), `epochs_repair`, `epochs_together`
(several), and `epochs_damage` (what no crash can leave).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import simfs
from eukhe.epochs import NotFound, Session, Torn, User, repair
from eukhe.system import System
from scenarios.laws import epochs
from scenarios.suites import epoch_model
from scenarios.suites.epoch_model import Files
from scenarios.suites.storage import Wrap, as_it_is

HOME = "/home/me/.eukhe"
ID = "s"
DIR = f"{HOME}/epochs/{ID}"
SLOT = 3

CLAIMED = ("scc", "synced-only", "prefix", "ext4")
"""The disk models that a session claims to survive."""

O_RDONLY = 0
READ_BYTES = 1 << 20


class EpochScenario(simfs.Scenario):
    """What the scenarios share. `tried` are the texts that somebody may say, in the order in which they are said."""

    interpose = False
    disk: str | Sequence[str] = CLAIMED
    wrap: Wrap
    """What a mutant puts between the machine and the store."""
    tried: tuple[str, ...] = ("one", "zwei é", "three")
    made_before = True
    """Whether `setup` makes the session."""

    def __init__(self, wrap: Wrap = as_it_is) -> None:
        self.wrap = wrap

    def setup(self, m: simfs.Handle) -> None:
        """A home, and in it a session in which one thing was said."""
        m.system.mkdir("/home")
        m.system.mkdir("/home/me")
        if self.made_before:
            with Session.create(HOME, ID, {"of": 0}, SLOT, system=m.system) as session:
                session.append(User(self.tried[0]))
            m.ack("said", self.tried[0])

    def system(self, m: simfs.Handle) -> System:
        """The system calls that the store is given in this process."""
        wrapped: System = self.wrap(m.system, m.process)
        return wrapped

    def create(self, m: simfs.Handle) -> Session:
        """Make the session, and promise that it is there."""
        session = Session.create(HOME, ID, {"of": 0}, SLOT, system=self.system(m))
        m.ack("epoch", 0)
        return session

    def open(self, m: simfs.Handle) -> Session:
        """A real open, with a repair where a last line is torn, and the promise of what it found."""
        try:
            session = Session.open(HOME, ID, system=self.system(m))
        except Torn:
            repair(DIR, system=self.system(m))
            session = Session.open(HOME, ID, system=self.system(m))
        self.promise(m, session)
        return session

    def promise(self, m: simfs.Handle, session: Session) -> None:
        """What an open found is promised."""
        m.ack("epoch", session.epoch)
        for record in session.records:
            if isinstance(record, User):
                m.ack("said", record.text)

    def say(self, m: simfs.Handle, session: Session, text: str) -> None:
        """Append, and promise when it has returned."""
        session.append(User(text))
        m.ack("said", text)

    def compact(self, m: simfs.Handle, session: Session) -> None:
        """Begin the next epoch, and promise it when that has returned."""
        following = session.epoch + 1
        session.compact(summary_of(following), {"of": following})
        m.ack("epoch", following)

    def finish_compaction(self, m: simfs.Handle, session: Session) -> None:
        """End a compaction that stopped half-way, and promise the epoch that it began."""
        if session.half_compacted:
            assert session.resume_compaction(), "half compacted, and there was nothing to resume"
            m.ack("epoch", session.epoch)

    def files(self, m: simfs.Handle) -> Files:
        """The files of the session directory, read by the scenario and not by the store."""
        try:
            names = m.system.listdir(DIR)
        except FileNotFoundError:
            return {}
        return {name: read_raw(m.system, f"{DIR}/{name}") for name in sorted(names)}

    @simfs.law(epochs.EPOCH_ACKED_SURVIVE)
    def what_was_promised_is_there(self, m: simfs.Handle) -> None:
        """Each promised text stands in some log; a torn last line is told by file and line."""
        files = self.files(m)
        promised = list(dict.fromkeys(value for label, value in m.acks if label == "said"))
        said = epoch_model.texts(files)
        lost = [text for text in promised if text not in said]
        assert not lost, f"promised and in no log: {', '.join(lost)}"
        assert len(set(said)) == len(said), f"said once and found twice: {said}"
        assert set(said) <= {*self.tried}, f"found, and nobody said it: {said}"
        self.refuses_torn_lines_by_name(m, files)

    def refuses_torn_lines_by_name(self, m: simfs.Handle, files: Files) -> None:
        """An open that meets a torn line says which, and a repair takes that away and nothing else."""
        cut = epoch_model.torn(files)
        told = answer(lambda: Session.open(HOME, ID, system=self.system(m)))
        wanted = epoch_model.read(files).error
        assert told == wanted, f"open answers {told or 'nothing'}, and the files say {wanted or 'nothing'}"
        if cut and wanted != "NotFound":
            assert wanted.startswith("Torn "), f"{wanted} beside a torn line"
            repair(DIR, system=self.system(m))
            after = self.files(m)
            assert {name: after.get(name) for name in files} == files | cut, "a repair changed more than the torn lines"

    @simfs.law(epochs.EPOCH_HALF_COMPACTION)
    def an_epoch_is_usable(self, m: simfs.Handle) -> None:
        """It opens, as the epoch that was promised or a later one; a half compaction can be ended; it goes on."""
        promised = max((value for label, value in m.acks if label == "epoch"), default=-1)
        try:
            session = self.open(m)
        except NotFound:
            assert promised < 0, f"epoch {promised} was promised, and there is no session"
            return
        with session:
            assert session.epoch >= promised, f"epoch {promised} was promised, and {session.epoch} is read"
            before = session.epoch, session.turns
            if session.half_compacted:
                assert session.resume_compaction(), "the compaction cannot be taken up again"
                assert (session.epoch - 1, session.turns) == before, f"epoch {session.epoch}, {session.turns} turns"
            if session.epoch > 0:
                assert session.carry in self.carried(session.epoch), f"the carry is {session.carry!r}"
                assert session.baseline["of"] in range(session.epoch + 1), f"baseline {session.baseline}"
            session.append(User("and on"))
            assert session.turns == before[1] + 1, f"{before[1]} turns and one more are {session.turns}"

    @simfs.law(epochs.EPOCH_HALF_COMPACTION)
    def a_half_compaction_can_be_given_up(self, m: simfs.Handle) -> None:
        """Whoever goes on in the old epoch can compact it later, with a summary and a baseline of its own."""
        try:
            session = self.open(m)
        except NotFound:
            return
        with session:
            turns, following = session.turns, session.epoch + 1
            session.append(User("and on"))
            assert session.compact("anew", {"of": "anew"}) == following, f"epoch {session.epoch} was begun"
        with Session.open(HOME, ID, system=self.system(m)) as again:
            found = again.epoch, again.carry, again.baseline, again.turns
            assert found == (following, "anew", {"of": "anew"}, turns + 1), f"compacted anew, and found {found}"

    def carried(self, epoch: int) -> set[str]:
        """The summaries that may be carried into an epoch."""
        return {summary_of(epoch)}


class ReadingScenario(EpochScenario):
    """Adds the laws of what an open reads, each by comparing it with the model on the same bytes."""

    def opened_as_it_stands(self, m: simfs.Handle) -> tuple[Session, epoch_model.Read] | None:
        """A real open beside the model's; None where there is no session."""
        try:
            session = self.open(m)
        except NotFound:
            return None
        return session, epoch_model.read(self.files(m))

    @simfs.law(epochs.EPOCH_OPENS_HIGHEST)
    def the_highest_is_read(self, m: simfs.Handle) -> None:
        found = self.opened_as_it_stands(m)
        if found is not None:
            session, model = found
            assert session.epoch == model.epoch, f"epoch {session.epoch} was opened, the highest is {model.epoch}"
            assert session.baseline == model.baseline, f"its baseline is {model.baseline}, and not {session.baseline}"

    @simfs.law(epochs.EPOCH_CARRY)
    def the_summary_is_carried(self, m: simfs.Handle) -> None:
        found = self.opened_as_it_stands(m)
        if found is not None:
            session, model = found
            assert session.carry == model.carry, f"the carry is {session.carry!r}, the log before says {model.carry!r}"

    @simfs.law(epochs.EPOCH_COUNTS_SPAN)
    def counts_span_all_epochs(self, m: simfs.Handle) -> None:
        found = self.opened_as_it_stands(m)
        if found is not None:
            session, model = found
            counted = session.turns, session.untrusted, session.next_call, len(session.records)
            wanted = model.turns, model.untrusted, model.next_call, len(model.lines)
            assert counted == wanted, f"turns, untrusted, next call, records are {counted}, and not {wanted}"

    @simfs.law(epochs.EPOCH_SLOT)
    def the_slot_stays(self, m: simfs.Handle) -> None:
        found = self.opened_as_it_stands(m)
        if found is not None:
            session, model = found
            assert session.slot == model.slot == SLOT, f"slot {session.slot}, {model.slot} in the log, {SLOT} created"

    @simfs.law(epochs.EPOCH_APPEND_CURRENT)
    def an_append_goes_to_the_current_log(self, m: simfs.Handle) -> None:
        found = self.opened_as_it_stands(m)
        if found is not None:
            session, model = found
            before = self.files(m)
            session.append(User("and on"))
            after = self.files(m)
            changed = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
            assert changed == [f"{model.epoch}.jsonl"], f"an append to epoch {model.epoch} changed {changed}"
            grown = after[changed[0]]
            assert grown.startswith(before[changed[0]]), "an append changed what stood in the log before"


def summary_of(epoch: int) -> str:
    """What every compaction carries into an epoch."""
    return f"up to {epoch}"


def answer(call: Any) -> str:
    """What a call answers, in the words of the model: "" when it returns."""
    try:
        call().close()
    except NotFound:
        return "NotFound"
    except Torn as torn:
        return f"Torn {torn.path.rpartition('/')[2]} {torn.line}"
    except Exception as error:
        name = str(getattr(error, "path", "")).rpartition("/")[2]
        return f"{type(error).__name__} {name}"
    return ""


def read_raw(system: Any, path: str) -> bytes:
    """The bytes of a file, read in one go."""
    fd = system.open(path, O_RDONLY)
    raw: bytes = system.read(fd, READ_BYTES)
    system.close(fd)
    return raw
