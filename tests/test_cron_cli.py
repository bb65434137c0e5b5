"""`eukhe cron` and `eukhe rules cron`: what they print, their exit codes; two servers that are killed at random."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from eukhe.cli import app
from eukhe.cron import CronStore
from eukhe.cron.entry import CronEntry
from eukhe.entry import answer_line
from eukhe.errors import EukheError

SEED = random.SystemRandom().randrange(10**6)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EUKHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["cron", *arguments])
    if isinstance(result.exception, EukheError):
        assert code == 1
        return str(result.exception)
    assert result.exit_code == code, result.output
    return result.output.strip()


def test_a_job_is_added_listed_shown_paused_resumed_and_cancelled(home: Path) -> None:
    job = run(
        "add",
        "30 1 * * *",
        "echo hi",
        "--zone",
        "Europe/London",
        "--label",
        "nightly",
        "--env",
        "A=b",
        "--timeout",
        "2",
    )
    assert "CRON_TZ=Europe/London 30 1 * * *" in run("list")
    shown = json.loads(run("show", job, "--json"))
    assert (shown["label"], shown["environment"], shown["timeoutMs"]) == ("nightly", {"A": "b"}, 2000)
    assert "label: nightly" in run("show", job)
    run("pause", job)
    assert "paused" in run("list")
    assert run("resume", job).endswith("Z")
    run("cancel", job)
    assert [json.loads(line)["status"] for line in run("list", "--json").splitlines()] == ["cancelled"]
    assert "cancelled" in run("pause", job, code=1)


def test_run_now_runs_here_and_answers_with_the_runs_fate(home: Path) -> None:
    good, bad = run("add", "every 1h", "echo fine"), run("add", "every 1h", "echo oh no; exit 7")
    assert "fine" in run("run-now", good)
    assert "exit code 7" in run("run-now", bad, code=1)
    listed = run("list")
    assert "failures=1" in listed
    assert "error='exit code 7: oh no'" in listed


def test_wrong_usage_is_2_and_a_no_of_the_store_is_1(home: Path) -> None:
    run("add", "every 5s", "echo", code=2)
    run("add", "in 1h", "echo", "--env", "nothing", code=2)
    run("add", "in 1h", code=2)
    assert "no job nobody" in run("show", "nobody", code=1)
    home.mkdir(exist_ok=True)
    (home / "cron-jobs.json").write_text("{")
    assert "docs/runbook.md#cron-file-damaged" in run("list", code=1)


def test_a_record_that_cannot_be_read_is_named_by_list(home: Path) -> None:
    run("add", "in 1h", "echo")
    path = home / "cron-jobs.json"
    path.write_text(path.read_text().replace('"active"', '"sleeping"'))
    assert "job 0 of the file cannot be read" in run("list")


def ask(entry: CronEntry, op: str, **args: Any) -> dict[str, Any]:
    line = json.dumps({"id": 1, "op": op, "args": args}).encode() + b"\n"
    answer: dict[str, Any] = json.loads(answer_line(entry, line))
    return answer


def test_the_rules_can_be_asked_and_write_the_bytes_that_the_store_writes(tmp_path: Path) -> None:
    store = CronStore(tmp_path / "cron-jobs.json")
    job = store.create("in 1s", "run")
    due = (job.next_run_at or 0) + 5
    (claim,) = store.claim_due(due, due)
    written = json.loads(Path(store.path).read_bytes())
    entry = CronEntry()
    assert ask(entry, "open", document=None) == {"id": 1, "ok": {}}
    created = {
        **written["jobs"][0],
        "nextRunAt": "2026-01-01T00:00:00.000Z",
        "updatedAt": written["jobs"][0]["createdAt"],
    }
    created["nextRunAt"] = written["dispatches"][0]["scheduledFor"]
    assert ask(entry, "create", job=created) == {"id": 1, "ok": {}}
    owner = written["dispatches"][0]["owner"]
    assert ask(entry, "claim", owner=owner, due=due, now=due, ids=[], limit=None)["error"]["code"] == "bad_args"
    claimed = ask(entry, "claim", owner=owner, due=due, now=due, ids=[claim.dispatch.id], limit=None)
    assert claimed["ok"] == {"claimed": [job.id]}
    assert ask(entry, "document")["ok"]["document"].encode() == Path(store.path).read_bytes()
    assert ask(entry, "recover", owner=owner, live=[claim.dispatch.id], dead=[], now=due)["ok"] == {"ended": []}
    assert ask(entry, "finish", dispatch=claim.dispatch.id, error=None, output=None, now=due)["ok"] == {"pending": True}
    assert ask(entry, "finish", dispatch=claim.dispatch.id, error=None, output=None, now=due)["ok"] == {
        "pending": False
    }
    assert ask(entry, "pause", id=job.id, now=due)["error"]["code"] == "refused"


@pytest.mark.parametrize(
    ("op", "args", "code"),
    [
        ("document", {}, "out_of_place"),
        ("fly", {}, "unknown_op"),
        ("rest", {"failures": 1, "more": 2}, "bad_args"),
        ("open", {"document": "{"}, "refused"),
        ("schedule", {"text": "every 1s", "now": 0, "zone": None}, "refused"),
        ("create", {"job": {}}, "bad_args"),
    ],
)
def test_any_other_request_gets_the_error_form(op: str, args: dict[str, Any], code: str) -> None:
    assert ask(CronEntry(), op, **args)["error"]["code"] == code


def test_the_rules_answer_about_schedules_and_rests() -> None:
    assert [ask(CronEntry(), "rest", failures=n)["ok"]["restMs"] // 60_000 for n in range(9)] == [
        0,
        2,
        4,
        8,
        16,
        32,
        60,
        60,
        60,
    ]
    assert ask(CronEntry(), "schedule", text="every 10s", now=5, zone=None)["ok"]["first"] == 10_005


def server(home: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", "from eukhe.cli import main; main()", "cron", "serve", "--tick", "0.05", "--pool", "3"],
        env={**os.environ, "EUKHE_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def kill_at_random(home: Path, seconds: float, seed: int) -> tuple[list[tuple[str, str]], int]:
    """Jobs by two servers, one of which is killed now and then; what was run, and how many were killed."""
    random_source = random.Random(seed)
    log = home / "log"
    store = CronStore(home / "cron-jobs.json")
    command = f"echo $EUKHE_JOB_ID $EUKHE_SCHEDULED_FOR >> {log}; sleep 0.2"
    for number in range(20):
        store.create(f"in {1 + number * seconds // 20:.0f}s", command, job_id=f"once{number}")
    for number in range(3):
        store.create("every 10s", command, job_id=f"every{number}")
    servers = [server(home), server(home)]
    killed, ends = 0, time.monotonic() + seconds
    while time.monotonic() < ends:
        time.sleep(random_source.uniform(0.1, 1.5))
        at = random_source.randrange(2)
        servers[at].kill()
        servers[at].wait()
        killed += 1
        servers[at] = server(home)
    # Time for what is due and for what has to rest; what the laws say does not depend on how much.
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        jobs = store.list()
        if not jobs.dispatches and all(job.status == "completed" for job in jobs.jobs if job.id.startswith("once")):
            break
        time.sleep(0.2)
    for one in servers:
        one.send_signal(signal.SIGTERM)
    for one in servers:
        # One that has only just been started does not know of the signal yet, and has claimed nothing.
        assert one.wait(60) in (0, -signal.SIGTERM)
    lines = log.read_text().splitlines() if log.exists() else []
    return [(line.split()[0], line.split()[1]) for line in lines], killed


def test_two_servers_that_are_killed_at_random_run_nothing_twice_and_lose_nothing(home: Path) -> None:
    seconds = float(os.environ.get("EUKHE_CRON_KILL_SECONDS", "6"))
    seed = int(os.environ.get("EUKHE_CRON_KILL_SEED", SEED))
    home.mkdir()
    ran, killed = kill_at_random(home, seconds, seed)
    told = f"seed {seed}, {killed} killed, {len(ran)} runs"
    print(told)
    assert len(set(ran)) == len(ran), f"{told}: run twice: {sorted(one for one in ran if ran.count(one) > 1)}"
    listing = CronStore(home / "cron-jobs.json").list()
    assert len(listing.jobs) == 23, told
    for job in listing.jobs:
        runs = sum(job.id == name for name, _ in ran)
        assert job.run_count <= runs, f"{told}: {job}"
        if job.id.startswith("once"):
            # It ran to its end, or its interruption is on record; a run that was claimed and not begun is interrupted.
            assert job.status == "completed", f"{told}: {job}"
            assert (job.run_count, runs) == (1, 1) or job.last_error == "interrupted", f"{told}: {job}"
        else:
            on_record = job.run_count + (job.failures if job.last_error == "interrupted" else 0)
            assert runs == 0 or on_record > 0, f"{told}: {job}"
