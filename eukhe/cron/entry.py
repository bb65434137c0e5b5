"""The rules of the cron store behind the entry protocol (`eukhe rules cron`).

| op | args | ok |
|---|---|---|
| `open` | document (the text of a file, or null) | `{}` |
| `document` | (none) | `{"document"}` |
| `schedule` | text, now, zone (or null) | `{"schedule", "first"}` |
| `rest` | failures | `{"restMs"}` |
| `create` | job | `{}` |
| `pause`, `resume`, `cancel` | id, now | `{}` |
| `defer` | id, until, now | `{}` |
| `claim` | owner, due, now, ids [id], limit (or null) | `{"claimed": [id of the job]}` |
| `claim_now` | owner, id, dispatch, now | `{"scheduledFor"}` |
| `finish` | dispatch, error (or null), output (or null), now | `{"pending"}` |
| `recover` | owner, live [id], dead [owner], now | `{"ended": [id of the dispatch]}` |
| `merge` | jobs, now | `{}` |

Times are in ms since 1970, jobs have the keys and times of the file. `open` comes first and once. `ids` are for the
claims, in order; too few refuse the request. A refused request keeps the state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from eukhe.cron import rules
from eukhe.cron.book import Book, Refused
from eukhe.cron.document import Damaged, Document, parse, render
from eukhe.cron.records import Owner, Unreadable, job_of
from eukhe.cron.rules import Outcome
from eukhe.cron.schedules import ScheduleRefused, parse_schedule
from eukhe.entry import EntryError

Answer = dict[str, Any]
Args = TypeVar("Args", bound=Struct)
NOBODY = Owner(0, "nobody:0")


class _Open(Struct, forbid_unknown_fields=True):
    document: str | None


class _Nothing(Struct, forbid_unknown_fields=True):
    pass


class _Schedule(Struct, forbid_unknown_fields=True):
    text: str
    now: int
    zone: str | None


class _Rest(Struct, forbid_unknown_fields=True):
    failures: int


class _Create(Struct, forbid_unknown_fields=True):
    job: Raw


class _Hand(Struct, forbid_unknown_fields=True):
    id: str
    now: int


class _Defer(Struct, forbid_unknown_fields=True):
    id: str
    until: int
    now: int


class _Claim(Struct, forbid_unknown_fields=True):
    owner: Owner
    due: int
    now: int
    ids: list[str]
    limit: int | None


class _ClaimNow(Struct, forbid_unknown_fields=True):
    owner: Owner
    id: str
    dispatch: str
    now: int


class _Finish(Struct, forbid_unknown_fields=True):
    dispatch: str
    error: str | None
    output: str | None
    now: int


class _Recover(Struct, forbid_unknown_fields=True):
    owner: Owner
    live: list[str]
    dead: list[Owner]
    now: int


class _Merge(Struct, forbid_unknown_fields=True):
    jobs: list[Raw]
    now: int


class CronEntry:
    """One document under the rules, asked over the protocol."""

    def __init__(self) -> None:
        self._document: Document | None = None

    def answer(self, op: str, args: bytes) -> Answer:
        """Answer one request. Raises `EntryError`, and then the document is as before."""
        handler = HANDLERS.get(op)
        if handler is None:
            raise EntryError("unknown_op", f"no operation {op!r}; there are {', '.join(HANDLERS)}")
        return handler(self, args)

    def open(self, args: bytes) -> Answer:
        """Begin with a document."""
        given = _read(_Open, args)
        if self._document is not None:
            raise EntryError("out_of_place", "the document is open already")
        try:
            self._document = Document.empty() if given.document is None else parse(given.document.encode())
        except Damaged as damage:
            raise EntryError("refused", str(damage)) from None
        return {}

    def document(self, args: bytes) -> Answer:
        """The file as it would be written now."""
        _read(_Nothing, args)
        return {"document": render(self._opened()).decode()}

    def schedule(self, args: bytes) -> Answer:
        """What a text says as a schedule."""
        given = _read(_Schedule, args)
        try:
            schedule, first = parse_schedule(given.text, given.now, given.zone)
        except ScheduleRefused as error:
            raise EntryError("refused", str(error)) from None
        return {"schedule": schedule, "first": first}

    def rest(self, args: bytes) -> Answer:
        """How long a job rests after so many failures."""
        return {"restMs": rules.rest_ms(_read(_Rest, args).failures)}

    def create(self, args: bytes) -> Answer:
        """Add a job."""
        given = _read(_Create, args)
        job = _job(given.job)
        self._change(NOBODY, job.created_at, lambda book: book.create(job))
        return {}

    def pause(self, args: bytes) -> Answer:
        """Stop a job for a while."""
        return self._by_hand(args, Book.pause)

    def resume(self, args: bytes) -> Answer:
        """Let a job go on."""
        return self._by_hand(args, Book.resume)

    def cancel(self, args: bytes) -> Answer:
        """End a job."""
        return self._by_hand(args, Book.cancel)

    def defer(self, args: bytes) -> Answer:
        """Put a job's next run off."""
        given = _read(_Defer, args)
        self._change(NOBODY, given.now, lambda book: book.defer_next_run(given.id, given.until))
        return {}

    def claim(self, args: bytes) -> Answer:
        """Claim what is due."""
        given = _read(_Claim, args)
        ids = iter(given.ids)

        def next_id() -> str:
            found = next(ids, None)
            if found is None:
                raise EntryError("bad_args", "there are not enough ids for what is due")
            return found

        made = self._change(given.owner, given.now, lambda book: book.claim_due(given.due, next_id, given.limit))
        return {"claimed": [job.id for job, _ in made]}

    def claim_now(self, args: bytes) -> Answer:
        """Claim one job for a person."""
        given = _read(_ClaimNow, args)
        _, dispatch = self._change(
            given.owner, given.now, lambda book: book.claim_now(given.id, lambda: given.dispatch)
        )
        return {"scheduledFor": dispatch.scheduled_for}

    def finish(self, args: bytes) -> Answer:
        """End a claim."""
        given = _read(_Finish, args)
        outcome = Outcome(given.error, given.output)
        return {"pending": self._change(NOBODY, given.now, lambda book: book.finish(given.dispatch, outcome))}

    def recover(self, args: bytes) -> Answer:
        """Put on record what was interrupted."""
        given = _read(_Recover, args)
        ended = self._change(given.owner, given.now, lambda book: book.recover(given.live, given.dead))
        return {"ended": [dispatch.id for dispatch in ended]}

    def merge(self, args: bytes) -> Answer:
        """Take over a list of jobs."""
        given = _read(_Merge, args)
        jobs = [_job(raw) for raw in given.jobs]
        self._change(NOBODY, given.now, lambda book: book.merge(jobs))
        return {}

    def _by_hand(self, args: bytes, change: Callable[[Book, str], Any]) -> Answer:
        given = _read(_Hand, args)
        self._change(NOBODY, given.now, lambda book: change(book, given.id))
        return {}

    def _change(self, owner: Owner, now: int, change: Callable[[Book], Any]) -> Any:
        changed = self._opened().copy()
        try:
            answer = change(Book(changed, owner, now))
        except Refused as refused:
            raise EntryError("refused", str(refused)) from None
        self._document = changed
        return answer

    def _opened(self) -> Document:
        if self._document is None:
            raise EntryError("out_of_place", "open a document first")
        return self._document


HANDLERS: dict[str, Callable[[CronEntry, bytes], Answer]] = {
    name: getattr(CronEntry, name)
    for name in (
        "open", "document", "schedule", "rest", "create", "pause", "resume", "cancel", "defer", "claim", "claim_now",
        "finish", "recover", "merge",
    )
}  # fmt: skip


def _read(kind: type[Args], args: bytes) -> Args:
    try:
        return msgspec.json.decode(args, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise EntryError("bad_args", str(error)) from None


def _job(raw: Raw) -> Any:
    try:
        return job_of(bytes(raw))
    except Unreadable as error:
        raise EntryError("bad_args", str(error)) from None
