"""The last line: an audit hook that stops simulated code from touching the real machine.

Python reports (PEP 578) each real open, rename, unlink, mkdir, chmod ..., each process, thread and socket, and each
use of sqlite3, mmap and ctypes, before it happens. Whoever got hold of a real function where no search finds it, or
calls into C code, meets `EscapedToHost` here, with the line that did it. The event comes first: nothing has happened
yet.

Let through: everything outside simulated processes; imports and other host work, which may read files (and the import
system may keep its caches); and an sqlite3 database in memory.

Not seen: calls of C extensions that open files by themselves, and calls that Python does not report (reading,
writing, stat, fsync of a descriptor, reading a clock) through a reference that no search can find. The docs list
them.

An audit hook cannot be removed, so there is one for the interpreter, and it is inert while no process runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from simfs.machine.process import ProcessKilled
from simfs.patch.escape import escaped
from simfs.patch.inside import in_host_work, simulated_machine, unwinds

_FILE = "the function was captured where it cannot be exchanged; call it as an attribute of its module"
_THREAD = "a simulated process has one thread; make the other activity a process of the scenario"
_CHILD = "a simulated process has no children; make the child a process of the scenario"
_NETWORK = "there is no simulated network; let processes meet in files"
_OUTSIDE = "it opens files outside Python, where nothing can be simulated; put a store written in Python in its place"

_CHANGES = frozenset((
    "os.chflags", "os.chmod", "os.chown", "os.lchmod", "os.link", "os.mkdir", "os.putenv", "os.remove",
    "os.removexattr", "os.rename", "os.rmdir", "os.setxattr", "os.symlink", "os.truncate", "os.unsetenv", "os.utime",
    "fcntl.fcntl", "fcntl.flock", "fcntl.ioctl", "fcntl.lockf", "os.lockf", "os.chdir",
))  # fmt: skip
_READS = frozenset(("os.listdir", "os.scandir", "os.getxattr", "os.listxattr"))
_FORBIDDEN = {
    **dict.fromkeys(("_thread.start_new_thread", "_thread.start_joinable_thread"), ("a thread", _THREAD)),
    **dict.fromkeys(
        ("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "pty.spawn", "subprocess.Popen"),
        ("a child process", _CHILD),
    ),
    "ctypes.dlopen": ("ctypes.dlopen", _OUTSIDE),
    "ctypes.dlsym": ("ctypes.dlsym", _OUTSIDE),
    "mmap.__new__": ("mmap", "a mapping writes without a system call; use read and write in the scenario"),
    "sqlite3.connect": ("sqlite3.connect", _OUTSIDE),
}  # fmt: skip
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CACHE_KEEPERS = ("<frozen importlib", "<frozen zipimport")
_CACHE_KEEPING_MODULES = frozenset(("_pytest.assertion.rewrite", "py_compile", "importlib._bootstrap_external"))
_installed = False


def install_tripwire() -> None:
    """Once for the interpreter; further calls do nothing."""
    global _installed
    if not _installed:
        _installed = True
        sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    check = _CHECKS.get(event)
    if check is None:
        if not event.startswith("socket.") or simulated_machine() is None:
            return
        check = _check_socket
    elif simulated_machine() is None:
        if unwinds():
            raise ProcessKilled(f"{event} by a process that is dead")
        return
    check(event, arguments)


def _check_open(event: str, arguments: tuple[Any, ...]) -> None:
    path, mode, flags = (*arguments, None, None, None)[:3]
    writes = bool(flags & _WRITE_FLAGS) if isinstance(flags, int) else mode is not None and mode != "r"
    if in_host_work() and (not writes or _keeps_cache()):
        return
    raise escaped(f"open({_shown(path)})", _FILE)


def _check_change(event: str, arguments: tuple[Any, ...]) -> None:
    if in_host_work() and _keeps_cache():
        return
    raise escaped(f"{event}({', '.join(_shown(a) for a in arguments[:2])})", _FILE)


def _check_read(event: str, arguments: tuple[Any, ...]) -> None:
    if not in_host_work():
        raise escaped(f"{event}({', '.join(_shown(a) for a in arguments[:1])})", _FILE)


def _check_forbidden(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "sqlite3.connect" and arguments and arguments[0] == ":memory:":
        return
    if in_host_work() and event.startswith("ctypes."):
        return  # A module may load its library when it is imported; it is the use that must not happen in a process.
    name, advice = _FORBIDDEN[event]
    shown = f" ({_shown(arguments[0])})" if arguments and isinstance(arguments[0], str) else ""
    raise escaped(name + shown, advice)


def _check_socket(event: str, arguments: tuple[Any, ...]) -> None:
    if not in_host_work():
        raise escaped(event, _NETWORK)


_CHECKS: dict[str, Callable[[str, tuple[Any, ...]], None]] = {
    "open": _check_open,
    **dict.fromkeys(_CHANGES, _check_change),
    **dict.fromkeys(_READS, _check_read),
    **dict.fromkeys(_FORBIDDEN, _check_forbidden),
}


def _shown(argument: Any) -> str:
    return repr(argument) if isinstance(argument, (str, bytes, int)) else type(argument).__name__


def _keeps_cache() -> bool:
    """Whether the call was made by the import system or by pytest's rewriting of test modules."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != "os" and not module.startswith("simfs.patch"):
            return frame.f_code.co_filename.startswith(_CACHE_KEEPERS) or module in _CACHE_KEEPING_MODULES
        frame = frame.f_back
    return False
