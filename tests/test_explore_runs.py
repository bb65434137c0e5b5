"""Kills, deadlocks, clocks, histories, restarts and the words of a verdict."""

from __future__ import annotations

import fcntl
import os
import re
from typing import Any

import pytest

import simfs
from simfs.machine.faults import Errno, Short


def put(s: Any, path: str, data: bytes) -> None:
    fd = s.open(path, os.O_CREAT | os.O_RDWR | os.O_TRUNC)
    s.write(fd, data)
    s.close(fd)


def get(s: Any, path: str) -> bytes:
    fd = s.open(path, os.O_RDONLY)
    data: bytes = s.read(fd, 100)
    s.close(fd)
    return data


class System(simfs.Scenario):
    """A scenario over `m.system`."""

    interpose = False


class Claim(System):
    """A job that is due is run once, among three processes that share its file under a lock."""

    disk = "scc"
    power = False
    kills = 1
    locked = True

    def setup(self, m: Any) -> None:
        put(m.system, "/jobs", b"due")
        put(m.system, "/lock", b"")

    def tick(self, m: Any) -> None:
        s = m.system
        lock = s.open("/lock", os.O_RDWR)
        if self.locked:
            s.flock(lock, fcntl.LOCK_EX)
        if get(s, "/jobs") == b"due":
            put(s, f"/jobs.{m.process}", b"claimed")
            s.rename(f"/jobs.{m.process}", "/jobs")
            m.effect("run")
        s.close(lock)

    @simfs.process
    def first(self, m: Any) -> None:
        self.tick(m)

    @simfs.process
    def second(self, m: Any) -> None:
        self.tick(m)

    @simfs.process
    def third(self, m: Any) -> None:
        self.tick(m)

    @simfs.law
    def once(self, m: Any) -> None:
        assert m.effects("run") <= 1


class UnlockedClaim(Claim):
    """The same without the lock."""

    locked = False


def test_a_locked_claim_with_every_kill_takes_138_runs() -> None:
    verdict = simfs.explore(Claim)
    assert verdict.status == "proved"
    assert verdict.searched.executions == 138
    assert verdict.searched.blocked == 0


def test_without_the_lock_the_claim_is_made_twice() -> None:
    verdict = simfs.explore(UnlockedClaim)
    assert verdict.counterexample is not None
    assert verdict.counterexample.law == "once"


class KillInside(System):
    """Nothing is promised of a write of three pages that its process died in."""

    disk = "scc"
    power = False
    kills = 1
    sizes: set[int] = set()  # noqa: RUF012 - what the law saw, for the test

    @simfs.process
    def writer(self, m: Any) -> None:
        put(m.system, "/big", b"x" * 12_288)

    @simfs.law
    def look(self, m: Any) -> None:
        try:
            type(self).sizes.add(len(get_all(m.system, "/big")))
        except FileNotFoundError:
            type(self).sizes.add(-1)


def get_all(s: Any, path: str) -> bytes:
    fd = s.open(path, os.O_RDONLY)
    data: bytes = s.read(fd, 1 << 20)
    s.close(fd)
    return data


def test_a_kill_inside_a_write_leaves_whole_pages() -> None:
    assert simfs.explore(KillInside).status == "proved"
    assert KillInside.sizes == {-1, 0, 4096, 8192, 12_288}


class Deadly(System):
    """Two locks taken in opposite order."""

    power = False
    disk = "scc"

    def setup(self, m: Any) -> None:
        put(m.system, "/a", b"")
        put(m.system, "/b", b"")

    def take(self, m: Any, names: str) -> None:
        for name in names:
            m.system.flock(m.system.open(f"/{name}", os.O_RDWR), fcntl.LOCK_EX)

    @simfs.process
    def one(self, m: Any) -> None:
        self.take(m, "ab")

    @simfs.process
    def other(self, m: Any) -> None:
        self.take(m, "ba")

    @simfs.law
    def fine(self, m: Any) -> None:
        """Nothing to judge."""


def test_a_deadlock_is_found_with_its_wait_graph() -> None:
    found = simfs.explore(Deadly).counterexample
    assert found is not None
    assert found.law == "completes"
    assert "one waits for flock EX on /b" in found.finding.message
    assert "other waits for flock EX on /a" in found.finding.message
    assert simfs.replay(found.token, Deadly).law == "completes"


