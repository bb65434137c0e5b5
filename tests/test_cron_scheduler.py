"""The scheduler, the pool, and the commands that jobs run, on the real operating system."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest

from eukhe.cron import Claim, CronFailed, CronStore, Dispatch, Job, Outcome, Owner, Scheduler
from eukhe.cron.commands import run_command
from eukhe.cron.pool import ThreadPool
from eukhe.cron.scheduler import Inline
from eukhe.cron.schedules import parse_schedule
from eukhe.system import OsSystem

MINUTE_S = 60


class Clocked(OsSystem):
    """The real system with a wall clock of our own; a call may be made to fail."""

    def __init__(self) -> None:
        self.now_s = 1_800_000_000.0
        self.failing = ""

    def time_ns(self) -> int:
        return round(self.now_s * 1e9)

    def rename(self, src: str, dst: str, **directories: Any) -> None:
        if self.failing == "rename":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().rename(src, dst, **directories)


class Desk:
    """A store on a clock of our own, and a scheduler whose runs are counted."""

    def __init__(self, path: Path, outcome: Outcome | None = None) -> None:
        self.system = Clocked()
        self.store = CronStore(path / "cron-jobs.json", system=self.system)
        self.outcome = outcome or Outcome()
        self.ran: list[Claim] = []
        self.scheduler = self.fresh()

    def fresh(self) -> Scheduler:
        return Scheduler(self.store, Inline(self.run, lambda seconds: None))

    def run(self, claim: Claim) -> Outcome:
        self.ran.append(claim)
        return self.outcome

    def pass_minutes(self, minutes: int) -> None:
        for _ in range(minutes):
            self.system.now_s += MINUTE_S
            self.scheduler.tick()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_job_runs_at_each_of_its_occurrences_and_its_runs_are_counted(desk: Desk) -> None:
    job = desk.store.create("every 1m", "run")
    desk.pass_minutes(10)
    assert len(desk.ran) == 10
    assert desk.store.get(job.id).run_count == 9
    desk.scheduler.tick()
    assert desk.store.get(job.id).run_count == 10
    assert desk.scheduler.running == 0


def test_failure_eight_of_a_minutely_job_comes_182_minutes_after_the_first_and_stops_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Outcome("it failed"))
    job = desk.store.create("every 1m", "run")
    desk.pass_minutes(400)
    assert len(desk.ran) == 8
    assert desk.ran[7].dispatch.claimed_at - desk.ran[0].dispatch.claimed_at in range(182 * 60_000, 190 * 60_000)
    stopped = desk.store.get(job.id)
    assert (stopped.status, stopped.failures, stopped.last_error) == ("paused", 8, "it failed")
    desk.store.resume(job.id)
    desk.pass_minutes(2)
    assert len(desk.ran) == 9


def test_many_missed_occurrences_are_caught_up_once_and_on_record(desk: Desk) -> None:
    job = desk.store.create("every 1m", "run")
    desk.system.now_s += 1000 * MINUTE_S
    desk.scheduler.tick()
    assert len(desk.ran) == 1
    assert desk.store.get(job.id).last_skipped_at == round(desk.system.now_s * 1000)


def test_a_tick_that_would_change_nothing_takes_no_lock_and_writes_nothing(desk: Desk) -> None:
    desk.store.create("every 1m", "run")
    before = os.stat(desk.store.path).st_mtime_ns, os.stat(desk.store.path).st_ino
    (Path(desk.store.path + ".lock")).unlink()
    desk.scheduler.tick()
    assert (os.stat(desk.store.path).st_mtime_ns, os.stat(desk.store.path).st_ino) == before
    assert not os.path.exists(desk.store.path + ".lock")


def test_results_wait_for_an_update_that_does_not_fail(desk: Desk) -> None:
    job = desk.store.create("every 1m", "run")
    desk.pass_minutes(1)
    desk.system.failing = "rename"
    with pytest.raises(CronFailed):
        desk.scheduler.tick()
    assert desk.scheduler.running == 1
    desk.system.failing = ""
    desk.scheduler.tick()
    assert (desk.store.get(job.id).run_count, desk.scheduler.running, len(desk.ran)) == (1, 0, 1)


def test_claims_that_were_not_confirmed_are_not_run(desk: Desk) -> None:
    desk.store.create("every 1m", "run")
    desk.system.now_s += MINUTE_S
    desk.system.failing = "rename"
    with pytest.raises(CronFailed):
        desk.scheduler.tick()
    assert desk.ran == []
    desk.system.failing = ""
    desk.scheduler.tick()
    assert len(desk.ran) == 1


def test_what_an_earlier_scheduler_of_this_process_left_is_put_on_record(desk: Desk) -> None:
    job = desk.store.create("every 1m", "run")
    desk.pass_minutes(1)
    desk.scheduler = desk.fresh()
    desk.scheduler.tick()
    assert desk.store.get(job.id).last_error == "interrupted"


def test_a_pool_runs_so_many_at_a_time_and_what_a_run_raises_is_its_failure(desk: Desk) -> None:
    def run(claim: Claim) -> Outcome:
        raise ValueError("no good")

    pool = ThreadPool(run, 2)
    scheduler = Scheduler(desk.store, pool)
    for _ in range(3):
        desk.store.create("in 1m", "run")
    desk.system.now_s += 2 * MINUTE_S
    begun = len(scheduler.tick())
    deadline = time.monotonic() + 60
    while scheduler.running or begun < 3:
        pool.wait(0.05)
        begun += len(scheduler.tick())
        assert time.monotonic() < deadline
    pool.close()
    assert [job.last_error for job in desk.store.list().jobs] == ["ValueError: no good"] * 3


def claim(prompt: str, cwd: str = "/", kind: str = "shell", **fields: Any) -> Claim:
    schedule, first = parse_schedule("in 1m", 0)
    job = Job(
        id="job", status="active", source="user", runtime_kind=kind, delivery_mode="none", active_session_id=None,
        session_id=None, session_file=None, cwd=cwd, label="", prompt=prompt, schedule=schedule, created_at=0,
        updated_at=0, next_run_at=first, last_run_at=None, last_skipped_at=None, last_error=None, run_count=0,
        failures=0, **fields,
    )  # fmt: skip
    return Claim(job, Dispatch(id="d", job_id="job", scheduled_for=first, claimed_at=first, owner=Owner(1, "b:1")))


def test_a_command_runs_in_its_directory_with_its_environment(tmp_path: Path) -> None:
    outcome = run_command(
        claim("pwd; echo $WHO $EUKHE_JOB_ID $EUKHE_SCHEDULED_FOR", str(tmp_path), environment={"WHO": "me"})
    )
    assert outcome == Outcome(None, f"{tmp_path}\nme job 1970-01-01T00:01:00.000Z")


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        ("echo one; echo two >&2; exit 3", "exit code 3: two"),
        ("exit 4", "exit code 4"),
        ("kill -9 $$", "ended by signal 9"),
        ("cat", None),
    ],
)
def test_a_command_fails_by_its_code_with_its_last_line(prompt: str, error: str | None) -> None:
    assert run_command(claim(prompt)).error == error


def test_a_command_and_its_children_end_with_their_time() -> None:
    outcome = run_command(claim("echo begun; sleep 600 & sleep 600", timeout_ms=200))
    assert outcome == Outcome("timed out after 0.2 s: begun", "begun")


def test_a_child_that_stays_behind_does_not_keep_the_run_waiting() -> None:
    outcome = run_command(claim("sleep 5 & echo done"))
    assert outcome == Outcome(None, "done")


def test_the_end_of_a_long_output_is_kept() -> None:
    outcome = run_command(claim("yes line | head -c 3000000; echo the end"))
    assert outcome.output is not None
    assert outcome.output.endswith("the end")
    assert len(outcome.output) <= 8192


def test_an_entry_point_is_a_function_of_a_module() -> None:
    assert run_command(claim("this:d", kind="python")).error is not None
    assert run_command(claim("os:getpid", kind="python")) == Outcome()


def test_what_cannot_be_started_is_a_failure_with_a_reason() -> None:
    assert "did not start" in (run_command(claim("true", "/no/such/place")).error or "")
    assert "no way to run" in (run_command(claim("true", kind="magic")).error or "")
