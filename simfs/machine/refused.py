"""The calls that the machine refuses, each with what to do instead.

A call that is not modelled must not fail like a call of the simulated world, nor reach the real one: it raises
`NotSimulated`. So every function of `os`, `fcntl` and `time` stands in exactly one of three lists, and a test holds the
page `docs/calls.md` to them: modelled (a method of `SimSystem`), refused (here), or not a matter of the machine
(`APART`: pure functions, types, and Python code over modelled calls).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from simfs.machine.errors import NotSimulated

_PROCESSES = "simulated processes are those of the scenario; start no others"
_SESSIONS = "sessions, groups and terminals are not modelled"
_USERS = "give the process its uid and gid when it is spawned"
_PIPES = "only files, directories and symlinks are modelled"
_SCHEDULING = "who runs next is the explorer's choice"

REFUSED: dict[str, str] = {
    **dict.fromkeys(
        (
            "abort", "execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe", "fork", "forkpty",
            "pidfd_open", "popen", "posix_spawn", "posix_spawnp", "register_at_fork", "spawnl", "spawnle", "spawnlp",
            "spawnlpe", "spawnv", "spawnve", "spawnvp", "spawnvpe", "system", "wait", "wait3", "wait4", "waitid",
            "waitpid", "killpg", "setns", "unshare",
        ),
        _PROCESSES,
    ),
    **dict.fromkeys(
        (
            "getlogin", "getpgid", "getpgrp", "getsid", "login_tty", "openpty", "setpgid", "setpgrp", "setsid",
            "tcgetpgrp", "tcsetpgrp", "ttyname", "ctermid", "grantpt", "posix_openpt", "ptsname", "unlockpt",
        ),
        _SESSIONS,
    ),
    **dict.fromkeys(
        (
            "chroot", "getgrouplist", "getgroups", "getresgid", "getresuid", "initgroups", "setegid", "seteuid",
            "setgid", "setgroups", "setregid", "setresgid", "setresuid", "setreuid", "setuid",
        ),
        _USERS,
    ),
    **dict.fromkeys(
        (
            "eventfd", "eventfd_read", "eventfd_write", "memfd_create", "mkfifo", "mknod", "pipe", "pipe2", "splice",
            "ioctl", "timerfd_create", "timerfd_gettime", "timerfd_gettime_ns", "timerfd_settime",
            "timerfd_settime_ns",
        ),
        _PIPES,
    ),
    **dict.fromkeys(
        (
            "getpriority", "nice", "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity",
            "sched_getparam", "sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity", "sched_setparam",
            "sched_setscheduler", "sched_yield", "setpriority",
        ),
        _SCHEDULING,
    ),
    "mmap": "memory maps bypass every call that could be recorded; read and write the file",
    "pthread_getcpuclockid": "threads are not modelled",
}  # fmt: skip
"""Name in `os`, `fcntl`, `time` or `mmap` -> what to do instead."""

APART: frozenset[str] = frozenset(
    {
        # Types and pure functions.
        "DirEntry", "GenericAlias", "Mapping", "MutableMapping", "PathLike", "WCOREDUMP", "WEXITSTATUS",
        "WIFCONTINUED", "WIFEXITED", "WIFSIGNALED", "WIFSTOPPED", "WSTOPSIG", "WTERMSIG", "error", "fsdecode",
        "fsencode", "fspath", "major", "makedev", "minor", "sched_param", "stat_result", "statvfs_result", "strerror",
        "struct_time", "terminal_size", "times_result", "uname_result", "waitid_result", "waitstatus_to_exitcode",
        "asctime", "mktime", "strptime", "tzset",
        # About the host or the interpreter, with no state of the machine in them.
        "confstr", "cpu_count", "process_cpu_count", "device_encoding", "getloadavg", "get_terminal_size", "sysconf",
        "times", "uname", "clock_getres", "get_clock_info",
        # Python code over modelled calls.
        "fdopen", "fwalk", "makedirs", "removedirs", "renames", "walk", "ctime", "gmtime", "localtime", "strftime",
        # The environment, which each process has its own copy of.
        "get_exec_path", "getenv", "getenvb", "putenv", "reload_environ", "unsetenv",
    }
)  # fmt: skip


def refusal(name: str) -> Callable[..., NoReturn]:
    """A stand-in for a refused call: it can be looked up and passed around, and raises when called."""

    def refused(*_args: Any, **_keywords: Any) -> NoReturn:
        raise NotSimulated(name, REFUSED[name])

    refused.__name__ = refused.__qualname__ = name
    return refused
