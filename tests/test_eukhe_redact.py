"""A redacted copy holds no text, keeps every length and newline, and is damaged where the store is."""

import pytest

from eukhe.epochs import Session, Torn, User, read_session
from eukhe.errors import StorageDamaged, StorageExists
from eukhe.redact import redact, scrubbed
from eukhe.storage import Storage, put, read_storage, session_meta
from tests.test_eukhe_cli import eukhe

SECRET = "päßword"


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "s"
    with Storage.open(path, inline_bytes=60) as storage:
        storage.commit([session_meta(f"/home/{SECRET}", "2026-01-01T00:00:00.000Z")])
        storage.commit([put({"type": "entry", "id": 1, "conversation": 7, "body": f"{SECRET} " * 20})])
        storage.commit([put({"type": "task", "id": 2, "conversation": 7, "state": "running", SECRET: {SECRET: True}})])
    return path


def test_no_text_is_left_and_every_length_is_kept(store, tmp_path):
    names = redact(store, tmp_path / "out")
    assert names == ["c7.entries.jsonl", "main.jsonl"]
    for name in names:
        before, after = (store / name).read_bytes(), (tmp_path / "out" / name).read_bytes()
        assert len(before) == len(after)
        assert [len(line) for line in before.split(b"\n")] == [len(line) for line in after.split(b"\n")]
        assert SECRET.encode() not in after
        assert b"word" not in after
        assert b"home" not in after


def test_a_redacted_storage_can_still_be_read(store, tmp_path):
    redact(store, tmp_path / "out")
    found, whole = read_storage(tmp_path / "out").commits, read_storage(store).commits
    assert [commit.number for commit in found] == [1, 2, 3]
    assert found[1].changes[0]["put"]["body"].strip("x") == ""
    assert len(found[1].changes[0]["put"]["body"]) == len(whole[1].changes[0]["put"]["body"].encode())
    assert found[2].changes[0]["put"]["state"] == "running"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: raw.replace(b"running", b"r\0\0\0ing"),
        lambda raw: raw.replace(b"running", b"r\xff\xfening"),
        lambda raw: raw.replace(b'"commit":2', b'"commit":5'),
        lambda raw: raw[: raw.rfind(b'"state"')] + b"\n",
        lambda raw: raw.replace(b"}\n{", b"}{", 1),
    ],
)
def test_damage_stays_where_it_is(store, tmp_path, spoil):
    main = store / "main.jsonl"
    main.write_bytes(spoil(main.read_bytes()))
    redact(store, tmp_path / "out")
    told = []
    for path in (store, tmp_path / "out"):
        with pytest.raises(StorageDamaged) as damage:
            read_storage(path)
        told.append(damage.value.line)
    assert told[0] == told[1]


def test_a_torn_tail_and_glued_words_hold_no_text():
    assert scrubbed(b'{"text":"secr') == b'{"text":"xxxx'
    assert scrubbed(b'secret{"type":"user","text":"a\\"b"}') == b'xxxxxx{"type":"user","text":"xxxx"}'
    assert scrubbed(b'{"secret":1e5,"n":[true,null]}\n') == b'{"xxxxxx":1e5,"x":[true,null]}\n'
    assert scrubbed('né {"text":"é"}'.encode()) == b'xxx {"text":"xx"}'


def test_a_session_is_redacted_too(tmp_path):
    with Session.create(tmp_path, "a", {SECRET: SECRET}, 3) as session:
        session.append(User(SECRET))
        session.compact(SECRET, {"of": SECRET})
    path = tmp_path / "epochs" / "a"
    with (path / "1.jsonl").open("ab") as log:
        log.write(b'{"type":"user","text":"sec')
    redact(path, tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        assert b"word" not in file.read_bytes()
    with pytest.raises(Torn) as torn:
        read_session(tmp_path / "out")
    assert torn.value.line == 2


def test_a_target_that_is_taken_is_left_as_it_is(store, tmp_path):
    with pytest.raises(StorageExists):
        redact(store, tmp_path)
    code, out, err = eukhe("doctor", store, "--redact", tmp_path / "new")
    assert (code, err) == (0, "")
    assert out.splitlines() == [f"{tmp_path}/new/c7.entries.jsonl", f"{tmp_path}/new/main.jsonl"]
    assert eukhe("doctor", store, "--redact", tmp_path / "new")[0] == 1
    assert eukhe("doctor", store, "--redact", tmp_path / "n", "--repair", tmp_path / "m")[0] == 2
