"""An executable model of the cron store, written apart from its rules: plain dictionaries in, the file's bytes out.

It knows one-shots, intervals, and the cron expression that stands for every minute; the rest of cron expressions is the
library's. It has no files, locks or processes: a call is one step, with the caller's name, its time, and the ids that
it would draw. Whatever a step changes in a job is noticed afterwards and stamped, so no step can forget that. Times are
numbers of milliseconds until they are written.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

Job = dict[str, Any]
Claimed = dict[str, Any]

REST = {1: 2, 2: 4, 3: 8, 4: 16, 5: 32}
"""Minutes of rest by failures in a row; 60 from the sixth on."""
HOUR = 3_600_000
TIMES = ("createdAt", "updatedAt", "nextRunAt", "lastRunAt", "lastSkippedAt", "scheduledFor", "claimedAt")


class No(Exception):
    """The model refuses a step, which then changes nothing."""


class Model:
    """The file as the model has it. Steps are methods; `bytes` is what the file must hold."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.claims: list[Claimed] = []
        self.written = False
        """There is a file."""

    def bytes(self) -> bytes | None:
        """The file to the byte; None before the first update."""
        if not self.written:
            return None
        whole = {"jobs": [_readable(job) for job in self.jobs], "dispatches": [_readable(c) for c in self.claims]}
        return json.dumps(whole, indent=2, ensure_ascii=False).encode() + b"\n"

    def step(self, now: int, change: Callable[[], Any], always: bool = False) -> Any:
        """One update at `now`: what it changed is stamped; what it refused is as before."""
        before, before_claims = copy.deepcopy(self.jobs), copy.deepcopy(self.claims)
        try:
            answer = change()
        except No:
            self.jobs, self.claims = before, before_claims
            raise
        old = {job["id"]: job for job in before}
        for job in self.jobs:
            if job["id"] in old and job != old[job["id"]]:
                job["updatedAt"] = max(now, old[job["id"]]["updatedAt"] + 1)
        self.written = self.written or always or self.jobs != before or self.claims != before_claims
        return answer

    def create(self, now: int, job_id: str, kind: str, expression: str, length: int) -> None:
        """A new job; `length` is its delay or interval, 60,000 for every minute."""

        def change() -> None:
            if any(job["id"] == job_id for job in self.jobs):
                raise No
            first = now + length if kind != "cron" else now - now % length + length
            self.jobs.append({
                "id": job_id, "status": "active", "source": "user", "runtimeKind": "shell", "deliveryMode": "none",
                "activeSessionId": None, "sessionId": None, "sessionFile": None, "cwd": "/", "label": "",
                "prompt": "run",
                "schedule": {
                    "kind": kind, "expression": expression, "intervalMs": length if kind == "interval" else None
                },
                "createdAt": now, "updatedAt": now, "nextRunAt": first, "lastRunAt": None, "lastSkippedAt": None,
                "lastError": None, "runCount": 0, "failures": 0,
            })  # fmt: skip

        self.step(now, change)

    def pause(self, now: int, job_id: str) -> None:
        """A person stops a job."""

        def change(job: Job) -> None:
            job["status"] = "paused"
            _align(job, now)

        self._by_hand(now, job_id, change)

    def cancel(self, now: int, job_id: str) -> None:
        """A person ends a job."""
        self._by_hand(now, job_id, lambda job: job.update(status="cancelled", nextRunAt=None))

    def resume(self, now: int, job_id: str) -> None:
        """A person lets a job go on."""

        def change(job: Job) -> None:
            if job["status"] == "active" and job["failures"] == 0:
                return
            job.update(status="active", failures=0)
            if _is_once(job):
                _align(job, now)
            else:
                job["nextRunAt"] = _next_on_grid(job, now)

        self._by_hand(now, job_id, change)

    def defer(self, now: int, job_id: str, until: int) -> None:
        """A job's next run is put off."""

        def change(job: Job) -> None:
            if job["status"] != "active":
                raise No
            _align(job, now)
            if job["nextRunAt"] is not None:
                job["nextRunAt"] = max(job["nextRunAt"], until)

        self._by_hand(now, job_id, change)

    def claim(self, owner: dict[str, Any], due: int, now: int, ids: Iterable[str], limit: int | None) -> list[Claimed]:
        """Claim what is due; skip what is due and being run."""
        names = iter(ids)

        def change() -> list[Claimed]:
            busy = {claim["jobId"] for claim in self.claims}
            ready: list[tuple[int, int, Job]] = []
            for job in self.jobs:
                trial = copy.deepcopy(job)
                _align(trial, now)
                if job["status"] != "active" or trial["nextRunAt"] is None or trial["nextRunAt"] > due:
                    if job["status"] in ("active", "paused"):
                        job["nextRunAt"] = trial["nextRunAt"]
                elif job["id"] in busy:
                    job["nextRunAt"] = trial["nextRunAt"]
                    _skip(job, now)
                else:
                    ready.append((trial["nextRunAt"], len(ready), job))
            made = []
            for at, _, job in sorted(ready, key=lambda one: one[:2])[:limit]:
                job["nextRunAt"] = at
                made.append(self._take(job, next(names), owner, at, now))
            return made

        made: list[Claimed] = self.step(now, change)
        return made

    def claim_now(self, owner: dict[str, Any], dead: list[dict[str, Any]], now: int, job_id: str, name: str) -> Claimed:
        """A person runs a job."""

        def change() -> Claimed:
            self._clear(lambda claim: claim["owner"] in dead, now)
            job = self._find(job_id)
            gone = _is_once(job) and job["nextRunAt"] is None
            if job["status"] not in ("active", "paused") or gone or any(c["jobId"] == job_id for c in self.claims):
                raise No
            at = job["nextRunAt"]
            if at is not None and at <= now and job["status"] == "active":
                return self._take(job, name, owner, at, now)
            if _is_once(job):
                job["nextRunAt"] = None
            self.claims.append(_claim(name, job_id, now, now, owner))
            return self.claims[-1]

        made: Claimed = self.step(now, change)
        return made

    def finish(self, name: str, error: str | None, now: int) -> bool:
        """A run has ended. False: nobody knows of it any more."""

        def change() -> bool:
            found = [claim for claim in self.claims if claim["id"] == name]
            for claim in found:
                self.claims.remove(claim)
                for job in self.jobs:
                    if job["id"] == claim["jobId"]:
                        job["runCount"] += 1
                        _end(job, error, now)
            return bool(found)

        return bool(self.step(now, change))

    def recover(self, owner: dict[str, Any], live: set[str], dead: list[dict[str, Any]], now: int) -> None:
        """Put interrupted runs on record."""

        def is_over(claim: Claimed) -> bool:
            return claim["id"] not in live if claim["owner"] == owner else claim["owner"] in dead

        self.step(now, lambda: self._clear(is_over, now))

    def _clear(self, is_over: Callable[[Claimed], bool], now: int) -> None:
        for claim in [claim for claim in self.claims if is_over(claim)]:
            self.claims.remove(claim)
            for job in self.jobs:
                if job["id"] == claim["jobId"]:
                    _end(job, "interrupted", now)

    def _take(self, job: Job, name: str, owner: dict[str, Any], at: int, now: int) -> Claimed:
        self.claims.append(_claim(name, job["id"], at, now, owner))
        if _is_once(job):
            job["nextRunAt"] = None
            return self.claims[-1]
        last = _last_on_grid(job, max(at, now))
        if last != at:
            job["lastSkippedAt"] = last
        job["nextRunAt"] = _anew(job, max(at, now))
        return self.claims[-1]

    def _by_hand(self, now: int, job_id: str, change: Callable[[Job], None]) -> None:
        def checked() -> None:
            job = self._find(job_id)
            if job["status"] in ("completed", "cancelled"):
                raise No
            change(job)

        self.step(now, checked, always=True)

    def _find(self, job_id: str) -> Job:
        for job in self.jobs:
            if job["id"] == job_id:
                return job
        raise No


