"""The failure database: tokens of broken laws, kept below `.simfs/failures` and replayed first by the next run.

A file holds one token. A run replays the tokens of the scenarios that it is asked for, on the disk models that it is
asked for: one that still breaks a law is the verdict of its model at once, with no search; one that is stale is
forgotten, and the search goes on as if it had never been. Nothing but tokens is kept, and whoever cannot write there
runs without.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from scenarios.entries import Ask, Entry, One, Progress
from simfs.disk.models import models_named
from simfs.errors import SimfsError
from simfs.explore.spec import spec_of
from simfs.explore.token import Token, parse
from simfs.explore.verdict import Counterexample, Searched, Verdict, together

VARIABLE, PLACE, OFF = "SIMFS_DATABASE", ".simfs", "off"
"""The variable that says where, what it is when nobody says so, and the word for nowhere."""
AGAIN = "a failure of an earlier run, replayed first"


@dataclass(frozen=True, slots=True)
class Failures:
    """The database in a directory; None: there is none."""

    directory: Path | None

    @classmethod
    def here(cls) -> Failures:
        """The one that the environment names, by default `.simfs` in the working directory."""
        place = os.environ.get(VARIABLE, PLACE)
        return cls(None if place in ("", OFF) else Path(place) / "failures")

    def known(self, entry: Entry) -> list[Token]:
        """Tokens of this entry, in a fixed order."""
        if self.directory is None or not self.directory.is_dir():
            return []
        found = []
        for path in sorted(self.directory.glob("*.token")):
            try:
                token = parse(path.read_text(encoding="utf-8"))
            except (OSError, SimfsError, UnicodeDecodeError):
                continue
            if of(entry, token):
                found.append(token)
        return found

    def remember(self, verdict: Verdict) -> None:
        """Keep the token of every broken law of a verdict."""
        parts = [verdict, *verdict.by_model.values()]
        tokens = {part.counterexample.token for part in parts if part.counterexample is not None}
        if self.directory is None or not tokens:
            return
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            for token in sorted(tokens):
                self._path(token).write_text(f"{token}\n", encoding="utf-8")
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


def of(entry: Entry, token: Token) -> bool:
    """Whether a token is of this entry, or of a member of it."""
    if isinstance(entry, One):
        return token.scenario == spec_of(entry.kind).reference
    return token.scenario == entry.name or token.scenario.startswith(f"{entry.name}[")


def run_known_first(entry: Entry, ask: Ask, progress: Progress | None, failures: Failures) -> Verdict:
    """An entry's verdict: what is known to break a law on some model stands, the other models are searched."""
    if not isinstance(entry, One):
        return _of_many(entry, ask, progress, failures)
    spec = spec_of(entry.kind, **ask.options())
    names = [model.name for model in models_named(spec.options["disk"])]
    broken: dict[str, Verdict] = {}
    for token in failures.known(entry):
        if token.disk in names and token.disk not in broken:
            found = _still_broken(entry, token, ask.only, failures)
            if found is not None:
                broken[token.disk] = _verdict(entry, token, found)
    rest = [name for name in names if name not in broken]
    if not broken:
        verdict = entry.run(ask, progress)
    elif rest:
        searched = entry.run(replace(ask, disk=rest), progress)
        parts = searched.by_model or {searched.disk: searched}
        verdict = together([broken.get(name) or parts[name] for name in names])
    else:
        verdict = together([broken[name] for name in names])
    failures.remember(verdict)
    return verdict


def _of_many(entry: Entry, ask: Ask, progress: Progress | None, failures: Failures) -> Verdict:
    wanted = None if ask.disk is None else [model.name for model in models_named(ask.disk)]
    for token in failures.known(entry):
        if wanted is None or token.disk in wanted:
            found = _still_broken(entry, token, ask.only, failures)
            if found is not None:
                return together([_verdict(entry, token, found)])
    verdict = entry.run(ask, progress)
    failures.remember(verdict)
    return verdict


def _still_broken(entry: Entry, token: Token, only: Sequence[str], failures: Failures) -> Counterexample | None:
    try:
        found = entry.replay(token)
    except SimfsError:
        failures.forget(token)
        return None
    if not isinstance(found, Counterexample) or (only and found.law not in only):
        return None
    return found


def _verdict(entry: Entry, token: Token, found: Counterexample) -> Verdict:
    reason = f"law {found.law} is broken ({AGAIN})"
    return Verdict(entry.name, "violated", Searched(executions=1, images=1), found, reason, token.disk)
