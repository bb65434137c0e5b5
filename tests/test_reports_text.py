"""The text report of a counterexample: its seven parts, their order, their width, to the letter.

The golden files are read by a person before they are accepted. After a change of the reports:
`SIMFS_GOLDEN=write pytest tests/test_reports_text.py`, read the difference, commit it with the change.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import simfs
from reports.text import render
from simfs.explore.judge import without_explanation
from tests import report_programs

GOLDEN = Path(__file__).parent / "golden" / "reports"
PROGRAMS = [
    report_programs.RenameWithoutFlush,
    report_programs.EntryNeverFlushed,
    report_programs.LostUpdate,
    report_programs.RecoveryForgets,
    report_programs.TornLine,
]
PARTS = ("LAW BROKEN:", "Promised:", "Found:", "What happened", "Left on the disk:", "Cause:", "Searched:", "Replay:")


def broken(program: type[simfs.Scenario]) -> simfs.Counterexample:
    found = simfs.explore(program).counterexample
    assert found is not None
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_report_of_a_planted_fault_is_the_golden_one(program: type[simfs.Scenario]) -> None:
    text = broken(program).text() + "\n"
    golden = GOLDEN / f"{program.__name__}.txt"
    if os.environ.get("SIMFS_GOLDEN") == "write":
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_report_has_its_parts_in_order_and_fits_its_width(program: type[simfs.Scenario], width: int) -> None:
    lines = render(broken(program), width).split("\n")
    assert all(len(line) <= width for line in lines if "simfs replay" not in line)
    places = [next(at for at, line in enumerate(lines) if line.startswith(part)) for part in PARTS]
    assert places == sorted(places)


def test_the_last_line_of_a_report_is_the_line_to_paste() -> None:
    found = broken(report_programs.TornLine)
    assert found.text().split("\n")[-1] == f"  simfs replay {found.token}"


def test_colour_changes_no_letter_and_is_off_by_default() -> None:
    found = broken(report_programs.RenameWithoutFlush)
    assert "\x1b" not in found.text()
    assert re.sub(r"\x1b\[\d+m", "", found.text(colour=True)) == found.text()


def test_a_lost_promise_is_named_with_the_line_that_made_it_and_the_line_that_promised_it() -> None:
    cause = " ".join(broken(report_programs.EntryNeverFlushed).text().split("Cause:")[1].split("Searched:")[0].split())
    assert re.match(
        r"The entry of me/notes/today\.txt \(made at tests/report_programs\.py:\d+\) was never flushed"
        r" before the promise at tests/report_programs\.py:\d+: saved='today'\.",
        cause,
    )


def test_a_survivor_that_overtook_a_loss_is_named_with_it() -> None:
    cause = " ".join(broken(report_programs.RenameWithoutFlush).text().split("Cause:")[1].split("Searched:")[0].split())
    assert "The 8 bytes written to settings.json.tmp" in cause
    assert "while the rename of settings.json.tmp to settings.json" in cause


def test_a_law_broken_without_a_message_shows_the_line_that_says_so() -> None:
    text = broken(report_programs.RecoveryForgets).text()
    assert "Found:     does not hold: assert file.read() == m.acks[0][1] (in the_name_stays" in text


def test_what_pytest_adds_to_a_message_is_left_out() -> None:
    said = "two were told so\nassert 1 >= 2\n +  where 2 = len([...])\n +    where [...] = m.acks"
    assert without_explanation(said) == "two were told so"
    assert without_explanation("assert 1 >= 2\n +  where 2 = len([])") == "assert 1 >= 2"
    assert without_explanation("one\nand two") == "one\nand two"


class MoreThanFlushes(simfs.Scenario):
    """A line is appended by two lives of a writer, and the first may leave half of one."""

    @simfs.process(restart=1)
    def writer(self, m: simfs.Handle) -> None:
        with open("/lines", "a") as file:
            file.write(f"line {m.boot}\n")
        m.ack("line", m.boot)

    @simfs.law
    def lines_stay(self, m: simfs.Handle) -> None:
        """A promised line is there."""
        lines = open("/lines").read().splitlines() if os.path.exists("/lines") else []
        for _, number in m.acks:
            assert f"line {number}" in lines, f"line {number} is gone"


def test_where_flushes_do_not_help_the_story_that_is_left_is_told() -> None:
    text = " ".join(broken(MoreThanFlushes).text().split())
    assert "were never flushed before the promise" in text
    assert "With all of them added it is still broken: line 2 is gone." in text


def test_a_replay_says_that_nothing_was_searched() -> None:
    found = broken(report_programs.TornLine)
    assert "Searched: Nothing: this is one run" in " ".join(
        simfs.replay(found.token, report_programs.TornLine).text().split()
    )
