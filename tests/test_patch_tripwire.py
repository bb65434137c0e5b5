"""What cannot be simulated aborts the run by name, and the real machine is never touched."""

from __future__ import annotations

import contextlib
import ctypes
import dbm.dumb
import functools
import json
import linecache
import mmap
import os
import shelve
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import traceback
import zoneinfo
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simfs.machine.machine import Machine
from simfs.patch import EscapedToHost, NotSimulated, interposed, taken_escapes, tripwire
from simfs.patch.alone import process_of


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine whose processes make plain calls; what escaped in a test is forgotten after it."""
    machine = Machine()
    with interposed():
        yield machine
    taken_escapes()


REFUSED: dict[str, Callable[[], Any]] = {
    "thread": lambda: threading.Thread(target=print).start(),
    "child process": lambda: subprocess.run(["true"], check=False),
    "os.system": lambda: os.system("true"),
    "os.fork": os.fork,
    "socket": socket.socket,
    "sqlite3.connect": lambda: sqlite3.connect("/x.db"),
    "mmap": lambda: mmap.mmap(-1, 10),
    "ctypes.dlopen": lambda: ctypes.CDLL("libc.so.6"),
    "os.pipe": os.pipe,
    "os.mkfifo": lambda: os.mkfifo("/fifo"),
    "signal.signal": lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL),
    "signal.alarm": lambda: signal.alarm(1),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_process_that_uses_it_is_aborted_by_name(what: str, machine: Machine) -> None:
    with process_of(machine), pytest.raises((EscapedToHost, NotSimulated)) as raised:
        REFUSED[what]()
    assert what in str(raised.value)
    assert any(raised.value is noted for noted in taken_escapes())


@pytest.mark.parametrize("what", REFUSED)
def test_except_exception_does_not_swallow_it(what: str, machine: Machine) -> None:
    with process_of(machine), pytest.raises((EscapedToHost, NotSimulated)):
        try:
            REFUSED[what]()
        except Exception:
            pass


def test_what_a_program_swallows_is_still_known_to_the_explorer(machine: Machine) -> None:
    with process_of(machine):
        try:
            os.fork()
        except BaseException:
            pass
    (noted,) = taken_escapes()
    assert isinstance(noted, NotSimulated) and noted.call == "os.fork"
    assert taken_escapes() == []


def test_a_real_function_that_no_search_can_reach_meets_the_tripwire(tmp_path: Path) -> None:
    cached = functools.lru_cache(maxsize=None)(os.mkdir)
    waiting = map(open, [str(tmp_path / "opened")], ["w"])
    renames = map(os.rename, [str(tmp_path)], [str(tmp_path) + "2"])
    machine = Machine()
    with interposed(), process_of(machine):
        for call, name in ((lambda: cached(str(tmp_path / "made")), "mkdir"), (lambda: next(waiting), "open"),
                           (lambda: next(renames), "rename")):  # fmt: skip
            with pytest.raises(EscapedToHost, match=name) as raised:
                call()
            assert raised.value.site is not None and raised.value.site.file == __file__
    assert list(tmp_path.iterdir()) == [] and len(taken_escapes()) == 3


def test_the_tripwire_stands_alone_for_code_that_makes_no_plain_calls(tmp_path: Path) -> None:
    machine = Machine()
    with tripwire():
        with process_of(machine), pytest.raises(EscapedToHost, match="open"):
            open(tmp_path / "x", "w")
        (tmp_path / "y").write_text("outside of a process nothing is stopped")
    assert [p.name for p in tmp_path.iterdir()] == ["y"]
    taken_escapes()


def test_an_import_inside_a_process_reads_the_real_disk(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "module_of_a_test.py").write_text("import os\nfrom os import mkdir\ndef f(path): mkdir(path)\n")
    (tmp_path / "reads_its_data.py").write_text("with open(__file__) as file:\n    DATA = file.read()\n")
    (tmp_path / "writes_somewhere.py").write_text(f"open({str(tmp_path / 'written')!r}, 'w')\n")
    sys.path.insert(0, str(tmp_path))
    try:
        with process_of(machine):
            import module_of_a_test  # type: ignore[import-not-found]
            import reads_its_data  # type: ignore[import-not-found]

            module_of_a_test.f("/made")
            with pytest.raises(EscapedToHost, match="written"):
                import writes_somewhere  # type: ignore[import-not-found]  # noqa: F401
    finally:
        sys.path.remove(str(tmp_path))
    assert machine.freeze().tree() == {"made": "dir"} and reads_its_data.DATA.startswith("with")
    assert not (tmp_path / "written").exists()


def test_tracebacks_and_failing_asserts_show_their_source_inside_a_process(machine: Machine) -> None:
    linecache.clearcache()
    with process_of(machine):
        value = {"v": 1}
        with pytest.raises(AssertionError) as raised:
            assert value == {"v": 2}
        try:
            raise ValueError("shown")
        except ValueError:
            text = traceback.format_exc()
    assert 'raise ValueError("shown")' in text and "{'v': 1} == {'v': 2}" in str(raised.value)


def test_time_zones_are_there(machine: Machine) -> None:
    with process_of(machine):
        zone = zoneinfo.ZoneInfo.no_cache("Europe/Zurich")
    assert zone.key == "Europe/Zurich"


def test_a_database_in_memory_is_allowed(machine: Machine) -> None:
    with process_of(machine), contextlib.closing(sqlite3.connect(":memory:")) as database:
        assert database.execute("select 1").fetchone() == (1,)


def test_shelve_works_with_the_database_that_is_written_in_python(machine: Machine) -> None:
    with process_of(machine):
        with shelve.Shelf(dbm.dumb.open("/shelf", "c")) as shelf:
            shelf["key"] = {"a": 1}
        with shelve.Shelf(dbm.dumb.open("/shelf", "r")) as shelf:
            assert shelf["key"] == {"a": 1}
        with open("/plain.json", "w") as file:
            json.dump([1], file)
    assert {"shelf.dat", "shelf.dir", "plain.json"} <= set(machine.freeze().tree())


def test_a_path_of_the_host_does_not_exist(machine: Machine) -> None:
    with process_of(machine):
        assert not os.path.exists(__file__)
        with pytest.raises(FileNotFoundError):
            open(__file__)


def test_standard_streams_are_not_simulated_descriptors(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    with process_of(machine):
        print("shown")
        assert os.open("/f", os.O_CREAT | os.O_WRONLY) == 3
    assert capsys.readouterr().out == "shown\n"


def test_without_interposition_an_import_reads_the_real_disk_and_nothing_else_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "late_module.py").write_text("from pathlib import Path\nsize = len(Path(__file__).read_text())\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    machine = Machine()
    real = sys.modules["importlib._bootstrap"]._find_and_load
    with tripwire():
        with process_of(machine):
            late = __import__("late_module")
            with pytest.raises(EscapedToHost):
                open(tmp_path / "late_module.py")
        assert sys.modules["importlib._bootstrap"]._find_and_load is not real
    assert sys.modules["importlib._bootstrap"]._find_and_load is real
    assert late.size > 0
    taken_escapes()
