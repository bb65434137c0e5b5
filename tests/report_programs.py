"""Small programs with one planted fault each; their reports are the golden files of `test_reports_text.py`.

The lines of this file stand in the golden reports, so add at the end.
"""

from __future__ import annotations

import json
import os

import simfs


class RenameWithoutFlush(simfs.Scenario):
    """settings.json is the old text or the new text, and the new one once save() returned."""

    def save(self, value: int) -> None:
        with open("/app/settings.json.tmp", "w") as file:
            json.dump({"v": value}, file)
        os.replace("/app/settings.json.tmp", "/app/settings.json")

    def setup(self, m: simfs.Handle) -> None:
        os.mkdir("/app")
        self.save(1)

    @simfs.process
    def saver(self, m: simfs.Handle) -> None:
        self.save(2)
        m.ack("v2")

    @simfs.law
    def old_or_new(self, m: simfs.Handle) -> None:
        with open("/app/settings.json") as file:
            value = json.load(file)["v"]
        assert value == 2 if m.acked("v2") else value in (1, 2)


class EntryNeverFlushed(simfs.Scenario):
    """A note that was saved is there after a crash."""

    def setup(self, m: simfs.Handle) -> None:
        os.makedirs("/home/me/notes")

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        with open("/home/me/notes/today.txt", "w") as file:
            file.write("buy milk\n")
            file.flush()
            os.fsync(file.fileno())
        m.ack("saved", "today")

    @simfs.law
    def saved_notes_are_there(self, m: simfs.Handle) -> None:
        for _, name in m.acks:
            assert os.path.exists(f"/home/me/notes/{name}.txt"), f"note {name!r} was saved and is gone"


class LostUpdate(simfs.Scenario):
    """A counter counts everybody who was told so."""

    def setup(self, m: simfs.Handle) -> None:
        os.mkdir("/app")
        with open("/app/n", "w") as file:
            file.write("0")

    def count(self) -> None:
        with open("/app/n") as file:
            number = int(file.read() or 0)
        with open("/app/n", "r+") as file:
            file.write(str(number + 1))

    @simfs.process
    def one(self, m: simfs.Handle) -> None:
        self.count()
        m.ack("counted one")

    @simfs.process
    def two(self, m: simfs.Handle) -> None:
        self.count()
        m.ack("counted two")

    power = False

    @simfs.law
    def everybody_is_counted(self, m: simfs.Handle) -> None:
        with open("/app/n") as file:
            number = int(file.read())
        assert number >= len(m.acks), f"{number} counted, {len(m.acks)} were told so"


class RecoveryForgets(simfs.Scenario):
    """The name that recovery gave to this disk stays its name."""

    power_depth = 2

    def setup(self, m: simfs.Handle) -> None:
        os.mkdir("/app")

    @simfs.process
    def idler(self, m: simfs.Handle) -> None:
        m.effect("started")

    @simfs.recover
    def give_a_name(self, m: simfs.Handle) -> None:
        if not os.path.exists("/app/name"):
            with open("/app/name", "w") as file:
                file.write(f"disk {m.boot}")
            m.ack("named", f"disk {m.boot}")

    @simfs.law
    def the_name_stays(self, m: simfs.Handle) -> None:
        if m.acks:
            with open("/app/name") as file:
                assert file.read() == m.acks[0][1]


class TornLine(simfs.Scenario):
    """A log has whole lines only."""

    def setup(self, m: simfs.Handle) -> None:
        os.mkdir("/app")
        with open("/app/log", "w") as file:
            file.write("first line\n")

    @simfs.process
    def logger(self, m: simfs.Handle) -> None:
        with open("/app/log", "a") as file:
            file.write("zweite Zeile: größer\n")

    @simfs.law
    def lines_are_whole(self, m: simfs.Handle) -> None:
        with open("/app/log", "rb") as file:
            text = file.read()
        assert text.endswith(b"\n"), f"the log ends in {text[-12:]!r}"