class Endless(System):
    """A loop that never ends."""

    steps_max = 50
    power = False

    @simfs.process
    def spin(self, m: Any) -> None:
        while True:
            put(m.system, "/again", b"1")

    @simfs.law
    def fine(self, m: Any) -> None:
        """Nothing to judge."""


def test_an_endless_loop_is_inconclusive_and_shown() -> None:
    verdict = simfs.explore(Endless)
    assert verdict.status == "inconclusive"
    assert not verdict.ok
    assert "spin" in verdict.reason
    assert "write /again" in verdict.reason


class Unsteady(System):
    """State on the class makes every run another one."""

    made = 0

    @simfs.process
    def writer(self, m: Any) -> None:
        type(self).made += 1
        put(m.system, "/n", str(type(self).made).encode())

    @simfs.law
    def fine(self, m: Any) -> None:
        """Nothing to judge."""


def test_a_run_that_differs_from_itself_is_named_with_its_call_site() -> None:
    verdict = simfs.explore(Unsteady)
    assert verdict.status == "inconclusive"
    assert "not deterministic" in verdict.reason
    assert "test_explore_runs.py" in verdict.reason
    assert re.search(r"was a Write with data b'\d+', and then one with data b'\d+'\.", verdict.reason)


class Lazily(Unsteady):
    """The difference shows only where the other process has gone first."""

    @simfs.process
    def writer(self, m: Any) -> None:
        if get(m.system, "/flag") == b"1":
            type(self).made += 1
            put(m.system, f"/n{type(self).made}", b"")
        get(m.system, "/flag")

    @simfs.process
    def raiser(self, m: Any) -> None:
        fd = m.system.open("/flag", os.O_RDWR)
        m.system.pwrite(fd, b"1", 0)
        m.system.pwrite(fd, b"2", 0)

    def setup(self, m: Any) -> None:
        put(m.system, "/flag", b"0")


def test_a_difference_on_another_schedule_is_inconclusive_too() -> None:
    verdict = simfs.explore(Lazily, power=False)
    assert verdict.status == "inconclusive"
    assert "test_explore_runs.py" in verdict.reason


class Restarting(System):
    """A counter that a worker raises once in each of its lives."""

    kills = 1
    power = False
    disk = "scc"
    seen: set[tuple[int, bytes]] = set()  # noqa: RUF012

    def setup(self, m: Any) -> None:
        put(m.system, "/log", b"")

    @simfs.process(restart=1)
    def worker(self, m: Any) -> None:
        fd = m.system.open("/log", os.O_WRONLY | os.O_APPEND)
        m.system.write(fd, b"x")
        m.effect("done")

    @simfs.law
    def look(self, m: Any) -> None:
        type(self).seen.add((m.effects("done"), get(m.system, "/log")))


def test_a_killed_process_starts_again() -> None:
    assert simfs.explore(Restarting).status == "proved"
    assert Restarting.seen == {(1, b"x"), (1, b"xx"), (2, b"xx")}


class AfterPower(System):
    """Every life of the worker leaves its boot number; a power loss starts the next one."""

    disk = "scc"
    boots: set[tuple[int, ...]] = set()  # noqa: RUF012

    @simfs.process(restart=2)
    def worker(self, m: Any) -> None:
        m.ack("boot", m.boot)

    @simfs.law
    def look(self, m: Any) -> None:
        type(self).boots.add(tuple(value for label, value in m.acks))


def test_power_losses_in_a_row_start_boots_in_a_row() -> None:
    assert simfs.explore(AfterPower, power_depth=2).status == "proved"
    assert AfterPower.boots == {(), (1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)}


class Story(System):
    """What is asked for is promised or given up."""

    disk = "scc"

    @simfs.process
    def client(self, m: Any) -> None:
        m.ask("save", 1)
        put(m.system, "/x", b"1")
        m.ack("save", 1)
        m.ask("save", 2)
        m.fail("save", 2)

    @simfs.law
    def in_order(self, m: Any) -> None:
        told = [(event.kind, event.value) for event in m.history]
        assert told == [("ask", 1), ("ack", 1), ("ask", 2), ("fail", 2)][: len(told)]
        assert all(event.process == "client" and event.boot == 1 for event in m.history)


