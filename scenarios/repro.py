"""From a token to a regression test: a pytest file that searches what the token only replays.

A token says one run, and is stale as soon as the code changes. The file holds the scenario instead, narrowed to the
law and the disk model that failed, and searches it at all its crash points; so it fails until the fault is mended, and
stays worth running after. A generated history is held by its choices, and judged at each of its crashes. What happened
when it was made stands in the file's docstring, for whoever meets the test later.
"""

from __future__ import annotations

import re
from pathlib import Path

from scenarios.entries import Entry
from simfs.explore.token import Token
from simfs.explore.verdict import Counterexample

HEAD = '''"""{title}.

This test was made by

    simfs repro {token}

from this counterexample:

{story}
"""

'''
OF_MODULE = """import simfs
from {module} import {top}


def test_{name}() -> None:
    simfs.check({attribute}, disk={disk!r}, only=({law!r},))
"""
OF_FILE = """import importlib.util
from pathlib import Path

import simfs

PLACE = Path({place!r})
spec = importlib.util.spec_from_file_location(PLACE.stem, PLACE)
assert spec is not None and spec.loader is not None, f"{{PLACE}} has gone: run pytest where the test was made"
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


def test_{name}() -> None:
    simfs.check(module.{attribute}, disk={disk!r}, only=({law!r},))
"""
OF_CATALOGUE = """import simfs
from scenarios.catalog import catalogue


def test_{name}() -> None:
    scenario = catalogue()[{entry!r}].scenario({member!r})
    simfs.check(scenario, disk={disk!r}, only=({law!r},))
"""
OF_HISTORY = """import pytest

import simfs
from scenarios.catalog import catalogue
from simfs.explore.token import parse

HISTORY = {history!r}
\"\"\"The choices that make the operations of the history.\"\"\"


def test_{name}() -> None:
    try:
        found = catalogue()[{entry!r}].replay(parse(HISTORY))
    except simfs.StaleToken:
        return
    pytest.fail(str(found))
"""


def repro(token: Token, entry: Entry, found: Counterexample | str) -> str:
    """The text of the file."""
    reference = token.scenario
    law = found.law if isinstance(found, Counterexample) else "a law"
    name = re.sub(r"\W+", "_", f"{law} of {reference.rpartition(':')[2]}").strip("_").lower()
    story = found.text() if isinstance(found, Counterexample) else found
    title = f"{law} of {reference} was broken on {token.disk}"
    head = HEAD.format(title=title, token=token, story=_indented(story))
    place, colon, attribute = reference.rpartition(":")
    common = {"name": name, "disk": token.disk, "law": law}
    if not isinstance(found, Counterexample):
        return head + OF_HISTORY.format(history=str(token), entry=entry.name, **common)
    if colon and place.endswith(".py"):
        return head + OF_FILE.format(place=str(Path(place).resolve()), attribute=attribute, **common)
    if colon:
        return head + OF_MODULE.format(module=place, top=attribute.split(".")[0], attribute=attribute, **common)
    match = re.match(r"^(.*?)(?:\[(.*)\])?$", reference)
    assert match is not None
    return head + OF_CATALOGUE.format(entry=match[1], member=match[2] or "", **common)


def _indented(text: str) -> str:
    safe = text.replace("\\", "\\\\").replace('"""', "'''")
    return "\n".join(f"    {line}".rstrip() for line in safe.strip("\n").split("\n"))
