"""The doctor knows every store by its names, says what is wrong and where, writes nothing, and copies without texts."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from eukhe import cli
from eukhe.cron import CronStore
from eukhe.doctor import diagnose, kind_of
from eukhe.epochs import Session, User
from eukhe.errors import StorageExists, StoreUnknown
from eukhe.redact import redact, scrubbed
from eukhe.sessions import fork_session, list_sessions
from eukhe.storage import Storage, put, session_meta

SECRET = "sesame"
LEFT = ".old.import-" + "ab" * 16
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def eukhe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command in this process: (exit code, output, error stream)."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["eukhe", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with two jobs and a claim, two sessions, a legacy file, and a session's epochs."""
    place = tmp_path / "home"
    store = CronStore(place / "cron-jobs.json")
    store.create("every 10s", f"say {SECRET}", job_id=f"{SECRET}-1", label=SECRET, environment={SECRET: SECRET})
    store.create("CRON_TZ=Europe/London 30 1 * * mon", SECRET, job_id=f"{SECRET}-2")
    store.claim_due(store.now_ms() + 20_000)
    sessions = place / "sessions"
    with Storage.open(sessions / SECRET) as storage:
        storage.commit([session_meta(f"/{SECRET}", "2026-01-01T00:00:00.000Z")])
        storage.commit([put({"type": "entry", "id": 1, "conversation": 7, "body": SECRET})])
    fork_session(str(sessions), SECRET, "fork")
    header = {"type": "session", "id": SECRET, "cwd": f"/{SECRET}", "timestamp": "2026"}
    (sessions / f"{SECRET}-old.jsonl").write_text(json.dumps(header) + "\n" + json.dumps({"text": SECRET}) + "\n")
    with Session.create(place, "s", {"of": SECRET}, 3) as session:
        session.append(User(SECRET))
    return place


def everything(place: Path) -> dict[str, tuple[bytes | None, int]]:
    """Each file and directory below a place, with its bytes and when it was last changed."""
    found: dict[str, tuple[bytes | None, int]] = {}
    for path in sorted([place, *place.rglob("*")]):
        data = path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(place))] = (data, path.lstat().st_mtime_ns)
    return found


def doubled(data: bytes) -> bytes:
    """A file of jobs whose first job stands in it twice."""
    begin, end = data.index(b"    {\n"), data.index(b"\n    },\n") + 8
    return data[:end] + data[begin:end] + data[end:]


def told(path: Path) -> list[tuple[str, int, bool]]:
    return [(os.path.basename(one.file), one.line, one.damage) for one in diagnose(str(path))]


def test_each_store_is_known_by_its_names_and_a_whole_one_is_sound(eukhe: Command, home: Path) -> None:
    places = {
        "log": home / "sessions" / "fork", "epochs": home / "epochs/s", "staging": home / "sessions", "home": home,
        "cron": home / "cron-jobs.json",
    }  # fmt: skip
    before = everything(home)
    for kind, place in places.items():
        assert kind_of(str(place)) == kind
        assert told(place) == []
        code, out, err = eukhe("doctor", place)
        assert (code, err) == (0, "")
        assert "sound" in out
    assert everything(home) == before


def test_what_is_no_store_is_refused_with_what_one_is(eukhe: Command, tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"")
    for place, why in ((tmp_path, "nothing in it has a name that a store uses"), (tmp_path / "no", "No such file")):
        with pytest.raises(StoreUnknown):
            kind_of(str(place))
        code, _, err = eukhe("doctor", place)
        assert (code, why in err, "a directory of sessions, or a home" in err) == (1, True, True)


CRON: dict[str, tuple[Callable[[bytes], bytes], str, int]] = {
    "half a job": (lambda data: data[: data.index(b'"prompt"')], "this is no JSON object", 14),
    "a doubled job": (doubled, "job 2: a record before it has the id", 32),
    "an empty file": (lambda data: b"", "this is no JSON object", 1),
    "NULs at the end": (lambda data: data[:-9] + b"\0" * 9, "this is no JSON object", 0),
    "a bad byte": (lambda data: data.replace(b'"label": "s', b'"label": "\xff', 1), "job 1: ", 3),
    "a list is missing": (lambda data: b'{"jobs": []}\n', "the list 'dispatches' is missing", 0),
    "a bad time": (lambda data: data.replace(b'createdAt": "2', b'createdAt": "x', 1), "is no time like", 3),
}


