"""The page on unmodified code lists every function under what happens to it, and its example runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simfs.patch import clocks, oscalls

PAGE = (Path(__file__).parents[1] / "docs" / "unmodified-code.md").read_text()
FATES = ("modelled", "answered", "refused", "unchanged")


def listed(module: str, fate: str) -> set[str]:
    """The names under one heading of the page."""
    found = re.search(rf"^### {module}: {fate}\n(.*?)(?=\n\n|\Z)", PAGE, re.M | re.S)
    return set(found.group(1).split()) if found else set()


@pytest.mark.parametrize("fate", FATES)
def test_the_page_lists_the_functions_of_os_and_time_as_the_code_has_them(fate: str) -> None:
    for module, names, decide in (
        ("os", oscalls.os_names(), oscalls.fate),
        ("time", clocks.time_names(), clocks.fate),
        ("fcntl", ["fcntl", "flock", "ioctl", "lockf"], oscalls.fate),
    ):
        public = {name for name in names if not name.startswith("_") or name == "_exit"}
        assert {name for name in public if decide(name) == fate} == listed(module, fate) & public, module


def test_no_function_is_listed_twice() -> None:
    for module in ("os", "time", "fcntl"):
        names = [name for fate in FATES for name in listed(module, fate)]
        assert len(names) == len(set(names)) > 0


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r"```python\n(.*?)```", PAGE, re.S)
    assert found is not None
    exec(compile(found.group(1), "example", "exec"), {"__name__": "example"})
    assert capsys.readouterr().out == "['Note', 'Create', 'Write', 'Close', 'Note']\n"


def test_files_of_the_package_are_short_and_say_what_they_are() -> None:
    for path in (Path(__file__).parents[1] / "simfs" / "patch").glob("*.py"):
        text = path.read_text()
        assert len(text.splitlines()) <= 320 and text.startswith('"""'), path.name
