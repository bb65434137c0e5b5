"""One program, two worlds: the same calls on the simulated machine and on the real kernel, answer by answer.

A program is a list of steps; a step names a call and its arguments, with `Slot(n)` where a descriptor goes. Both
worlds start in the same empty directory, a few levels below a root; a program that climbs out of the root ends there.
An answer is what the call returned or the errno, file names included. What cannot be equal is put aside: inode numbers
are compared in the end, by identity (which names are the same inode?), descriptors by slot, times by whether they
were set or are "now", the order and the size of directories not at all.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from simfs.machine.errors import NotSimulated
from simfs.machine.machine import Machine

INSIDE = "/1/2/3"
"""Where below the root a program starts."""
NOWHERE = 999
"""A descriptor number that is open in neither world."""
LONG_AGO_S = 1_000_000_000
"""Times before this were set by the program; later ones are "now"."""


def brief(text: str) -> str:
    """Long data and names, cut in the middle."""
    return text if len(text) < 120 else f"{text[:80]}...{text[-30:]}"


class Slot(NamedTuple):
    """The descriptor that an earlier step put into this slot."""

    number: int


@dataclass(frozen=True)
class Step:
    """One call. `into` is the slot that takes the descriptor it returns."""

    call: str
    args: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    into: int | None = None

    def __str__(self) -> str:
        words = [brief(repr(a)) for a in self.args] + [f"{k}={v!r}" for k, v in self.keywords.items()]
        target = "" if self.into is None else f"slot {self.into} = "
        return f"{target}{self.call}({', '.join(words)})"


def renameat2(src: Any, dst: Any, flags: int) -> None:
    """The real renameat2(2), which Python has no name for."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.renameat2(-100, os.fsencode(src), -100, os.fsencode(dst), flags) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), src, None, dst)


class World:
    """What both worlds share: slots, and how an answer is made comparable."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.slots: dict[int, int] = {}
        self.opened: set[int] = set()

    def function(self, name: str) -> Callable[..., Any]:
        raise NotImplementedError

    def run(self, step: Step) -> Any:
        """The answer to one step."""
        args = [self.filled(a) for a in step.args]
        keywords = {k: self.filled(v) for k, v in step.keywords.items()}
        if step.call == "lseek" and args[2] > os.SEEK_CUR and self.is_directory(args[0]):
            return "how far a directory reaches is each filesystem's own affair"
        try:
            value = self.function(step.call)(*args, **keywords)
            if step.into is None:
                return self.comparable(step.call, value, args)
        except OSError as error:
            names = tuple("fd" if isinstance(n, int) else n for n in (error.filename, error.filename2))
            return errno.errorcode.get(error.errno or 0, error.errno), names
        except (ValueError, TypeError, OverflowError) as error:
            return type(error).__name__
        self.slots[step.into] = value
        self.opened.add(value)
        return "fd"

    def is_directory(self, fd: int) -> bool:
        try:
            return stat.S_ISDIR(self.function("fstat")(fd).st_mode)
        except OSError:
            return False

    def filled(self, value: Any) -> Any:
        if isinstance(value, Slot):
            return self.slots.get(value.number, NOWHERE)
        if isinstance(value, list):
            return [bytearray(n) if isinstance(n, int) else n for n in value]
        return value

    def comparable(self, call: str, value: Any, args: list[Any]) -> Any:
        if isinstance(value, os.stat_result):
            return self.shown(value)
        if call == "scandir":
            with value as entries:
                found = sorted(entries, key=lambda e: os.fsencode(e.name))
                return [
                    (e.name, e.path, e.is_symlink(), e.is_dir(), e.is_file(), self.shown(e.stat(follow_symlinks=False)))
                    for e in found
                ]
        if call in ("listdir", "listxattr"):
            return sorted(value)
        if call in ("readv", "preadv"):
            return value, [bytes(b) for b in args[1]]
        if call == "statvfs":
            return value.f_bsize, value.f_namemax
        return value

    def shown(self, st: os.stat_result) -> tuple[Any, ...]:
        """The comparable part of a stat."""
        size = -1 if stat.S_ISDIR(st.st_mode) else st.st_size
        mtime = st.st_mtime_ns if st.st_mtime < LONG_AGO_S else "now"
        ctime = "now" if st.st_ctime >= LONG_AGO_S else st.st_ctime_ns
        return st.st_mode, st.st_nlink, st.st_uid, st.st_gid, size, mtime, ctime

    def tree(self) -> dict[str, Any]:
        """Everything below the root: path -> (which inode, stat, content, extended attributes)."""
        out: dict[str, Any] = {}
        numbers: dict[int, int] = {}
        todo = [self.root]
        while todo:
            here = todo.pop()
            for name in sorted(self.function("listdir")(here)):
                path = f"{here}/{name}"
                st = self.function("lstat")(path)
                content: Any = None
                if stat.S_ISLNK(st.st_mode):
                    content = self.function("readlink")(path)
                elif stat.S_ISDIR(st.st_mode):
                    todo.append(path)
                else:
                    content = self.content(path)
                xattrs = sorted(
                    n for n in self.function("listxattr")(path, follow_symlinks=False) if n.startswith("user.")
                )
                out[path[len(self.root) :]] = (
                    numbers.setdefault(st.st_ino, len(numbers)), self.shown(st), content, xattrs
                )  # fmt: skip
        return out

    def content(self, path: str) -> bytes:
        fd = self.function("open")(path, os.O_RDONLY)
        try:
            return bytes(self.function("pread")(fd, 1 << 20, 0))
        finally:
            self.function("close")(fd)


class RealWorld(World):
    """The kernel, in a real directory. Use as a context manager: it changes the working directory and the umask."""

    def function(self, name: str) -> Callable[..., Any]:
        if name == "renameat2":
            return renameat2
        if name == "become":
            return self.become
        if name in ("flock", "lockf", "fcntl"):
            return getattr(fcntl, name)
        return getattr(os, name)

    def __enter__(self) -> RealWorld:
        self.before = os.getcwd(), os.umask(0o022)
        os.makedirs(self.root + INSIDE)
        os.chdir(self.root + INSIDE)
        self.groups = os.getgroups()
        if os.getuid() == 0:
            os.setgroups([])
        return self

    def become(self, uid: int) -> None:
        """Go on as another user, with a group of the same number and no others. Root can come back."""
        os.setresuid(0, 0, 0)
        os.setresgid(uid, uid, 0)
        os.setresuid(uid, uid, 0)

    def has_left(self, step: Step) -> bool:
        """Whether this step opened, or went to, a directory outside the root: no further step may run then."""
        places = []
        if step.call in ("chdir", "fchdir"):
            places.append("/proc/self/cwd")
        if step.call == "open" and step.into is not None and step.into in self.slots:
            places.append(f"/proc/self/fd/{self.slots[step.into]}")
        return any(os.path.lexists(p) and not (os.readlink(p) + "/").startswith(self.root + "/") for p in places)

    def __exit__(self, *_: object) -> None:
        if os.getresuid()[2] == 0:
            self.become(0)
            os.setgroups(self.groups)
        for fd in self.opened:
            try:
                os.close(fd)
            except OSError:
                pass
        os.chdir(self.before[0])
        os.umask(self.before[1])
        shutil.rmtree(self.root)


class SimWorld(World):
    """The simulated machine, with a directory of the same path."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.machine = Machine(record_sites=False)
        self.process = self.machine.spawn("twin")
        uid, gid = os.getuid(), os.getgid()
        self.system = self.machine.system
        start = root + INSIDE
        for at, letter in enumerate(start + "/"):
            if letter == "/" and at:
                self.system.mkdir(start[:at])
                if start[:at].startswith(root):
                    self.system.chown(start[:at], uid, gid)
        self.process.uid, self.process.gid = uid, gid
        self.system.chdir(start)

    def function(self, name: str) -> Callable[..., Any]:
        return self.become if name == "become" else getattr(self.system, name)

    def become(self, uid: int) -> None:
        """Go on as another user, with a group of the same number."""
        self.process.uid = self.process.gid = uid