@pytest.mark.parametrize("case", CRON)
def test_damage_of_a_file_of_jobs_is_told_with_its_line(eukhe: Command, home: Path, case: str) -> None:
    spoil, why, line = CRON[case]
    file = home / "cron-jobs.json"
    file.write_bytes(spoil(file.read_bytes()))
    before = everything(home)
    found = [one for one in diagnose(str(file)) if one.damage]
    assert found and why in found[0].why
    if line:
        assert found[0].line == line
    for place in (file, home):
        code, out, _ = eukhe("doctor", place)
        assert code == 1
        assert f"{file}{f':{found[0].line}' if found[0].line else ''}: {found[0].why}" in out
        assert "damaged, see docs/runbook.md" in out
    assert everything(home) == before


def test_what_writers_of_jobs_leave_is_a_note(home: Path) -> None:
    (home / ".cron-jobs.json.tmp-12").write_bytes(b"{")
    (home / "cron-jobs.json.corrupt-1-2").write_bytes(b"{")
    assert told(home / "cron-jobs.json") == [
        (".cron-jobs.json.tmp-12", 0, False),
        ("cron-jobs.json.corrupt-1-2", 0, False),
    ]
    (home / "cron-jobs.json").unlink()
    assert told(home)[0] == ("cron-jobs.json", 0, False)


def test_a_claim_without_its_job_is_a_note(home: Path) -> None:
    file = home / "cron-jobs.json"
    document = json.loads(file.read_text())
    document["jobs"] = document["jobs"][1:]
    file.write_text(json.dumps(document))
    assert [(one.damage, "is for job sesame-1, which is not there" in one.why) for one in diagnose(str(file))] == [
        (False, True)
    ]


def test_a_directory_of_sessions_is_looked_at_whole(eukhe: Command, home: Path) -> None:
    sessions = home / "sessions"
    main = sessions / "fork/main.jsonl"
    main.write_bytes(main.read_bytes().replace(b"\n", b"", 1))
    with open(sessions / SECRET / "main.jsonl", "ab") as file:
        file.write(b'{"commit":3')
    legacy = sessions / f"{SECRET}-old.jsonl"
    legacy.write_bytes(legacy.read_bytes().replace(b'{"text"', b'{text"'))
    (sessions / "nothing").mkdir()
    (sessions / LEFT).mkdir()
    (sessions / f"{LEFT}.lock").touch()
    (sessions / (LEFT.replace("old", "gone") + ".lock")).touch()
    before = everything(sessions)
    assert told(sessions) == [
        ("main.jsonl", 1, True),
        ("nothing", 0, False),
        ("main.jsonl", 3, False),
        ("sesame-old.jsonl", 2, True),
        (LEFT.replace("old", "gone") + ".lock", 0, False),
        (LEFT, 0, False),
        (f"{LEFT}.lock", 0, False),
    ]
    code, out, _ = eukhe("doctor", sessions, "--json")
    assert code == 1
    assert [json.loads(line)["damage"] for line in out.splitlines()] == [one[2] for one in told(sessions)]
    assert everything(sessions) == before
    assert eukhe("doctor", home)[0] == 1


def test_a_session_of_epochs_that_cannot_be_opened_is_damaged(home: Path) -> None:
    (home / "epochs/s/0.jsonl").unlink()
    assert told(home / "epochs/s") == [("s", 0, True)]
    assert kind_of(str(home / "epochs/s")) == "epochs"


def test_sidecars_alone_are_a_storage_without_its_log(eukhe: Command, tmp_path: Path) -> None:
    (tmp_path / "c1.entries.jsonl").write_bytes(b"")
    code, out, _ = eukhe("doctor", tmp_path)
    assert code == 1
    assert f"{tmp_path}/main.jsonl: it is missing, and sidecars are there" in out
    code, _, err = eukhe("doctor", tmp_path, "--repair", tmp_path / "t")
    assert (code, "only a storage with its main.jsonl can be repaired" in err) == (1, True)


