"""Drawn programs of session epochs: several processes create, open, say, compact, repair and read, in any order.

Texts are unique: who says it, and the how-manieth thing it is that the process says. Summaries too, so that the carry
of an epoch is the summary of some compaction.
"""

from __future__ import annotations

import errno

import simfs
from eukhe.epochs import NotFound, Session, SessionError, read_session, repair
from scenarios.laws import epochs
from scenarios.suites.epochs import DIR, HOME, ID, ReadingScenario
from simfs.explore.program import WAYS
from simfs.machine.faults import Errno, Short

WHO = tuple(f"p{boot}{place}" for boot in range(1, 12) for place in "abc")


class EpochProgram(ReadingScenario, simfs.Program):
    """Sessions, by drawn processes."""

    name = "epochs_program"
    operations = ("say", "open", "compact", "close", "resume", "repair", "read", "create")
    tried = ("one", *(f"{who} says {n}" for who in WHO for n in range(16)))
    raises = (SessionError,)
    faults = (
        Errno(("fsync",), kind="file", code=errno.EIO),
        Errno(("pwrite",), code=errno.ENOSPC),
        Short(("pwrite",), keep=5),
    )
    held: Session | None = None
    said = 0

    def session(self, m: simfs.Handle) -> Session:
        """The open one, or a fresh open."""
        if self.held is None:
            self.held = self.open(m)
        return self.held

    def op_open(self, m: simfs.Handle, n: int) -> None:
        """Open again."""
        self.op_close(m, n)
        self.held = self.open(m)

    def op_close(self, m: simfs.Handle, n: int) -> None:
        """Close what is open."""
        if self.held is not None:
            self.held.close()
            self.held = None

    def op_say(self, m: simfs.Handle, n: int) -> None:
        """Append a text of one's own."""
        self.said += 1
        self.say(m, self.session(m), f"{m.process} says {self.said}")

    def op_compact(self, m: simfs.Handle, n: int) -> None:
        """Begin the next epoch, whatever its number turns out to be."""
        self.said += 1
        session = self.session(m)
        m.ack("epoch", session.compact(f"summary of {m.process} {self.said}", {"of": 0}))

    def op_resume(self, m: simfs.Handle, n: int) -> None:
        """End a compaction that stopped half-way."""
        session = self.session(m)
        if session.resume_compaction():
            m.ack("epoch", session.epoch)

    def op_repair(self, m: simfs.Handle, n: int) -> None:
        """Cut torn lines."""
        repair(DIR, system=self.system(m))

    def op_read(self, m: simfs.Handle, n: int) -> None:
        """Read without the right to write."""
        read_session(DIR, system=self.system(m))

    def op_create(self, m: simfs.Handle, n: int) -> None:
        """Make the session again: it is there."""
        try:
            Session.create(HOME, ID, {"of": 0}, 3, system=self.system(m)).close()
        except SessionError:
            pass

    def carried(self, epoch: int) -> set[str]:
        """Any summary that somebody gave."""
        return {"anew", *(f"summary of {who} {n}" for who in WHO for n in range(WAYS * 2))}

    @simfs.recover(epochs.EPOCH_HALF_COMPACTION)
    def recovery(self, m: simfs.Handle) -> None:
        """A next start: what an open finds is promised, a half compaction is ended."""
        try:
            with self.open(m) as session:
                self.finish_compaction(m, session)
        except NotFound:
            return
