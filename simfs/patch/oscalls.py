"""What each function of `os`, `fcntl` and `io` becomes: modelled, answered, unchanged or refused.

The list is closed from the safe side: every builtin function of the `posix` module is refused unless it is named here
or the machine has a call of its name. A newer Python that brings a new call finds it refused, not passed to the
kernel with the number of a simulated descriptor.

*Modelled*: the machine's call of the same name. *Answered*: a fact about the machine or the process that needs no
system call of the machine. *Unchanged*: touches no state outside its arguments. *Refused*: `NotSimulated`.

Only C functions are replaced. What Python itself builds on them (`os.walk`, `os.makedirs`, `os.path.exists`, all of
`shutil`, `glob` and `pathlib`) runs as it is and finds the stand-ins in `os`.
"""

from __future__ import annotations

import _io
import builtins
import errno
import fcntl
import io
import os
import posix
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

from simfs.machine.errors import os_error
from simfs.machine.process import ProcessKilled
from simfs.machine.refused import REFUSED
from simfs.machine.system import SimSystem
from simfs.patch import opening, rawfile
from simfs.patch.accounts import HOST
from simfs.patch.inside import current_process
from simfs.patch.standin import StandIn, answered_by, modelled, refused

UNCHANGED = frozenset((
    "WCOREDUMP", "WEXITSTATUS", "WIFCONTINUED", "WIFEXITED", "WIFSIGNALED", "WIFSTOPPED", "WSTOPSIG", "WTERMSIG",
    "confstr", "cpu_count", "ctermid", "fspath", "get_terminal_size", "major", "makedev", "minor",
    "process_cpu_count", "register_at_fork", "sched_get_priority_max", "sched_get_priority_min", "strerror", "sysconf",
    "waitstatus_to_exitcode",
))  # fmt: skip
RETRIED = frozenset((
    "copy_file_range", "dup", "fchdir", "fchmod", "fchown", "fdatasync", "flock", "fstat", "fstatvfs", "fsync",
    "ftruncate", "lockf", "open", "posix_fadvise", "posix_fallocate", "pread", "preadv", "pwrite", "pwritev", "read",
    "readv", "sendfile", "write", "writev",
))  # fmt: skip
"""Calls that Python makes again when a signal interrupts them: no program ever sees their EINTR."""

_REFUSED_BECAUSE = "the machine has no model of this call; do without it, or hide it behind a System of your own"


def _terminal(system: SimSystem, *args: Any) -> Any:
    raise os_error(errno.ENOTTY)


def _uname(system: SimSystem) -> os.uname_result:
    return os.uname_result(("Linux", HOST, "6.1.0", "#1 SMP", "x86_64"))


def _times(system: SimSystem) -> os.times_result:
    seconds = system.monotonic_ns() / 1e9
    return os.times_result((0.0, 0.0, 0.0, 0.0, seconds))


def _nothing(system: SimSystem, *args: Any, **kwargs: Any) -> None:
    return None


def _end_at_once(system: SimSystem, *status: int) -> None:
    """Without unwinding, so without flushing a buffer: what follows in the program is the work of a corpse."""
    machine, process = system.machine, current_process()
    machine.exit(process)
    raise ProcessKilled(process.name)


def _login(system: SimSystem) -> str:
    return "root" if current_process().uid == 0 else f"user{current_process().uid}"


_ANSWERS: dict[str, Callable[..., Any]] = {
    "uname": _uname,
    "times": _times,
    "getlogin": _login,
    "ttyname": _terminal,
    "tcgetpgrp": _terminal,
    "device_encoding": _nothing,
    "putenv": _nothing,
    "unsetenv": _nothing,
    "sched_yield": _nothing,
    "_exit": _end_at_once,
    "abort": _end_at_once,
    "getpgrp": lambda system: system.getpid(),
    "getgroups": lambda system: [current_process().gid],
    "getloadavg": lambda system: (0.0, 0.0, 0.0),
    "getresuid": lambda system: (current_process().uid,) * 3,
    "getresgid": lambda system: (current_process().gid,) * 3,
}
_SAME_CALL = {"remove": "unlink"}
"""Calls of the C module that are another's double."""


def os_names() -> list[str]:
    """Every C function of this Python's `os`."""
    return [n for n, v in vars(posix).items() if isinstance(v, BuiltinFunctionType) and v.__self__ is posix]


def fate(name: str) -> str:
    """What happens to `os.<name>`: "modelled", "answered", "unchanged" or "refused"."""
    if hasattr(SimSystem, _SAME_CALL.get(name, name)):
        return "modelled"
    if name in _ANSWERS:
        return "answered"
    return "unchanged" if name in UNCHANGED or name.startswith("_") else "refused"


def _stand_in_for(where: str, name: str, real: Any) -> StandIn | None:
    decided = fate(name)
    if decided == "modelled":
        return modelled(f"{where}.{name}", real, _SAME_CALL.get(name, name), name in RETRIED)
    if decided == "answered":
        return answered_by(f"{where}.{name}", real, _ANSWERS[name])
    if decided == "refused":
        return refused(f"{where}.{name}", real, REFUSED.get(name, _REFUSED_BECAUSE))
    return None


def os_stand_ins() -> list[tuple[Any, str, StandIn]]:
    """Module, name in it, stand-in: `os` and `posix` hold the same functions under the same names."""
    made: list[tuple[Any, str, StandIn]] = []
    for name in os_names():
        record = _stand_in_for("os", name, getattr(posix, name))
        if record is not None:
            made.extend((module, name, record) for module in (posix, os) if hasattr(module, name))
    for name in ("fcntl", "flock", "ioctl", "lockf"):
        # `os.lockf` and `fcntl.lockf` are two functions with two kinds of arguments.
        record = _stand_in_for("fcntl", name, getattr(fcntl, name))
        assert record is not None
        made.append((fcntl, name, record))
    return made


def io_stand_ins() -> list[tuple[Any, str, StandIn]]:
    """`open` wherever it is at home, `io.open_code`, and the class `io.FileIO`."""
    opened = answered_by("open", io.open, opening.open_simulated)
    code = answered_by("io.open_code", io.open_code, opening.open_code_simulated)
    raw = StandIn("io.FileIO", rawfile.RealFileIO)
    raw.fake = rawfile.FileIO
    made: list[tuple[Any, str, StandIn]] = [(builtins, "open", opened)]
    for module in (io, _io):
        made.extend(((module, "open", opened), (module, "open_code", code), (module, "FileIO", raw)))
    return made