@pytest.mark.parametrize("store", ["cron-jobs.json", "sessions", "epochs/s", ""])
def test_a_copy_without_texts_is_read_the_same(eukhe: Command, home: Path, tmp_path: Path, store: str) -> None:
    (home / "cron-jobs.json.corrupt-1-2").write_bytes((home / "cron-jobs.json").read_bytes()[:-40])
    out = tmp_path / "out"
    code, text, _ = eukhe("doctor", home / store, "--redact", out)
    assert code == 0
    files = [path for path in out.rglob("*") if path.is_file()]
    assert sorted(text.splitlines()) == sorted(map(str, files))
    for path in files:
        assert SECRET.encode() not in path.read_bytes() and SECRET not in str(path.relative_to(out))
    assert [one[1:] for one in told(out)] == [one[1:] for one in told(home / store)]


@pytest.mark.parametrize("case", CRON)
def test_a_damaged_file_of_jobs_is_as_damaged_in_the_copy(home: Path, tmp_path: Path, case: str) -> None:
    file = home / "cron-jobs.json"
    file.write_bytes(CRON[case][0](file.read_bytes()))
    redact(file, tmp_path / "out")
    copy = tmp_path / "out/cron-jobs.json"
    assert copy.stat().st_size == file.stat().st_size
    assert told(tmp_path / "out") == told(file)


def test_jobs_keep_when_they_run_and_whose_they_are(home: Path, tmp_path: Path) -> None:
    redact(home, tmp_path / "out")
    old, new = (CronStore(place / "cron-jobs.json").list() for place in (home, tmp_path / "out"))
    assert [job.id for job in new.jobs] == ["xxxxxxx1", "xxxxxxx2"]
    for name in ("schedule", "created_at", "next_run_at", "status", "runtime_kind", "run_count"):
        assert [getattr(job, name) for job in new.jobs] == [getattr(job, name) for job in old.jobs]
    assert [(claim.job_id, claim.owner) for claim in new.dispatches] == [("xxxxxxx1", old.dispatches[0].owner)]


def test_sessions_are_listed_under_other_names_and_leftovers_stay_theirs(home: Path, tmp_path: Path) -> None:
    left = f".{SECRET}.fork-" + "cd" * 16
    (home / "sessions" / left).mkdir()
    (home / "sessions" / f"{left}.lock").write_text("not empty")
    os.symlink("/etc", home / "sessions/link")
    redact(home, tmp_path / "out")
    out = tmp_path / "out/sessions"
    ids = {row.id for row in list_sessions(str(out)).rows}
    assert ids == {name for name in os.listdir(out) if name[0] != "." and not name.endswith(".jsonl")} | {
        name.removesuffix(".jsonl") for name in os.listdir(out) if name[0] != "." and name.endswith(".jsonl")
    }
    assert ids == {"session-2", "session-3", "session-4"}, "the first is that of the epochs"
    (lock,) = [name for name in os.listdir(out) if name.endswith(".lock")]
    assert (out / lock).read_bytes() == b"" and (out / lock.removesuffix(".lock")).is_dir()
    assert not (out / "link").exists()


def test_a_schedule_that_is_none_is_text() -> None:
    for text in (b"every good boy does fine", b"at the bar", b"* * * * secret"):
        assert text not in scrubbed(b'"expression": "' + text + b'"')
    for text in (b"every 5m", b"in 1h30m", b"at 2030-01-31T12:00:00Z", b"CRON_TZ=Asia/Tokyo */5 1,2 * jan-MAR fri"):
        assert text in scrubbed(b'"expression": "' + text + b'"')


def test_a_copy_goes_nowhere_where_something_is(home: Path, tmp_path: Path) -> None:
    with pytest.raises(StorageExists):
        redact(home, tmp_path)


def test_a_directory_that_cannot_be_read_is_told_with_its_name(
    eukhe: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: str) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr("os.listdir", refused)
    code, _, err = eukhe("doctor", home / "sessions")
    assert (code, f"{home}/sessions: reading failed (Permission denied)" in err) == (1, True)