def test_a_history_is_what_was_asked_promised_and_given_up() -> None:
    assert simfs.explore(Story).status == "proved"


class Ordered(System):
    """Two promises that do not touch each other come in either order, where a law asks for their real order."""

    power = False
    disk = "scc"
    orders: set[tuple[str, ...]] = set()  # noqa: RUF012

    @simfs.process
    def one(self, m: Any) -> None:
        m.ack("one")

    @simfs.process
    def other(self, m: Any) -> None:
        m.ack("other")

    @simfs.law(ordered=True)
    def look(self, m: Any) -> None:
        type(self).orders.add(tuple(label for label, _ in m.acks))


def test_an_ordered_law_sees_promises_in_every_order() -> None:
    simfs.explore(Ordered)
    assert Ordered.orders == {("one", "other"), ("other", "one")}


class Instants(System):
    """y never stands there without x: true at both ends of the only run that a reduced search makes."""

    disk = "scc"

    @simfs.process
    def writes_x(self, m: Any) -> None:
        put(m.system, "/x", b"")

    @simfs.process
    def writes_y(self, m: Any) -> None:
        put(m.system, "/y", b"")

    @simfs.law
    def y_after_x(self, m: Any) -> None:
        names = m.system.listdir("/")
        assert "y" not in names or "x" in names


def test_a_cut_shows_what_no_prefix_of_the_schedule_shows() -> None:
    verdict = simfs.explore(Instants)
    assert verdict.searched.executions == 1
    found = verdict.counterexample
    assert found is not None
    schedule = [op.path for op in found.boots[0].ops if op.path]
    assert schedule.index("/x") < schedule.index("/y")
    assert found.boots[0].left == {"y": b""}
    assert simfs.replay(found.token, Instants).boots[0].left == {"y": b""}


class Anytime(Instants):
    """The same, judged at every instant and with no power loss."""

    power = False

    @simfs.law(anytime=True)
    def y_after_x(self, m: Any) -> None:
        names = m.system.listdir("/")
        assert "y" not in names or "x" in names


@pytest.mark.parametrize("disk", ["scc", "synced-only", "prefix", "ext4", "posix-weakest"])
def test_a_law_at_every_instant_needs_no_power_loss(disk: str) -> None:
    found = simfs.explore(Anytime, disk=disk).counterexample
    assert found is not None
    assert simfs.replay(found.token, Anytime, disk=disk).law == "y_after_x"


class Failing(System):
    """A copy that does not check what write answers."""

    disk = "scc"
    power = False

    @simfs.process(raises=OSError)
    def writer(self, m: Any) -> None:
        fd = m.system.open("/f", os.O_CREAT | os.O_WRONLY)
        m.system.write(fd, b"abcdef")
        m.ack("written")

    @simfs.law
    def whole(self, m: Any) -> None:
        assert not m.acked("written") or get(m.system, "/f") == b"abcdef"


@pytest.mark.parametrize(
    ("fault", "status"),
    [(Errno(("write",), code=5), "proved"), (Short(("write",), keep=2), "violated"), (Errno(("open",)), "proved")],
)
def test_faults_strike_each_matching_call(fault: object, status: str) -> None:
    verdict = simfs.explore(Failing, faults=(fault,))
    assert verdict.status == status
    if verdict.counterexample is not None:
        assert "~f0.0.0=~" in verdict.counterexample.token.replace("f0.0.0=", "f0.0.0=~")
        assert simfs.replay(verdict.counterexample.token, Failing, faults=(fault,)).law == "whole"


class Stamps(System):
    """A clock that jumps between two looks."""

    disk = "scc"
    power = False
    clock_jumps = (-3600.0, 3600.0)
    steps: set[int] = set()  # noqa: RUF012

    @simfs.process
    def looks(self, m: Any) -> None:
        before = m.system.time_ns()
        type(self).steps.add((m.system.time_ns() - before) // 1_000_000_000)

    @simfs.law
    def fine(self, m: Any) -> None:
        """Nothing to judge."""


def test_the_wall_clock_jumps_between_any_two_looks() -> None:
    assert simfs.explore(Stamps).ok
    assert Stamps.steps == {-3600, 0, 3600}
