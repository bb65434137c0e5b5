"""Scenarios for the tests of the command line, good and bad."""

from __future__ import annotations

import os

import simfs


class Loses(simfs.Scenario):
    """A file that was promised is there."""

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        with open("/note", "w") as file:
            file.write("text")
        m.ack("saved")

    @simfs.law
    def saved_is_there(self, m: simfs.Handle) -> None:
        if m.acked("saved"):
            with open("/note") as file:
                assert file.read() == "text", "the note is not what was saved"


class Keeps(simfs.Scenario):
    """A file that was flushed, with its entry, is there."""

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        with open("/note", "w") as file:
            file.write("text")
            file.flush()
            os.fsync(file.fileno())
        directory = os.open("/", os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)
        m.ack("saved")

    @simfs.law
    def saved_is_there(self, m: simfs.Handle) -> None:
        if m.acked("saved"):
            with open("/note") as file:
                assert file.read() == "text"


class BadSetup(Keeps):
    """Its setup raises."""

    def setup(self, m: simfs.Handle) -> None:
        os.mkdir("/no/such/directory")


class LooksOutside(Keeps):
    """A law reads the real disk, through the store's own door, without interposition."""

    interpose = False

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        m.system.mkdir("/made")

    @simfs.law
    def saved_is_there(self, m: simfs.Handle) -> None:
        with open("/etc/hostname") as file:
            assert file.read()


class NeverEnds(Keeps):
    """Too many images for any budget."""

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        for number in range(12):
            os.mkdir(f"/directory{number}")

    power_depth = 3

    @simfs.recover
    def again(self, m: simfs.Handle) -> None:
        for number in range(12):
            os.makedirs(f"/again{m.boot}{number}", exist_ok=True)


def save(root: str) -> None:
    with open(f"{root}/note", "w") as file:
        file.write("ab")


def first(root: str) -> None:
    os.mkdir(f"{root}/directory")


steps = [save, first]
number = 3


class UsesSqlite(Keeps):
    """A law opens a database, which no interposition can simulate."""

    @simfs.law
    def saved_is_there(self, m: simfs.Handle) -> None:
        import sqlite3

        sqlite3.connect("/data.db").close()


class SwallowsEverything(Keeps):
    """A process reaches for the real disk and hides what it meets."""

    interpose = False

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        try:
            open("/etc/hostname").close()
        except BaseException:
            pass
        m.ack("saved")

    @simfs.law
    def saved_is_there(self, m: simfs.Handle) -> None:
        assert m.boot
