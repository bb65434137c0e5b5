"""The suite `staging`, what a sweep meets: long builds, clocks that are set, leftovers of every kind, and ways out.

| scenario | what happens |
|---|---|
| `staging_long_build` | a build takes longer than a day, while another sweeps |
| `staging_clock` | somebody sets the clock by a day, forth or back, during a build and two sweeps |
| `staging_dead` | leftovers of every kind, a day old; a sweep may die half-way |
| `staging_two_sweeps` | two sweep at once, and one may die half-way |
| `staging_one_young` | a dead build of which one file was touched within the day |
| `staging_old_times` | a dead build whose files carry times that were copied along with them |
| `staging_ways_out` | leftovers and directories full of links; one exchanges a directory for a link meanwhile |
"""

from __future__ import annotations

import simfs
from scenarios.laws import staging
from scenarios.suites.staging import DAY_S, MAIN, NAME, SESSIONS, StagingScenario

HEX = "0123456789abcdef" * 2
OUTSIDE = "/home/outside"


class StagingLongBuild(StagingScenario):
    """A build idles for more than a day and then publishes; a sweep comes after a day; either may be killed."""

    name = "staging_long_build"
    kills = 1
    disk = ("scc", "prefix")

    @simfs.process
    def builder(self, m: simfs.Handle) -> None:
        self.build(m, NAME)

    @simfs.process
    def sweeper(self, m: simfs.Handle) -> None:
        m.sleep(DAY_S + 1)
        self.sweep(m)

    def fill(self, m: simfs.Handle, path: str) -> None:
        super().fill(m, path)
        m.sleep(DAY_S + 2)

    @simfs.law(staging.SWEEP_NEVER_YOUNG_REAL)
    def what_is_swept_is_a_day_old(self, m: simfs.Handle) -> None:
        """By the clock on the wall: whatever a build touched, it touched after it was asked for."""
        asked = [event.time_ns for event in m.history if event.label == "publish"]
        for event in m.history:
            if event.label == "swept" and asked:
                age = (event.time_ns - min(asked)) / 1e9
                assert age >= DAY_S, f"{event.value} was swept {age:g} s after its build began"


class StagingClock(StagingLongBuild):
    """The clock is set by a day, forth or back, at any moment of a build and of two sweeps."""

    name = "staging_clock"
    clock_jumps = (DAY_S, DAY_S - 1e-9, -DAY_S)
    power = False
    early_ticks = 0
    patience_s = 2 * DAY_S

    @simfs.process
    def sweeper(self, m: simfs.Handle) -> None:
        self.sweep(m)
        m.sleep(DAY_S / 2)
        self.sweep(m)

    def fill(self, m: simfs.Handle, path: str) -> None:
        StagingScenario.fill(self, m, path)
        m.sleep(DAY_S / 2 + 1)


class StagingDead(StagingScenario):
    """Leftovers of every kind, a day old. A sweep takes them, and may die half-way, or lose power."""

    sweeps = 1

    name = "staging_dead"
    kills = 1

    def setup(self, m: simfs.Handle) -> None:
        """A dead import with its lock, a tombstone that lost its lock file, a lock without its directory; below
        another directory the same again."""
        super().setup(m)
        m.system.mkdir(f"{SESSIONS}/sub")
        for place in (SESSIONS, f"{SESSIONS}/sub"):
            m.system.mkdir(f"{place}/.a.import-{HEX}")
            self.put(m, f"{place}/.a.import-{HEX}/{MAIN}", b"x")
            self.put(m, f"{place}/.a.import-{HEX}.lock", b"")
        m.system.mkdir(f"{SESSIONS}/.b.deleted-{HEX}")
        self.put(m, f"{SESSIONS}/.c.fork-{HEX}.lock", b"")
        m.sleep(DAY_S)

    @simfs.process
    def first(self, m: simfs.Handle) -> None:
        self.sweep_to_the_end(m)

    def sweep_to_the_end(self, m: simfs.Handle) -> None:
        """Sweep, and say that it is done; a failure is one."""
        report = self.sweep(m)
        if report.failed:
            m.effect("lost", report.failed)
        m.effect("finished")

    @simfs.law(staging.SWEEP_REACHES_EVERY_DEPTH)
    def after_a_sweep_nothing_is_left(self, m: simfs.Handle) -> None:
        if m.boot == 1 and m.effects("finished") == self.sweeps:
            names = [*self.leftovers(m), *m.system.listdir(f"{SESSIONS}/sub")]
            assert not names, f"a sweep is through, and {names} stays"


class StagingTwoSweeps(StagingDead):
    """Two sweep at once what two dead builds left."""

    name = "staging_two_sweeps"
    power = False
    sweeps = 2

    def setup(self, m: simfs.Handle) -> None:
        """One leftover with its lock, one lock without its directory."""
        StagingScenario.setup(self, m)
        m.system.mkdir(f"{SESSIONS}/sub")
        m.system.mkdir(f"{SESSIONS}/.a.import-{HEX}")
        self.put(m, f"{SESSIONS}/.a.import-{HEX}.lock", b"")
        self.put(m, f"{SESSIONS}/sub/.c.fork-{HEX}.lock", b"")
        m.sleep(DAY_S)

    @simfs.process
    def second(self, m: simfs.Handle) -> None:
        self.sweep_to_the_end(m)


