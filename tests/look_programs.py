"""Random small programs, recoveries and laws that look at some of what there is, and what they saw.

Everything goes through the machine's system calls and is drawn from a seeded generator, so a seed names a case. A look
answers what its caller saw of the disk, or the errno; times of change (ctime) and of access are in no image, so nothing
here looks at them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import simfs
from simfs.explore.verdict import Verdict
from simfs.machine.ops import Op
from tests.disk_programs import base_image, run, take_step

FILES = ("/a", "/b", "/d/a", "/d/b", "/d/e/a", "/e/a", "/s")
DIRS = ("/d", "/e", "/d/e", "/e/d", "/f")
EVERY = (*FILES, *DIRS, "/l", "/")
Step = tuple[Any, ...]

STEPS: dict[str, tuple[int, Callable[[random.Random], Step]]] = {
    "put": (4, lambda r: (r.choice(FILES), r.choice([b"", b"x", b"yy"]))),
    "append": (1, lambda r: (r.choice(FILES), r.choice([b"x", b"yy"]))),
    "pwrite": (1, lambda r: (r.choice(FILES), r.choice([0, 1, 2]), b"z")),
    "truncate": (1, lambda r: (r.choice(FILES), r.choice([0, 1]))),
    "rename": (2, lambda r: (r.choice(FILES), r.choice(FILES))),
    "link": (1, lambda r: (r.choice(FILES), r.choice(FILES))),
    "exchange": (1, lambda r: (r.choice(FILES), r.choice(FILES))),
    "unlink": (1, lambda r: (r.choice(FILES),)),
    "move": (1, lambda r: (r.choice(DIRS), r.choice(DIRS))),
    "mkdir": (2, lambda r: (r.choice(DIRS),)),
    "rmdir": (1, lambda r: (r.choice(DIRS),)),
    "flush": (2, lambda r: (r.choice((*FILES, *DIRS, "/")), r.random() < 0.5)),
    "chmod": (1, lambda r: (r.choice((*FILES, *DIRS)), 0o700 + r.randint(0, 7))),
    "utime": (1, lambda r: (r.choice((*FILES, *DIRS)),)),
    "symlink": (1, lambda r: (r.choice(FILES), r.choice((*FILES, "/l")))),
    "setxattr": (1, lambda r: (r.choice((*FILES, *DIRS)), "user.x", r.choice([b"1", b"2"]))),
    "sleep": (1, lambda r: (0.5,)),
}
"""Name of a step -> how often it is drawn, and its arguments."""

OPENED = {
    "read": os.O_RDONLY,
    "append": os.O_RDWR | os.O_APPEND,
    "put": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    "truncate": os.O_WRONLY,
    "fstat": os.O_RDONLY,
    "fsync": os.O_RDONLY,
    "end": os.O_RDONLY,
    "hole": os.O_RDONLY,
}
"""Looks that open a file, with the flags."""
LOOKS = (
    *("read",) * 5, *("stat",) * 2, "lstat", "access", *("listdir",) * 2, "scandir", "unlink", "append", "put",
    "rename", "move", "mkdir", "rmdir", "chmod", "utime", "link", "readlink", "getxattr", "truncate", "cwd", "fsync",
    "exchange", "statvfs", "fstat", "end", "hole",
)  # fmt: skip


def draw_step(r: random.Random) -> Step:
    """One step of a program."""
    name = r.choices(list(STEPS), [weight for weight, _ in STEPS.values()])[0]
    return ("rename" if name == "move" else name, *STEPS[name][1](r))


def run_step(system: Any, step: Step) -> None:
    """Take one step; what the machine refuses is no step."""
    try:
        if step[0] in ("chmod", "utime", "symlink", "setxattr", "sleep"):
            getattr(system, step[0])(*step[1:])
        else:
            take_step(system, step)
    except OSError:
        pass


def journal(steps: list[Step]) -> list[Op]:
    """The ops of a program on `base_image`."""

    def program(system: Any) -> None:
        for step in steps:
            run_step(system, step)

    return run(program, base_image())


def draw_look(r: random.Random) -> tuple[Step, bool]:
    """One look, and whether the next is left out when it sees nothing."""
    kind = r.choice(LOOKS)
    decides = r.random() < 0.3
    if kind in ("rename", "link", "exchange"):
        return (kind, r.choice(FILES), r.choice(FILES)), decides
    if kind == "move":
        return ("rename", r.choice(DIRS), r.choice(DIRS)), decides
    if kind in ("listdir", "scandir", "mkdir", "rmdir", "cwd"):
        return (kind, r.choice((*DIRS, "/"))), decides
    if kind in OPENED or kind == "unlink":
        return (kind, r.choice(FILES)), decides
    return (kind, r.choice(EVERY)), decides


def saw(system: Any, look: Step) -> Any:
    """What one look saw."""
    try:
        return _opened(system, *look) if look[0] in OPENED else _called(system, *look)
    except OSError as error:
        return ("errno", error.errno)


def _opened(s: Any, kind: str, path: str) -> Any:
    fd = s.open(path, OPENED[kind], 0o644)
    try:
        if kind == "read":
            return s.read(fd, 100)
        if kind in ("append", "put"):
            return s.write(fd, b"R")
        if kind == "truncate":
            return s.ftruncate(fd, 1)
        if kind == "fstat":
            return _status(s.fstat(fd))
        if kind == "fsync":
            return s.fsync(fd)
        return s.lseek(fd, 0, os.SEEK_END if kind == "end" else os.SEEK_HOLE)
    finally:
        s.close(fd)


def _called(s: Any, kind: str, *rest: str) -> Any:
    path = rest[0]
    if kind in ("stat", "lstat"):
        return _status(getattr(s, kind)(path))
    if kind == "access":
        return s.access(path, os.F_OK)
    if kind == "listdir":
        return tuple(s.listdir(path))
    if kind == "scandir":
        return tuple((entry.name, entry.is_dir(), entry.inode()) for entry in s.scandir(path))
    if kind == "chmod":
        return s.chmod(path, 0o755)
    if kind == "getxattr":
        return s.getxattr(path, "user.x")
    if kind == "cwd":
        s.chdir(path)
        return s.getcwd()
    if kind == "exchange":
        return s.renameat2(*rest, 2)
    if kind == "statvfs":
        return s.statvfs(path).f_bfree
    return getattr(s, kind)(*rest)


def _status(status: os.stat_result) -> tuple[int, ...]:
    return status.st_mode, status.st_nlink, status.st_size, status.st_mtime_ns, status.st_ino


@dataclass
class Case:
    """A program, perhaps a recovery, and laws; `look` explores it and answers the verdict and all that was seen."""

    setup: list[Step]
    steps: list[Step]
    recovery: list[tuple[Step, bool]]
    laws: list[list[tuple[Step, bool]]]
    seen: set[Any] = field(default_factory=set)

    @staticmethod
    def drawn(seed: str) -> Case:
        """The case that a seed names."""
        r = random.Random(seed)
        setup = [draw_step(r) for _ in range(r.randint(1, 8))]
        steps = [draw_step(r) for _ in range(r.randint(2, 7))]
        recovery = [draw_look(r) for _ in range(r.randint(1, 4))] if r.random() < 0.7 else []
        laws = [[draw_look(r) for _ in range(r.randint(1, 4))] for _ in range(r.randint(1, 2))]
        return Case(setup, steps, recovery, laws)

    def _watch(self, system: Any, looks: list[tuple[Step, bool]]) -> tuple[Any, ...]:
        found = []
        left_out = False
        for look, decides in looks:
            if left_out:
                left_out = False
                continue
            what = saw(system, look)
            found.append(what)
            left_out = decides and (not what or (isinstance(what, tuple) and what[0] == "errno"))
        return tuple(found)

    def explore(self, disk: str, lazy: bool, **options: Any) -> tuple[Verdict, set[Any]]:
        """The verdict, and everything that recovery and laws saw on any image."""
        self.seen = set()

        def setup(m: simfs.Handle) -> None:
            for step in self.setup:
                run_step(m.system, step)

        def program(m: simfs.Handle) -> None:
            for at, step in enumerate(self.steps):
                run_step(m.system, step)
                if at == len(self.steps) // 2:
                    m.ack("half")

        def recover(m: simfs.Handle) -> None:
            self.seen.add(("recovery", m.boot, m.acked("half"), self._watch(m.system, self.recovery)))

        def law_of(number: int, looks: list[tuple[Step, bool]]) -> Callable[[simfs.Handle], None]:
            def law(m: simfs.Handle) -> None:
                self.seen.add((number, m.boot, m.acked("half"), self._watch(m.system, looks)))

            return law

        laws = [law_of(number, looks) for number, looks in enumerate(self.laws)]
        made = simfs.scenario(
            setup=setup, processes=program, law=laws, recover=recover if self.recovery else None, name="looks"
        )
        return simfs.explore(made, disk=disk, lazy=lazy, interpose=False, **options), self.seen
