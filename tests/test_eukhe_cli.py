"""The command line: exit code 0 done, 1 the store says no, 2 wrong usage; clear messages and no traceback."""

import json
import subprocess
import sys

import pytest

CONVERSATION = '{"put":{"type":"conversation","id":1}}\n'
ENTRY = '{"put":{"type":"entry","id":1,"conversation":1,"body":"text"}}\n'


def eukhe(*arguments, stdin=""):
    done = subprocess.run(
        [sys.executable, "-c", "from eukhe.cli import main; main()", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "s"
    assert eukhe("commit", path, stdin=CONVERSATION) == (0, "2\n", "")
    assert eukhe("commit", path, stdin=ENTRY + "\n" + ENTRY) == (0, "3\n", "")
    return path


def test_a_new_storage_first_says_where_the_session_works(store):
    code, out, _ = eukhe("log", store, "--json")
    commits = [json.loads(line) for line in out.splitlines()]
    assert (code, [commit["commit"] for commit in commits]) == (0, [1, 2, 3])
    meta = commits[0]["changes"][0]["put"]
    assert (meta["kind"], meta["key"], meta["scope"], sorted(meta["body"])) == (
        "session",
        "meta",
        "session",
        ["created", "cwd"],
    )
    assert commits[2]["changes"] == [json.loads(ENTRY)] * 2


def test_the_log_is_shown_one_commit_a_line(store):
    code, out, _ = eukhe("log", store)
    assert code == 0
    assert out.splitlines() == [
        "1  put document session/meta of session",
        "2  put conversation 1",
        "3  put entry 1 in conversation 1; put entry 1 in conversation 1",
    ]


def test_every_kind_of_change_is_described(tmp_path):
    document = {"kind": "note", "key": "k", "scope": {"task": 4}}
    changes = [
        {"put": {"type": "document", "kind": "session", "key": "meta", "scope": "session"}},
        {"retire": document},
        {"copy": {"from": document, "record": {"type": "document", **document, "scope": "session"}}},
        {"put": {"type": "task", "id": 4, "conversation": 1, "state": "running"}},
    ]
    assert eukhe("commit", tmp_path / "s", stdin="\n".join(map(json.dumps, changes)))[0:2] == (0, "1\n")
    assert eukhe("log", tmp_path / "s")[1] == (
        "1  put document session/meta of session; retire document note/k of task 4; "
        "copy document note/k of task 4 to document note/k of session; put task 4 in conversation 1, running\n"
    )


@pytest.mark.parametrize("stdin", ["", "\n\n", "nope", "[1]", '{"put":{}}x'])
def test_input_that_is_no_change_is_wrong_usage(tmp_path, stdin):
    code, out, error = eukhe("commit", tmp_path / "s", stdin=stdin)
    assert (code, out) == (2, "")
    assert "standard input" in error
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("arguments", [["commit"], ["log"], ["nonsense"], ["log", "a", "b"], ["rules", "nothing"], []])
def test_a_wrong_call_is_wrong_usage(arguments):
    assert eukhe(*arguments)[0] == 2


def test_a_refused_change_is_a_no_and_writes_nothing(store):
    before = (store / "main.jsonl").read_bytes()
    code, out, error = eukhe("commit", store, stdin='{"put":{"type":"entry","id":1}}')
    assert (code, out) == (1, "")
    assert error.startswith(f"eukhe: {store}: change 0: ") and "conversation" in error
    assert (store / "main.jsonl").read_bytes() == before


def test_a_refused_change_makes_no_session(tmp_path):
    code, _, error = eukhe("commit", tmp_path / "new", stdin='{"put":{"type":"entry","id":1}}')
    assert code == 1 and "nothing was written" in error
    assert list(tmp_path.iterdir()) == []


def test_a_storage_in_use_or_missing_is_a_no(store, tmp_path):
    from eukhe.storage import Storage

    with Storage.open(store):
        code, _, error = eukhe("commit", store, stdin=ENTRY)
        assert code == 1 and "another writer has this storage open" in error
        assert eukhe("log", store)[0] == 0
    for command in ("log", "doctor"):
        code, _, error = eukhe(command, tmp_path / "none")
        assert code == 1 and f"{tmp_path}/none: no sto" in error


def test_a_torn_tail_is_a_remark_and_damage_is_a_no(store):
    with open(store / "main.jsonl", "ab") as main:
        main.write(b"torn")
    code, _, error = eukhe("log", store)
    assert code == 0 and "4 bytes of a commit that was never finished follow" in error
    code, out, _ = eukhe("doctor", store)
    assert code == 0 and "main.jsonl:4: note: 4 bytes" in out and "sound; 3 of 3 commits" in out
    with open(store / "main.jsonl", "ab") as main:
        main.write(b"\n")
    code, _, error = eukhe("log", store)
    assert code == 1 and f"{store}/main.jsonl:4: " in error


def test_the_doctor_names_the_damage_and_repairs_to_another_place(store, tmp_path):
    data = (store / "main.jsonl").read_bytes().replace(b'"commit":2', b'"commit":\0')
    (store / "main.jsonl").write_bytes(data)
    code, out, _ = eukhe("doctor", store, "--json")
    assert code == 1
    findings = [json.loads(line) for line in out.splitlines()]
    assert [(f["line"], f["damage"]) for f in findings[:-1]] == [(2, True), (3, True)]
    assert findings[-1] == {"lines": 3, "kept": 2}
    code, _, error = eukhe("doctor", store, "--repair", tmp_path / "t")
    assert code == 0 and "a new storage" in error
    assert (store / "main.jsonl").read_bytes() == data
    assert len(eukhe("log", tmp_path / "t")[1].splitlines()) == 2
    code, _, error = eukhe("doctor", store, "--repair", tmp_path / "t")
    assert code == 1 and "already exists" in error


def test_a_session_in_epochs_can_be_kept_from_the_command_line(tmp_path):
    path, baseline = tmp_path / "e", tmp_path / "baseline.json"
    baseline.write_text('{"model":"m"}')
    assert eukhe("epochs", "create", path, "--baseline", baseline, "--slot", 4) == (0, "", "")
    assert eukhe("epochs", "append", path, stdin='{"type":"user","text":"hi"}\n') == (0, "1\n", "")
    assert eukhe("epochs", "compact", path, "--summary", "so far", "--baseline", baseline) == (0, "1\n", "")
    assert eukhe("epochs", "append", path, stdin='{"type":"user","text":"hi"}\n')[1] == "2\n"
    shown = json.loads(eukhe("epochs", "show", path, "--json")[1])
    assert (shown["epoch"], shown["carry"], shown["slot"], shown["turns"]) == (1, "so far", 4, 2)
    assert "carry: so far" in eukhe("epochs", "show", path)[1]
    code, out, error = eukhe("epochs", "resume", path)
    assert (code, out) == (0, "1\n") and "no compaction to end" in error


def test_a_torn_session_log_is_a_no_until_it_is_repaired(tmp_path):
    path, baseline = tmp_path / "e", tmp_path / "baseline.json"
    baseline.write_text("{}")
    eukhe("epochs", "create", path, "--baseline", baseline)
    with open(path / "0.jsonl", "ab") as log:
        log.write(b"torn")
    for command in (["epochs", "show"], ["epochs", "append"]):
        code, _, error = eukhe(*command, path)
        assert code == 1 and f"{path}/0.jsonl:2: last line does not end in a newline" in error
    code, out, _ = eukhe("doctor", path)
    assert code == 1 and f"{path}/0.jsonl:2" in out
    code, out, _ = eukhe("epochs", "repair", path)
    assert code == 0 and "4 bytes cut, kept in" in out
    assert eukhe("epochs", "repair", path)[1] == f"{path}: no torn last line\n"
    assert eukhe("doctor", path)[:2] == (0, f"{path}: a session's epochs: sound\n")


def test_a_half_compaction_is_said_and_can_be_ended(tmp_path):
    path, baseline = tmp_path / "e", tmp_path / "baseline.json"
    baseline.write_text("{}")
    eukhe("epochs", "create", path, "--baseline", baseline)
    eukhe("epochs", "append", path, stdin='{"type":"epoch_end","next":1,"summary":"s"}')
    assert "a compaction stopped half-way" in eukhe("epochs", "show", path)[2]
    assert eukhe("epochs", "resume", path) == (0, "1\n", "")


def test_wrong_input_to_a_session_is_wrong_usage_or_a_no(tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("[]")
    assert eukhe("epochs", "create", tmp_path / "e", "--baseline", bad)[0] == 2
    assert eukhe("epochs", "create", tmp_path / "e", "--baseline", tmp_path / "none")[0] == 2
    code, _, error = eukhe("epochs", "show", tmp_path / "e")
    assert code == 1 and "no session e here" in error
