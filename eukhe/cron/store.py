"""`CronStore`: the jobs of one file, shared by any number of processes.

One update is: lock, load, change by the rules (`book`), save, unlock. Nothing of the file is remembered from one update
to the next, except what its bytes meant, and that only for the very same bytes. An update that returned is durable; one
that raised changed nothing, or, where the last flush failed, is there without a promise. Reading takes no lock: the
file is always a whole one.

What the file may be: missing (no jobs), a document, or damaged. Reading a damaged one raises `CronFileDamaged` and
changes nothing. An update that has something to write keeps the damaged file under another name, says so (`notice`),
and begins with an empty list; one that has nothing to write raises too.

The times are those of the system's wall clock, read while the lock is held; calls that take a time are for schedulers.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from eukhe import directories
from eukhe.cron import files
from eukhe.cron.book import Book, NoSuchJob, Refused
from eukhe.cron.document import Damaged, Document, parse, render
from eukhe.cron.errors import CronFileDamaged, CronRefused, JobNotFound
from eukhe.cron.records import Dispatch, Job, Owner
from eukhe.cron.rules import Outcome
from eukhe.cron.schedules import parse_schedule
from eukhe.system import Identity, OsSystem, System

LOCK_WAIT_S = 30.0
"""How long an update waits for the lock by default."""


Dispatches = list[Dispatch]
"""A list of claims. `CronStore.list` hides the name of the type inside the class."""


class Claim(NamedTuple):
    """A claim that is durable: the caller runs the job now, and then records the result under `dispatch.id`."""

    job: Job
    dispatch: Dispatch


class Listing(NamedTuple):
    """What a file holds at one moment. `unreadable` are (index in the file, why) of items of `jobs` that are none."""

    jobs: list[Job]
    dispatches: list[Dispatch]
    unreadable: list[tuple[int, str]]


Claims = list[Claim]


def _log_notice(text: str) -> None:
    logging.getLogger("eukhe.cron").warning(text)


class CronStore:
    """The jobs in the file at `path`. Not for several threads at once."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        system: System | None = None,
        home: str | os.PathLike[str] | None = None,
        lock_wait_s: float | None = LOCK_WAIT_S,
        notice: Callable[[str], None] = _log_notice,
    ) -> None:
        """Nothing is read or made yet. `home`: directories are made durable from here down, by default the one above
        the file's own. `lock_wait_s`: None waits for ever. `notice` is told of a damaged file that was kept aside."""
        self.path = os.path.normpath(os.fspath(path))
        self.system: System = OsSystem() if system is None else system
        holder = directories.holder_of(self.path)
        self._home = directories.holder_of(holder) if home is None else os.path.normpath(os.fspath(home))
        self._lock_wait_s = lock_wait_s
        self._notice = notice
        self._prepared = False
        self._known: tuple[bytes, Document] | None = None
        self._owner: Owner | None = None

    def owner(self) -> Owner:
        """This process, as claims name it."""
        pid = self.system.getpid()
        if self._owner is None or self._owner.pid != pid:
            identity = self.system.process_identity()
            self._owner = Owner(pid, f"{identity.boot_id}:{identity.start_time}")
        return self._owner

    def now_ms(self) -> int:
        """The wall clock, in ms since 1970."""
        return self.system.time_ns() // 1_000_000

    def list(self) -> Listing:
        """What the file holds now. Raises `CronFileDamaged`; changes nothing."""
        document = self.read()
        return Listing(
            [job for _, job in document.all_jobs()],
            list(document.all_dispatches()),
            [(at, item.why) for at, item in enumerate(document.jobs) if item.value is None],
        )

    def get(self, job_id: str) -> Job:
        """One job. Raises `JobNotFound` and `CronFileDamaged`."""
        found = self.read().job(job_id)
        if found is None:
            raise JobNotFound(self.path, job_id)
        return found[1]

    def create(
        self, schedule: str, prompt: str, *, zone: str | None = None, job_id: str | None = None, **fields: Any
    ) -> Job:
        """Add an active job, and return it when it is durable. `fields` are further fields of `Job` (`label`, `cwd`,
        `runtime_kind`, `environment`, `timeout_ms`, ...). Raises `ScheduleRefused`, and `CronRefused` for a taken id.
        """
        with self.changing() as book:
            read, first = parse_schedule(schedule, book.now, zone)
            while job_id is None:
                drawn = self.system.urandom(4).hex()
                job_id = drawn if book.document.job(drawn) is None else None
            job = Job(
                **{
                    "status": "active", "source": "user", "runtime_kind": "shell", "delivery_mode": "none",
                    "active_session_id": None, "session_id": None, "session_file": None, "cwd": "/", "label": "",
                    **fields,
                },
                id=job_id, prompt=prompt, schedule=read, created_at=book.now, updated_at=book.now, next_run_at=first,
                last_run_at=None, last_skipped_at=None, last_error=None, run_count=0, failures=0,
            )  # fmt: skip
            book.create(job)
        return job

    def pause(self, job_id: str) -> Job:
        """Stop a job for a while. Raises `JobNotFound`, `CronRefused` for one that has ended."""
        return self._by_hand(lambda book: book.pause(job_id))

    def resume(self, job_id: str) -> Job:
        """Let a job go on, with no failures. Raises `JobNotFound`, `CronRefused` for one that has ended."""
        return self._by_hand(lambda book: book.resume(job_id))

    def cancel(self, job_id: str) -> Job:
        """End a job for good. Raises `JobNotFound`, `CronRefused` for one that has ended."""
        return self._by_hand(lambda book: book.cancel(job_id))

    def defer_next_run(self, job_id: str, until: int) -> Job:
        """Put a job's next run off until `until` (ms since 1970) at least. Raises as `pause`."""
        return self._by_hand(lambda book: book.defer_next_run(job_id, until))

    def merge(self, jobs: Iterable[Job]) -> None:
        """Take over a whole list: of each job the settings that were changed later; none goes."""
        given = list(jobs)
        with self.changing() as book:
            book.merge(given)
            book.document.changed = True

    def claim_due(self, due_at: int | None = None, claimed_at: int | None = None, limit: int | None = None) -> Claims:
        """Claim what is due, durably: from the return on the caller runs these, and nobody else does."""
        with self.changing(claimed_at) as book:
            due = book.now if due_at is None else due_at
            return [Claim(*made) for made in book.claim_due(due, self.new_dispatch_id, limit)]

    def claim_now(self, job_id: str) -> Claim:
        """Claim a job for a person, after clearing claims of dead processes. Raises `JobNotFound`, `CronRefused`."""
        with self.changing() as book:
            own = {d.id for d in book.document.all_dispatches() if d.owner == book.owner}
            book.recover(own, self.dead(book))
            return Claim(*book.claim_now(job_id, self.new_dispatch_id))

    def record_dispatch_result(self, dispatch_id: str, outcome: Outcome, at: int | None = None) -> bool:
        """End a claim with the outcome of its run. False: the claim is no longer there, and nothing was changed."""
        with self.changing(at) as book:
            return book.finish(dispatch_id, outcome)

    def recover_interrupted(self, live: Iterable[str], at: int | None = None) -> Dispatches:
        """Put on record what was interrupted: claims of this process that are not among `live`, and those of dead
        processes. Returns the claims that were cleared."""
        with self.changing(at) as book:
            return book.recover(live, self.dead(book))

    @contextmanager
    def changing(self, at: int | None = None) -> Iterator[Book]:
        """One update, at a time or now. It is durable when the block has been left. Raises every `CronError`."""
        if not self._prepared:
            files.make_directory(self.system, self.path, self._home)
        with files.locked(self.system, self.path, self._lock_wait_s):
            if not self._prepared:
                files.remove_leftovers(self.system, self.path)
                self._prepared = True
            damage: CronFileDamaged | None = None
            try:
                document = self.read().copy()
            except CronFileDamaged as error:
                damage, document = error, Document.empty()
            book = Book(document, self.owner(), self.now_ms() if at is None else at)
            try:
                yield book
            except Refused as error:
                if damage is not None:
                    raise damage from None
                missing = isinstance(error, NoSuchJob)
                raise (JobNotFound if missing else CronRefused)(self.path, str(error)) from None
            if damage is not None and not document.changed:
                raise damage
            if document.changed:
                self._save(document, damage)

    def dead(self, book: Book) -> tuple[Owner, ...]:
        """Of the other processes with claims, those that no longer run."""
        return tuple(o for o in sorted(book.owners(), key=repr) if not self.system.is_alive(_identity(o)))

    def new_dispatch_id(self) -> str:
        """An id that no other claim has."""
        return self.system.urandom(16).hex()

    def _by_hand(self, change: Callable[[Book], Job]) -> Job:
        with self.changing() as book:
            job = change(book)
            # A person is promised what the job is now. It may be so already by an update that died before its last
            # flush, so it is written again even if it says nothing new.
            book.document.changed = True
        return job

    def _save(self, document: Document, damage: CronFileDamaged | None) -> None:
        if damage is not None:
            aside = files.keep_aside(self.system, self.path, self.now_ms())
            self._notice(f"{self.path}: {damage.why}; the file is kept as {aside}, and the list of jobs starts empty")
        data = render(document)
        files.put_in_place(self.system, self.path, data)
        document.changed = False
        self._known = (data, document)

    def read(self) -> Document:
        """The document in the file, not to be changed. Raises `CronFileDamaged` and `CronFailed`."""
        try:
            data = files.read(self.system, self.path)
            if data is None:
                return Document.empty()
            if self._known is None or self._known[0] != data:
                self._known = (data, parse(data))
            return self._known[1]
        except (files.Unread, Damaged) as error:
            raise CronFileDamaged(self.path, str(error)) from None


def _identity(owner: Owner) -> Identity:
    return Identity(owner.boot_id, owner.pid, owner.start_time)
