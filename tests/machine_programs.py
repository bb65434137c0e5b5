"""Random programs of file calls, drawn step by step from whatever says `draw(n)` -> 0..n-1.

The pools are small on purpose: few names, four descriptor slots, two directories, so that calls meet each other.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from typing import Any

from tests.machine_twin import Slot, Step

Draw = Callable[[int], int]

PATHS = (
    "f", "g", "d", "e", "l", "d/f", "d/g", "e/f", "d/e", "d/l", "l/f", "d/e/f", "f/", "d/", "l/", "./f", ".", "..",
    "d/..", "d/../f", "e/.", "f/g", "missing/f", "", "n" * 255, "n" * 256, "d/" + "n" * 255, "./" * 2000 + "f",
    "d//f", "l/..", "f/.", "f/..", b"f", b"d/g", "k", "k/f", "m", "é",
)  # fmt: skip
SHORT = PATHS[:13]
TARGETS = ("f", "d", "e/f", "../f", "l", "missing", "d/", "f/", ".", "..", "./d/../f", "m", "k")
FLAGS = (
    os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_RDWR | os.O_APPEND | os.O_CREAT, os.O_RDONLY | os.O_DIRECTORY,
    os.O_RDWR | os.O_NOFOLLOW, os.O_RDONLY | os.O_TRUNC, os.O_RDONLY | os.O_CREAT, os.O_PATH,
    os.O_PATH | os.O_NOFOLLOW, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, os.O_RDWR | os.O_CREAT | os.O_DIRECTORY,
    os.O_RDWR | os.O_TMPFILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, os.O_PATH | os.O_DIRECTORY,
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, os.O_RDONLY | os.O_NONBLOCK,
)  # fmt: skip
MODES = (0o644, 0o600, 0o777, 0o6755, 0o1777, 0o000, 0o2775, 0o750)
SIZES = (0, 1, 5, 100, 4095, 4096, 4097, 9000, 12288)
DATA = (b"", b"a", b"hello", b"x" * 100, b"y" * 4096, b"z" * 5000)
OFFSETS = (0, 1, 3, 100, 4095, 4096, 8192, 10000, -1)
SECONDS = (0, 5, 1.1, 0.000001, 123456789.123456, 99999.9999999, 2.5)
USERS = (0, 1000, 1001)
LOCKS = (fcntl.LOCK_SH, fcntl.LOCK_EX, fcntl.LOCK_UN, 0, fcntl.LOCK_SH | fcntl.LOCK_EX)


class Programs:
    """Draws programs. Every method named after a call draws one step that makes it.

    With `users` the program goes back and forth between root and two other users; that takes a root to run it.
    """

    def __init__(self, draw: Draw, users: bool = False) -> None:
        self.draw = draw
        self.users = users

    def pick(self, pool: Any) -> Any:
        return pool[self.draw(len(pool))]

    def path(self) -> Any:
        return self.pick(SHORT) if self.draw(4) else self.pick(PATHS)

    def slot(self) -> Slot:
        return Slot(self.draw(4))

    def target(self) -> Any:
        """A path, or now and then a descriptor, where the call takes either."""
        return self.path() if self.draw(4) else self.slot()

    def at(self, *names: str) -> dict[str, Any]:
        """Now and then a `dir_fd` for each of these keywords."""
        return {name: self.slot() for name in names if not self.draw(8)}

    def program(self, length: int) -> list[Step]:
        steps = [self.step() for _ in range(self.draw(length) + 1)]
        return [Step("chmod", (".", 0o777)), *steps] if self.users else steps

    def step(self) -> Step:
        if self.users and not self.draw(6):
            return Step("become", (self.pick(USERS),))
        call = self.pick(CALLS)
        drawn: Step = getattr(self, call)()
        return drawn

    def open(self) -> Step:
        flags = self.pick(FLAGS[:7]) if self.draw(3) else self.pick(FLAGS)
        return Step("open", (self.path(), flags, self.pick(MODES)), self.at("dir_fd"), into=self.draw(4))

    def close(self) -> Step:
        return Step("close", (self.slot(),))

    def dup(self) -> Step:
        return Step("dup", (self.slot(),), into=self.draw(4))

    def dup2(self) -> Step:
        to = self.draw(4)
        return Step("dup2", (self.slot(), Slot(to)), into=to)

    def read(self) -> Step:
        return Step("read", (self.slot(), self.pick(SIZES)))

    def pread(self) -> Step:
        return Step("pread", (self.slot(), self.pick(SIZES), self.pick(OFFSETS)))

    def write(self) -> Step:
        return Step("write", (self.slot(), self.pick(DATA)))

    def pwrite(self) -> Step:
        return Step("pwrite", (self.slot(), self.pick(DATA), self.pick(OFFSETS)))

    def readv(self) -> Step:
        return Step("readv", (self.slot(), [self.pick(SIZES), self.pick(SIZES)]))

    def preadv(self) -> Step:
        return Step("preadv", (self.slot(), [self.pick(SIZES), self.pick(SIZES)], self.pick(OFFSETS)))

    def writev(self) -> Step:
        return Step("writev", (self.slot(), [self.pick(DATA), self.pick(DATA)]))

    def pwritev(self) -> Step:
        flags = os.RWF_APPEND if not self.draw(6) else 0
        return Step("pwritev", (self.slot(), [self.pick(DATA), self.pick(DATA)], self.pick(OFFSETS), flags))

    def lseek(self) -> Step:
        return Step("lseek", (self.slot(), self.pick(OFFSETS), self.draw(6)))

    def ftruncate(self) -> Step:
        return Step("ftruncate", (self.slot(), self.pick((*SIZES, -1))))

    def truncate(self) -> Step:
        return Step("truncate", (self.target(), self.pick((*SIZES, -1))))

    def sendfile(self) -> Step:
        return Step("sendfile", (self.slot(), self.slot(), self.pick((*OFFSETS, None)), self.pick(SIZES)))

    def copy_file_range(self) -> Step:
        words = {name: self.pick(OFFSETS) for name in ("offset_src", "offset_dst") if self.draw(2)}
        return Step("copy_file_range", (self.slot(), self.slot(), self.pick(SIZES)), words)

    def posix_fallocate(self) -> Step:
        return Step("posix_fallocate", (self.slot(), self.pick(OFFSETS), self.pick(SIZES)))

    def mkdir(self) -> Step:
        return Step("mkdir", (self.path(), self.pick(MODES)), self.at("dir_fd"))

    def rmdir(self) -> Step:
        return Step("rmdir", (self.path(),), self.at("dir_fd"))

    def unlink(self) -> Step:
        return Step("unlink", (self.path(),), self.at("dir_fd"))

    def link(self) -> Step:
        words = self.at("src_dir_fd", "dst_dir_fd")
        if not self.draw(3):
            words["follow_symlinks"] = bool(self.draw(2))
        return Step("link", (self.path(), self.path()), words)

    def symlink(self) -> Step:
        return Step("symlink", (self.pick(TARGETS) if self.draw(8) else "", self.path()), self.at("dir_fd"))

    def readlink(self) -> Step:
        return Step("readlink", (self.path(),), self.at("dir_fd"))

    def rename(self) -> Step:
        return Step("rename", (self.path(), self.path()), self.at("src_dir_fd", "dst_dir_fd"))

    def replace(self) -> Step:
        return Step("replace", (self.path(), self.path()))

    def renameat2(self) -> Step:
        return Step("renameat2", (self.path(), self.path(), self.draw(4)))

    def stat(self) -> Step:
        words = self.at("dir_fd")
        if not self.draw(3):
            words["follow_symlinks"] = bool(self.draw(2))
        return Step("stat", (self.path(),), words)

    def lstat(self) -> Step:
        return Step("lstat", (self.path(),), self.at("dir_fd"))

    def fstat(self) -> Step:
        return Step("fstat", (self.slot(),))

    def listdir(self) -> Step:
        return Step("listdir", (self.target(),))

    def scandir(self) -> Step:
        return Step("scandir", (self.target(),))

    def utime(self) -> Step:
        times: dict[str, Any] = {"ns": (self.draw(10) * 10**9, self.draw(10) * 10**9 + 5)} if self.draw(4) else {}
        if not self.draw(4):
            times = {"times": (self.pick(SECONDS), self.pick(SECONDS))}
        return Step("utime", (self.target(),), {**times, **({"follow_symlinks": False} if not self.draw(5) else {})})

    def chmod(self) -> Step:
        return Step("chmod", (self.target(), self.pick(MODES)))

    def fchmod(self) -> Step:
        return Step("fchmod", (self.slot(), self.pick(MODES)))

    def chown(self) -> Step:
        if self.users:
            words = {"follow_symlinks": False} if not self.draw(4) else {}
            return Step("chown", (self.path(), self.pick((-1, *USERS)), self.pick((-1, *USERS))), words)
        return Step("chown", (self.target(), os.getuid(), os.getgid()))

    def access(self) -> Step:
        return Step("access", (self.path(), self.draw(8)))

    def flock(self) -> Step:
        return Step("flock", (self.slot(), self.pick(LOCKS) | fcntl.LOCK_NB))

    def lockf(self) -> Step:
        kind = self.pick(LOCKS[:3]) | fcntl.LOCK_NB
        return Step("lockf", (self.slot(), kind, self.pick(OFFSETS), self.pick(OFFSETS), self.draw(4)))

    def fcntl(self) -> Step:
        command, value = self.pick(
            ((fcntl.F_GETFL, 0), (fcntl.F_SETFL, os.O_APPEND), (fcntl.F_SETFL, 0), (fcntl.F_GETFD, 0),
             (fcntl.F_SETFD, 0), (fcntl.F_SETFD, 1))
        )  # fmt: skip
        return Step("fcntl", (self.slot(), command, value))

    def setxattr(self) -> Step:
        name = self.pick(("user.a", "user.b", "user.", "wrong", "system.x"))
        return Step("setxattr", (self.target(), name, self.pick(DATA[:4]), self.draw(3)))

    def getxattr(self) -> Step:
        return Step("getxattr", (self.target(), self.pick(("user.a", "user.b", "wrong"))))

    def removexattr(self) -> Step:
        return Step("removexattr", (self.target(), self.pick(("user.a", "user.b"))))

    def listxattr(self) -> Step:
        return Step("listxattr", (self.path(),))

    def chdir(self) -> Step:
        return Step("chdir", (self.target(),))

    def fchdir(self) -> Step:
        return Step("fchdir", (self.slot(),))

    def getcwd(self) -> Step:
        return Step("getcwd")

    def umask(self) -> Step:
        return Step("umask", (self.pick((0, 0o022, 0o077)),))

    def statvfs(self) -> Step:
        return Step("statvfs", (self.target(),))


_OFTEN = ("open", "open", "open", "write", "write", "mkdir", "mkdir", "rename", "link", "symlink", "unlink", "stat")
_RARE = frozenset({"program", "step", "pick", "path", "slot", "target", "at"})
CALLS = _OFTEN + tuple(sorted(n for n in vars(Programs) if not n.startswith("_") and n not in _RARE))
