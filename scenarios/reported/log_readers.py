"""qwen-code#3681, leveldb#251: who reads a log after a crash, and what it takes for a record.

QwenLM/qwen-code#3681; google/leveldb#251.

What happened. Two readers of one session log treated a line that was glued to a torn one differently: the list of
sessions counted lines, the session itself dropped what it could not parse, and their counts disagreed (#3681). A
recovery tool met a record that was cut off at the end of a file, filled its buffer with what it had read and zeros for
the rest, and handed the half-zero value out as good, because it did not drop the torn record (#251).

What is right. A torn tail is cut before anything is appended, so there are no glued lines, and one function says what a
record is. A record counts when all of it is there: its length, and a checksum over it.
"""

from __future__ import annotations

import json
import os
import zlib
from typing import Any

import simfs
from scenarios.reported.durable import write_all
from scenarios.reported.laws import DUR3, DUR7
from scenarios.reported.registry import Case

LOG = "/s/log"
ON_PREFIXES = ("scc", "synced-only", "prefix")
"""The models on which what survives of an append is its first part."""


def append(data: bytes) -> None:
    """To the end of the log, and flush."""
    fd = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)


class _Log(simfs.Scenario):
    """A log with one record in it."""

    disk: Any = ON_PREFIXES

    def setup(self, m: Any) -> None:
        os.mkdir("/s")
        append(self.record("one"))

    def record(self, text: str) -> bytes:
        """The bytes of a record."""
        return json.dumps({"say": text}).encode() + b"\n"


class TwoWaysToCount(_Log):
    """After a crash the next line is appended to whatever stands there; the list counts lines, the session records."""

    @simfs.process
    def writer(self, m: Any) -> None:
        append(self.record("two"))

    @simfs.recover
    def goes_on(self, m: Any) -> None:
        append(self.record("three"))

    def listed(self) -> int:
        """What the list of sessions says."""
        return open(LOG, "rb").read().count(b"\n")

    def held(self) -> int:
        """What the session says."""
        return len(self.parsed())

    def parsed(self) -> list[str]:
        """What can be parsed."""
        found = []
        for line in open(LOG, "rb").read().split(b"\n"):
            try:
                found.append(json.loads(line)["say"])
            except ValueError:
                continue
        return found

    @simfs.law(DUR7)
    def the_counts_agree(self, m: Any) -> None:
        assert self.listed() == self.held(), f"the list says {self.listed()}, the session {self.held()}"


class OneWayToCount(TwoWaysToCount):
    """The torn tail is cut before the next line is appended, and both count in the same way."""

    @simfs.recover
    def goes_on(self, m: Any) -> None:
        raw = open(LOG, "rb").read()
        fd = os.open(LOG, os.O_WRONLY)
        os.ftruncate(fd, raw.rfind(b"\n") + 1)
        os.fsync(fd)
        os.close(fd)
        append(self.record("three"))

    def listed(self) -> int:
        return self.held()


class FillsUpWithZeros(_Log):
    """Records are a length and so many bytes; recovery reads the last one into a buffer of that length."""

    texts = ("one", "second")

    def record(self, text: str) -> bytes:
        return len(text).to_bytes(2) + text.encode()

    @simfs.process
    def writer(self, m: Any) -> None:
        append(self.record("second"))

    def values(self) -> list[bytes]:
        """What recovery hands out."""
        raw, found, at = open(LOG, "rb").read(), [], 0
        while at + 2 <= len(raw):
            length = int.from_bytes(raw[at : at + 2])
            found.append(raw[at + 2 : at + 2 + length].ljust(length, b"\0"))
            at += 2 + length
        return found

    @simfs.law(DUR3)
    def only_what_was_written(self, m: Any) -> None:
        for value in self.values():
            assert value.decode() in self.texts, f"handed out {value!r}, which nobody wrote"


class DropsTheTornRecord(FillsUpWithZeros):
    """A record counts when all of its bytes are there and its checksum fits."""

    disk = ("scc", "synced-only", "prefix", "ext4")

    def record(self, text: str) -> bytes:
        return len(text).to_bytes(2) + zlib.crc32(text.encode()).to_bytes(4) + text.encode()

    def values(self) -> list[bytes]:
        raw, found, at = open(LOG, "rb").read(), [], 0
        while at + 6 <= len(raw):
            length = int.from_bytes(raw[at : at + 2])
            value = raw[at + 6 : at + 6 + length]
            if not length or len(value) < length or zlib.crc32(value) != int.from_bytes(raw[at + 2 : at + 6]):
                break
            found.append(value)
            at += 6 + length
        return found


CASES = (
    Case("two-counts", "two readers of a glued line", "QwenLM/qwen-code#3681", TwoWaysToCount, OneWayToCount, (DUR7,)),
    Case("half-zero", "a torn record filled up with zeros", "google/leveldb#251", FillsUpWithZeros, DropsTheTornRecord,
         (DUR3,)),
)  # fmt: skip
