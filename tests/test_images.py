"""Damaged directories: what the laws say of them, and which crash leaves the same damage, or none."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from eukhe.epochs import Session, User
from eukhe.storage import Storage
from scenarios import cli_images
from scenarios.cli import run_app
from scenarios.image_laws import laws_say
from scenarios.image_states import document_state, state_of
from scenarios.images import Damage, examine, parse_slug, store_in
from scenarios.suites import log_model
from simfs.errors import UsageError

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = run_app(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of three commits, on the real disk."""
    with Storage.open(tmp_path / "log", home=tmp_path) as storage:
        for changes in (log_model.SESSION, log_model.entry(1, "one"), log_model.entry(2, "two")):
            storage.commit(changes)
    return tmp_path / "log"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session that was compacted once, on the real disk."""
    with Session.create(tmp_path, "s", {"of": 0}, 3) as made:
        made.append(User("one"))
        made.compact("so far", {"of": 1})
        made.append(User("two"))
        return Path(made.path)


def fewer_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough for what is asked, and quick."""
    monkeypatch.setattr(cli_images, "STAGES", cli_images.STAGES[:1])
    monkeypatch.setattr(cli_images, "MODELS", ("scc", "prefix", "ext4"))


def cut(path: Path, count: int) -> None:
    path.write_bytes(path.read_bytes()[:-count])


def doubled(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[:-1], lines[-1], lines[-1]])


LOG_CASES: dict[str, tuple[Callable[[bytes], bytes], str, str]] = {
    "a torn tail": (lambda data: data[:-4], "read without an error; torn", "prefix"),
    "a NUL tail": (lambda data: data[:-4] + b"\0" * 4, "read without an error; nul-tail", "ext4"),
    "an empty main.jsonl": (lambda data: b"", "read without an error; empty", "scc"),
    "a glued line": (lambda data: data.replace(b"\n", b"", 1), "refused with StorageDamaged; glued", ""),
    "a duplicate commit": (doubled, "refused with StorageDamaged; duplicate", ""),
}


@pytest.mark.parametrize("case", LOG_CASES)
def test_a_damaged_log_is_explained_by_the_kindest_model_that_leaves_it(
    command: Command, log: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fewer_bounds(monkeypatch)
    spoil, words, model = LOG_CASES[case]
    main = log / "main.jsonl"
    main.write_bytes(spoil(main.read_bytes()))
    before = main.read_bytes()
    code, out, _ = command("explain-image", str(log), "--store", "log")
    assert words in out.split("\n")[0]
    if model:
        assert code == 0
        assert f"A crash leaves this on {model}, the first model on which one does" in out
    else:
        assert code == 3
        assert "No crash within these bounds leaves this:" in out
        assert re.search(r"searched +[\d,]+ runs, [\d,]+ crash points, [\d,]+ crash images", out)
    assert main.read_bytes() == before


def test_a_token_of_an_explanation_is_replayed(command: Command, log: Path) -> None:
    cut(log / "main.jsonl", 3)
    _, out, err = command("explain-image", str(log))
    assert err == "looking for one power loss ...\n"
    code, again, _ = command("replay", out.split("simfs replay ")[1].split()[0])
    assert code == 1
    assert "read without an error; torn" in again


def test_a_log_without_its_entry_is_explained(command: Command, log: Path) -> None:
    (log / "main.jsonl").unlink()
    code, out, _ = command("explain-image", str(log), "--store", "log")
    assert code == 0
    assert "refused with StorageNotFound; missing" in out
    assert "on scc, the first" in out


EPOCH_CASES: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "a torn tail": (lambda place: cut(place / "1.jsonl", 3), "refused with Torn; torn", "prefix"),
    "a baseline without a log": (
        lambda place: (place / "1.jsonl").unlink(),
        "read without an error; baseline-alone",
        "scc",
    ),
}


@pytest.mark.parametrize("case", EPOCH_CASES)
def test_a_damaged_session_is_explained(command: Command, session: Path, case: str) -> None:
    spoil, words, model = EPOCH_CASES[case]
    spoil(session)
    code, out, _ = command("explain-image", str(session))
    assert words in out.split("\n")[0]
    assert code == 0
    assert f"A crash leaves this on {model}, the first" in out


