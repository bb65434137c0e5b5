"""The raw file below Python's own buffers, and the class that stands in for `io.FileIO`.

`open()` in a simulated process returns the real `BufferedWriter`, `BufferedReader`, `BufferedRandom` and
`TextIOWrapper`; only the lowest layer is ours. So how much a buffer holds, when a part of it goes out, what `close()`
does after an error and what is lost with a killed process are not modelled here: they are Python's. Each method makes
the system calls that `FileIO` makes, except two that tell nothing: the fstat and the ioctl in `open()` only ask for
facts that never change, and would make every open conflict with every write of another process.

A raw file belongs to the process that opened it, by object, not by descriptor number. Python may finalise a file
late, when its process is dead or another one runs: a dead owner's buffered bytes then vanish, as they do when the
kernel ends a process, and nothing is closed. Any other use by a foreign process is a mistake in the scenario and
refused by name.
"""

from __future__ import annotations

import errno
import io
import os
from functools import cache
from typing import TYPE_CHECKING, Any

from simfs.machine import running
from simfs.machine.process import ProcessKilled
from simfs.patch.escape import not_simulated
from simfs.patch.inside import simulated

if TYPE_CHECKING:
    from simfs.machine.system import SimSystem

BLOCK_SIZE = 4096
"""st_blksize of every simulated file: what buffer sizes are derived from."""

READ_ALL = 1 << 30
_ACCESS = {"r": os.O_RDONLY, "w": os.O_WRONLY, "x": os.O_WRONLY, "a": os.O_WRONLY}
_CREATE = {"r": 0, "w": os.O_CREAT | os.O_TRUNC, "x": os.O_CREAT | os.O_EXCL, "a": os.O_CREAT | os.O_APPEND}
RealFileIO = io.FileIO


@cache
def flags_of(mode: str) -> tuple[int, bool, bool]:
    """Open flags of a raw mode such as "rb+", and whether it reads and writes; ValueError as `FileIO` words it."""
    kinds = [c for c in mode if c in _ACCESS]
    if any(c not in "rwxab+" for c in mode):
        raise ValueError(f"invalid mode: {mode}")
    if len(kinds) != 1 or mode.count("+") > 1:
        raise ValueError("Must have exactly one of create/read/write/append mode and at most one plus")
    kind, plus = kinds[0], "+" in mode
    access = os.O_RDWR if plus else _ACCESS[kind]
    return access | _CREATE[kind] | os.O_CLOEXEC, kind == "r" or plus, kind != "r" or plus


