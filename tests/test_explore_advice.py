"""Advice names the smallest set of flushes that makes a scenario hold, why each is needed, and which are redundant."""

from __future__ import annotations

import os
from typing import Any

import pytest

import simfs
from simfs.explore.advice import Advice, advise, redundant_flushes


def flush(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


class Save(simfs.Scenario):
    """The file is the old text or the new one, and the new one once it was promised."""

    flush_file = False
    flush_directory = False
    in_place = False

    def setup(self, m: Any) -> None:
        with open("/f", "w") as file:
            file.write("old")

    @simfs.process
    def save(self, m: Any) -> None:
        fd = os.open("/f" if self.in_place else "/t", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.write(fd, b"new")
        if self.flush_file:
            os.fsync(fd)
        os.close(fd)
        if not self.in_place:
            os.rename("/t", "/f")
        if self.flush_directory:
            flush("/")
        m.ack("saved")

    @simfs.law
    def old_or_new(self, m: Any) -> None:
        found = open("/f").read()
        assert found == "new" if m.acked("saved") else found in ("old", "new")


def with_flags(**flags: bool) -> type[simfs.Scenario]:
    return type("Save", (Save,), flags)


def added(advice: Advice | None) -> list[tuple[str, str]]:
    assert advice is not None and advice.decided and advice.smallest
    return [(flush.what, flush.call) for flush in advice.added]


BOTH = [("file", "write"), ("directory", "rename")]


@pytest.mark.parametrize("disk", ["synced-only", "prefix", "ext4"])
def test_the_flushes_of_the_public_fix_are_found(disk: str) -> None:
    assert added(advise(with_flags(), disk)) == BOTH
    assert added(advise(with_flags(flush_file=True), disk)) == BOTH[1:]
    assert added(advise(with_flags(flush_directory=True), disk)) == BOTH[:1]


def test_a_scenario_that_holds_needs_no_advice() -> None:
    assert advise(with_flags(flush_file=True, flush_directory=True), "ext4") is None


def test_a_wrong_order_of_writes_is_mended_by_no_flush() -> None:
    advice = advise(with_flags(in_place=True), "ext4")
    assert advice is not None and advice.decided and not advice.exists
    assert advice.lines() == ["No set of added flushes makes it hold: the order of the writes is wrong."]


def test_the_cause_is_the_call_that_the_flush_cannot_be_delayed_past() -> None:
    advice = advise(with_flags(), "ext4")
    assert advice is not None
    first, second = (str(cause) for cause in advice.causes)
    assert "3 bytes written to /t" in first and "before the rename of /t to /f" in first
    assert "the rename of /t to /f" in second and "before the promise 'saved'" in second


def test_what_is_needed_depends_on_the_model() -> None:
    assert added(advise(with_flags(), "ext4:dioread=lock")) == BOTH[1:]
    assert advise(with_flags(), "scc") is None


def test_redundant_flushes_are_those_without_which_it_still_holds() -> None:
    good = with_flags(flush_file=True, flush_directory=True)
    assert redundant_flushes(good, "prefix") == []
    assert [found.what for found in redundant_flushes(good, "ext4:dioread=lock")] == ["file"]
    assert [found.what for found in redundant_flushes(good, "scc")] == ["file", "directory"]
    with pytest.raises(simfs.UsageError, match="does not hold"):
        redundant_flushes(with_flags(), "prefix")


class Recovers(simfs.Scenario):
    """Recovery makes a name and promises it; another power loss must not take it."""

    power_depth = 2

    @simfs.process
    def nothing(self, m: Any) -> None:
        m.ack("ran")

    @simfs.recover
    def make(self, m: Any) -> None:
        os.makedirs("/d", exist_ok=True)
        m.ack("made")

    @simfs.law
    def is_there(self, m: Any) -> None:
        assert not m.acked("made") or os.path.isdir("/d")


def test_flushes_missing_from_recovery_are_found_as_well() -> None:
    class Forgets(Recovers):
        @simfs.recover
        def make(self, m: Any) -> None:
            if not m.acked("made"):
                os.mkdir("/d")
            m.ack("made")

    advice = advise(Forgets, "prefix")
    assert advice is not None
    assert [(flush.what, flush.path) for flush in advice.added] in ([("directory", "/")], [])


def test_a_process_that_is_promised_to_by_another_is_covered_by_happens_before() -> None:
    class Together(simfs.Scenario):
        """What one process wrote and the other saw and promised stays."""

        @simfs.process
        def writer(self, m: Any) -> None:
            os.mkdir("/d")

        @simfs.process
        def reader(self, m: Any) -> None:
            if os.path.isdir("/d"):
                m.ack("seen")

        @simfs.law
        def stays(self, m: Any) -> None:
            assert not m.acked("seen") or os.path.isdir("/d")

    advice = advise(Together, "prefix")
    assert advice is not None and not advice.exists


def test_a_counterexample_searches_for_advice_when_it_is_asked() -> None:
    found = simfs.explore(with_flags(), disk="ext4").counterexample
    assert found is not None
    assert added(found.advice) == BOTH
    assert found.advice.as_values()["added"][0]["flush"] == "file"
    assert "fsync the file /t" in " ".join(found.text().split())
