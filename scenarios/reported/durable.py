"""Writing a file the right way, for the right twins: whole or not at all, and durable when it returns.

The bytes are flushed before the rename shows them, and the rename is flushed with its directory before anybody is told
that it happened. The temporary name belongs to one process alone.
"""

from __future__ import annotations

import os


def replace_durably(path: str, data: bytes) -> None:
    """Replace `path`: at each moment it is the whole old file or the whole new one; durable on return."""
    temporary = f"{path}.{os.getpid()}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.replace(temporary, path)
    flush_directory(os.path.dirname(path))


def write_all(fd: int, data: bytes) -> None:
    """All of `data`, however little each call takes."""
    while data:
        data = data[os.write(fd, data) :]


def flush_directory(path: str) -> None:
    """Make the names in a directory durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
