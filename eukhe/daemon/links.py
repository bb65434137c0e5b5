"""Connections without waiting: lines as far as they have come, and bytes that go out when there is room.

Used by a worker, which has one thread: it asks which connections are ready, and none of them makes it wait.
"""

from __future__ import annotations

import os

READ_BYTES = 1 << 16


class LineTooLong(ValueError):
    """A line has more bytes than anybody may send."""


class Lines:
    """What comes from a descriptor, as lines."""

    def __init__(self, fd: int, bytes_max: int) -> None:
        self.fd = fd
        self.ended = False
        self._rest: list[bytes] = []
        self._held = 0
        self._bytes_max = bytes_max

    def take(self) -> list[bytes]:
        """The lines that have come, after the descriptor was ready. Raises `LineTooLong`."""
        try:
            data = os.read(self.fd, READ_BYTES)
        except ConnectionError:
            data = b""
        self.ended = not data
        first, *more = data.split(b"\n")
        self._rest.append(first)
        self._held += len(first)
        if self._held > self._bytes_max:
            raise LineTooLong
        if not more:
            return []
        lines = [b"".join(self._rest), *more[:-1]]
        self._rest, self._held = [more[-1]], len(more[-1])
        return lines


class Sending:
    """What goes to a descriptor: put together in `add`, and sent by `flush` as far as there is room."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.waiting = bytearray()

    def add(self, data: bytes) -> None:
        """Put something behind the rest."""
        self.waiting += data

    def flush(self) -> bool:
        """Send as much as goes; whether that was all. Raises `ConnectionError` where nobody reads any more."""
        try:
            while self.waiting:
                del self.waiting[: os.write(self.fd, self.waiting)]
        except BlockingIOError:
            return False
        return True
