"""A fault that names a process strikes that process and no other, in every plan of the search."""

from __future__ import annotations

import errno
from typing import Any

import simfs
from simfs.machine.faults import Errno


class TwoWriters(simfs.Scenario):
    """Two processes flush; only the first may be told that it failed."""

    faults = (Errno(("fsync",), process="first", code=errno.EIO),)

    @simfs.process
    def first(self, m: Any) -> None:
        self.flush(m)

    @simfs.process
    def second(self, m: Any) -> None:
        self.flush(m)

    def flush(self, m: Any) -> None:
        fd = m.system.open(f"/{m.process}", 0o101)
        try:
            m.system.fsync(fd)
        except OSError:
            m.effect("told", m.process)

    @simfs.law
    def only_the_first_is_told(self, m: Any) -> None:
        assert {event.value for event in m.history} <= {"first"}


class NobodyIsTold(TwoWriters):
    """The opposite of the law, to see that the first is struck at all."""

    @simfs.law
    def only_the_first_is_told(self, m: Any) -> None:
        assert not m.history


def test_a_fault_strikes_the_process_that_it_names_and_no_other() -> None:
    assert simfs.explore(TwoWriters, power=False).status == "proved"
    assert simfs.explore(NobodyIsTold, power=False).status == "violated"


class DiesWhileItMendsWhatFailed(simfs.Scenario):
    """The first flush is of no account; after the second has failed there are calls that a good run does not make."""

    faults = (Errno(("fsync",), code=errno.EIO),)
    kills = 1

    @simfs.process(raises=OSError)
    def writer(self, m: Any) -> None:
        fd = m.system.open("/a", 0o101)
        m.system.fsync(fd)
        try:
            m.system.fsync(fd)
        except OSError:
            m.effect("told")
            m.system.open("/b", 0o101)
            m.system.unlink("/b")

    @simfs.law
    def what_was_begun_is_mended(self, m: Any) -> None:
        assert "b" not in m.system.listdir("/")


def test_kills_are_planned_in_what_a_process_does_about_a_fault() -> None:
    assert simfs.explore(DiesWhileItMendsWhatFailed, power=False, kills=0).status == "proved"
    assert simfs.explore(DiesWhileItMendsWhatFailed, power=False).status == "violated"
