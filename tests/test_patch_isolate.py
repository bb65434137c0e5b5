"""With `isolate`, module globals, caches and class attributes are each process's own."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simfs.machine.machine import Machine
from simfs.patch import interposed, process_of
from simfs.patch.isolate import Isolation, isolated

STORE = """
import functools
from .names import NAME

opened = open("/made-at-import", "a")
seen = []

class Record:
    count = 0
    def __init__(self, value): self.value = value

@functools.lru_cache
def first_caller(): return len(seen)

def remember(value):
    seen.append(value)
    Record.count += 1
    return list(seen), Record.count, first_caller()
"""


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Any]:
    """An installed package with state in its modules."""
    (tmp_path / "pkg_of_a_test").mkdir()
    (tmp_path / "pkg_of_a_test" / "__init__.py").write_text("")
    (tmp_path / "pkg_of_a_test" / "names.py").write_text("NAME = 'n'\n")
    (tmp_path / "pkg_of_a_test" / "store.py").write_text(STORE.replace('"/made-at-import"', repr("/dev/null")))
    sys.path.insert(0, str(tmp_path))
    try:
        import pkg_of_a_test.store as store  # type: ignore[import-not-found]

        yield store
        store.opened.close()
    finally:
        sys.path.remove(str(tmp_path))
        for name in [n for n in sys.modules if n.startswith("pkg_of_a_test")]:
            del sys.modules[name]


@pytest.fixture
def isolation(package: Any) -> Iterator[Isolation]:
    """Its modules isolated."""
    with interposed(), isolated(["pkg_of_a_test"]) as isolation:
        yield isolation


def in_process(isolation: Isolation, machine: Machine, body: Callable[[], Any]) -> Any:
    """What `body` returns as a process of its own."""
    with process_of(machine) as process:
        if not Path("/dev").exists():
            Path("/dev").mkdir()
        isolation.switch(process)
        try:
            return isolation.own(body)()
        finally:
            isolation.switch(None)


def test_each_process_has_its_own_globals_caches_and_classes(isolation: Isolation, package: Any) -> None:
    machine = Machine()
    remember = package.remember

    def through_a_closure() -> Any:
        return remember("a"), remember("b")

    for _ in range(2):
        assert in_process(isolation, machine, through_a_closure) == ((["a"], 1, 1), (["a", "b"], 2, 1))
        assert in_process(isolation, machine, lambda: remember("x")) == (["x"], 1, 1)
    assert package.seen == [] and package.Record.count == 0


def test_imports_and_pickles_inside_a_process_find_its_copies(isolation: Isolation, package: Any) -> None:
    def body() -> Any:
        import pkg_of_a_test.store
        from pkg_of_a_test.store import Record

        pkg_of_a_test.store.remember("a")
        loaded = pickle.loads(pickle.dumps(Record(3)))
        assert type(loaded) is Record and Record.count == 1
        return loaded

    made = in_process(isolation, Machine(), body)
    assert made.value == 3 and type(made) is not package.Record
    assert sys.modules["pkg_of_a_test.store"] is package and package.seen == []


def test_what_a_module_does_when_it_is_imported_its_process_does(isolation: Isolation) -> None:
    machine = Machine()
    in_process(isolation, machine, lambda: None)
    assert machine.freeze().tree() == {"dev": "dir", "dev/null": b""}


def test_nothing_isolated_costs_nothing() -> None:
    def body() -> None:
        return None

    with interposed(), isolated([]) as isolation, process_of(Machine()):
        assert isolation.own(body) is body