class SimRawFile(io.RawIOBase):
    """An unbuffered file of a simulated process, of the shape of `io.FileIO`."""

    _blksize = BLOCK_SIZE

    def __init__(self, file: Any, mode: str = "r", closefd: bool = True, opener: Any = None) -> None:
        self._fd = -1
        machine = running.active
        if machine is None or machine.current is None:
            raise ProcessKilled("a process that is dead")
        self._machine = machine
        self._owner = machine.current
        flags, self._readable, self._writable = flags_of(mode)
        self._appends = "a" in mode
        self._creates = "x" in mode
        self.closefd = closefd
        system = machine.system
        owned = not isinstance(file, int)
        self._fd = _opened(system, file, flags, closefd, opener) if owned else _given(file)
        description = self._owner.fds.get(self._fd)
        if description is None:
            self._fd = -1
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        if description.is_dir:
            fd, self._fd = self._fd, -1
            if owned:
                system.close(fd)
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), file)
        self.name = file
        if self._appends:
            system.lseek(self._fd, 0, os.SEEK_END)

    # Every call goes through here, so that no file ever speaks for another process than its own.
    def _system(self) -> SimSystem:
        if self._fd < 0:
            raise ValueError("I/O operation on closed file")
        machine = self._machine
        if running.active is machine and machine.current is self._owner:
            return machine.system
        if self._owner.dead and not self._owner.exited:
            raise ProcessKilled(self._owner.name)
        raise not_simulated(
            f"use of {self!r} outside the process that opened it",
            f"it belongs to {self._owner.name}; processes share files, not file objects, so open it again",
        )

    def _gone(self) -> bool:
        """Whether the owner is no more. Python may be tidying up: then there is nobody left to do anything."""
        owner, machine = self._owner, self._machine
        return owner.dead and not (running.active is machine and machine.current is owner)

    def readinto(self, buffer: Any, /) -> int:
        """One read of at most the buffer's size."""
        system = self._system()
        if not self._readable:
            raise io.UnsupportedOperation("File not open for reading")
        view = memoryview(buffer).cast("B")
        data = _again(system.read, self._fd, len(view))
        view[: len(data)] = data
        return len(data)

    def read(self, size: int | None = -1, /) -> bytes:
        """One read of `size` bytes, or everything up to the end."""
        if size is None or size < 0:
            return self.readall()
        system = self._system()
        if not self._readable:
            raise io.UnsupportedOperation("File not open for reading")
        data: bytes = _again(system.read, self._fd, size)
        return data

    def readall(self) -> bytes:
        """Reads until a read returns nothing."""
        system = self._system()
        if not self._readable:
            raise io.UnsupportedOperation("File not open for reading")
        parts = []
        while part := _again(system.read, self._fd, READ_ALL):
            parts.append(part)
        return b"".join(parts)

    def write(self, data: Any, /) -> int:
        """One write; says how much of `data` it took."""
        if self._gone() and not self._owner.exited:
            return len(data)
        system = self._system()
        if not self._writable:
            raise io.UnsupportedOperation("File not open for writing")
        count: int = _again(system.write, self._fd, bytes(data))
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """lseek."""
        if self._gone():
            return 0
        return self._system().lseek(self._fd, offset, whence)

    def tell(self) -> int:
        """The offset. `FileIO` asks by lseek, which nobody else can notice; so it is looked up."""
        description = self._owner.fds.get(self._fd)
        if description is not None and self._machine.current is self._owner:
            return description.pos
        if self._gone():
            return 0
        return self._system().lseek(self._fd, 0, os.SEEK_CUR)

    def truncate(self, size: int | None = None, /) -> int:
        """ftruncate, at the offset by default; the offset stays where it is."""
        system = self._system()
        if not self._writable:
            raise io.UnsupportedOperation("File not open for writing")
        if size is None:
            size = self.tell()
        _again(system.ftruncate, self._fd, size)
        return size

    def close(self) -> None:
        """Closes the descriptor unless `closefd=False` was given; a second close does nothing."""
        if self.closed:
            return
        if self._fd < 0 or self._gone():
            super().close()
            return
        machine = self._machine
        if running.active is not machine or machine.current is not self._owner:
            # Finalised while another process runs. The owner lives: its descriptor stays open until it exits.
            super().close()
            return
        super().close()
        fd, self._fd = self._fd, -1
        if self.closefd:
            machine.system.close(fd)

    def fileno(self) -> int:
        """The descriptor's number in the process that opened the file."""
        if self._fd < 0:
            raise ValueError("I/O operation on closed file")
        return self._fd

    def isatty(self) -> bool:
        """False: no simulated file is a terminal."""
        self.fileno()
        return False

    def readable(self) -> bool:
        """Whether the mode allows reading."""
        self.fileno()
        return self._readable

    def writable(self) -> bool:
        """Whether the mode allows writing."""
        self.fileno()
        return self._writable

    def seekable(self) -> bool:
        """True: every simulated file has an offset."""
        self.fileno()
        return True

    @property
    def mode(self) -> str:
        """The mode as `FileIO` words it."""
        kind = "x" if self._creates else "a" if self._appends else "r" if self._readable else "w"
        return f"{kind}b+" if self._readable and self._writable else f"{kind}b"

    def __repr__(self) -> str:
        if self._fd < 0:
            return "<_io.FileIO [closed]>"
        return f"<_io.FileIO name={self.name!r} mode={self.mode!r} closefd={self.closefd}>"


def _given(fd: int) -> int:
    if fd < 0:
        raise ValueError("negative file descriptor")
    return fd


def _opened(system: SimSystem, file: Any, flags: int, closefd: bool, opener: Any) -> int:
    if not closefd:
        raise ValueError("Cannot use closefd=False with file name")
    if opener is None:
        fd: int = _again(system.open, file, flags, 0o666)
        return fd
    fd = opener(file, flags)
    if not isinstance(fd, int):
        raise TypeError("expected integer from opener")
    if fd < 0:
        raise ValueError(f"opener returned {fd}")
    return fd


def _again(call: Any, *args: Any) -> Any:
    """As Python does: a call that a signal interrupted is made again."""
    while True:
        try:
            return call(*args)
        except InterruptedError:
            continue


class _FileIOMeta(type(io.RawIOBase)):  # type: ignore[misc]
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is FileIO and simulated() is not None:
            return SimRawFile(*args, **kwargs)
        if cls is FileIO:
            return RealFileIO(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is FileIO:
            return isinstance(instance, (RealFileIO, SimRawFile))
        return bool(super().__instancecheck__(instance))


class FileIO(RealFileIO, metaclass=_FileIOMeta):
    """Stands in for `io.FileIO`: a `SimRawFile` inside a process, a real one outside. Instances are never of it."""
