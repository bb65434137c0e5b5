"""The mutants of the cron store that a person thought of: its rules, its file and its lock broken in one way each.

Those made by machine are in `cron_calls`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from msgspec import structs

from eukhe.cron import CronBusy, CronFailed, book, files, rules, store
from eukhe.cron.document import Damaged, Document
from eukhe.cron.records import Job
from eukhe.cron.schedules import next_occurrence
from eukhe.system import Identity
from scenarios.mutants.cron_calls import made_by_machine
from scenarios.mutants.mutant import Mutant, Wrapped, exchanged
from scenarios.mutants.storage import LateFlush
from scenarios.suites.cron import PATH

__simfs_machinery__ = True


def mutants() -> list[Mutant]:
    """All of them, those made by machine first."""
    return [*made_by_machine(), *BY_HAND]


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


def _broken(module: Any, name: str, instead: Callable[[Any], Any]) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: exchanged(module, name, instead)


def _complete(claimed: Any) -> Any:
    def instead(job: Job, now: int) -> Job:
        after: Job = claimed(job, now)
        return structs.replace(after, status="completed") if job.schedule.kind == "once" else after

    return instead


def _no_unreadable(render: Any) -> Any:
    def instead(document: Document) -> bytes:
        thinner = document.copy()
        thinner.jobs = [item for item in document.jobs if item.value is not None]
        written: bytes = render(thinner)
        return written

    return instead


def _no_unknown(render: Any) -> Any:
    def instead(document: Document) -> bytes:
        thinner = document.copy()
        thinner.others = [(key, raw) for key, raw in document.others if raw is None]
        written: bytes = render(thinner)
        return written

    return instead


def _empty_if_damaged(parse: Any) -> Any:
    def instead(data: bytes) -> Document:
        try:
            document: Document = parse(data)
        except Damaged:
            return Document.empty()
        return document

    return instead


def _kept_under_one_name(keep_aside: Any) -> Any:
    def instead(system: Any, path: str, now_ms: int) -> str:
        aside = f"{path}.corrupt-{now_ms}-00000000"
        system.rename(path, aside)
        return aside

    return instead


def _unlocked_in_the_end(take: Any) -> Any:
    def instead(*arguments: Any) -> None:
        try:
            take(*arguments)
        except CronBusy:
            pass

    return instead


def _without_the_lock(public: str) -> Callable[[], AbstractContextManager[Any]]:
    """One call of the store takes no lock."""

    def instead(call: Any) -> Any:
        def unlocked(*arguments: Any, **keywords: Any) -> Any:
            with exchanged(files, "_take", lambda take: lambda *given: None):
                return call(*arguments, **keywords)

        return unlocked

    return _broken(store.CronStore, public, instead)


def _stays(claimed: Any) -> Any:
    """The next run is saved with the result, and not with the claim."""
    return lambda job, now: job


def _all_missed(claimed: Any) -> Any:
    def instead(job: Job, now: int) -> Job:
        after: Job = claimed(job, job.next_run_at)
        return after

    return instead


def _finishes_anyway(finish: Any) -> Any:
    def instead(self: Any, dispatch_id: str, outcome: Any) -> bool:
        if not finish(self, dispatch_id, outcome):
            for at, job in list(self.document.all_jobs()):
                self.document.put_job(at, rules.finished(job, outcome, self.now))
        return True

    return instead


def _restarts(next_run: Any) -> Any:
    def instead(job: Job, now: int) -> int | None:
        if job.status == "paused" and job.schedule.kind != "once":
            job = structs.replace(job, status="active")
        at: int | None = next_run(job, now)
        return at

    return instead


def _with_paused(is_due: Any) -> Any:
    def instead(job: Job, due_at: int) -> bool:
        return bool(is_due(structs.replace(job, status="active"), due_at))

    return instead


def _natural(anew: Any) -> Any:
    return lambda job, now: next_occurrence(job.schedule, job.created_at, now)


def _unstamped(stamped: Any) -> Any:
    return lambda before, job, now: job


def _no_notice(interrupted: Any) -> Any:
    return lambda job, now: structs.replace(job, next_run_at=None if job.schedule.kind == "once" else job.next_run_at)


def _shrinks(rest_ms: Any) -> Any:
    return lambda failures: rest_ms(failures) if failures < 6 else rest_ms(1)


def _no_stop(ended: Any) -> Any:
    def instead(job: Job, error: str | None, now: int, **fields: Any) -> Job:
        if job.failures >= 7 and error is not None:
            job = structs.replace(job, failures=6)
        after: Job = ended(job, error, now, **fields)
        return after

    return instead


def _fails_quietly(flush: Any) -> Any:
    def instead(system: Any, path: str) -> None:
        try:
            flush(system, path)
        except CronFailed:
            pass

    return instead


def _both(one: AbstractContextManager[Any], other: AbstractContextManager[Any]) -> AbstractContextManager[Any]:
    stack = ExitStack()
    stack.enter_context(one)
    stack.enter_context(other)
    return stack


BY_HAND = [
    Mutant("a claim completes a one-shot", "rule", broken=_broken(rules, "claimed", _complete),
           made_for=("cron_once_finished_after_end",)),
    Mutant("recovery clears the claims of the living", "rule", lambda system, process: AllDead(system),
           made_for=("cron_claim_owned",)),
    Mutant("recovery clears nobody else's claim", "rule", lambda system, process: AllAlive(system),
           made_for=("cron_claim_owned",)),
    Mutant("an owner is known by its pid alone", "rule", lambda system, process: ByPid(system)),
    Mutant("records that cannot be read are dropped", "file", broken=_broken(store, "render", _no_unreadable),
           made_for=("cron_never_drops",)),
    Mutant("keys that are unknown are dropped", "file", broken=_broken(store, "render", _no_unknown),
           made_for=("cron_never_drops",)),
    Mutant("a damaged file reads as empty", "file", broken=_broken(store, "parse", _empty_if_damaged),
           made_for=("cron_never_drops",)),
    Mutant("a damaged file is kept over an earlier one", "file",
           broken=_broken(files, "keep_aside", _kept_under_one_name), made_for=("cron_never_drops",)),
    Mutant("claiming takes no lock", "lock", broken=_without_the_lock("claim_due"), made_for=("cron_fires_once",)),
    Mutant("pausing takes no lock", "lock", broken=_without_the_lock("pause"), made_for=("cron_update_durable",)),
    Mutant("recording a result takes no lock", "lock", broken=_without_the_lock("record_dispatch_result")),
    Mutant("who waited too long writes without the lock", "lock", broken=_broken(files, "_take", _unlocked_in_the_end)),
    Mutant("the lock file is removed with the lock", "lock", lambda system, process: RemovesTheLock(system)),
    Mutant("one temporary name for all", "file", lambda system, process: OneTemporary(system)),
    Mutant("the file is written in place", "file", lambda system, process: WritesInPlace(system),
           made_for=("cron_update_durable",)),
    Mutant("flushes come one call late", "flush", lambda system, process: LateFlush(system)),
    Mutant("a flush that failed is not told", "flush", broken=_broken(files, "flush_directory", _fails_quietly)),
    Mutant("the next run is saved with the result", "rule", broken=_broken(rules, "claimed", _stays),
           made_for=("cron_fires_once",)),
    Mutant("every missed occurrence is run", "rule", broken=_broken(rules, "claimed", _all_missed),
           made_for=("cron_accounted",)),
    Mutant("the end of a run that nobody waits for counts", "rule",
           broken=_broken(book.Book, "finish", _finishes_anyway), made_for=("cron_model_bridge",)),
    Mutant("an interrupted run is cleared without a word", "rule", broken=_broken(rules, "interrupted", _no_notice),
           made_for=("cron_accounted",)),
    Mutant("the rest after failures shrinks", "rule", broken=_broken(rules, "rest_ms", _shrinks),
           made_for=("cron_backoff_bounded",)),
    Mutant("a next run that is decided anew forgets the rest", "rule", broken=_broken(rules, "_anew", _natural),
           made_for=("cron_backoff_bounded",)),
    Mutant("a job never stops failing", "rule", broken=_broken(rules, "_ended", _no_stop),
           made_for=("cron_pause_sticks",)),
    Mutant("a paused job gets a next run", "rule", broken=_broken(rules, "next_run", _restarts)),
    Mutant("a paused job that is due is run", "rule",
           broken=lambda: _both(_broken(rules, "is_due", _with_paused)(), _broken(rules, "next_run", _restarts)()),
           made_for=("cron_pause_sticks",)),
    Mutant("a change is not stamped", "rule", broken=_broken(rules, "_stamped", _unstamped),
           made_for=("cron_model_bridge",)),
    Mutant("a clock that was set back is not noticed", "rule",
           broken=_broken(rules, "SET_BACK_SLACK_MS", lambda slack: 10**15), made_for=("cron_accounted",)),
    Mutant("an hour that comes again counts anew", "rule", broken=_broken(rules, "SET_BACK_ANEW_MS", lambda at: 0)),
]  # fmt: skip
"""Those that a person thought of."""
