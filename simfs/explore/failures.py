"""The failure database: tokens of broken laws, kept below `.simfs/failures` and replayed first by the next search.

A file holds a token, and under it a mark of the bounds within which it was found. The next search of the same scenario
within the same bounds replays it, on the disk models that are asked for: one that still breaks a law is the verdict of
its model at once, with no search; one that is stale is forgotten, and the search goes on as if it had never been. A
search within other bounds leaves it alone: what breaks a law after a kill says nothing where nobody is killed.

Nothing but that is kept, and whoever cannot write there runs without. Files are replaced whole, so several processes
(the workers of pytest-xdist) may use one database.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from simfs.disk.models import models_named
from simfs.errors import BadToken, SimfsError, StaleToken, UsageError
from simfs.explore.explorer import explore, replay
from simfs.explore.group import Progress
from simfs.explore.jobs import Pool
from simfs.explore.reference import same
from simfs.explore.spec import spec_of
from simfs.explore.token import Token, parse
from simfs.explore.verdict import Counterexample, Searched, Verdict, together

VARIABLE, PLACE, OFF = "SIMFS_DATABASE", ".simfs", "off"
"""The variable that says where, what it is when nobody says so, and the word for nowhere."""
AGAIN = "a failure of an earlier run, replayed first"
NO_BOUNDS = frozenset({"disk", "budget", "seed", "strategy", "shrink", "only", "lazy"})
"""The options of a scenario that do not say which runs there are, only which of them are looked at, and how."""


@dataclass(frozen=True, slots=True)
class Failures:
    """The database in a directory; None: there is none."""

    directory: Path | None

    @classmethod
    def here(cls) -> Failures:
        """The one that the environment names, by default `.simfs` in the working directory."""
        place = os.environ.get(VARIABLE, PLACE)
        return cls(None if place in ("", OFF) else Path(place) / "failures")

    def known(self, wanted: Callable[[Token], bool], bounds: str = "") -> list[Token]:
        """The tokens that are wanted and were found within these bounds (or any, where one side has no mark of them),
        in a fixed order."""
        if self.directory is None or not self.directory.is_dir():
            return []
        found = []
        for path in sorted(self.directory.glob("*.token")):
            try:
                text, _, mark = path.read_text(encoding="utf-8").strip().partition("\n")
                token = parse(text)
            except (OSError, SimfsError, UnicodeDecodeError):
                continue
            if wanted(token) and (not mark or not bounds or mark == bounds):
                found.append(token)
        return found

    def remember(self, verdict: Verdict, bounds: str = "") -> None:
        """Keep the token of every broken law of a verdict."""
        parts = [verdict, *verdict.by_model.values()]
        tokens = {part.counterexample.token for part in parts if part.counterexample is not None}
        if self.directory is None or not tokens:
            return
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            (self.directory / ".gitignore").write_text("*\n", encoding="utf-8")
            for token in sorted(tokens):
                path = self._path(token)
                temporary = path.with_suffix(f".{os.getpid()}")
                temporary.write_text(f"{token}\n{bounds}\n" if bounds else f"{token}\n", encoding="utf-8")
                temporary.replace(path)
        except OSError:
            return

    def forget(self, token: Token) -> None:
        """Drop a token that breaks nothing any more."""
        try:
            self._path(str(token)).unlink(missing_ok=True)
        except OSError:
            return

    def _path(self, token: str) -> Path:
        assert self.directory is not None
        return self.directory / f"{blake2b(token.encode(), digest_size=8).hexdigest()}.token"


def bounds_of(options: dict[str, Any]) -> str:
    """A mark of the bounds that the options of a scenario set: equal for equal ones."""
    shown = repr([(name, options[name]) for name in sorted(options) if name not in NO_BOUNDS])
    return blake2b(shown.encode(), digest_size=8).hexdigest()


def explore_known_first(
    scenario: Any,
    failures: Failures | None = None,
    *,
    progress: Progress | None = None,
    jobs: int | Pool = 1,
    **options: Any,
) -> Verdict:
    """`explore`, with the known failures of the scenario replayed first, and its failures kept for the next time.

    `failures` is the database, that of the environment if None.
    """
    used = Failures.here() if failures is None else failures
    rest = {name: value for name, value in options.items() if name != "disk"}

    def again(token: Token) -> Counterexample:
        return replay(token, scenario, **rest)

    def search(disk: Sequence[str]) -> Verdict:
        return explore(scenario, progress=progress, jobs=jobs, **rest, disk=list(disk))

    return known_first(scenario, options, used, again, search)


def known_first(
    scenario: Any,
    options: dict[str, Any],
    failures: Failures,
    again: Callable[[Token], Counterexample | str],
    search: Callable[[Sequence[str]], Verdict],
) -> Verdict:
    """The verdict of a scenario under options: what is known to break a law on some model stands, the other models are
    searched. `again` replays a token, `search` searches some models."""
    spec = spec_of(scenario, **options)
    names, bounds = [model.name for model in models_named(spec.options["disk"])], bounds_of(spec.options)
    only = spec.options["only"]
    broken: dict[str, Verdict] = {}
    for token in failures.known(lambda token: same(token.scenario, spec.reference), bounds):
        if token.disk in names and token.disk not in broken:
            found = still_broken(token, only, failures, again)
            if found is not None:
                broken[token.disk] = verdict_again(spec.name, token, found)
    rest = [name for name in names if name not in broken]
    if not broken:
        verdict = search(names)
    elif rest:
        searched = search(rest)
        parts = searched.by_model or {searched.disk: searched}
        verdict = together([broken.get(name) or parts[name] for name in names])
    else:
        verdict = together([broken[name] for name in names])
    failures.remember(verdict, bounds)
    return verdict


def still_broken(
    token: Token, only: Sequence[str], failures: Failures, again: Callable[[Token], Counterexample | str]
) -> Counterexample | None:
    """What a token breaks, of the laws that are judged; None where nothing. A token that is stale is forgotten."""
    try:
        found = again(token)
    except (StaleToken, BadToken, UsageError):
        failures.forget(token)
        return None
    if not isinstance(found, Counterexample) or (only and found.law not in only):
        return None
    return found


def verdict_again(name: str, token: Token, found: Counterexample) -> Verdict:
    """The verdict that a known failure is."""
    reason = f"law {found.law} is broken ({AGAIN})"
    return Verdict(name, "violated", Searched(executions=1, images=1), found, reason, token.disk)
