"""However a module got hold of a real function, inside a process it reaches the machine."""

from __future__ import annotations

import datetime
import os
import os as operating_system
import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime as moment
from functools import partial
from os import replace, stat
from os.path import exists
from pathlib import Path
from time import time as now
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from simfs.machine.inode import EPOCH_NS
from simfs.machine.machine import Machine
from simfs.patch import interposed
from simfs.patch.alone import process_of

START = EPOCH_NS / 1e9


def _closure() -> Callable[[str], Any]:
    make = os.mkdir
    return lambda path: make(path)


def _default(path: str, make: Callable[..., None] = os.mkdir) -> None:
    make(path)


def _keyword_default(path: str, *, make: Callable[..., None] = os.mkdir) -> None:
    make(path)


def _nested_default(path: str, calls: tuple[tuple[Callable[..., None], ...], ...] = ((os.mkdir,),)) -> None:
    calls[0][0](path)


class Calls(NamedTuple):
    """Functions in a tuple with names."""

    make: Callable[..., None]
    name: str


class _Slotted:
    __slots__ = ("make",)

    def __init__(self) -> None:
        self.make = os.mkdir


class _Store:
    make = os.mkdir
    static = staticmethod(os.mkdir)
    replace = os.replace

    class Inner:
        def __call__(self, path: str, make: Callable[..., None] = os.mkdir) -> None:
            make(path)


@dataclass
class _Record:
    made: datetime.datetime = field(default_factory=datetime.datetime.now)
    stamp: float = field(default_factory=time.time)


_partial = partial(os.mkdir, mode=0o700)
_inner_partial = partial(lambda make, path: make(path), os.mkdir)
_table = {"make": os.mkdir}
_list = [os.mkdir]
_tuple = (os.mkdir, "x")
_frozen = frozenset((os.mkdir,))
_namespace = SimpleNamespace(make=os.mkdir)
_slotted = _Slotted()
_closed = _closure()

WAYS: dict[str, Callable[[str], Any]] = {
    "module attribute": lambda path: os.mkdir(path),
    "module alias": lambda path: operating_system.mkdir(path),
    "default argument": _default,
    "keyword default": _keyword_default,
    "tuple in a default": _nested_default,
    "default of a nested class's method": lambda path: _Store.Inner()(path),
    "partial": lambda path: _partial(path),
    "argument of a partial": lambda path: _inner_partial(path),
    "value of a dict": lambda path: _table["make"](path),
    "list": lambda path: _list[0](path),
    "tuple in a module": lambda path: _tuple[0](path),  # type: ignore[operator]
    "frozenset": lambda path: next(iter(_frozen))(path),
    "class attribute": lambda path: _Store.make(path),
    "class attribute of an instance": lambda path: _Store().make(path),
    "static method": lambda path: _Store().static(path),
    "attribute of an object made at import": lambda path: _namespace.make(path),
    "slot": lambda path: _slotted.make(path),
    "closure": lambda path: _closed(path),
}


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine whose processes make plain calls."""
    machine = Machine()
    with interposed():
        yield machine


@pytest.mark.parametrize("way", WAYS)
def test_a_function_reaches_the_machine_when_it_is_held_as_a(way: str, machine: Machine) -> None:
    with process_of(machine):
        WAYS[way]("/made")
    assert machine.freeze().tree() == {"made": "dir"}


def test_names_bound_by_from_imports_reach_the_machine(machine: Machine) -> None:
    with process_of(machine):
        open("/a", "w").close()
        replace("/a", "/b")
        assert exists("/b") and not exists("/a") and stat("/b").st_size == 0
        assert now() == START


def test_what_was_captured_after_the_first_exploration_is_found_by_the_next(tmp_path: Path) -> None:
    with interposed():
        pass
    captured = {"make": os.mkdir, "now": datetime.datetime.now, "clock": time.time_ns}
    machine = Machine()
    with interposed(), process_of(machine):
        captured["make"]("/made")
        assert captured["now"]() == moment(2026, 1, 1) and captured["clock"]() == EPOCH_NS
    assert machine.freeze().tree() == {"made": "dir"}
    captured["make"](str(tmp_path / "made"))
    assert (tmp_path / "made").is_dir()


def test_a_holder_gets_its_real_function_back() -> None:
    real = os.mkdir
    with interposed():
        assert _partial.func is not real and _table["make"] is not real and _slotted.make is not real
    assert _partial.func is real and _table["make"] is real and _slotted.make is real
    assert _default.__defaults__ == (real,) and _Store.__dict__["make"] is real and _tuple == (real, "x")


def test_dates_come_from_the_machines_clock_however_the_class_is_held(machine: Machine) -> None:
    with process_of(machine):
        time.sleep(90)
        expected = moment(2026, 1, 1, 0, 1, 30)
        assert datetime.datetime.now() == moment.now() == moment.today() == moment.utcnow() == expected
        assert datetime.date.today() == expected.date()
        assert datetime.datetime.now(datetime.UTC).timestamp() == time.time()
        record = _Record()
        assert (record.made, record.stamp) == (expected, START + 90)
        assert datetime.datetime.fromtimestamp(time.time()) == expected


def test_a_date_is_a_real_date_and_its_pickle_says_so(machine: Machine) -> None:
    with process_of(machine):
        made = moment.now()
        assert isinstance(made, moment) and isinstance(moment(2020, 1, 2), datetime.date)
        assert issubclass(moment, datetime.date) and moment.fromisoformat("2020-01-02").year == 2020
        data = pickle.dumps((made, made.date()))
        assert pickle.loads(data) == (made, made.date())
    assert type(made).__module__ == "datetime" and b"freezegun" not in data and b"simfs" not in data


def test_a_pickle_made_in_a_process_loads_anywhere_as_what_it_is() -> None:
    machine = Machine()
    with interposed(), process_of(machine):
        data = pickle.dumps(moment.now())
    assert data == pickle.dumps(moment(2026, 1, 1)) and type(pickle.loads(data)) is datetime.datetime


def test_outside_a_process_dates_are_real() -> None:
    with interposed():
        assert moment.now().year > 2023 and abs(moment.now().timestamp() - time.time()) < 60
        assert datetime.date.today() == datetime.datetime.fromtimestamp(time.time()).date()


def test_what_a_test_has_patched_itself_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    real = os.rename

    def counted(source: str, target: str) -> None:
        calls.append(target)
        real(source, target)

    monkeypatch.setattr(os, "rename", counted)
    machine = Machine()
    with interposed(), process_of(machine):
        open("/a", "w").close()
        os.rename("/a", "/b")
    assert os.rename is counted and calls == ["/b"] and machine.freeze().tree() == {"b": b""}


def test_a_holder_that_changes_during_the_run_keeps_the_change() -> None:
    table, items = {"make": os.mkdir}, ["first", os.mkdir]
    with interposed():
        table["make"] = print  # type: ignore[assignment]
        items.insert(0, "new first")
    assert table == {"make": print} and items[:2] == ["new first", "first"]
    assert type(items[2]).__name__ == "builtin_function_or_method"


def test_a_named_tuple_is_exchanged_as_one() -> None:
    machine = Machine()
    calls = Calls(os.mkdir, "name")
    holder = {"calls": calls}
    with interposed(), process_of(machine):
        assert type(holder["calls"]) is Calls
        holder["calls"].make("/made")
    assert holder["calls"] is calls and machine.freeze().tree() == {"made": "dir"}
