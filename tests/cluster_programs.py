"""A program for the workers of a cluster, found by the name of this file."""

from __future__ import annotations

import os
from typing import Any

import simfs


class Torn(simfs.Scenario):
    """Two processes rewrite a file in place; a reader after the crash wants one of their texts, whole."""

    disk = ("prefix", "scc")
    kills = 1

    def setup(self, m: Any) -> None:
        with open("/text", "w") as file:
            file.write("first")

    def rewrite(self, text: str) -> None:
        fd = os.open("/text", os.O_RDWR | os.O_TRUNC)
        os.write(fd, text.encode())
        os.fsync(fd)
        os.close(fd)

    @simfs.process
    def one(self, m: Any) -> None:
        self.rewrite("second")

    @simfs.process
    def two(self, m: Any) -> None:
        self.rewrite("third")

    @simfs.law
    def whole(self, m: Any) -> None:
        with open("/text") as file:
            assert file.read() in ("first", "second", "third")
