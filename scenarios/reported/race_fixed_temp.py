"""B6: two writers with one temporary name. affaan-m/ECC PR#1983; relative: apmantza/pi-lens#1205.

What happened. To replace a file whole, a writer fills a temporary file and renames it; its name is the target's with
`.tmp` behind it. Two writers fill the same temporary file: one publishes what the other has half written, or a mix of
both; the other writes on, now into the published file, and its own rename finds nothing. That error was swallowed.

Why that is wrong. A rename is atomic, but what it publishes is whatever stands under the temporary name. And a save
whose rename failed has not happened; to report it as done is a lie.

What is right. A temporary name for each call, made exclusively. A rename that fails is an error to the caller.
"""

from __future__ import annotations

import os
from typing import Any

import simfs
from scenarios.reported.durable import replace_durably
from scenarios.reported.laws import DUR1, DUR6, DUR9
from scenarios.reported.registry import ATOMIC_RENAMES, Case

TARGET = "/state"
OLD, SHORT, LONG = b"old", b"SHORT", b"much longer"


class _Save(simfs.Scenario):
    """Two processes save a text each, of different lengths: the file is one of them, or the old one."""

    def setup(self, m: Any) -> None:
        replace_durably(TARGET, OLD)

    def save(self, m: Any, data: bytes) -> None:
        raise NotImplementedError

    @simfs.process
    def short(self, m: Any) -> None:
        self.save(m, SHORT)
        m.ack("saved", SHORT)

    @simfs.process
    def long(self, m: Any) -> None:
        self.save(m, LONG)
        m.ack("saved", LONG)

    @simfs.law(DUR6)
    def one_of_the_texts(self, m: Any) -> None:
        found = open(TARGET, "rb").read()
        assert found in (OLD, SHORT, LONG), f"nobody saved {found!r}"

    @simfs.law(DUR1)
    def a_saved_text_is_there(self, m: Any) -> None:
        saved = [value for _, value in m.acks]
        found = open(TARGET, "rb").read()
        assert not saved or found != OLD, f"{saved} saved and the file is still the old one"

    @simfs.law(DUR9)
    def failures_are_told(self, m: Any) -> None:
        failed = [event.process for event in m.history if event.label == "rename failed"]
        told = [event.process for event in m.history if event.kind == "ack"]
        assert not set(failed) & set(told), f"{failed[0]} was told that it saved, and its rename had failed"


class OneTemporaryName(_Save):
    """The temporary name is the target's with .tmp; a rename that finds nothing is only logged."""

    power = False

    def save(self, m: Any, data: bytes) -> None:
        fd = os.open(f"{TARGET}.tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.write(fd, data)
        os.close(fd)
        try:
            os.rename(f"{TARGET}.tmp", TARGET)
        except FileNotFoundError:
            m.effect("rename failed")


class NamesOfTheirOwn(_Save):
    """The temporary name is made exclusively for this call; an error is the caller's to know."""

    disk = ATOMIC_RENAMES

    def save(self, m: Any, data: bytes) -> None:
        temporary = f"{TARGET}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            os.write(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(temporary, TARGET)
        fd = os.open("/", os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


CASES = (
    Case(
        "B6",
        "one temporary name for two writers",
        "affaan-m/ECC#1983",
        OneTemporaryName,
        NamesOfTheirOwn,
        (DUR6, DUR9),
    ),
)
