"""The cron store on the real operating system: the file, its lock, damage, and what a person may do."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eukhe.cron import (
    CronBusy,
    CronFailed,
    CronFileDamaged,
    CronRefused,
    CronStore,
    JobNotFound,
    Outcome,
    Owner,
    ScheduleRefused,
)
from eukhe.cron.document import Damaged, parse, render


@pytest.fixture
def store(tmp_path: Path) -> CronStore:
    return CronStore(tmp_path / "home" / "cron-jobs.json")


def whole(store: CronStore) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(store.path).read_bytes())
    return found


def test_a_missing_file_is_no_jobs_and_nothing_is_made_by_reading(store: CronStore) -> None:
    assert store.list() == ([], [], [])
    assert not Path(store.path).parent.exists()


def test_the_file_is_private_and_written_as_the_design_says(store: CronStore) -> None:
    job = store.create("every 5m", "echo hello", label="naïve 雪")
    data = Path(store.path).read_bytes()
    assert Path(store.path).stat().st_mode & 0o777 == 0o600
    assert data == json.dumps(json.loads(data), indent=2, ensure_ascii=False).encode() + b"\n"
    assert list(whole(store)["jobs"][0]) == [
        "id", "status", "source", "runtimeKind", "deliveryMode", "activeSessionId", "sessionId", "sessionFile", "cwd",
        "label", "prompt", "schedule", "createdAt", "updatedAt", "nextRunAt", "lastRunAt", "lastSkippedAt", "lastError",
        "runCount", "failures",
    ]  # fmt: skip
    assert store.list().jobs == [job]
    assert sorted(os.listdir(Path(store.path).parent)) == ["cron-jobs.json", "cron-jobs.json.lock"]


def test_a_claim_is_recorded_with_its_owner_before_it_is_returned(store: CronStore) -> None:
    job = store.create("every 10s", "run")
    (claim,) = store.claim_due((job.next_run_at or 0) + 25_000)
    (record,) = whole(store)["dispatches"]
    assert (record["id"], record["jobId"], record["owner"]["pid"]) == (claim.dispatch.id, job.id, os.getpid())
    assert store.claim_due((job.next_run_at or 0) + 60_000) == []
    assert store.get(job.id).last_skipped_at is not None


def test_the_end_of_a_run_that_is_no_longer_pending_changes_nothing_and_says_so(store: CronStore) -> None:
    job = store.create("every 10s", "run")
    (claim,) = store.claim_due(job.next_run_at)
    assert [one.id for one in store.recover_interrupted(())] == [claim.dispatch.id]
    before = Path(store.path).read_bytes()
    assert store.record_dispatch_result(claim.dispatch.id, Outcome()) is False
    assert Path(store.path).read_bytes() == before
    assert (store.get(job.id).last_error, store.get(job.id).failures) == ("interrupted", 1)


def test_a_run_that_is_live_is_not_taken_for_interrupted(store: CronStore) -> None:
    job = store.create("in 1s", "run")
    (claim,) = store.claim_due(job.next_run_at)
    assert store.recover_interrupted({claim.dispatch.id}) == []
    assert store.record_dispatch_result(claim.dispatch.id, Outcome()) is True
    assert store.get(job.id).status == "completed"


def test_the_claim_of_an_owner_with_a_pid_that_is_in_use_again_is_cleared(store: CronStore) -> None:
    job = store.create("in 1s", "run")
    store.claim_due(job.next_run_at)
    raw = Path(store.path).read_text()
    Path(store.path).write_text(raw.replace(f'"pid": {os.getpid()}', '"pid": 1'))
    assert len(store.recover_interrupted(())) == 1
    assert store.get(job.id).last_error == "interrupted"


def test_a_person_pauses_resumes_and_cancels(store: CronStore) -> None:
    job = store.create("every 5m", "run")
    assert store.pause(job.id).next_run_at is None
    assert store.claim_due(2 * (job.next_run_at or 0)) == []
    assert store.resume(job.id).next_run_at is not None
    assert store.cancel(job.id).status == "cancelled"
    for call in (store.pause, store.resume, store.cancel, store.claim_now):
        with pytest.raises(CronRefused, match="cancelled"):
            call(job.id)
    with pytest.raises(JobNotFound):
        store.pause("nobody")
    with pytest.raises(CronRefused, match="already"):
        store.create("in 1h", "run", job_id=job.id)
    with pytest.raises(ScheduleRefused):
        store.create("every 1s", "run")


def test_what_nobody_understands_stays_byte_for_byte_in_its_place(store: CronStore) -> None:
    store.create("every 5m", "run", job_id="one")
    strange = '{ "id":"strange",\n\t"x" : 1.0e+2 }'
    raw = Path(store.path).read_text()
    raw = raw.replace('"jobs": [\n', f'"first":   [ 1,2 ],\n  "jobs": [\n    {strange},\n', 1)
    raw = raw.replace('"dispatches": []', '"dispatches": [17], "last": {"é": null}')
    raw = raw.replace('"failures": 0', '"failures": 0, "mood" : [ ]')
    Path(store.path).write_text(raw)
    store.pause("one")
    store.create("in 1h", "run", job_id="two")
    after = Path(store.path).read_text()
    assert after.index('"first": [ 1,2 ]') < after.index(strange) < after.index('"one"') < after.index('"two"')
    assert '"last": {"é": null}' in after
    assert whole(store)["dispatches"] == [17]
    assert [job["id"] for job in whole(store)["jobs"]] == ["strange", "one", "two"]
    assert whole(store)["jobs"][1]["mood"] == []
    assert [at for at, _ in store.list().unreadable] == [0]


@pytest.mark.parametrize("change", ['"runCount": -1', '"runCount": 0.5', '"runCount": 0, "runCount": 0'])
def test_a_record_with_a_value_that_cannot_be_is_carried_and_not_a_job(store: CronStore, change: str) -> None:
    store.create("every 5m", "run", job_id="one")
    Path(store.path).write_text(Path(store.path).read_text().replace('"runCount": 0', change))
    assert store.list().jobs == []
    store.create("in 1h", "run", job_id="two")
    assert change in Path(store.path).read_text()


def test_a_damaged_file_is_kept_by_the_next_update_and_never_over_another(tmp_path: Path) -> None:
    told: list[str] = []
    store = CronStore(tmp_path / "cron-jobs.json", notice=told.append)
    for content in ("{", "[]", '{"jobs": []}'):
        Path(store.path).write_text(content)
        with pytest.raises(CronFileDamaged, match=r"docs/runbook\.md#cron-file-damaged"):
            store.list()
        with pytest.raises(CronFileDamaged):
            store.claim_due()
        with pytest.raises(CronFileDamaged):
            store.pause("one")
        assert Path(store.path).read_text() == content
        store.create("in 1h", "run", job_id="one")
    kept = sorted(path.read_text() for path in tmp_path.glob("cron-jobs.json.corrupt-*-????????"))
    assert kept == sorted(["{", "[]", '{"jobs": []}'])
    assert len(told) == 3
    assert [job.id for job in store.list().jobs] == ["one"]


def test_a_directory_or_an_unreadable_file_in_its_place_is_kept_too(tmp_path: Path) -> None:
    store = CronStore(tmp_path / "cron-jobs.json", notice=lambda text: None)
    (tmp_path / "cron-jobs.json").mkdir()
    store.create("in 1h", "run", job_id="one")
    assert [path.is_dir() for path in tmp_path.glob("*.corrupt-*")] == [True]


def test_a_symbolic_link_in_its_place_is_refused_and_left(tmp_path: Path) -> None:
    store = CronStore(tmp_path / "cron-jobs.json")
    (tmp_path / "cron-jobs.json").symlink_to("elsewhere.json")
    (tmp_path / "elsewhere.json").write_bytes(b"{}")
    with pytest.raises(CronFailed, match="symbolic link"):
        store.create("in 1h", "run")
    assert (tmp_path / "cron-jobs.json").is_symlink()


def test_a_lock_that_is_not_to_be_had_is_an_error_and_no_unlocked_write(tmp_path: Path) -> None:
    store = CronStore(tmp_path / "cron-jobs.json", lock_wait_s=0)
    with open(tmp_path / "cron-jobs.json.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(CronBusy, match="try again"):
            store.create("in 1h", "run")
    assert not Path(store.path).exists()
    store.create("in 1h", "run")


def test_what_a_dead_writer_left_is_removed_by_the_next_holder_of_the_lock(tmp_path: Path) -> None:
    left = tmp_path / ".cron-jobs.json.tmp-0123456789abcdef"
    left.write_text("half a fi")
    other = tmp_path / ".other.json.tmp-0123456789abcdef"
    other.write_text("somebody else's")
    CronStore(tmp_path / "cron-jobs.json").create("in 1h", "run")
    assert (left.exists(), other.exists()) == (False, True)


def test_a_merge_takes_what_was_changed_later_and_never_brings_back_an_occurrence(store: CronStore) -> None:
    job = store.create("in 1s", "run", job_id="one")
    store.claim_due(job.next_run_at)
    later = msgspec.structs.replace(job, label="new name", updated_at=job.updated_at + 10**9)
    older = msgspec.structs.replace(job, label="old name", updated_at=job.updated_at - 1)
    store.merge([later, msgspec.structs.replace(job, id="two")])
    store.merge([older])
    merged = store.get("one")
    assert (merged.label, merged.next_run_at) == ("new name", None)
    assert len(store.list().jobs) == 2


def test_an_owner_says_which_process_it_is(store: CronStore) -> None:
    owner = store.owner()
    assert owner.pid == os.getpid()
    assert Owner(1, "boot:17").boot_id == "boot"
    assert Owner(1, "boot:17").start_time == 17


@pytest.mark.parametrize(
    "data",
    [
        b'{"jobs": [], "dispatches": [], "jobs": []}', b'{"jobs": [], "dispatches": {}}',
        b'{"jobs": [], "dispatches": [',
        b'{"x": 1, "jobs": [], "dispatches": [], "x": 12}', b'{"x": 12, "jobs": [], "dispatches": [], "x": 1}', b"\xff",
    ],
)  # fmt: skip
def test_no_document_is_damage(data: bytes) -> None:
    with pytest.raises(Damaged):
        parse(data)


def test_a_document_is_written_as_it_was_read() -> None:
    data = b'{\n  "a\\u00e9": 1,\n  "jobs": [\n    17,\n    { "x": 1 }\n  ],\n  "dispatches": []\n}\n'
    assert render(parse(data)) == data
