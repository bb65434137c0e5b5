"""A1, A2, F2 and Chrome: what a power loss leaves at the end of a file that is only appended to.

anthropics/claude-code#49876; Tracer-Cloud/opensre#6356; fish-shell/fish-shell#10300; the NUL tails of Chrome's files.

What happened. The size of an append reached the disk and its bytes did not: a run of NULs stands where the record was
(A1, F2, Chrome). Or a part of the bytes did, cut within a character (A2). The programs went on appending right behind
it, so that the next record was glued to the rubbish and lost; or a reader stopped there, took the NULs for a record, or
gave up the whole file. In A2 the scan of the tail before an append raised, a broad handler swallowed that, nothing was
written, and the caller was told that it was.

What is right. An append looks at the last byte and closes off whatever stands there; a reader skips what is no record
and goes on; what was acknowledged is flushed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import simfs
from scenarios.reported.durable import flush_directory, replace_durably, write_all
from scenarios.reported.laws import DUR3, DUR4, DUR5, DUR9
from scenarios.reported.registry import ATOMIC_RENAMES, EVERY_MODEL, Case

LOG = "/log"


def append(line: bytes) -> None:
    """Append and flush, right behind whatever stands there."""
    fd = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    write_all(fd, line)
    os.fsync(fd)
    os.close(fd)


def append_apart(line: bytes) -> None:
    """Append and flush; a fragment at the end is closed off first, in the same write."""
    fd = os.open(LOG, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    size = os.fstat(fd).st_size
    if size and os.pread(fd, 1, size - 1) != b"\n":
        line = b"\n" + line
    write_all(fd, line)
    os.fsync(fd)
    os.close(fd)


def record(number: int) -> bytes:
    return json.dumps({"n": number}).encode() + b"\n"


def readable() -> Iterator[int]:
    """The numbers of all records that can be read, whatever stands between them."""
    for line in open(LOG, "rb").read().split(b"\n"):
        try:
            yield json.loads(line)["n"]
        except (ValueError, KeyError, TypeError):
            continue


class _Tail(simfs.Scenario):
    """Record 1 is promised, record 2 is being written when the power goes, record 3 is the first one afterwards."""

    disk: Any = "ext4"

    def setup(self, m: Any) -> None:
        append(b"")
        flush_directory("/")

    def put(self, line: bytes) -> None:
        append_apart(line)

    def numbers(self) -> list[int]:
        return list(readable())

    @simfs.process
    def writer(self, m: Any) -> None:
        self.put(record(1))
        m.ack("record", 1)
        fd = os.open(LOG, os.O_WRONLY | os.O_APPEND)
        os.write(fd, record(2))
        os.close(fd)

    @simfs.recover
    def goes_on(self, m: Any) -> None:
        self.put(record(3))
        m.ack("next", 3)

    @simfs.law(DUR4)
    def earlier_records_are_there(self, m: Any) -> None:
        missing = [number for label, number in m.acks if label == "record" and number not in self.numbers()]
        assert not missing, f"record {missing[0]} is whole on the disk and is not read"

    @simfs.law(DUR5)
    def the_next_record_is_there(self, m: Any) -> None:
        assert not m.acked("next") or 3 in self.numbers(), "the first record after the crash cannot be read back"


class GluesAndStops(_Tail):
    """Appends right behind the rubbish; the reader stops at the first line that is none."""

    def put(self, line: bytes) -> None:
        append(line)

    def numbers(self) -> list[int]:
        found = []
        for line in open(LOG, "rb").read().splitlines():
            try:
                found.append(json.loads(line)["n"])
            except ValueError:
                break
        return found


class ClosesOffAndGoesOn(_Tail):
    """Closes off what stands at the end; the reader skips what is no record."""

    disk = EVERY_MODEL


class GivesUpTheFile(_Tail):
    """One unreadable line, and the reader answers that the file is empty."""

    def numbers(self) -> list[int]:
        try:
            return [json.loads(line)["n"] for line in open(LOG, "rb").read().splitlines()]
        except ValueError:
            return []


class _Letters(simfs.Scenario):
    """A record with a letter of several bytes is cut anywhere; then the next record is appended."""

    disk: Any = "prefix"

    def setup(self, m: Any) -> None:
        append(b"")
        flush_directory("/")

    def put(self, line: bytes) -> None:
        append_apart(line)

    @simfs.process
    def writer(self, m: Any) -> None:
        fd = os.open(LOG, os.O_WRONLY | os.O_APPEND)
        os.write(fd, '{"t": "é€𝄞"}\n'.encode())
        os.close(fd)

    @simfs.recover
    def goes_on(self, m: Any) -> None:
        before = os.stat(LOG).st_size
        self.put(record(2))
        m.ack("next", os.stat(LOG).st_size - before)

    @simfs.law(DUR5)
    def the_next_record_can_be_read(self, m: Any) -> None:
        assert not m.acks or 2 in readable(), "the record after the torn one cannot be read"

    @simfs.law(DUR9)
    def what_was_acknowledged_was_written(self, m: Any) -> None:
        assert all(grown for _, grown in m.acks), "the append was acknowledged and wrote nothing"


class SwallowsTheError(_Letters):
    """Looks at the tail as text before it appends; any error there is swallowed, and with it the append."""

    def put(self, line: bytes) -> None:
        try:
            tail = open(LOG, encoding="utf-8").read()
            append(line if tail.endswith("\n") or not tail else b"\n" + line)
        except Exception:
            pass


class LooksAtBytes(_Letters):
    """Looks at the last byte, which needs no decoding."""

    disk = EVERY_MODEL


class _History(simfs.Scenario):
    """A history of lines of plain text, appended to over two crashes and then compacted."""

    disk: Any = "ext4"
    power_depth = 2

    def setup(self, m: Any) -> None:
        append(b"one\n")
        flush_directory("/")

    def lines(self) -> list[bytes]:
        return [line for line in open(LOG, "rb").read().split(b"\n") if line and not set(line) & {0, 0xA5}]

    def compact(self) -> None:
        replace_durably(LOG, b"".join(line + b"\n" for line in self.lines()))

    @simfs.process
    def shell(self, m: Any) -> None:
        fd = os.open(LOG, os.O_WRONLY | os.O_APPEND)
        os.write(fd, b"2\n")
        os.close(fd)

    @simfs.recover
    def next_session(self, m: Any) -> None:
        append_apart(b"3\n")
        m.ack("3")
        self.compact()

    @simfs.law(DUR3)
    def only_what_was_typed(self, m: Any) -> None:
        typed = [part[:cut] for part in (b"one", b"2", b"3") for cut in range(1, len(part) + 1)]
        for line in self.lines():
            assert line in typed, f"nobody typed {line!r}"

    @simfs.law(DUR4)
    def nothing_else_is_lost(self, m: Any) -> None:
        assert b"one" in self.lines(), "the durable line before the hole is gone"
        assert not m.acked("3") or b"3" in self.lines(), "the promised line after the hole is gone"


class HolesAreLines(_History):
    """Whatever stands between two line ends is a line."""

    def lines(self) -> list[bytes]:
        return [line for line in open(LOG, "rb").read().split(b"\n") if line]


class CompactsInPlace(_History):
    """The compaction truncates the history and writes it again."""

    def compact(self) -> None:
        lines = self.lines()
        with open(LOG, "wb") as file:
            for line in lines:
                file.write(line + b"\n")


class HolesAreSkipped(_History):
    """Holes are no lines; the compaction replaces the file as a whole."""

    disk = ATOMIC_RENAMES


CASES = (
    Case("A1", "a run of NULs in a log", "anthropics/claude-code#49876", GluesAndStops, ClosesOffAndGoesOn, (DUR5,)),
    Case("chrome", "one damaged line, and all of it is dropped", "chromium NUL tails", GivesUpTheFile,
         ClosesOffAndGoesOn, (DUR4, DUR5)),
    Case("A2", "a tail cut within a letter", "Tracer-Cloud/opensre#6356", SwallowsTheError, LooksAtBytes, (DUR5, DUR9)),
    Case("F2-holes", "holes taken for lines", "fish-shell/fish-shell#10300", HolesAreLines, HolesAreSkipped, (DUR3,)),
    Case("F2-compaction", "a history compacted in place", "fish-shell/fish-shell#10300", CompactsInPlace,
         HolesAreSkipped, (DUR4,)),
)  # fmt: skip
