"""What the daemon does beside serving trees: sessions as wholes, jobs, sweeps, and clients of a worker itself."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat

import pytest

from eukhe.cron.store import CronStore
from eukhe.daemon import background, chores, protocol, worker
from eukhe.daemon.arguments import DeleteArgs, ForkArgs, ImportArgs, JobArgs, NewJobArgs, NoArgs
from eukhe.daemon.errors import DaemonRefused, HomeTooLong
from eukhe.daemon.links import Lines, LineTooLong, Sending
from eukhe.daemon.outbox import Outbox
from eukhe.daemon.protocol import Answer, AttachArgs, Ended, Event, Refused, SessionArgs, TreeArgs, Update, ask, fault
from eukhe.daemon.serving import serve
from eukhe.daemon.supervisor import STARTS_MAX, EndWorker, Housework, StartWorker, Supervisor
from eukhe.storage import Storage, put, read_storage
from eukhe.system import OsSystem
from tests.test_daemon_processes import CommitArgs, commit_through_daemon, connect, ended, entry, start

DAY_NS = 86_400_000_000_000


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = str(tmp_path_factory.mktemp("d") / "h")
    os.makedirs(f"{place}/sessions")
    header = {"type": "session", "id": "x", "cwd": "/tmp", "timestamp": "2026-01-01T00:00:00Z"}
    with open(f"{place}/sessions/old.jsonl", "w") as file:
        file.write(json.dumps(header) + "\n" + json.dumps({"role": "user", "text": "hello"}) + "\n")
    return place


@pytest.fixture(scope="module")
def daemon(home):
    process = start(home)
    yield process
    process.send_signal(signal.SIGTERM)
    ended(process)
    assert os.listdir(f"{home}/workers") == []


@pytest.fixture
def connection(home, daemon):
    with connect(home) as found:
        yield found


def sessions(connection):
    return [row["id"] for row in connection.call(ask(1, "list_sessions", NoArgs()))["sessions"]]


def test_a_legacy_file_is_a_session_that_its_first_request_imports(home, connection):
    assert sessions(connection) == ["old"]
    commits = commit_through_daemon(home, "old", [entry(7)])
    assert commits == len(read_storage(f"{home}/sessions/old").commits) == 3
    assert sessions(connection) == ["old"]


def test_sessions_are_imported_forked_and_deleted_while_their_workers_run(home, connection):
    done = connection.call(ask(1, "import_session", ImportArgs(f"{home}/sessions/old.jsonl", "new")))
    assert (done["messages"], done["torn_bytes"]) == (1, 0)
    assert commit_through_daemon(home, "new", [entry(7)]) == 3
    assert connection.call(ask(1, "fork_session", ForkArgs("new", "branch")))["commits"] == 3
    assert connection.call(ask(1, "fork_session", ForkArgs("new", "bare", "empty")))["commits"] == 1
    connection.call(ask(1, "subscribe_state_tree", TreeArgs("new")))
    for name in ("new", "branch", "bare"):
        assert connection.call(ask(1, "delete_session", DeleteArgs(name))) == {"left": []}
    assert sessions(connection) == ["old"]
    for op, args in (
        ("import_session", ImportArgs("relative.jsonl")),
        ("fork_session", ForkArgs("new", "again")),
        ("delete_session", DeleteArgs("new")),
        ("commit", CommitArgs("new", [entry(8)])),
    ):
        with pytest.raises(DaemonRefused):
            connection.call(ask(2, op, args))


def test_the_calls_for_jobs_do_what_the_command_line_does(home, connection):
    job = connection.call(ask(1, "add_cron_job", NewJobArgs("every 1h", "true", label="nothing")))["job"]
    assert (job["status"], job["label"], job["prompt"]) == ("active", "nothing", "true")
    statuses = [
        connection.call(ask(1, f"{verb}_cron_job", JobArgs(job["id"])))["job"]["status"]
        for verb in ("pause", "resume", "cancel")
    ]
    assert statuses == ["paused", "active", "cancelled"]
    listed = connection.call(ask(1, "list_cron_jobs", NoArgs()))
    assert ([one["id"] for one in listed["jobs"]], listed["running"]) == ([job["id"]], [])
    for args in (NewJobArgs("sometimes", "true"), NewJobArgs("every 1s", "true")):
        with pytest.raises(DaemonRefused, match="refused"):
            connection.call(ask(1, "add_cron_job", args))
    with pytest.raises(DaemonRefused, match="no job"):
        connection.call(ask(1, "pause_cron_job", JobArgs("none")))


def test_a_client_of_the_worker_itself_gets_events_and_never_a_frame_of_the_tree(home, connection):
    path = connection.call(ask(1, "get_worker_socket", SessionArgs("old")))["socket"]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    connection.call(ask(1, "subscribe_state_tree", TreeArgs("old")))
    with connect(home, path) as direct:
        told = direct.call(ask(1, "attach_session", AttachArgs("old", 2)))
        with pytest.raises(DaemonRefused, match="out_of_place"):
            direct.call(ask(2, "subscribe_state_tree", TreeArgs("old")))
        with pytest.raises(DaemonRefused, match="out_of_place"):
            direct.call(ask(2, "get_state_tree", TreeArgs("another")))
        direct._socket.sendall(b"{}\n")
        assert direct.receive().error.code == "malformed"
        number = direct.call(ask(3, "commit", CommitArgs("old", [entry(20)])))["commit"]
        assert number == told["sequence"] + 1
        assert isinstance(connection.receive(), Update)
        # The answer covers the commit's tree; whatever was said of it on this connection has come before.
        direct.send(ask(4, "get_state_tree", TreeArgs("old")))
        direct.send(ask(5, "commit", CommitArgs("old", [entry(21)])))
        seen = [direct.receive() for _ in range(3)]
        assert [type(one) for one in seen if not hasattr(one, "id")] == [Event]
        assert isinstance(connection.receive(), Update)


def test_a_job_that_runs_when_the_daemon_ends_is_ended_and_put_on_record(tmp_path):
    class Yesterday(OsSystem):
        def time_ns(self):
            return super().time_ns() - DAY_NS

    home, fifo = str(tmp_path / "h"), str(tmp_path / "fifo")
    os.mkfifo(fifo)
    store = CronStore(f"{home}/cron-jobs.json", system=Yesterday())
    job = store.create("in 10m", f"echo $$ > {fifo}; sleep 1000", cwd=str(tmp_path))
    process = start(home)
    with open(fifo) as reader:
        child = int(reader.read())
    process.send_signal(signal.SIGTERM)
    ended(process)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    found = CronStore(f"{home}/cron-jobs.json").list()
    assert ([(one.id, one.last_error) for one in found.jobs], found.dispatches) == ([(job.id, "interrupted")], [])


def test_it_sweeps_at_boot(tmp_path):
    class Later(OsSystem):
        def time_ns(self):
            return super().time_ns() + 2 * DAY_NS

    async def boot():
        stopping = asyncio.Event()
        task = asyncio.create_task(background.keep_archive(str(tmp_path), stopping, Later()))
        while os.path.exists(left):
            await asyncio.sleep(0)
        stopping.set()
        await task

    left = tmp_path / "sessions" / f".one.import-{'0' * 32}"
    left.mkdir(parents=True)
    asyncio.run(asyncio.wait_for(boot(), 60))
    assert os.listdir(tmp_path / "sessions") == []


def test_a_home_with_a_long_path_is_refused_by_name(tmp_path):
    with pytest.raises(HomeTooLong, match="shorter path"):
        serve(f"{tmp_path}/{'x' * 100}", lambda: None)


def test_workers_that_end_without_a_word_are_given_up():
    supervisor = Supervisor(lambda name: True)
    supervisor.connected(1)
    codes = []
    for _ in range(STARTS_MAX + 1):
        (begun, _) = supervisor.received(1, ask(1, "get_state_tree", TreeArgs("one")))
        assert isinstance(begun, StartWorker)
        codes += [effect.message.error.code for effect in supervisor.worker_exited(begun.worker)]
    assert codes == ["worker_lost"] * (STARTS_MAX - 1) + ["worker_failed", "worker_lost"]


def test_a_request_after_the_end_has_begun_is_refused():
    supervisor = Supervisor(lambda name: True)
    supervisor.connected(1)
    supervisor.stop()
    (effect,) = supervisor.received(1, ask(1, "list_sessions", NoArgs()))
    assert effect.message.error.code == "stopping"


def test_a_session_is_deleted_when_its_worker_has_ended_and_gets_no_requests_meanwhile():
    supervisor = Supervisor(lambda name: True)
    supervisor.connected(1)
    (begun, _) = supervisor.received(1, ask(1, "subscribe_state_tree", TreeArgs("one")))
    assert supervisor.received(1, ask(2, "delete_session", DeleteArgs("one"))) == [EndWorker(begun.worker)]
    for op, args, code in (("get_state_tree", TreeArgs("one"), "unknown_session"),
                           ("delete_session", DeleteArgs("one"), "busy")):  # fmt: skip
        (refused,) = supervisor.received(1, ask(3, op, args))
        assert refused.message.error.code == code
    lost, ended_frame, work = supervisor.worker_exited(begun.worker)
    assert (lost.message.error.code, ended_frame.message) == ("worker_lost", Ended("one"))
    assert isinstance(work, Housework) and work.request.op == "delete_session"
    (answer,) = supervisor.done(fault(work.number, Refused("refused", "in use")))
    assert (answer.message.id, answer.message.error.code) == (2, "refused")
    assert isinstance(supervisor.received(1, ask(4, "get_state_tree", TreeArgs("one")))[0], StartWorker)


def test_many_events_come_in_several_answers_and_too_long_replies_are_refused(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(worker, "EVENTS_BYTES", 1)
    with Storage.open(tmp_path / "many") as storage:
        for number in (1, 2, 3):
            storage.commit([put({"type": "conversation", "id": number})])
        serving = worker.Worker("many", storage, "t", lambda to, message: said.append(message), print)
        for after in (0, 1, 2, 3):
            serving.received(5, ask(after, "attach_session", AttachArgs("many", after)))
        assert [(one.ok["sequence"], len(one.ok["events"]), "more" in one.ok) for one in said] == [
            (1, 1, True), (2, 1, True), (3, 1, False), (3, 0, False),
        ]  # fmt: skip
    monkeypatch.setattr(protocol, "REPLY_BYTES_MAX", 100)
    assert protocol.decode_reply(protocol.fitting(Answer(1, ok="x" * 200))).error.code == "too_long"
    frames = (Event("one", 3, "x" * 200), Update("one", "t", 1, 2, ["x" * 200]))
    assert [protocol.decode_reply(protocol.fitting(frame)) for frame in frames] == [
        Event("one", 3, None), Update("one", "t", 2, 2, []),
    ]  # fmt: skip


def test_an_outbox_tells_of_what_it_dropped_once_there_is_room():
    outbox = Outbox(1)
    update = [Update("one", "t", at, at + 1, [{}]) for at in range(3)]
    event = [Event("one", number, {}) for number in (1, 2)]
    assert [outbox.offer(frame) for frame in (update[0], update[1], event[0], event[1], update[2])] == [
        [update[0]], [], [], [], [],
    ]  # fmt: skip
    assert outbox.offer(Ended("one")) == [Ended("one")]
    assert outbox.drained() == [Update("one", "t", 3, 3, [])]
    assert outbox.drained() == [Event("one", 2, None)]
    assert outbox.drained() == []


def test_lines_come_whole_whatever_the_pieces_and_are_bounded():
    reading, writing = os.pipe()
    lines, seen = Lines(reading, 10), []
    for piece in (b"a", b"b\nc\n\nd", b"e", b"\n"):
        os.write(writing, piece)
        seen.append(lines.take())
    assert seen == [[], [b"ab", b"c", b""], [], [b"de"]]
    os.write(writing, b"x" * 11)
    with pytest.raises(LineTooLong):
        lines.take()
    os.close(writing)
    after = Lines(reading, 10)
    assert (after.take(), after.ended) == ([], True)
    os.close(reading)


def test_what_has_no_room_waits():
    reading, writing = os.pipe2(os.O_NONBLOCK)
    sending, data = Sending(writing), b"x" * (1 << 20)
    sending.add(data)
    assert not sending.flush()
    got = b""
    while len(got) < len(data):
        got += os.read(reading, 1 << 20)
        sending.flush()
    assert got == data and sending.flush()
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        sending.add(b"y")
        sending.flush()
    os.close(writing)


def test_a_chore_never_raises(tmp_path):
    (tmp_path / "sessions").write_text("no directory")
    answer = chores.do(str(tmp_path), ask(5, "list_sessions", NoArgs()), print)
    assert (answer.id, answer.error.code) == (5, "refused")
