"""Every function of os, fcntl and time is modelled, refused or apart, and the page docs/calls.md says which.

`python -m tests.test_machine_calls` prints the tables of the page anew.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from simfs.machine.errors import NotSimulated
from simfs.machine.machine import Machine
from simfs.machine.refused import APART, REFUSED
from simfs.machine.system import SimSystem

PAGE = Path(__file__).parents[1] / "docs" / "calls.md"
START, END = "<!-- tables -->", "<!-- end of tables -->"
MODULES = ("os", "fcntl", "time")
OURS = ("renameat2", "syncfs", "process_identity", "is_alive")
"""Modelled calls that Python has no name for."""
ELSEWHERE = ("os", "lockf")
"""os.lockf is `os_lockf` here, because fcntl.lockf is another function."""


def host_names() -> dict[str, list[str]]:
    """Every function and type of the three modules on this host."""
    return {
        module.__name__: sorted(n for n in dir(module) if callable(getattr(module, n)) and not n.startswith("_"))
        for module in (os, fcntl, time)
    }


def modelled(module: str) -> list[str]:
    """The methods of the machine's system whose docstring says that they are this module's."""
    public = [n for n in dir(SimSystem) if not n.startswith("_")]
    return [n for n in public if (getattr(SimSystem, n).__doc__ or "").startswith(f"{module}.")]


def told(name: str) -> str:
    """The first sentence of a modelled call's docstring, without the name it starts with."""
    line = (getattr(SimSystem, name).__doc__ or "").strip().splitlines()[0]
    return line.removeprefix(line.split(" ")[0]).strip(" :") if line.startswith(("os.", "time.", "fcntl.")) else line


def tables() -> str:
    lines = []
    for module in MODULES:
        lines += [f"### Modelled: `{module}`", "", "| call | notes |", "|---|---|"]
        lines += [f"| `{n}` | {told(n)} |" for n in modelled(module)] + [""]
    lines += ["### Modelled: calls that Python has no name for", "", "| call | notes |", "|---|---|"]
    lines += [f"| `{n}` | {told(n)} |" for n in OURS]
    lines += ["", "### Refused", "", "| calls | what to do instead |", "|---|---|"]
    for advice in dict.fromkeys(REFUSED.values()):
        same = ", ".join(f"`{n}`" for n in sorted(REFUSED) if REFUSED[n] == advice)
        lines.append(f"| {same} | {advice} |")
    return "\n".join([*lines, "", "### Apart", "", ", ".join(f"`{n}`" for n in sorted(APART))])


def test_every_function_of_the_host_stands_in_exactly_one_list() -> None:
    for module, names in host_names().items():
        for name in names:
            lists = [(name in modelled(module)) or (module, name) == ELSEWHERE, name in REFUSED, name in APART]
            assert lists.count(True) == 1, f"{module}.{name} is in {lists.count(True)} of modelled, refused, apart"


def test_the_page_lists_every_call_as_the_code_has_it() -> None:
    text = PAGE.read_text()
    assert text[text.index(START) + len(START) : text.index(END)].strip() == tables()


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_refused_call_says_its_name_and_what_to_do(name: str) -> None:
    machine = Machine()
    machine.spawn("p")
    with pytest.raises(NotSimulated) as caught:
        getattr(machine.system, name)("anything", at="all")
    assert caught.value.call == name and caught.value.advice == REFUSED[name]
    assert not isinstance(caught.value, Exception)


def test_flags_that_are_not_modelled_are_refused_and_not_ignored() -> None:
    machine = Machine()
    machine.spawn("p")
    s = machine.system
    fd = s.open("/f", os.O_RDWR | os.O_CREAT)
    for call in (
        lambda: s.open("/f", os.O_RDWR | os.O_DIRECT), lambda: s.open("/f", os.O_RDWR | os.O_ASYNC),
        lambda: s.renameat2("/f", "/g", 4), lambda: s.fcntl(fd, fcntl.F_SETLEASE, 0), lambda: s.kill(s.getpid(), 15),
        lambda: s.pathconf("/f", "PC_ASYNC_IO"), lambda: s.pwritev(fd, [b"x"], 0, os.RWF_NOWAIT),
        lambda: s.sendfile(fd, fd, 0, 5), lambda: s.fcntl(fd, fcntl.F_SETFL, os.O_DIRECT),
    ):  # fmt: skip
        with pytest.raises(NotSimulated):
            call()


def test_a_path_that_the_machine_does_not_have_is_enoent_never_the_hosts() -> None:
    machine = Machine()
    machine.spawn("p")
    for path in ("/etc/passwd", "/proc/self/stat", "/dev/null", __file__):
        with pytest.raises(FileNotFoundError):
            machine.system.open(path, os.O_RDONLY)


def test_an_unknown_name_is_an_attribute_error() -> None:
    machine = Machine()
    with pytest.raises(AttributeError):
        machine.system.no_such_call  # noqa: B018


if __name__ == "__main__":
    print(tables())