def difference(program: Sequence[Step], root: str) -> str | None:
    """Run `program` in both worlds; the first difference in words, None if there is none."""
    sim = SimWorld(root)
    with RealWorld(root) as real:
        for at, step in enumerate(program):
            try:
                ours = sim.run(step)
            except NotSimulated:
                continue
            theirs = real.run(step)
            if ours != theirs:
                return f"step {at}: {step}\n  Linux: {theirs}\n  simfs: {ours}"
            if real.has_left(step):
                break
        if os.getresuid()[2] == 0:
            sim.become(0)
            real.become(0)
        ours, theirs = sim.tree(), real.tree()
        if ours != theirs:
            lines = [
                f"  {path}\n    Linux: {brief(repr(theirs.get(path)))}\n    simfs: {brief(repr(ours.get(path)))}"
                for path in sorted({*ours, *theirs})
                if ours.get(path) != theirs.get(path)
            ]
            return "final trees:\n" + "\n".join(lines)
    check(sim)
    return None


def check(sim: SimWorld) -> None:
    """What must hold of every machine: link counts, and an image that is the visible state and nothing else."""
    visible = sim.tree()
    image = sim.machine.freeze()
    assert sim.tree() == visible
    counted = dict.fromkeys(image.inodes, 0)
    counted[image.root] = 2
    for node in image.inodes.values():
        for ino in node.entries.values():
            child = image.inodes[ino]
            counted[ino] += 2 if child.kind == "dir" else 1
            if child.kind == "dir":
                counted[node.ino] += 1
                assert child.parent == node.ino
    for ino, node in image.inodes.items():
        assert node.nlink == counted[ino], (node, counted[ino])
    again = Machine(image, boot=2, record_sites=False)
    assert again.freeze().inodes.keys() == image.inodes.keys()


def shrunk(program: Sequence[Step], differs: Callable[[Sequence[Step]], bool]) -> list[Step]:
    """`program` without the steps that the difference does not need."""
    steps = list(program)
    size = max(1, len(steps) // 2)
    while size:
        at = 0
        while at < len(steps):
            fewer = steps[:at] + steps[at + size :]
            if differs(fewer):
                steps = fewer
            else:
                at += size
        size //= 2
    return steps
