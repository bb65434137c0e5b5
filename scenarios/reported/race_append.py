"""A4: a record that is appended in several writes. coalesce-labs/catalyst PR#3350; relatives: gastownhall/beads#3301,
tinyhumansai/opencompany#43 (text and newline as two writes), tigerless-labs/autoharness#158.

What happened. A long line goes to the log through a buffered file. The buffer hands it on in pieces; between two of
them another process appends its own line. The result is not always a line that fails to parse: one was reproduced that
is valid JSON, has the length it declares, and is made of three events.

Why that is wrong. Appending makes each write go to the end; it makes no two writes one. How a buffer cuts is nobody's
promise. And a parser that succeeds does not prove that somebody wrote the line.

What is right. One record is one write, under a lock since the system may take less than it is given. Each record says
how it must look (a checksum), so that a reader knows a splice or a torn tail; a fragment at the end is closed off
before the next record is appended.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from collections.abc import Iterator
from typing import Any

import simfs
from scenarios.reported.durable import write_all
from scenarios.reported.holding import make_empty
from scenarios.reported.laws import DUR1, DUR3, DUR5
from scenarios.reported.registry import EVERY_MODEL, Case
from simfs.machine.faults import Short

LOG = "/events.jsonl"
BUFFER = 8192
"""How much Python collects before it writes."""


class _Log(simfs.Scenario):
    """Two processes append an event each: each line of the log is one of the two."""

    length = 0
    """How long the text of the longer event is."""

    def setup(self, m: Any) -> None:
        make_empty(LOG)

    def append(self, event: dict[str, str]) -> None:
        raise NotImplementedError

    def lines(self) -> Iterator[str]:
        """The lines that a reader takes for events."""
        raise NotImplementedError

    def event_of(self, who: str) -> dict[str, str]:
        """The event that a process appends."""
        return {"id": who, "text": "x" * self.length if who == "long" else "y"}

    @simfs.process
    def long(self, m: Any) -> None:
        self.append(self.event_of("long"))
        m.ack("long")

    @simfs.process
    def brief(self, m: Any) -> None:
        self.append(self.event_of("brief"))
        m.ack("brief")

    @simfs.law(DUR3)
    def every_line_was_written(self, m: Any) -> None:
        written = [json.dumps(self.event_of(who)) for who in ("long", "brief")]
        for line in self.lines():
            assert line in written, f"nobody wrote the line {line[:40]!r}... of {len(line)} characters"

    @simfs.law(DUR1)
    def promised_events_are_there(self, m: Any) -> None:
        lines = list(self.lines())
        for who in ("long", "brief"):
            assert not m.acked(who) or json.dumps(self.event_of(who)) in lines, f"the event of {who} was promised"


class BufferedPieces(_Log):
    """Text longer than the buffer is appended through it, the newline by itself."""

    power = False
    length = BUFFER + 808

    def append(self, event: dict[str, str]) -> None:
        with open(LOG, "a") as file:
            json.dump(event, file)
            file.write("\n")

    def lines(self) -> Iterator[str]:
        with open(LOG) as file:
            yield from file.read().splitlines()


class OneWriteUnderLock(_Log):
    """Checksum, text and newline in one write, under a lock, flushed; also where the system takes less than it is
    given, and where a writer is killed within."""

    disk = EVERY_MODEL
    kills = 1
    faults = (Short(("write",), path=LOG, keep=10),)
    length = 20

    def append(self, event: dict[str, str]) -> None:
        append_line(json.dumps(event))

    def lines(self) -> Iterator[str]:
        with open(LOG, "rb") as file:
            yield from intact(file.read())

    @simfs.law(DUR5)
    def the_next_append_can_be_read(self, m: Any) -> None:
        append_line("next")
        assert "next" in list(self.lines())


def append_line(text: str) -> None:
    """Append one record, alone; closes off a fragment that a dead writer left."""
    body = text.encode()
    line = b"%08x %s\n" % (zlib.crc32(body), body)
    fd = os.open(LOG, os.O_RDWR | os.O_APPEND)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            line = b"\n" + line
        write_all(fd, line)
        os.fsync(fd)
    finally:
        os.close(fd)


def intact(data: bytes) -> Iterator[str]:
    """The records whose checksum is right."""
    for line in data.split(b"\n"):
        check, _, body = line.partition(b" ")
        if check == b"%08x" % zlib.crc32(body):
            yield body.decode()


CASES = (
    Case(
        "A4",
        "an append in several writes is torn apart by another's",
        "coalesce-labs/catalyst#3350",
        BufferedPieces,
        OneWriteUnderLock,
        (DUR3, DUR1),
    ),
)
