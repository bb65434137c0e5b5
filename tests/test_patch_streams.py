"""Random numbers, identifiers, temporary names and the environment belong to the process."""

from __future__ import annotations

import glob
import os
import random
import secrets
import tempfile
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from simfs.machine.machine import Machine
from simfs.patch import interposed
from simfs.patch.alone import process_of

DRAWS: dict[str, Callable[[], Any]] = {
    "random.random": random.random,
    "random.sample": lambda: random.sample(range(1000), 5),
    "random.Random()": lambda: random.Random().getrandbits(64),
    "random.SystemRandom": lambda: random.SystemRandom().getrandbits(64),
    "secrets.token_hex": secrets.token_hex,
    "secrets.choice": lambda: secrets.choice(range(10**9)),
    "uuid.uuid1": uuid.uuid1,
    "uuid.uuid4": uuid.uuid4,
    "os.urandom": lambda: os.urandom(8),
    "os.getrandom": lambda: os.getrandom(8),
    "tempfile name": lambda: tempfile.mkstemp()[1],
    "temporary directory": tempfile.mkdtemp,
}


@pytest.fixture(autouse=True)
def _interposed() -> Iterator[None]:
    with interposed():
        yield


def drawn(draw: Callable[[], Any], process: int = 0) -> Any:
    """What `draw` gives in the process of that number on a fresh machine."""
    machine = Machine()
    for index in range(process):
        machine.exit(machine.spawn(f"earlier {index}"))
    with process_of(machine):
        os.makedirs("/tmp", exist_ok=True)
        return draw()


@pytest.mark.parametrize("name", DRAWS)
def test_a_process_draws_the_same_in_every_run_and_another_process_draws_something_else(name: str) -> None:
    draw = DRAWS[name]
    random.seed()
    first = drawn(draw)
    random.random()
    tempfile.gettempdir()
    assert drawn(draw) == first
    assert drawn(draw, process=1) != first


@pytest.mark.parametrize("name", DRAWS)
def test_two_draws_of_one_process_differ(name: str) -> None:
    first, second = drawn(lambda: (DRAWS[name](), DRAWS[name]()))
    assert first != second


def test_seeding_random_leaves_the_kernels_bytes_alone() -> None:
    def seeded() -> tuple[float, bytes]:
        random.seed(7)
        return random.random(), os.urandom(8)

    assert drawn(seeded)[0] == drawn(seeded, process=1)[0] == random.Random(7).random()
    assert drawn(seeded)[1] != drawn(seeded, process=1)[1]


def test_the_runners_generator_is_not_touched_by_a_process() -> None:
    random.seed(3)
    expected = random.Random(3).random()
    drawn(lambda: [random.random() for _ in range(10)])
    assert random.random() == expected


def test_a_uuid1_tells_the_machines_time() -> None:
    assert drawn(lambda: uuid.uuid1().time) == (1_767_225_600 * 10_000_000) + 0x01B21DD213814000


def test_the_temporary_directory_is_of_the_simulated_machine() -> None:
    def where() -> tuple[str, list[str]]:
        os.makedirs("/var/tmp/mine")
        found = [tempfile.gettempdir()]
        os.environ["TMPDIR"] = "/var/tmp/mine"
        found.append(tempfile.gettempdir())
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as file:
            file.write("gone when closed")
            found.append(os.path.dirname(folder))
        return "", [*found, *glob.glob("/var/tmp/mine/*")]

    assert drawn(where)[1] == ["/tmp", "/var/tmp/mine", "/var/tmp/mine"]


def test_the_environment_is_the_processes_own() -> None:
    before = dict(os.environ)
    machine = Machine()
    with process_of(machine) as process:
        assert dict(os.environ) == {} and os.getenv("PATH") is None
        os.environ["NAME"] = "värde"
        os.environ.setdefault("OTHER", "1")
        del os.environ["OTHER"]
        assert process.environ == {"NAME": "värde"} and os.environb[b"NAME"] == "värde".encode()
        with pytest.raises(KeyError, match="OTHER"):
            os.environ["OTHER"]
        assert os.path.expandvars("/a/$NAME") == "/a/värde"
    with process_of(machine):
        assert "NAME" not in os.environ
    assert dict(os.environ) == before


def test_the_user_and_the_host_are_simulated_ones() -> None:
    machine = Machine()
    with process_of(machine):
        assert os.uname().nodename == "simulated" and os.getlogin() == "root" and os.getuid() == 0
        assert os.path.expanduser("~/x") == "/root/x" and os.path.expanduser("~nobody") == "~nobody"
