"""Running entries one after the other, telling how far it is, and ending well whatever happens.

On a terminal a bar is drawn on the error stream; elsewhere each finished entry is a plain line. Ctrl-C ends the entry
that is running: it counts as inconclusive, with what was searched until then, and what was finished stands. A run that
cannot be judged (a call with no model, a reach for the real disk) makes its entry inconclusive and not the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from reports import summary
from scenarios.entries import Ask, Entry
from scenarios.failures import run_known_first
from simfs.errors import SetupFailed
from simfs.explore.failures import Failures
from simfs.explore.verdict import Searched, Verdict
from simfs.machine.errors import NotSimulated
from simfs.patch import EscapedToHost

WORST_FIRST = ("violated", "inconclusive")
Tell = Callable[[str, Searched], None]
"""(name of the running entry, or "" when one has ended; its counts) -> None."""
EXIT_CODES = {"violated": 1, "inconclusive": 3}
"""By the worst status; everything else is 0."""


NONE = Failures(None)


class Session:
    """One run of several entries. `verdicts` grows as they end; `interrupted` says that a person ended it."""

    def __init__(
        self, entries: Sequence[Entry], ask: Ask, out: TextIO | None = None, failures: Failures = NONE
    ) -> None:
        self.failures = failures
        self.entries = entries
        self.ask = ask
        self.out = sys.stderr if out is None else out
        self.verdicts: list[Verdict] = []
        self.interrupted = False
        self._told = Searched()

    def run(self) -> list[Verdict]:
        """Run them all, or as far as one is let."""
        with self._bar() as tell:
            for entry in self.entries:
                self._told = Searched()
                tell(entry.name, self._told)
                try:
                    verdict = self._one(entry, tell)
                except KeyboardInterrupt:
                    self.interrupted = True
                    verdict = Verdict(entry.name, "inconclusive", self._told, reason="interrupted by Ctrl-C")
                self.verdicts.append(verdict)
                tell("", verdict.searched)
                if self.interrupted:
                    break
        return self.verdicts

    @property
    def exit_code(self) -> int:
        """0 when every entry is proved, bounded or sampled."""
        for status in WORST_FIRST:
            if any(verdict.status == status for verdict in self.verdicts):
                return EXIT_CODES[status]
        return 0

    def _one(self, entry: Entry, tell: Tell) -> Verdict:
        def progress(searched: Searched) -> None:
            self._told = searched
            tell(entry.name, searched)

        try:
            return run_known_first(entry, self.ask, progress, self.failures)
        except SetupFailed as error:
            return Verdict(entry.name, "inconclusive", self._told, reason=str(error))
        except (NotSimulated, EscapedToHost) as error:
            return Verdict(entry.name, "inconclusive", self._told, reason=f"cannot be judged: {error}")

    @contextmanager
    def _bar(self) -> Iterator[Tell]:
        if not self.out.isatty():
            yield self._plain
            return
        columns = (TextColumn("{task.description:<22}"), BarColumn(20), TextColumn("{task.fields[counts]}"))
        with Progress(*columns, TimeElapsedColumn(), console=Console(file=self.out), transient=True) as bar:
            task = bar.add_task("", total=len(self.entries), counts="")

            def tell(name: str, searched: Searched) -> None:
                if not name:
                    bar.update(task, advance=1)
                    return
                counts = f"{searched.crash_points:,} points, {searched.distinct_images:,} images"
                if searched.estimate is not None:
                    counts += f", {searched.executions:,} of about {searched.estimate:,.0f} runs"
                bar.update(task, description=name, counts=counts)

            yield tell

    def _plain(self, name: str, searched: Searched) -> None:
        if not name:
            print(summary.line(self.verdicts[-1]), file=self.out, flush=True)
