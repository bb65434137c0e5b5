"""Drawn programs of the cron store: processes recover, claim, run, record, pause, resume and wait, in any order.

Clocks may jump, calls may fail. A process knows the runs that it has claimed and not yet put on record; those it
names when it recovers, as a scheduler does.
"""

from __future__ import annotations

import errno

import simfs
from eukhe.cron import Claim, CronFailed, CronRefused, Outcome
from scenarios.suites.cron import DUE_MS, CronScenario
from simfs.machine.faults import Errno, Short


class CronProgram(CronScenario, simfs.Program):
    """Scheduled jobs, by drawn processes."""

    name = "cron_program"
    operations = ("claim", "run", "recover", "by_hand", "give_up")
    raises = (CronFailed,)
    faults = (
        Errno(("fsync",), code=errno.EIO),
        Errno(("write", "pwrite"), code=errno.ENOSPC),
        Short(("write", "pwrite"), keep=7),
    )

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.claims: list[Claim] = []

    def setup(self, m: simfs.Handle) -> None:
        """As in the suite, and nothing is claimed."""
        super().setup(m)
        self.claims = []

    def live(self, m: simfs.Handle) -> list[Claim]:
        """The claims of this process; a list of its own, whatever the scenario's copy shares."""
        mine: list[Claim] = self.__dict__.setdefault(f"claims of {m.process}", [])
        return mine

    def op_claim(self, m: simfs.Handle, n: int) -> None:
        """Claim what is due, all of it or one."""
        for claim in self.store(m).claim_due(DUE_MS, DUE_MS, 1 if n % 2 else None):
            m.ack("claimed", claim.job.id)
            self.live(m).append(claim)

    def op_run(self, m: simfs.Handle, n: int) -> None:
        """Run what was claimed first, and put it on record."""
        if not self.live(m):
            self.op_claim(m, n)
        if self.live(m):
            claim = self.live(m).pop(0)
            self.record(m, self.store(m), claim, self.run(m, claim))

    def op_recover(self, m: simfs.Handle, n: int) -> None:
        """Put on record what was interrupted."""
        for dispatch in self.store(m).recover_interrupted([c.dispatch.id for c in self.live(m)], DUE_MS):
            m.ack("recovered", dispatch.job_id)

    def op_by_hand(self, m: simfs.Handle, n: int) -> None:
        """Run a job now; it is no occurrence of its schedule."""
        store = self.store(m)
        try:
            claim = store.claim_now(self.kinds[n % len(self.kinds)])
        except CronRefused:
            return
        m.effect("ended", claim.job.id)
        self.record(m, store, claim, Outcome())

    def op_give_up(self, m: simfs.Handle, n: int) -> None:
        """Look at the jobs; whatever was claimed stays claimed."""
        self.store(m).list()
