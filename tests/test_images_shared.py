"""Damaged files of jobs and directories of sessions: what the laws say of them, and which crash leaves the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import simfs
from eukhe.cron import CronStore
from eukhe.redact import redact
from eukhe.sessions import fork_session
from eukhe.storage import Storage, session_meta
from scenarios import cli_images, image_stories
from scenarios.image_laws import laws_say
from scenarios.image_states import STATES
from scenarios.images import STORES, Damage, examine, store_in
from simfs.errors import UsageError
from tests.test_eukhe_doctor import doubled, everything
from tests.test_images import Command, command

__all__ = ["command"]
LEFT = ".old.import-" + "ab" * 16


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """A directory with a file of two jobs and a claim."""
    store = CronStore(tmp_path / "jobs/cron-jobs.json")
    store.create("every 10s", "one", job_id="one")
    store.create("every 1h", "two", job_id="two")
    store.claim_due(store.now_ms() + 20_000)
    return tmp_path / "jobs"


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """A directory with two sessions and a legacy file."""
    place = tmp_path / "sessions"
    with Storage.open(place / "one") as storage:
        storage.commit([session_meta("/", "2026-01-01T00:00:00.000Z")])
    fork_session(str(place), "one", "two")
    header = {"type": "session", "id": "old", "cwd": "/", "timestamp": "2026"}
    (place / "old.jsonl").write_text(json.dumps(header) + "\n")
    return place


def said(store: str, place: Path) -> dict[str, str]:
    """What each law says, by its id."""
    return {one.law.id: one.word for one in laws_say(store, str(place))}


def changed(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """A damage to one file of a directory."""

    def spoil(place: Path) -> None:
        path = place / name
        path.write_bytes(change(path.read_bytes()))

    return spoil


def edited(edit: Callable[[Any], None]) -> Callable[[Path], None]:
    """A damage to the document of the jobs."""

    def change(data: bytes) -> bytes:
        document = json.loads(data)
        edit(document)
        return json.dumps(document, indent=2).encode() + b"\n"

    return changed("cron-jobs.json", change)


FILE = "cron-jobs.json"
CRON: dict[str, tuple[Callable[[Path], None], str, str, str]] = {
    "half a job": (
        changed(FILE, lambda data: data[: data.index(b'"prompt"')]),
        "refused with CronFileDamaged; torn", "broken", "",
    ),
    "a doubled job": (changed(FILE, doubled), "read without an error; doubled-job", "broken", ""),
    "an empty file": (changed(FILE, lambda data: b""), "refused with CronFileDamaged; empty", "broken", ""),
    "a NUL tail": (
        changed(FILE, lambda data: data[:-8] + b"\0" * 8), "refused with CronFileDamaged; nul-tail", "broken", "",
    ),
    "no file": (lambda place: (place / FILE).unlink(), "read without an error; missing", "not told", "scc"),
    "what a writer left": (
        lambda place: (place / f".{FILE}.tmp-12").write_bytes(b"{") and None,
        "read without an error; leftover", "holds", "scc",
    ),
    "no file, and what a writer left": (
        lambda place: (place / FILE).rename(place / f".{FILE}.tmp-12") and None,
        "read without an error; missing, leftover", "not told", "scc",
    ),
    "a claim without its job": (
        edited(lambda document: document["jobs"].pop(0)), "read without an error; claim-alone", "holds", "",
    ),
    "a list is gone": (
        edited(lambda document: document.pop("dispatches")), "refused with CronFileDamaged; no-lists", "broken", "",
    ),
}  # fmt: skip
"""By name: the damage, what is said of it, what the law on durable updates says, and the kindest model, "" for none."""


@pytest.mark.parametrize("case", CRON)
def test_a_damaged_file_of_jobs_is_checked_and_explained(
    command: Command, jobs: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_images, "STAGES", cli_images.STAGES[:1])
    monkeypatch.setattr(cli_images, "MODELS", ("scc", "synced-only", "ext4"))
    spoil, words, word, model = CRON[case]
    spoil(jobs)
    before = everything(jobs)
    code, out, _ = command("check-image", str(jobs), "--store", "cron")
    assert (code, out.split("\n")[0]) == (int("refused" in words), f"{jobs}: a store of kind cron; {words}")
    assert said("cron", jobs)["cron_update_durable"] == word
    assert said("cron", jobs)["cron_never_drops"] == ("not told" if "missing" in words else "holds")
    code, out, _ = command("explain-image", str(jobs), "--store", "cron")
    assert words in out.split("\n")[0]
    assert code == (0 if model else 3)
    wanted = f"A crash leaves this on {model}, the first" if model else "No crash within these bounds leaves this:"
    assert wanted in out
    assert everything(jobs) == before


STAGING: dict[str, tuple[Callable[[Path], None], str, str, str]] = {
    "a half import": (
        lambda place: (place / LEFT).mkdir() or (place / f"{LEFT}.lock").touch(),
        "read without an error; import-left", "holds", "scc",
    ),
    "a lock alone": (
        lambda place: (place / f"{LEFT}.lock").touch(), "read without an error; lock-left", "holds", "scc",
    ),
    "a half deletion and a half fork": (
        lambda place: [(place / LEFT.replace("import", one)).mkdir() for one in ("deleted", "fork")] and None,
        "read without an error; deleted-left, fork-left", "holds", "scc",
    ),
    "an empty log": (
        changed("two/main.jsonl", lambda data: b""), "read without an error; session-empty", "broken", "",
    ),
    "a torn log": (
        changed("two/main.jsonl", lambda data: data + b'{"commit"'),
        "read without an error; session-torn", "holds", "",
    ),
    "a session without its log": (
        lambda place: (place / "two/main.jsonl").unlink(),
        "refused with StorageNotFound; session-missing", "broken", "",
    ),
    "a torn legacy file": (
        changed("old.jsonl", lambda data: data[:-3]), "read without an error; legacy-torn", "holds", "",
    ),
}  # fmt: skip
"""As above; the law is that on builds."""


@pytest.mark.parametrize("case", STAGING)
def test_a_damaged_directory_of_sessions_is_checked_and_explained(
    command: Command, sessions: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = "deletion" in case
    monkeypatch.setattr(cli_images, "STAGES", cli_images.STAGES[1:2] if two else cli_images.STAGES[:1])
    monkeypatch.setattr(cli_images, "MODELS", ("scc",) if two else ("scc", "synced-only"))
    spoil, words, word, model = STAGING[case]
    spoil(sessions)
    before = everything(sessions)
    code, out, _ = command("check-image", str(sessions))
    assert (code, out.split("\n")[0]) == (int("refused" in words), f"{sessions}: a store of kind staging; {words}")
    found = said("staging", sessions)
    assert found["build_all_or_nothing"] == word
    assert found["sweep_takes_stale_free_real"] == found["sweep_stays_out_real"] == "holds"
    code, out, _ = command("explain-image", str(sessions), "--store", "staging")
    assert code == (0 if model else 3), out
    assert (f"A crash leaves this on {model}, the first" in out) == bool(model)
    assert everything(sessions) == before


def test_whole_stores_are_sound_and_every_law_holds(command: Command, jobs: Path, sessions: Path) -> None:
    for store, place in (("cron", jobs), ("staging", sessions)):
        assert store_in(str(place)) == store
        assert examine(store, str(place)).sound
        assert set(said(store, place).values()) == {"holds"}
        assert command("check-image", str(place))[0] == 0
        assert "nothing to explain" in command("explain-image", str(place))[1]


def test_a_job_that_failed_too_often_and_is_active_breaks_its_law(jobs: Path) -> None:
    edited(lambda document: document["jobs"][0].update(failures=8))(jobs)
    assert said("cron", jobs)["cron_pause_sticks"] == "broken"


def test_unread_records_are_carried_along_and_the_claims_of_the_dead_go(jobs: Path) -> None:
    edited(lambda document: document["jobs"][1].update(prompt=7))(jobs)
    edited(lambda document: document["dispatches"][0]["owner"].update(start="another-boot:1"))(jobs)
    found = {one.law.id: (one.word, one.why) for one in laws_say("cron", str(jobs))}
    assert found["cron_never_drops"] == ("holds", "an update of a copy carries 1 unread records along")
    assert found["cron_claim_owned"] == ("holds", "1 claims, 1 of them of processes that are dead here")


def test_a_home_has_several_stores_and_one_has_to_be_named(command: Command, tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    CronStore(tmp_path / "cron-jobs.json").create("in 1h", "run")
    with pytest.raises(UsageError, match="is a whole home"):
        store_in(str(tmp_path))
    assert command("check-image", str(tmp_path), "--store", "cron")[0] == 0


@pytest.mark.parametrize("stage", image_stories.STAGES, ids=lambda stage: stage.words.split(",")[0])
@pytest.mark.parametrize("store", STORES)
def test_every_story_runs_at_every_stage_and_its_token_is_replayed(store: str, stage: image_stories.Stage) -> None:
    """What is looked for is a store before anything was done, which every stage meets."""
    states = {"log": ("missing",), "epochs": ("missing",), "cron": ("missing",), "staging": ()}[store]
    error = {"log": "StorageNotFound", "epochs": "NotFound", "cron": "", "staging": ""}[store]
    damage = Damage(store, error, states)
    verdict = simfs.explore(
        image_stories.story(damage, stage.together), disk="scc", shrink=False, budget=60, **stage.options
    )
    assert verdict.counterexample is not None, verdict.reason
    name = verdict.counterexample.token.split("~")[1].rpartition(":")[2]
    again = simfs.replay(verdict.counterexample.token, getattr(image_stories, name))
    assert again.finding.message == str(damage)
    assert ("_together" in name) == stage.together


def test_a_call_that_fails_is_part_of_a_story() -> None:
    """A short write alone leaves half a line in the log: no power loss is needed."""
    stage = image_stories.STAGES[2]
    damage = Damage("log", "", ("torn",))
    found = simfs.explore(image_stories.story(damage), disk="scc", **stage.options).counterexample
    assert found is not None
    assert any(leg.plan.strikes for leg in found.path)


def test_every_store_has_states_laws_and_a_story() -> None:
    assert set(STORES) == set(STATES) == set(image_stories.KINDS) == set(image_stories.PLACES)
    assert set(image_stories.WORKLOADS) == set(image_stories.TWO) == set(STORES)


@pytest.mark.parametrize("case", [*CRON, *STAGING])
def test_a_copy_without_texts_has_the_same_damage(jobs: Path, sessions: Path, tmp_path: Path, case: str) -> None:
    store, place = ("cron", jobs) if case in CRON else ("staging", sessions)
    (CRON | STAGING)[case][0](place)
    redact(place, tmp_path / "out")
    assert examine(store, str(tmp_path / "out")) == examine(store, str(place))
    assert said(store, tmp_path / "out") == said(store, place)
