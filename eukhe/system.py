"""The one door to the operating system.

Every store reaches files, locks, clocks, processes and randomness through a `System` that it is given. The methods
carry the names, the arguments and the errors (`OSError` with its errno) of `os`, `fcntl` and `time`; a reader who
knows those knows this. `OsSystem` passes each call through. Any other object of the same shape will do: a simulated
machine, or a wrapper that makes a call fail, counts it or drops it. So a store holds no test hook and no branch for
tests, and nothing here keeps state in a module: two simulated processes live in one interpreter.

Paths are `str`. File descriptors are integers, and a descriptor from one `System` means nothing to another. Nothing
is cached, retried or made safe here: what a flush promises, and which flush a promise needs, is the business of the
stores' rules.

`process_identity` tells a process from a later one that was given the same pid: boot id, pid and start time
together never come twice. Linux only: the facts are read from `/proc`.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

RENAME_NOREPLACE = 1
"""`renameat2` flag: fail with EEXIST when the new name is taken, whatever holds it."""

RENAME_EXCHANGE = 2
"""`renameat2` flag: swap the two names, both of which must exist."""

_AT_FDCWD = -100


class StatResult(Protocol):
    """What `stat`, `lstat` and `fstat` tell of an inode: the fields of `os.stat_result` that a store may use."""

    @property
    def st_mode(self) -> int: ...
    @property
    def st_ino(self) -> int: ...
    @property
    def st_dev(self) -> int: ...
    @property
    def st_nlink(self) -> int: ...
    @property
    def st_size(self) -> int: ...
    @property
    def st_atime_ns(self) -> int: ...
    @property
    def st_mtime_ns(self) -> int: ...
    @property
    def st_ctime_ns(self) -> int: ...


class DirectoryEntry(Protocol):
    """One entry of a directory listing, of the shape of `os.DirEntry`."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    def is_dir(self, *, follow_symlinks: bool = True) -> bool: ...
    def is_file(self, *, follow_symlinks: bool = True) -> bool: ...
    def is_symlink(self) -> bool: ...
    def stat(self, *, follow_symlinks: bool = True) -> StatResult: ...


class ProcessIdentity(Protocol):
    """A process, never to be mistaken for another one that has its pid later on."""

    @property
    def boot_id(self) -> str: ...
    @property
    def pid(self) -> int: ...
    @property
    def start_time(self) -> int: ...


@dataclass(frozen=True)
class Identity:
    """A `ProcessIdentity` as a plain value: boot id, pid, and start time in clock ticks since that boot."""

    boot_id: str
    pid: int
    start_time: int


