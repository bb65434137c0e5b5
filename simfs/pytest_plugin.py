"""The pytest plugin: the fixture `simfs_check`, and options that hold for every use of it.

    def test_settings(simfs_check):
        simfs_check(SaveSettings)

A broken law fails the test with the text report and no traceback: the report says more. The marker
`@pytest.mark.simfs(disk=[...], budget=60)` gives a test, class or module options of `explore`. Options of the command
line win: `--simfs-budget 60s`, `--simfs-disk MODELS`, `--simfs-report PLACE` (the verdicts of all tests and all workers
of pytest-xdist: as JSON where the name ends in .json, else a directory with the HTML page), and `--simfs-replay TOKEN`:
tests then run what the token says instead of searching; one whose scenario is another is skipped, and if none has the
scenario the run fails, because nothing was replayed.

Failures are remembered below `.simfs` and replayed first by the next run, of `simfs.check` too and in every worker;
`--simfs-database PLACE` keeps them elsewhere, and `--simfs-database off` does without.
"""

from __future__ import annotations

import errno
import json
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

REPORT_VERSION = 1
_UNITS_S = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}
_gathered = pytest.StashKey[list[dict[str, Any]]]()
_replayed = pytest.StashKey[list[str]]()
_unwritten = pytest.StashKey[str]()

Check = Callable[..., Any]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, in a group of their own."""
    group = parser.getgroup("simfs", "crash simulation (simfs)")
    group.addoption("--simfs-budget", metavar="TIME", help="time for each scenario and disk model, as 60s or 2m")
    group.addoption("--simfs-disk", metavar="MODELS", help="disk models for every scenario, by commas, or 'all'")
    group.addoption("--simfs-report", metavar="PLACE", help="write the verdicts of all tests to FILE.json or DIR")
    group.addoption("--simfs-database", metavar="PLACE", help="where failures are kept for the next run, or 'off'")
    group.addoption("--simfs-replay", metavar="TOKEN", help="run what this token says instead of searching")


def pytest_configure(config: pytest.Config) -> None:
    """Options are checked before anything runs."""
    config.addinivalue_line("markers", "simfs(**options): options of explore for simfs_check, as disk=[...], budget=60")
    config.stash[_gathered] = []
    config.stash[_replayed] = []
    seconds(config.getoption("--simfs-budget"))
    models(config.getoption("--simfs-disk"))
    if config.getoption("--simfs-database") is not None:
        os.environ["SIMFS_DATABASE"] = config.getoption("--simfs-database")
    if config.getoption("--simfs-report") is not None:
        check_place(config.getoption("--simfs-report"))
    token = config.getoption("--simfs-replay")
    if token is not None:
        from simfs.errors import BadToken
        from simfs.explore.token import parse

        try:
            parse(token)
        except BadToken as error:
            raise pytest.UsageError(str(error)) from None


def check_place(place: str) -> None:
    """Whether the report can be written, before anything runs for it. Raises pytest.UsageError."""
    directory = (os.path.dirname(place) or ".") if place.endswith(".json") else place
    try:
        if directory == place:
            os.makedirs(place, exist_ok=True)
        elif os.path.isdir(place):
            raise IsADirectoryError(errno.EISDIR, "it is a directory", place)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise pytest.UsageError(f"--simfs-report: {place} cannot be written: {error.strerror}") from None


def seconds(text: str | None) -> float | None:
    """A time as a person writes it. Raises pytest.UsageError."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|)", text.strip())
    if match is None or float(match[1]) == 0:
        raise pytest.UsageError(f"--simfs-budget: {text!r} is no time, write 60s, 2m or 500ms")
    return float(match[1]) * _UNITS_S[match[2]]


def models(text: str | None) -> list[str] | None:
    """Names of disk models. Raises pytest.UsageError for one that there is not."""
    if text is None:
        return None
    from simfs.disk.models import models_named
    from simfs.errors import UsageError

    names = [name.strip() for name in text.split(",")]
    try:
        return [model.name for model in models_named("all" if names == ["all"] else names)]
    except UsageError as error:
        raise pytest.UsageError(f"--simfs-disk: {error}") from None


