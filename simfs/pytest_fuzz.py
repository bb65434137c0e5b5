"""The pytest fixture `simfs_fuzz`: drawn histories of a program, a scenario or a target of the catalogue.

    def test_saves(simfs_fuzz):
        simfs_fuzz(SaveProgram)

A test draws `histories=100` of them from the seed 0, so a run without options is the same each time. With a budget in
time (`--simfs-budget 60s`, the marker or the argument) it draws until that is used up, from a fresh seed where
`--simfs-seed` gives none. The first broken law fails the test with the shrunk history and the line that replays it. The
seed is said with it.

What showed something new, and what broke a law, is kept below `.simfs/corpus` (`--simfs-corpus DIR`, or `off`) and
replayed first by the next run; the workers of pytest-xdist share it. `--simfs-replay TOKEN` plays a token of the target
back, and other tests are skipped. Verdicts go into `--simfs-report`.

The fuzzer itself is found by the entry point group `simfs.fuzzer`: simfs draws nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simfs.pytest_plugin import gather, marked, models, seconds, wanted

HISTORIES = 100
OPTIONS = ("histories", "budget", "seed", "corpus", "disk")

Fuzz = Callable[..., Any]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the fixture, besides those that it shares with `simfs_check`."""
    group = parser.getgroup("simfs", "crash simulation (simfs)")
    group.addoption("--simfs-seed", metavar="SEED", help="any word, from which simfs_fuzz draws")
    group.addoption("--simfs-corpus", metavar="DIR", help="where simfs_fuzz keeps what showed something new, or 'off'")


@pytest.fixture
def simfs_fuzz(request: pytest.FixtureRequest) -> Fuzz:
    """A function of a target and options: a `simfs.Program` or another scenario (class or object), or a name as
    `simfs fuzz` takes it. Options are `histories`, `budget` (seconds), `seed`, `corpus` and `disk`; those of the
    command line win. The answer is the `Verdict`; a broken law fails the test."""
    config, node = request.config, request.node

    def fuzz(target: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        from simfs.errors import SimfsError

        try:
            token = config.getoption("--simfs-replay")
            if token is not None:
                parsed = wanted(config, token, _fuzzer("name")(target))
                wrong = "\n" + _fuzzer("replay")(target, parsed)
            else:
                asked = _asked(config, {**marked(node), **options})
                verdict = _fuzzer("fuzz")(target, **asked)
                gather(config, node.nodeid, verdict)
                wrong = "" if verdict.ok else _why(verdict, asked["seed"], node)
        except SimfsError as error:
            wrong = f"simfs: {error}"
        if wrong:
            pytest.fail(wrong, pytrace=False)
        return verdict

    return fuzz


def _asked(config: pytest.Config, given: dict[str, Any]) -> dict[str, Any]:
    """What the fuzzer is called with. Raises UsageError."""
    from simfs.errors import UsageError

    unknown = sorted(set(given) - set(OPTIONS))
    if unknown:
        raise UsageError(f"simfs_fuzz: unknown option {', '.join(unknown)}; there are {', '.join(OPTIONS)}")
    budget = seconds(config.getoption("--simfs-budget")) or given.get("budget")
    histories = given.get("histories", HISTORIES)
    if isinstance(histories, bool) or not isinstance(histories, int) or histories < 1:
        raise UsageError(f"simfs_fuzz: histories={histories!r} is no number of histories: write 1 or more")
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int | float) or budget <= 0):
        raise UsageError(f"simfs_fuzz: budget={budget!r} is no time in seconds")
    seed = config.getoption("--simfs-seed") or given.get("seed")
    if seed is None:
        seed = "0" if budget is None else os.urandom(6).hex()
    return {
        "histories": histories,
        "budget": budget,
        "seed": str(seed),
        "corpus": _corpus(config.getoption("--simfs-corpus") or given.get("corpus")),
        "disk": models(config.getoption("--simfs-disk")) or given.get("disk"),
    }


def _corpus(place: str | None) -> str | None:
    """The directory of the corpus, None for none."""
    from simfs.explore.failures import OFF, PLACE, VARIABLE

    if place is None:
        database = os.environ.get(VARIABLE, PLACE)
        if database in ("", OFF):
            return None
        place = f"{database}/corpus"
        try:
            Path(place).mkdir(parents=True, exist_ok=True)
            Path(place, ".gitignore").write_text("*\n", encoding="utf-8")
        except OSError:
            return None
    return None if place == OFF else os.path.abspath(place)


def _why(verdict: Any, seed: str, node: Any) -> str:
    """What a person is told: the history and how to run it again, or why there is no verdict."""
    if "text" not in verdict.tags:
        return f"{verdict.scenario}: {verdict.status} on {verdict.disk}: {verdict.reason}\nseed {seed}"
    text, token = verdict.tags["text"], verdict.tags["token"]
    if "<locals>" in token:
        text = text.replace(f"simfs replay {token}", f"pytest {node.nodeid} --simfs-replay '{token}'")
    return f"{verdict.scenario}: {verdict.reason}\n{text}\n\nFound with --simfs-seed {seed}"


def _fuzzer(name: str) -> Callable[..., Any]:
    """What is installed for drawing histories, found by name because simfs imports no scenarios."""
    from simfs.errors import UsageError
    from simfs.explore.verdict import installed

    found = installed("simfs.fuzzer", name)
    if found is None:
        raise UsageError(f"simfs_fuzz: nothing installed can draw histories (entry point {name} of simfs.fuzzer)")
    return found
