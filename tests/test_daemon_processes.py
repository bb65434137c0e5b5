"""The daemon with real processes and sockets: what a person at two terminals relies on."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from eukhe.daemon.errors import DaemonRefused, DaemonRunning, NoDaemon
from eukhe.daemon.follower import Follower
from eukhe.daemon.following import DaemonConnection
from eukhe.daemon.protocol import AttachArgs, CommitArgs, Event, PlanArgs, TreeArgs, ask
from eukhe.daemon.serving import serve
from eukhe.storage import Storage, put, read_storage

LIMIT_S = 60
"""How long anything may take before the test gives up; nothing waits for time to pass."""


def entry(number):
    return put({"type": "entry", "id": number, "conversation": 1, "kind": "text"})


@pytest.fixture
def home(tmp_path):
    # Not below tmp_path itself: the path of a Unix socket may have 107 bytes.
    place = str(tmp_path / "h")
    with Storage.open(f"{place}/sessions/one", home=place) as storage:
        storage.commit([put({"type": "conversation", "id": 1})])
    return place


@pytest.fixture
def daemon(home):
    process = start(home)
    yield process
    process.send_signal(signal.SIGTERM)
    ended(process)
    assert not os.path.exists(f"{home}/daemon.sock")


def start(home):
    command = [sys.executable, "-c", "from eukhe.cli import main; main()", "daemon", "--home", home]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert "serving" in process.stderr.readline()
    return process


def ended(process, code=0):
    assert process.wait(LIMIT_S) == code
    process.stderr.close()


def connect(home, path=None):
    connection = DaemonConnection(home, path)
    connection._socket.settimeout(LIMIT_S)
    return connection


def followed_to(connection, follower, cursor):
    while follower.cursor < cursor:
        follower.received(connection.receive())
    return follower


def commit_through_daemon(home, session, changes):
    with connect(home) as connection:
        return connection.call(ask(1, "commit", CommitArgs(session, changes)))["commit"]


def worker_of(daemon):
    children = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text().split()
    assert len(children) == 1
    return int(children[0])


def test_a_commit_is_durable_and_followed_in_another_connection(home, daemon):
    with connect(home) as watching:
        follower = Follower("one", watching.send)
        follower.subscribe()
        followed_to(watching, follower, 1)
        assert commit_through_daemon(home, "one", [entry(1)]) == 2
        followed_to(watching, follower, 2)
        assert [node.id for node in follower.journal.snapshot_at(follower.journal.cursor)] == [1, 2]
    assert [commit.number for commit in read_storage(f"{home}/sessions/one").commits] == [1, 2]


def test_a_killed_worker_loses_nothing_and_followers_go_on_with_the_next_one(home, daemon):
    with connect(home) as watching:
        follower = Follower("one", watching.send)
        follower.subscribe()
        followed_to(watching, follower, 1)
        commit_through_daemon(home, "one", [entry(1)])
        followed_to(watching, follower, 2)
        first = follower.tree
        os.kill(worker_of(daemon), signal.SIGKILL)
        while follower.tree in ("", first):
            follower.received(watching.receive())
        assert follower.cursor == 2
        assert commit_through_daemon(home, "one", [entry(2)]) == 3
        followed_to(watching, follower, 3)
    assert len(read_storage(f"{home}/sessions/one").commits) == 3


def test_a_client_that_does_not_read_makes_nobody_wait_and_ends_at_the_live_tree(home, daemon):
    commits, kind = 400, "x" * 30_000
    with connect(home) as watching, connect(home) as committing:
        follower = Follower("one", watching.send)
        follower.subscribe()
        followed_to(watching, follower, 1)
        again = []
        follower.subscribe = lambda: (again.append(follower.cursor), Follower.subscribe(follower))
        for number in range(1, commits + 1):
            change = put({"type": "entry", "id": number, "conversation": 1, "kind": kind})
            assert committing.call(ask(number, "commit", CommitArgs("one", [change])))["commit"] == number + 1
        followed_to(watching, follower, commits + 1)
        assert len(again) == 1 and 1 < again[0] < commits
        assert len(list(follower.journal.snapshot_at(follower.journal.cursor))) == commits + 1


def test_events_are_replayed_from_a_sequence_number_and_then_come_live(home, daemon):
    with connect(home) as connection:
        told = connection.call(ask(1, "attach_session", AttachArgs("one", 0)))
        assert (told["sequence"], [number for number, _ in told["events"]]) == (1, [1])
        commit_through_daemon(home, "one", [entry(1)])
        event = connection.receive()
        assert isinstance(event, Event)
        assert (event.sequence, event.event) == (2, {"changes": [entry(1)]})
        assert connection.call(ask(2, "attach_session", AttachArgs("one", 2)))["events"] == []


def test_a_rewind_plan_needs_the_tree_that_its_cursor_belongs_to(home, daemon):
    with connect(home) as connection:
        commit_through_daemon(home, "one", [entry(1)])
        tree = connection.call(ask(1, "get_state_tree", TreeArgs("one")))
        assert (tree["cursor"], len(tree["nodes"])) == (2, 2)
        plan = connection.call(ask(2, "get_state_rewind_plan", PlanArgs("one", tree["tree"], 1)))
        assert plan == {"tree": tree["tree"], "cursor": 1, "stops": [2], "starts": [], "restores": []}
        with pytest.raises(DaemonRefused, match="stale_tree"):
            connection.call(ask(3, "get_state_rewind_plan", PlanArgs("one", "another", 1)))


def test_what_cannot_be_done_is_refused_by_name(home, daemon):
    with connect(home) as connection:
        for session in ("two", "../sessions/one", "", "."):
            with pytest.raises(DaemonRefused, match="unknown_session"):
                connection.call(ask(1, "commit", CommitArgs(session, [entry(1)])))
        with pytest.raises(DaemonRefused, match="refused"):
            connection.call(ask(2, "commit", CommitArgs("one", [{"put": {"type": "nothing"}}])))
        with pytest.raises(DaemonRefused, match="unknown_op"):
            connection.call(ask(3, "no_such", TreeArgs("one")))
        connection._socket.sendall(b'{"id":4,"op":"commit","args":{}} x\n')
        assert connection.receive().error.code == "malformed"
        assert commit_through_daemon(home, "one", [entry(1)]) == 2


def test_a_session_that_another_process_has_open_is_refused_until_it_is_free(home, daemon):
    with Storage.open(f"{home}/sessions/one", home=home), pytest.raises(DaemonRefused, match="another writer"):
        commit_through_daemon(home, "one", [entry(1)])
    for _ in range(100):
        try:
            assert commit_through_daemon(home, "one", [entry(1)]) == 2
            return
        except DaemonRefused as error:
            # The worker that was refused the storage may not have gone yet.
            assert error.code == "worker_lost"
    raise AssertionError("the session stays refused")


def test_only_one_daemon_serves_a_home_and_its_socket_is_its_owners(home, daemon):
    with pytest.raises(DaemonRunning):
        serve(home, lambda: None)
    assert stat.S_IMODE(os.stat(f"{home}/daemon.sock").st_mode) == 0o600
    assert commit_through_daemon(home, "one", [entry(1)]) == 2


def test_a_socket_that_was_left_behind_is_replaced(home):
    left = socket.socket(socket.AF_UNIX)
    left.bind(f"{home}/daemon.sock")
    left.close()
    with pytest.raises(NoDaemon):
        DaemonConnection(home)
    process = start(home)
    assert commit_through_daemon(home, "one", [entry(1)]) == 2
    process.kill()
    ended(process, -signal.SIGKILL)
    process = start(home)
    process.send_signal(signal.SIGTERM)
    ended(process)


def test_the_command_line_commits_through_the_daemon_and_follows(home, daemon):
    run = [sys.executable, "-c", "from eukhe.cli import main; main()"]
    follow = subprocess.Popen(
        [*run, "state", "one", "--follow", "--json", "--home", home], stdout=subprocess.PIPE, text=True
    )
    assert json.loads(follow.stdout.readline())["cursor"] == 1
    done = subprocess.run(
        [*run, "commit", f"{home}/sessions/one"],
        input=json.dumps(entry(1)), capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert done.stdout == "2\n", done.stderr
    told = json.loads(follow.stdout.readline())
    assert (told["cursor"], told["records"][0]["put"][:2]) == (2, [2, 1])
    follow.send_signal(signal.SIGINT)
    follow.wait(LIMIT_S)
    follow.stdout.close()