class StagingOldTimes(StagingScenario):
    """A build has just died. Its files, its directory and its lock carry times of three days ago, copied along."""

    name = "staging_old_times"
    power = False

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        m.system.mkdir(f"{SESSIONS}/.a.import-{HEX}")
        self.put(m, f"{SESSIONS}/.a.import-{HEX}/{MAIN}", b"x")
        self.put(m, f"{SESSIONS}/.a.import-{HEX}.lock", b"")
        old = m.system.time_ns() - 3 * round(DAY_S * 1e9)
        for name in (f".a.import-{HEX}/{MAIN}", f".a.import-{HEX}", f".a.import-{HEX}.lock"):
            m.system.utime(f"{SESSIONS}/{name}", ns=(old, old))

    @simfs.process
    def sweeper(self, m: simfs.Handle) -> None:
        self.sweep(m)
        m.sleep(DAY_S - 1e-9)
        self.sweep(m)

    @simfs.law(staging.SWEEP_NEVER_YOUNG_REAL)
    def nothing_is_swept_within_the_day(self, m: simfs.Handle) -> None:
        gone = [event.value for event in m.history if event.label == "swept"]
        assert not gone, f"{gone} was touched less than a day ago"


class StagingOneYoung(StagingOldTimes):
    """A dead build of which all is old but one file, written to a moment ago."""

    name = "staging_one_young"

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        m.sleep(DAY_S)
        self.put(m, f"{SESSIONS}/.a.import-{HEX}/{MAIN}", b"y")


class StagingWaysOut(StagingScenario):
    """Links of every kind in leftovers and beside them; while one sweeps, another puts a link where a directory was."""

    name = "staging_ways_out"
    power = False
    kills = 1

    def setup(self, m: simfs.Handle) -> None:
        """A storage with something old in it that has a leftover's name, and ways out of the sessions directory."""
        super().setup(m)
        system, leftover = m.system, f"{SESSIONS}/.a.import-{HEX}"
        for place in (OUTSIDE, f"{OUTSIDE}/.b.import-{HEX}", leftover, f"{leftover}/deep", f"{SESSIONS}/storage"):
            system.mkdir(place)
        system.mkdir(f"{SESSIONS}/storage/.b.import-{HEX}")
        for place in (OUTSIDE, f"{OUTSIDE}/.b.import-{HEX}", f"{leftover}/deep", f"{SESSIONS}/storage"):
            self.put(m, f"{place}/{MAIN}", b"keep me")
        for name, target in (("dir", OUTSIDE), ("file", f"{OUTSIDE}/{MAIN}"), ("none", "/nowhere"), ("self", "self")):
            system.symlink(target, f"{leftover}/{name}")
        system.symlink(OUTSIDE, f"{SESSIONS}/link")
        system.symlink(OUTSIDE, f"{SESSIONS}/.c.import-{HEX}")
        system.mkdir(f"{SESSIONS}/sub")
        m.sleep(DAY_S)

    @simfs.process
    def sweeper(self, m: simfs.Handle) -> None:
        self.sweep(m)

    @simfs.process
    def swapper(self, m: simfs.Handle) -> None:
        for place in (f"{SESSIONS}/.a.import-{HEX}/deep", f"{SESSIONS}/sub"):
            try:
                m.system.rename(place, f"/home/moved-{place[-3:]}")
                m.system.symlink(OUTSIDE, place)
            except FileNotFoundError:
                pass

    @simfs.law(staging.SWEEP_STAYS_OUT_REAL)
    def what_is_outside_stays(self, m: simfs.Handle) -> None:
        for place in (OUTSIDE, f"{OUTSIDE}/.b.import-{HEX}", f"{SESSIONS}/storage"):
            assert self.read(m, f"{place}/{MAIN}") == b"keep me", f"{place}/{MAIN} is gone"
        names = m.system.listdir(f"{SESSIONS}/storage")
        assert f".b.import-{HEX}" in names, "the sweep went into a storage"
        names = m.system.listdir(SESSIONS)
        assert "link" in names and f".c.import-{HEX}" in names, "a symbolic link was removed"

    @simfs.law(staging.SWEEP_TAKES_STALE_FREE_REAL)
    def what_the_dead_left_goes(self, m: simfs.Handle) -> None:
        m.sleep(DAY_S)
        left = self.sweep(m) and [name for name in self.leftovers(m) if ".a." in name]
        assert not left, f"a day has passed, a sweep has been, and {left} stays"


SCENARIOS: tuple[type[StagingScenario], ...] = (
    StagingLongBuild, StagingClock, StagingDead, StagingTwoSweeps, StagingOldTimes, StagingOneYoung,
    StagingWaysOut,
)  # fmt: skip
