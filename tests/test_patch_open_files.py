"""A real file that was open before the run is not written by a simulated process."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from simfs.machine.machine import Machine
from simfs.patch import EscapedToHost, interposed, process_of, taken_escapes


class Journal:
    """Opens its file when it is made, as modules do at import."""

    def __init__(self, path: Path) -> None:
        self.file = open(path, "a")

    def add(self, line: str) -> None:
        """One line, at once."""
        self.file.write(line + "\n")
        self.file.flush()


def test_an_object_made_before_the_run_does_not_write_its_real_file(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    handler = logging.FileHandler(tmp_path / "log")
    log = logging.Logger("app")
    log.addHandler(handler)
    machine = Machine()
    with interposed():
        with process_of(machine):
            with pytest.raises(EscapedToHost, match="use of the real file"):
                journal.add("by the process")
            with pytest.raises(EscapedToHost, match="use of the real file"):
                log.warning("by the process")
        journal.add("by the runner")
        log.warning("by the runner")
    assert (tmp_path / "journal").read_text() == (tmp_path / "log").read_text() == "by the runner\n"
    assert type(journal.file).__name__ == "TextIOWrapper" and len(taken_escapes()) == 2
    journal.file.close()
    handler.close()


def test_a_file_that_was_closed_meanwhile_is_not_kept(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    with interposed():
        journal.file.close()
    assert journal.file.closed
