"""Reading a legacy session: one file, a header line, then one message a line.

The header is a JSON object with `type: "session"` and the texts `id`, `cwd` and `timestamp`. Every other line is one
JSON object. Only complete lines are read; what follows the last newline is a torn tail, counted and left out. A
complete line that is not what it has to be is `LegacyDamaged`. The file is read only, in blocks: memory is one block
and the longest line, whatever the file's size.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from eukhe.sessions.errors import LegacyDamaged
from eukhe.system import System

READ_BYTES = 1 << 20
HEADER_BYTES_MAX = 1 << 20
"""How long a header may be for a listing to read it, in bytes."""


class Header(Struct):
    """The first line. Further fields are allowed, and not kept."""

    type: Literal["session"]
    id: str
    cwd: str
    timestamp: str


_decode_header = msgspec.json.Decoder(Header).decode
_decode_message = msgspec.json.Decoder(dict[str, Any]).decode


class LegacyReader:
    """Goes once through a legacy file. `torn_bytes` is how many bytes stood after the last newline, once it ended."""

    def __init__(self, system: System, path: str) -> None:
        self._system = system
        self._path = path
        self._line = 0
        self.torn_bytes = 0

    def read(self, header: Callable[[Header, bytes], None], message: Callable[[dict[str, Any], int], None]) -> None:
        """Hand over the header and its line, then each message with the length of its line in bytes.

        Raises `LegacyDamaged` and `OSError`.
        """
        fd = open_legacy(self._system, self._path)
        try:
            left = self._system.fstat(fd).st_size
            tail = b""
            while left > 0 and (block := self._system.read(fd, min(READ_BYTES, left))):
                left -= len(block)
                lines = (tail + block if tail else block).split(b"\n")
                tail = lines.pop()
                for line in lines:
                    self._line += 1
                    if self._line == 1:
                        header(self._header(line), line)
                    else:
                        message(self._message(line), len(line))
        finally:
            self._system.close(fd)
        if self._line == 0:
            raise LegacyDamaged(self._path, 1, "there is no complete header line")
        self.torn_bytes = len(tail)

    def _header(self, line: bytes) -> Header:
        try:
            return decode_header(line)
        except ValueError as error:
            raise LegacyDamaged(self._path, self._line, f"no header of a session: {error}") from None

    def _message(self, line: bytes) -> dict[str, Any]:
        try:
            value: dict[str, Any] = _decode_message(line)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise LegacyDamaged(self._path, self._line, f"no message: {error}") from None
        return value


def decode_header(line: bytes) -> Header:
    """Read a header line, without its newline. Raises `ValueError`."""
    try:
        return _decode_header(line)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from None


def open_legacy(system: System, path: str) -> int:
    """Open a legacy file, which is a regular one and no link. Raises `OSError`."""
    fd = system.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(system.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
    except BaseException:
        system.close(fd)
        raise
    return fd
