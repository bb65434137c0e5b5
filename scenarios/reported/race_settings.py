"""A9: settings that many processes rewrite in place. anthropics/claude-code#29217 and #28973, and dozens of duplicates.

What happened. Each of many processes reads one JSON file, changes an entry and writes the file again, in place. Opening
for writing empties it; whoever reads at that moment finds half a file or none, takes it for corrupt, keeps a backup,
and writes the defaults. Those are read half-written by others in turn: hundreds of backups in an hour, and in the end
the good settings are replaced by defaults.

Why that is wrong. Three mistakes. The file is not whole at each moment. Nothing keeps two writers apart. And "I could
not read it" is answered by destroying it.

What is right. A lock from read to write, and replacing by a rename. A reader needs no lock then: it finds a whole
file, always. A file that cannot be read is left alone and the caller is told.
"""

from __future__ import annotations

import json
import os
from typing import Any

import simfs
from scenarios.reported.durable import replace_durably
from scenarios.reported.holding import locked, make_empty
from scenarios.reported.laws import CLM2, DUR6, DUR8
from scenarios.reported.registry import ATOMIC_RENAMES, Case

SETTINGS, LOCK = "/settings.json", "/settings.lock"
BACKUP = "/settings.corrupt"
DEFAULTS: dict[str, Any] = {}
USER = {"theme": "dark"}


class _Settings(simfs.Scenario):
    """Two processes set one entry each; the entry of the user and both of theirs are in the file afterwards."""

    def setup(self, m: Any) -> None:
        make_empty(LOCK)
        replace_durably(SETTINGS, json.dumps(USER).encode())

    def set_entry(self, name: str) -> None:
        raise NotImplementedError

    @simfs.process
    def one(self, m: Any) -> None:
        self.set_entry("one")
        m.ack("one")

    @simfs.process
    def other(self, m: Any) -> None:
        self.set_entry("other")
        m.ack("other")

    @simfs.law(CLM2)
    def every_entry_is_there(self, m: Any) -> None:
        settings = json.loads(read_text())
        missing = [label for label, _ in m.acks if label not in settings]
        assert not missing, f"set and gone: {', '.join(missing)}"

    @simfs.law(DUR8)
    def good_settings_stay(self, m: Any) -> None:
        assert not os.path.exists(BACKUP), f"taken for corrupt: {open(BACKUP).read()!r}"
        assert json.loads(read_text()).get("theme") == "dark", "the user's settings were replaced by defaults"


class RewritesInPlace(_Settings):
    """Read, change, write over; what does not parse is backed up and begun anew."""

    power = False

    def set_entry(self, name: str) -> None:
        text = read_text()
        try:
            settings = json.loads(text)
        except ValueError:
            with open(BACKUP, "w") as backup:
                backup.write(text)
            settings = dict(DEFAULTS)
        settings[name] = True
        with open(SETTINGS, "w") as file:
            json.dump(settings, file)


class ReplacesUnderLock(_Settings):
    """Lock, read, change, replace by a rename; a reader without the lock finds a whole file, always."""

    disk = ATOMIC_RENAMES

    def set_entry(self, name: str) -> None:
        with locked(LOCK):
            settings = json.loads(read_text())
            settings[name] = True
            replace_durably(SETTINGS, json.dumps(settings).encode())

    @simfs.process
    def reader(self, m: Any) -> None:
        m.effect("read", read_text())

    @simfs.law(DUR6)
    def readers_find_it_whole(self, m: Any) -> None:
        for event in m.history:
            if event.label == "read":
                json.loads(event.value)


def read_text() -> str:
    """The settings file as it is now."""
    with open(SETTINGS) as file:
        return file.read()


CASES = (
    Case(
        "A9",
        "settings rewritten in place by many, taken for corrupt, replaced by defaults",
        "anthropics/claude-code#29217",
        RewritesInPlace,
        ReplacesUnderLock,
        (DUR8, CLM2),
    ),
)
