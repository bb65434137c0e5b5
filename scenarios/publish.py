"""From the verdicts of a run to its reports: the page, JUnit, GitHub's summary and annotations.

The document is the JSON artifact with what only the catalogue knows: every law with the entries that judge it, and the
mutants with the law that noticed each, when they were run. All reports are made from that document, so a document that
was read from a file, or put together from several, gives the same ones.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports.artifact import artifact
from reports.github import annotation_lines, step_summary
from reports.html import write_report
from reports.junit import junit
from scenarios.catalog import catalogue
from scenarios.entries import Entry
from scenarios.laws import laws
from simfs.errors import UsageError
from simfs.explore.law import Law
from simfs.explore.verdict import Verdict

if TYPE_CHECKING:
    from scenarios.mutants.table import Judged

Document = dict[str, Any]
SUMMARY_FILE = "GITHUB_STEP_SUMMARY"
"""The variable in which GitHub Actions names the file of a step's summary."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where reports are wanted; None and False: not at all."""

    report: str | None = None
    junit: str | None = None
    github: bool = False

    @property
    def wanted(self) -> bool:
        """Whether any report is."""
        return self.report is not None or self.junit is not None or self.github


def document_of(verdicts: Sequence[Verdict], entries: Sequence[Entry], judged: Sequence[Judged] | None) -> Document:
    """The artifact of a run, with laws and mutants."""
    document = artifact(verdicts)
    document["laws"] = _laws(entries)
    if judged is not None:
        document["mutants"] = [
            {
                "store": one.store,
                "name": one.mutant.name,
                "law": one.law,
                "scenario": one.scenario,
                "disk": one.disk,
                "accepted": one.mutant.accepted or "",
            }
            for one in judged
        ]
    return document


def _laws(entries: Sequence[Entry]) -> list[Document]:
    """The laws that the entries judge, in their order; then, where everything was run, those that nobody judges."""
    found: dict[str, tuple[Law, list[str]]] = {}
    for entry in entries:
        for law in entry.laws:
            found.setdefault(law.id, (law, []))[1].append(entry.name)
    if {entry.name for entry in entries} >= set(catalogue()):
        for law in laws().values():
            found.setdefault(law.id, (law, []))
    return [
        {"id": law.id, "statement": law.statement, "store": law.store, "planned": law.planned, "judged": judged}
        for law, judged in found.values()
    ]


def check_places(places: Places) -> None:
    """Find out before a long run that a report cannot be written after it. Raises UsageError."""
    if places.report is not None:
        try:
            Path(places.report).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"the report cannot be written: {places.report}: {error.strerror}") from None
        if not os.access(places.report, os.W_OK | os.X_OK):
            raise UsageError(f"the report cannot be written: {places.report}: Permission denied")
    if places.junit is not None and not Path(places.junit).parent.is_dir():
        raise UsageError(f"{places.junit} cannot be written: there is no directory {Path(places.junit).parent}")


def publish(document: Document, places: Places) -> list[str]:
    """Write every report that is wanted. Answers lines that say where, and GitHub's annotations. Raises UsageError."""
    said: list[str] = []
    try:
        if places.junit is not None:
            Path(places.junit).write_text(junit(document), encoding="utf-8", errors="backslashreplace")
        if places.github:
            said += annotation_lines(document)
            summary = os.environ.get(SUMMARY_FILE)
            if summary:
                with open(summary, "a", encoding="utf-8", errors="backslashreplace") as file:
                    file.write(step_summary(document))
    except OSError as error:
        raise UsageError(f"the report cannot be written: {error.filename}: {error.strerror}") from None
    if places.report is not None:
        said.append(f"report: {write_report(places.report, document)}")
    return said


def say_published(said: list[str], quiet: bool) -> None:
    """Annotations belong to the output, where GitHub looks for them, unless that holds JSON; all else is a message."""
    for line in said:
        print(line, file=sys.stdout if line.startswith("::") and not quiet else sys.stderr)