class System(Protocol):
    """The calls that a store may make. Each raises `OSError` with the errno that the kernel gives.

    `read`, `write`, `pread` and `pwrite` may do less than asked and say how much they did. `open` and `mkdir` take
    modes before the umask. `flock` takes the `fcntl.LOCK_*` flags and raises `BlockingIOError` for LOCK_NB on a
    held lock.
    """

    def open(self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int: ...
    def read(self, fd: int, n: int, /) -> bytes: ...
    def write(self, fd: int, data: bytes, /) -> int: ...
    def pread(self, fd: int, n: int, offset: int, /) -> bytes: ...
    def pwrite(self, fd: int, data: bytes, offset: int, /) -> int: ...
    def lseek(self, fd: int, position: int, whence: int, /) -> int: ...
    def ftruncate(self, fd: int, length: int, /) -> None: ...
    def fsync(self, fd: int, /) -> None: ...
    def fdatasync(self, fd: int, /) -> None: ...
    def close(self, fd: int, /) -> None: ...
    def rename(self, src: str, dst: str, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None: ...
    def renameat2(self, src: str, dst: str, flags: int, /) -> None: ...
    def link(self, src: str, dst: str) -> None: ...
    def unlink(self, path: str, *, dir_fd: int | None = None) -> None: ...
    def mkdir(self, path: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None: ...
    def rmdir(self, path: str, *, dir_fd: int | None = None) -> None: ...
    def symlink(self, src: str, dst: str) -> None: ...
    def readlink(self, path: str, *, dir_fd: int | None = None) -> str: ...
    def stat(self, path: str, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> StatResult: ...
    def lstat(self, path: str, *, dir_fd: int | None = None) -> StatResult: ...
    def fstat(self, fd: int) -> StatResult: ...
    def scandir(self, path: str | int) -> AbstractContextManager[Iterator[DirectoryEntry]]: ...
    def utime(self, path: str, *, ns: tuple[int, int]) -> None: ...
    def chmod(self, path: str, mode: int) -> None: ...
    def flock(self, fd: int, operation: int, /) -> None: ...
    def getpid(self) -> int: ...
    def process_identity(self, pid: int | None = None) -> ProcessIdentity: ...
    def is_alive(self, identity: ProcessIdentity) -> bool: ...
    def time_ns(self) -> int: ...
    def monotonic_ns(self) -> int: ...
    def sleep(self, seconds: float, /) -> None: ...
    def urandom(self, n: int, /) -> bytes: ...


class OsSystem:
    """The real operating system. Holds nothing, so one object or many are the same."""

    def open(self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        return os.open(path, flags, mode, dir_fd=dir_fd)

    def read(self, fd: int, n: int, /) -> bytes:
        return os.read(fd, n)

    def write(self, fd: int, data: bytes, /) -> int:
        return os.write(fd, data)

    def pread(self, fd: int, n: int, offset: int, /) -> bytes:
        return os.pread(fd, n, offset)

    def pwrite(self, fd: int, data: bytes, offset: int, /) -> int:
        return os.pwrite(fd, data, offset)

    def lseek(self, fd: int, position: int, whence: int, /) -> int:
        return os.lseek(fd, position, whence)

    def ftruncate(self, fd: int, length: int, /) -> None:
        os.ftruncate(fd, length)

    def fsync(self, fd: int, /) -> None:
        os.fsync(fd)

    def fdatasync(self, fd: int, /) -> None:
        os.fdatasync(fd)

    def close(self, fd: int, /) -> None:
        os.close(fd)

    def rename(self, src: str, dst: str, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        os.rename(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    def renameat2(self, src: str, dst: str, flags: int, /) -> None:
        """Rename with `RENAME_NOREPLACE` or `RENAME_EXCHANGE`; ENOSYS where the C library has no such call."""
        library = ctypes.CDLL(None, use_errno=True)
        try:
            call = library.renameat2
        except AttributeError:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), src, None, dst) from None
        call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
        call.restype = ctypes.c_int
        if call(_AT_FDCWD, os.fsencode(src), _AT_FDCWD, os.fsencode(dst), flags) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), src, None, dst)

    def link(self, src: str, dst: str) -> None:
        os.link(src, dst)

    def unlink(self, path: str, *, dir_fd: int | None = None) -> None:
        os.unlink(path, dir_fd=dir_fd)

    def mkdir(self, path: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        os.mkdir(path, mode, dir_fd=dir_fd)

    def rmdir(self, path: str, *, dir_fd: int | None = None) -> None:
        os.rmdir(path, dir_fd=dir_fd)

    def symlink(self, src: str, dst: str) -> None:
        os.symlink(src, dst)

    def readlink(self, path: str, *, dir_fd: int | None = None) -> str:
        return os.readlink(path, dir_fd=dir_fd)

    def stat(self, path: str, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> StatResult:
        return os.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)

    def lstat(self, path: str, *, dir_fd: int | None = None) -> StatResult:
        return os.lstat(path, dir_fd=dir_fd)

    def fstat(self, fd: int) -> StatResult:
        return os.fstat(fd)

    def scandir(self, path: str | int) -> AbstractContextManager[Iterator[DirectoryEntry]]:
        return os.scandir(path)

    def utime(self, path: str, *, ns: tuple[int, int]) -> None:
        os.utime(path, ns=ns)

    def chmod(self, path: str, mode: int) -> None:
        os.chmod(path, mode)

    def flock(self, fd: int, operation: int, /) -> None:
        fcntl.flock(fd, operation)

    def getpid(self) -> int:
        return os.getpid()

    def process_identity(self, pid: int | None = None) -> ProcessIdentity:
        """The identity of a process, by default this one. Raises `ProcessLookupError` when no process has the pid."""
        wanted = os.getpid() if pid is None else pid
        _, start_time = _read_proc_stat(wanted)
        return Identity(_read_boot_id(), wanted, start_time)

    def is_alive(self, identity: ProcessIdentity) -> bool:
        """Whether this very process still runs. A zombie has ended: it holds no lock and writes nothing."""
        if identity.boot_id != _read_boot_id():
            return False
        try:
            state, start_time = _read_proc_stat(identity.pid)
        except ProcessLookupError:
            return False
        return start_time == identity.start_time and state not in ("Z", "X")

    def time_ns(self) -> int:
        return time.time_ns()

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def sleep(self, seconds: float, /) -> None:
        time.sleep(seconds)

    def urandom(self, n: int, /) -> bytes:
        return os.urandom(n)


def _read_boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def _read_proc_stat(pid: int) -> tuple[str, int]:
    """State letter and start time of a process.

    The command name may hold anything, so fields count from its last `)`.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except FileNotFoundError:
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH)) from None
    return fields[0].decode("ascii"), int(fields[19])
