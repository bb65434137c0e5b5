"""Ways to break the cron store: systems that answer wrongly, and rules that are exchanged.

Which mutant each makes, and which law has to notice, is in `cron`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from msgspec import structs

from eukhe.cron import CronBusy, CronFailed, rules
from eukhe.cron.document import Damaged, Document
from eukhe.cron.records import Job
from eukhe.cron.schedules import next_occurrence
from eukhe.system import Identity
from scenarios.mutants.mutant import Wrapped, exchanged
from scenarios.suites.cron import PATH

__simfs_machinery__ = True


class AllDead(Wrapped):
    """Every other process counts as dead."""

    def is_alive(self, identity: Any) -> bool:
        """Never."""
        return False


class AllAlive(Wrapped):
    """Every process that ever was counts as alive."""

    def is_alive(self, identity: Any) -> bool:
        """Always."""
        return True


class ByPid(Wrapped):
    """Whoever has the pid is taken for the owner."""

    def is_alive(self, identity: Any) -> bool:
        """Whether some process has the pid."""
        try:
            self.system.process_identity(identity.pid)
        except ProcessLookupError:
            return False
        return True

    def process_identity(self, pid: int | None = None) -> Identity:
        """Nothing but the pid tells processes apart."""
        found = self.system.process_identity(pid)
        return Identity("boot", found.pid, 0)


class OneTemporary(Wrapped):
    """All new files are written under one temporary name, whoever has one there."""

    def urandom(self, n: int) -> bytes:
        """Not random where a temporary name is made."""
        return bytes(n) if n == 8 else self.system.urandom(n)


class RemovesTheLock(Wrapped):
    """The lock file is removed when the lock is given back."""

    def flock(self, fd: int, operation: int) -> None:
        """As the system's."""
        self.system.flock(fd, operation)
        if operation == 8:
            try:
                self.system.unlink(f"{PATH}.lock")
            except FileNotFoundError:
                pass


class WritesInPlace(Wrapped):
    """The new file is not renamed but written over the old one."""

    def rename(self, src: str, dst: str) -> None:
        """Copy it."""
        fd = self.system.open(src, os.O_RDONLY)
        data = self.system.read(fd, 1 << 20)
        self.system.close(fd)
        fd = self.system.open(dst, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self.system.write(fd, data)
        self.system.fsync(fd)
        self.system.close(fd)
        self.system.unlink(src)


def broken(module: Any, name: str, instead: Callable[[Any], Any]) -> Callable[[], AbstractContextManager[Any]]:
    """The exchange of a name in a module, for as long as a mutant is judged."""

    return lambda: exchanged(module, name, instead)


def complete(claimed: Any) -> Any:
    """A claim of a one-shot completes it."""

    def instead(job: Job, now: int) -> Job:
        after: Job = claimed(job, now)
        return structs.replace(after, status="completed") if job.schedule.kind == "once" else after

    return instead


def no_unreadable(render: Any) -> Any:
    """Records that cannot be read are not written."""

    def instead(document: Document) -> bytes:
        thinner = document.copy()
        thinner.jobs = [item for item in document.jobs if item.value is not None]
        written: bytes = render(thinner)
        return written

    return instead


def no_unknown(render: Any) -> Any:
    """Keys that are unknown are not written."""

    def instead(document: Document) -> bytes:
        thinner = document.copy()
        thinner.others = [(key, raw) for key, raw in document.others if raw is None]
        written: bytes = render(thinner)
        return written

    return instead


def empty_if_damaged(parse: Any) -> Any:
    """What is damaged reads as empty."""

    def instead(data: bytes) -> Document:
        try:
            document: Document = parse(data)
        except Damaged:
            return Document.empty()
        return document

    return instead


def kept_under_one_name(keep_aside: Any) -> Any:
    """A damaged file always gets the same name."""

    def instead(system: Any, path: str, now_ms: int) -> str:
        aside = f"{path}.corrupt-{now_ms}-00000000"
        system.rename(path, aside)
        return aside

    return instead


def unlocked_in_the_end(take: Any) -> Any:
    """Not getting the lock is no reason not to write."""

    def instead(*arguments: Any) -> None:
        try:
            take(*arguments)
        except CronBusy:
            pass

    return instead


def stays(claimed: Any) -> Any:
    """The next run is saved with the result, and not with the claim."""
    return lambda job, now: job


def all_missed(claimed: Any) -> Any:
    """The next run is decided from the one that was due, and not from now."""

    def instead(job: Job, now: int) -> Job:
        after: Job = claimed(job, job.next_run_at)
        return after

    return instead


def finishes_anyway(finish: Any) -> Any:
    """Any result counts, whatever is pending."""

    def instead(self: Any, dispatch_id: str, outcome: Any) -> bool:
        if not finish(self, dispatch_id, outcome):
            for at, job in list(self.document.all_jobs()):
                self.document.put_job(at, rules.finished(job, outcome, self.now))
        return True

    return instead


def restarts(next_run: Any) -> Any:
    """A paused job is treated as an active one."""

    def instead(job: Job, now: int) -> int | None:
        if job.status == "paused" and job.schedule.kind != "once":
            job = structs.replace(job, status="active")
        at: int | None = next_run(job, now)
        return at

    return instead


def with_paused(is_due: Any) -> Any:
    """A paused job may be due."""

    def instead(job: Job, due_at: int) -> bool:
        return bool(is_due(structs.replace(job, status="active"), due_at))

    return instead


def by_schedule_alone(aligned: Any) -> Any:
    """A pass over the jobs fills in a lost next run by the schedule, and asks for nothing else."""

    def instead(job: Job, now: int) -> Job:
        if job.schedule.kind == "once" or job.status != "active" or job.next_run_at is not None:
            return job
        return structs.replace(job, next_run_at=next_occurrence(job.schedule, job.created_at, now))

    return instead


def unstamped(stamped: Any) -> Any:
    """A change leaves the time of the last change as it was."""

    return lambda before, job, now: job


def no_notice(interrupted: Any) -> Any:
    """An interruption is not put on record."""

    return lambda job, now: structs.replace(job, next_run_at=None if job.schedule.kind == "once" else job.next_run_at)


def shrinks(rest_ms: Any) -> Any:
    """From the sixth failure on the rest is as short as at first."""

    return lambda failures: rest_ms(failures) if failures < 6 else rest_ms(1)


def no_stop(ended: Any) -> Any:
    """The eighth failure counts as the seventh."""

    def instead(job: Job, error: str | None, now: int, **fields: Any) -> Job:
        if job.failures >= 7 and error is not None:
            job = structs.replace(job, failures=6)
        after: Job = ended(job, error, now, **fields)
        return after

    return instead


def fails_quietly(flush: Any) -> Any:
    """A flush of the directory that fails is not told."""

    def instead(system: Any, path: str) -> None:
        try:
            flush(system, path)
        except CronFailed:
            pass

    return instead


def both(one: AbstractContextManager[Any], other: AbstractContextManager[Any]) -> AbstractContextManager[Any]:
    """Two exchanges at once."""

    stack = ExitStack()
    stack.enter_context(one)
    stack.enter_context(other)
    return stack
