"""The suite of session epochs, what surrounds the log: a torn line that is repaired, and places that nobody flushed.

| scenario | what happens |
|---|---|
| `epochs_repair`, `epochs_repair_again` | a torn line is cut; the power goes at any moment, once or twice |
| `epochs_new_home` | the directory above the home was made by someone who flushed nothing |
| `epochs_moved` | the session was moved to its place by someone who flushed nothing |
"""

from __future__ import annotations

import simfs
from eukhe.epochs import Session, repair
from scenarios.laws import epochs
from scenarios.suites.epochs import DIR, HOME, ID, EpochScenario


class EpochsRepair(EpochScenario):
    """A torn last line is cut, and the power goes at any moment of the repair: once it has returned, the line is cut
    for good and its bytes are kept."""

    name = "epochs_repair"
    tried = ("one",)
    piece = b'{"type":"user","te'

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        fd = m.system.open(f"{DIR}/0.jsonl", 0o2001)
        m.system.write(fd, self.piece)
        m.system.close(fd)

    @simfs.process
    def mender(self, m: simfs.Handle) -> None:
        cuts = repair(DIR, system=self.system(m))
        m.ack("kept", cuts[0].bytes_cut)

    @simfs.law(epochs.EPOCH_ACKED_SURVIVE)
    def what_was_promised_is_there(self, m: simfs.Handle) -> None:
        """The lines are as they were, and the bytes of the torn one stand in the log or beside it."""
        super().what_was_promised_is_there(m)
        files = self.files(m)
        kept = self.piece in [raw for name, raw in files.items() if ".cut-" in name]
        assert kept or files["0.jsonl"].endswith(self.piece), "the cut bytes are gone"

    @simfs.law(epochs.EPOCH_HALF_COMPACTION)
    def it_is_cut_for_good(self, m: simfs.Handle) -> None:
        """After the repair has returned, an open needs no other."""
        if m.acked("kept"):
            Session.open(HOME, ID, system=self.system(m)).close()


class EpochsRepairAgain(EpochsRepair):
    """As `epochs_repair`; the repair that follows the power loss is crashed as well."""

    name = "epochs_repair_again"
    power_depth = 2

    @simfs.recover(epochs.EPOCH_HALF_COMPACTION)
    def recovery(self, m: simfs.Handle) -> None:
        repair(DIR, system=self.system(m))


class EpochsNewHome(EpochScenario):
    """Someone makes a home directory and flushes nothing; the first session in it survives all the same."""

    name = "epochs_new_home"
    made_before = False

    def setup(self, m: simfs.Handle) -> None:
        """Nothing but the root of all homes."""
        m.system.mkdir("/home")

    @simfs.process
    def newcomer(self, m: simfs.Handle) -> None:
        m.system.mkdir("/home/me")
        with self.create(m) as session:
            self.say(m, session, "one")


class EpochsMoved(EpochScenario):
    """Someone moves a session to its place and flushes nothing; an open that has returned has made that durable."""

    name = "epochs_moved"
    aside = "/home/me/aside"

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        m.system.rename(DIR, self.aside)
        m.system.rmdir(f"{HOME}/epochs")

    @simfs.process
    def mover(self, m: simfs.Handle) -> None:
        m.system.mkdir(f"{HOME}/epochs")
        m.system.rename(self.aside, DIR)
        self.open(m).close()

    @simfs.law(epochs.EPOCH_ACKED_SURVIVE)
    def what_was_promised_is_there(self, m: simfs.Handle) -> None:
        if m.acked("epoch"):
            super().what_was_promised_is_there(m)


SCENARIOS: tuple[type[EpochScenario], ...] = (EpochsRepair, EpochsRepairAgain, EpochsNewHome, EpochsMoved)