@pytest.fixture
def simfs_check(request: pytest.FixtureRequest) -> Check:
    """`simfs.check` under the options of the command line: a function of a scenario and options of its own.

    Options of the command line win. The test fails with the text report when a law is broken, and with the reason when
    the search did not end. The answer is the `Verdict`.
    """
    config, where = request.config, request.node.nodeid

    def check(scenario: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        token = config.getoption("--simfs-replay")
        if token is not None:
            return _replay(config, token, scenario)
        return _search(config, where, scenario, {**marked(request.node), **options})

    return check


def marked(node: Any) -> dict[str, Any]:
    """The options that markers give a test, the nearest marker winning."""
    found: dict[str, Any] = {}
    for marker in reversed(list(node.iter_markers("simfs"))):
        if marker.args:
            pytest.fail("simfs: the marker takes options by name: simfs(disk=[...], budget=60)", pytrace=False)
        found.update(marker.kwargs)
    return found


def _search(config: pytest.Config, where: str, scenario: Any, options: dict[str, Any]) -> Any:
    __tracebackhide__ = True
    from simfs.errors import SimfsError
    from simfs.explore.check import why_not
    from simfs.explore.failures import explore_known_first

    budget, disk = seconds(config.getoption("--simfs-budget")), models(config.getoption("--simfs-disk"))
    options = {**options, **({"budget": budget} if budget else {}), **({"disk": disk} if disk else {})}
    try:
        verdict = explore_known_first(scenario, **options)
    except SimfsError as error:
        pytest.fail(f"simfs: {error}", pytrace=False)
    gather(config, where, verdict)
    if not verdict.ok:
        pytest.fail(why_not(verdict), pytrace=False)
    return verdict


def gather(config: pytest.Config, where: str, verdict: Any) -> None:
    """A verdict of a test goes into the report."""
    gathered = _as_json(where, verdict)
    place = config.getoption("--simfs-report")
    if place is not None and not place.endswith(".json"):
        gathered["artifact"] = _reporter("verdict")(verdict)
    config.stash[_gathered].append(gathered)


def wanted(config: pytest.Config, token: str, reference: str) -> Any:
    """The token, taken apart, where it is of this scenario; else the test is skipped."""
    __tracebackhide__ = True
    from simfs.explore.token import parse

    parsed = parse(token)
    if parsed.scenario != reference:
        pytest.skip(f"the token is of {parsed.scenario}, this is {reference}")
    config.stash[_replayed].append(reference)
    return parsed


def _replay(config: pytest.Config, token: str, scenario: Any) -> Any:
    __tracebackhide__ = True
    from simfs.errors import SimfsError
    from simfs.explore.explorer import replay
    from simfs.explore.spec import spec_of

    try:
        wanted(config, token, spec_of(scenario).reference)
        found = replay(token, scenario)
    except SimfsError as error:
        pytest.fail(f"simfs: {error}", pytrace=False)
    pytest.fail("\n" + found.text(), pytrace=False)


def _as_json(where: str, verdict: Any) -> dict[str, Any]:
    found = verdict.counterexample
    return {
        "test": where,
        "scenario": verdict.scenario,
        "status": verdict.status,
        "reason": verdict.reason,
        "survived": verdict.survived,
        "searched": asdict(verdict.searched),
        "models": {name: part.status for name, part in verdict.by_model.items()},
        "law": verdict.tags.get("law") if found is None else found.law,
        "token": verdict.tags.get("token") if found is None else found.token,
        "text": verdict.tags.get("text") if found is None else found.text(),
    }


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker hands its verdicts over; whoever runs alone or leads writes the report."""
    from simfs.errors import SimfsError

    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["simfs"] = json.dumps([config.stash[_gathered], config.stash[_replayed]])
        return
    place = config.getoption("--simfs-report")
    if place is not None:
        gathered: list[dict[str, Any]] = config.stash[_gathered]
        try:
            _write(place, sorted(gathered, key=lambda verdict: (verdict["test"], verdict["scenario"])))
        except (OSError, SimfsError) as error:
            config.stash[_unwritten] = str(error)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if _nothing_replayed(config) and session.exitstatus in (0, 5):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _write(place: str, verdicts: list[dict[str, Any]]) -> None:
    if place.endswith(".json"):
        document = {"simfs": REPORT_VERSION, "verdicts": verdicts}
        Path(place).write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    parts = [{"simfs": REPORT_VERSION, "verdicts": [verdict["artifact"]]} for verdict in verdicts]
    _reporter("report")(place, _reporter("merge")(parts))


def _reporter(name: str) -> Callable[..., Any]:
    """What is installed for writing reports, found by name because simfs imports no reports."""
    from simfs.explore.verdict import installed

    found = installed("simfs.renderer", name)
    if found is None:
        raise pytest.UsageError(
            f"--simfs-report: nothing installed can write a page (entry point {name}); name a .json file"
        )
    return found


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say it when a token found nobody."""
    if _nothing_replayed(config):
        token = config.getoption("--simfs-replay")
        terminalreporter.write_line(f"simfs: nothing was replayed: no test ran the scenario of {token}", red=True)
    place = config.getoption("--simfs-report")
    if _unwritten in config.stash:
        terminalreporter.write_line(f"simfs: no report: {config.stash[_unwritten]}", red=True)
    elif place is not None:
        count = len(config.stash[_gathered])
        terminalreporter.write_line(f"simfs: {count} verdict{'s' * (count != 1)} in {place}")


def _nothing_replayed(config: pytest.Config) -> bool:
    return config.getoption("--simfs-replay") is not None and not config.stash[_replayed]


class _FromWorkers:
    """Registered where pytest-xdist leads: takes what each worker hands over."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        handed = getattr(node, "workeroutput", {}).get("simfs")
        if handed:
            verdicts, replayed = json.loads(handed)
            node.config.stash[_gathered] += verdicts
            node.config.stash[_replayed] += replayed


def pytest_plugin_registered(plugin: Any, manager: pytest.PytestPluginManager) -> None:
    """The hook of pytest-xdist is asked for only where that is installed."""
    if type(plugin).__name__ == "DSession" and not manager.has_plugin("simfs-workers"):
        manager.register(_FromWorkers(), "simfs-workers")