def _is_once(job: Job) -> bool:
    return bool(job["schedule"]["kind"] == "once")


def _grid(job: Job) -> tuple[int, int]:
    """Where the grid of a recurring job begins, and how far apart its points are."""
    length = job["schedule"]["intervalMs"]
    return (0, 60_000) if length is None else (job["createdAt"] % length, length)


def _last_on_grid(job: Job, until: int) -> int:
    start, length = _grid(job)
    return until - (until - start) % length


def _next_on_grid(job: Job, after: int) -> int:
    return _last_on_grid(job, after) + _grid(job)[1]


def _anew(job: Job, now: int) -> int:
    """The next run of a recurring job: by its grid, and not before it has rested."""
    at = _next_on_grid(job, now)
    if job["failures"] and job["lastRunAt"] is not None:
        at = max(at, min(job["lastRunAt"], now) + REST.get(job["failures"], 60) * 60_000)
    return at


def _align(job: Job, now: int) -> None:
    """The next run as it has to be at `now`, whatever was written before."""
    ahead = job["updatedAt"] - now
    at = job["nextRunAt"]
    if _is_once(job):
        words = job["schedule"]["expression"].split()
        if at is not None and words[0] == "in" and ahead > 1000:
            job["nextRunAt"] = min(at, now + int(words[1][:-1]) * 1000)
    elif job["status"] != "active":
        job["nextRunAt"] = None
    elif at is None:
        job["nextRunAt"] = _anew(job, now)
    elif ahead > 1000:
        # Every minute is no fixed time: the clock going back by less than three hours matters too.
        job["nextRunAt"] = min(at, _anew(job, now))
    elif job["failures"] and job["lastRunAt"] is not None:
        rested = min(job["lastRunAt"], now) + REST.get(job["failures"], 60) * 60_000
        job["nextRunAt"] = max(at, rested)


def _skip(job: Job, now: int) -> None:
    seen = max(job["nextRunAt"], now)
    job["lastSkippedAt"] = _last_on_grid(job, seen)
    job["nextRunAt"] = _anew(job, seen)


def _end(job: Job, error: str | None, now: int) -> None:
    job["failures"] = 0 if error is None else job["failures"] + 1
    job["lastError"] = error
    job["lastRunAt"] = now
    if _is_once(job):
        job["nextRunAt"] = None
        if job["status"] != "cancelled":
            job["status"] = "completed"
        return
    if job["failures"] >= 8 and job["status"] == "active":
        job["status"] = "paused"
    if job["status"] == "cancelled":
        job["nextRunAt"] = None
    else:
        _align(job, now)


def _claim(name: str, job_id: str, at: int, now: int, owner: dict[str, Any]) -> Claimed:
    return {"id": name, "jobId": job_id, "scheduledFor": at, "claimedAt": now, "owner": owner}


def _readable(record: dict[str, Any]) -> dict[str, Any]:
    return {key: _written(held) if key in TIMES and held is not None else held for key, held in record.items()}


def _written(at: int) -> str:
    seconds, ms = divmod(at, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{ms:03d}Z"
