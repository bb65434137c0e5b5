"""What a call costs: simfs, pyfakefs and a real directory on tmpfs, side by side in one run.

    python -m benchmarks.syscalls [--seconds 10]

Each line is one call (or the sequence named), repeated on a prepared file tree. The three systems take turns, batch by
batch, so that a slow moment of the host falls on all of them; shown is the median of the batches, in microseconds a
call, and how many times faster simfs is. simfs records the op journal with call sites, as an exploration does.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from pyfakefs.fake_filesystem import FakeFilesystem
from pyfakefs.fake_os import FakeOsModule

from simfs.machine.machine import Machine

BATCH = 100
GOAL_SEQUENCE_US = 20.0
GOAL_MEDIAN_US = 5.0
Call = Callable[[], object]


def tree(system: Any, root: str) -> None:
    """What every case finds: a small file, a directory of ten files, a symlink."""
    system.mkdir(f"{root}/d")
    for name in ("f", *[f"d/{i}" for i in range(10)]):
        fd = system.open(f"{root}/{name}", os.O_CREAT | os.O_WRONLY, 0o644)
        system.write(fd, b"x" * 100)
        system.close(fd)
    system.symlink("f", f"{root}/l")


def sequence(system: Any, root: str) -> Call:
    path = f"{root}/new"

    def body() -> None:
        fd = system.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
        system.write(fd, b"hello world")
        system.fsync(fd)
        system.close(fd)

    return body


def publish(system: Any, root: str) -> Call:
    path, temporary = f"{root}/settings", f"{root}/settings.tmp"

    def body() -> None:
        fd = system.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
        system.write(fd, b"hello world")
        system.fsync(fd)
        system.close(fd)
        system.replace(temporary, path)

    return body


def on_file(flags: int, use: Callable[[Any, int], object]) -> Callable[[Any, str], Call]:
    """A case that makes one call on a descriptor of the small file."""

    def prepare(system: Any, root: str) -> Call:
        fd = system.open(f"{root}/f", flags)
        return lambda: use(system, fd)

    return prepare


def on_path(use: Callable[[Any, str], object]) -> Callable[[Any, str], Call]:
    """A case that works on paths below the root."""
    return lambda system, root: lambda: use(system, root)


def both(system: Any, first: Callable[[], object], second: Callable[[], object]) -> None:
    first()
    second()


SINGLE: dict[str, Callable[[Any, str], Call]] = {
    "open, close": on_path(lambda s, r: s.close(s.open(f"{r}/f", os.O_RDONLY))),
    "read": on_file(os.O_RDONLY, lambda s, fd: s.read(fd, 50)),
    "pread": on_file(os.O_RDONLY, lambda s, fd: s.pread(fd, 50, 10)),
    "pwrite": on_file(os.O_RDWR, lambda s, fd: s.pwrite(fd, b"hello world", 0)),
    "lseek": on_file(os.O_RDONLY, lambda s, fd: s.lseek(fd, 0, os.SEEK_SET)),
    "ftruncate": on_file(os.O_RDWR, lambda s, fd: s.ftruncate(fd, 100)),
    "fsync": on_file(os.O_RDWR, lambda s, fd: s.fsync(fd)),
    "fdatasync": on_file(os.O_RDWR, lambda s, fd: s.fdatasync(fd)),
    "fstat": on_file(os.O_RDONLY, lambda s, fd: s.fstat(fd)),
    "stat": on_path(lambda s, r: s.stat(f"{r}/f")),
    "lstat": on_path(lambda s, r: s.lstat(f"{r}/l")),
    "readlink": on_path(lambda s, r: s.readlink(f"{r}/l")),
    "access": on_path(lambda s, r: s.access(f"{r}/f", os.R_OK)),
    "chmod": on_path(lambda s, r: s.chmod(f"{r}/f", 0o644)),
    "utime": on_path(lambda s, r: s.utime(f"{r}/f", ns=(1, 2))),
    "truncate": on_path(lambda s, r: s.truncate(f"{r}/f", 100)),
    "listdir of 10": on_path(lambda s, r: s.listdir(f"{r}/d")),
    "scandir of 10": on_path(lambda s, r: list(s.scandir(f"{r}/d"))),
    "mkdir, rmdir": on_path(lambda s, r: both(s, lambda: s.mkdir(f"{r}/m"), lambda: s.rmdir(f"{r}/m"))),
    "link, unlink": on_path(lambda s, r: both(s, lambda: s.link(f"{r}/f", f"{r}/k"), lambda: s.unlink(f"{r}/k"))),
    "symlink, unlink": on_path(lambda s, r: both(s, lambda: s.symlink("f", f"{r}/k"), lambda: s.unlink(f"{r}/k"))),
    "rename there, back": on_path(
        lambda s, r: both(s, lambda: s.rename(f"{r}/f", f"{r}/g"), lambda: s.rename(f"{r}/g", f"{r}/f"))
    ),
}
CALLS_IN = {name: name.count(",") + 1 for name in SINGLE}
SEQUENCES = {"open, write, fsync, close": sequence, "the same, then replace": publish}


def words(name: str) -> list[str]:
    """The calls that a case is named after."""
    return [part.strip().split(" ")[0] for part in name.replace("there, back", "").split(",") if part.strip()]


def offers(system: Any, needs: Sequence[str]) -> bool:
    """Whether a system has the calls itself: pyfakefs hands what it lacks, fake descriptors and all, to the real os."""
    return not isinstance(system, FakeOsModule) or all(hasattr(FakeOsModule, name) for name in needs)


class Bench:
    """The three systems, each with its tree."""

    def __init__(self) -> None:
        machine = Machine()
        machine.spawn("bench")
        machine.step_limit = 1 << 60
        self.machine = machine
        self.root = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.systems: dict[str, Any] = {
            "simfs": machine.system,
            "pyfakefs": FakeOsModule(FakeFilesystem()),
            "tmpfs": os,
        }
        for system in self.systems.values():
            above = self.root if system is os else ""
            for part in [] if above else self.root.strip("/").split("/"):
                above += f"/{part}"
                if system.listdir(os.path.dirname(above)).count(part) == 0:
                    system.mkdir(above)
            tree(system, self.root)

    def measure(
        self, prepare: Callable[[Any, str], Call], seconds: float, needs: Sequence[str] = ()
    ) -> dict[str, float]:
        """Median microseconds of one run of a case, by system; none for one that lacks a call."""
        bodies = {name: prepare(system, self.root) for name, system in self.systems.items() if offers(system, needs)}
        times: dict[str, list[float]] = {name: [] for name in bodies}
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(times["simfs"]) < 5:
            for name, body in bodies.items():
                rounds = BATCH // 10 if name == "pyfakefs" else BATCH
                before = time.perf_counter()
                for _ in range(rounds):
                    body()
                times[name].append((time.perf_counter() - before) / rounds * 1e6)
            self.machine.journal.ops.clear()
        return {name: median(values) for name, values in times.items()}

    def boot(self, seconds: float) -> float:
        """Median microseconds to start a machine on an image and a process on it."""
        image = self.machine.freeze()
        times = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            before = time.perf_counter()
            for _ in range(BATCH):
                Machine(image).spawn("recovery")
            times.append((time.perf_counter() - before) / BATCH * 1e6)
        return median(times)

    def close(self) -> None:
        shutil.rmtree(self.root)


def line(name: str, us: dict[str, float], calls: int = 1) -> str:
    us = {system: value / calls for system, value in us.items()}
    fake = f"{us['pyfakefs']:9.1f}" if "pyfakefs" in us else f"{'none':>9}"
    times = f"{us['pyfakefs'] / us['simfs']:7.0f}x" if "pyfakefs" in us else f"{'':8}"
    return f"{name:28} {us['simfs']:8.2f} {fake} {us['tmpfs']:8.2f} {times} {us['tmpfs'] / us['simfs']:7.2f}x"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the whole run takes, about")
    share = parser.parse_args().seconds / (len(SINGLE) + len(SEQUENCES) + 1)
    bench = Bench()
    try:
        print(f"{'microseconds a call':28} {'simfs':>8} {'pyfakefs':>9} {'tmpfs':>8} {'pyfakefs':>8} {'tmpfs':>8}")
        for name, prepare in SEQUENCES.items():
            print(line(name, bench.measure(prepare, share)))
        singles = {}
        for name, prepare in SINGLE.items():
            us = bench.measure(prepare, share, words(name))
            singles[name] = us["simfs"] / CALLS_IN[name]
            print(line(name, us, CALLS_IN[name]))
        print(f"{'median of the single calls':28} {median(singles.values()):8.2f}   (goal: {GOAL_MEDIAN_US:g})")
        print(f"{'machine and process on image':28} {bench.boot(share):8.2f}")
    finally:
        bench.close()


if __name__ == "__main__":
    main()