def test_an_epoch_without_its_end_is_left_by_no_crash(
    command: Command, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fewer_bounds(monkeypatch)
    old = session / "0.jsonl"
    old.write_bytes(b"".join(line for line in old.read_bytes().splitlines(keepends=True) if b"epoch_end" not in line))
    code, out, _ = command("explain-image", str(session))
    assert code == 3
    assert "no-epoch-end" in out.split("\n")[0]


def test_a_whole_store_needs_no_explanation(command: Command, log: Path, session: Path) -> None:
    for place in (log, session):
        code, out, _ = command("explain-image", str(place))
        assert (code, "nothing to explain" in out) == (0, True)


def test_the_laws_hold_on_a_whole_store_and_on_one_with_a_torn_tail(log: Path, session: Path) -> None:
    for bytes_cut in (0, 3):
        if bytes_cut:
            cut(log / "main.jsonl", bytes_cut)
        assert {said.law.id: said.word for said in laws_say("log", str(log))}.items() >= {
            "log_reads_lines": "holds",
            "log_opens_after_crash": "holds",
            "log_damage_untouched": "not told",
        }.items()
    assert [said.word for said in laws_say("epochs", str(session))] == ["holds", "holds"]


def test_of_a_damaged_log_the_laws_say_that_it_is_refused_and_untouched(command: Command, log: Path) -> None:
    main = log / "main.jsonl"
    main.write_bytes(main.read_bytes().replace(b"\n", b"", 1))
    code, out, _ = command("check-image", str(log))
    assert code == 1
    assert re.search(r"broken +log_opens_after_crash: unless this is no crash but damage", out)
    assert "holds     log_damage_untouched" in out
    assert "Laws that speak of promises cannot be judged" in out


def test_a_directory_that_is_no_store_is_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"")
    for name in ("check-image", "explain-image"):
        code, _, err = command(name, str(tmp_path))
        assert (code, "no store here" in err) == (2, True)
        assert command(name, str(tmp_path / "nowhere"))[0] == 2
        code, _, err = command(name, str(tmp_path), "--store", "mail")
        assert "there are log, epochs, cron, staging" in err


@pytest.mark.parametrize(
    ("data", "state"),
    [
        (b"", "empty"),
        (b'{"a":1}\n', "whole"),
        (b'{"a":1}\n{"b"', "torn"),
        (b'{"a":1}\n\0\0', "nul-tail"),
        (b'{"a\0":1}\n', "nul-inside"),
        (b'{"a":1}{"b":2}\n', "glued"),
        (b'{"a":1}\n{"a":1}\n', "duplicate"),
        (b"\xff\n", "garbled"),
        (b"{a\n", "garbled"),
    ],
)
def test_the_state_of_a_file_is_one_word(data: bytes, state: str) -> None:
    assert state_of(data) == state


@pytest.mark.parametrize(
    ("data", "state"),
    [
        (b"", "empty"),
        (b'{"jobs": []}\n', "whole"),
        (b'{"jobs": [\n', "torn"),
        (b'{"jobs": [{"id": "on', "torn"),
        ('{"jobs": "é'.encode()[:-1], "torn"),
        (b'{"jobs": tr', "torn"),
        (b'{"jobs": tr]', "garbled"),
        (b'{"jobs": -', "torn"),
        (b'{"jobs": [1,\n', "torn"),
        (b'{"jobs": []}\0', "nul-tail"),
        (b'{"jobs": \0}\n', "nul-inside"),
        (b"{}{}", "glued"),
        (b'{"\xff": 1}', "garbled"),
    ],
)
def test_the_state_of_a_document_is_one_word(data: bytes, state: str) -> None:
    assert document_state(data) == state


def test_every_beginning_of_a_document_is_torn() -> None:
    whole = b'{"a": [true, null, -1.5, {"b": "c\\u00e9\\n"}], "d": false}'
    assert document_state(whole) == "whole"
    assert {end: state for end in range(1, len(whole)) if (state := document_state(whole[:end])) != "torn"} == {}


def test_a_damage_is_made_again_from_its_slug(log: Path, session: Path) -> None:
    for damage in (Damage("log", "StorageDamaged", ("nul-tail", "torn")), Damage("epochs", "", ())):
        assert parse_slug(damage.slug) == damage
    with pytest.raises(UsageError, match="no damage"):
        parse_slug("photo__reads")
    assert (store_in(str(log)), store_in(str(session))) == ("log", "epochs")
    assert examine("log", str(log)).sound
