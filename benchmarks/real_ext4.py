"""The litmus programs on a real ext4, cut off after each step: is what is left among what the model says?

    sudo python -m benchmarks.real_ext4 [--image-mb 32] [--directory /tmp]

Needs root, mkfs.ext4, loop devices. For each program and each number of steps: a fresh filesystem in a file, mounted
through a loop device; `setup`, then sync; the steps; and the file is copied as it is, without unmounting, which is what
a power loss at that moment leaves on a drive without a cache. The copy is mounted, its journal is replayed, its tree is
read. Four ways of leaving the program alone before that: nothing; its data written back; its metadata committed (by
the flush of a directory that has nothing to do with it); both. Each observed tree must be one of the model's for that
number of steps. Programs with a failed flush are left out: no real flush can be made to fail here.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from simfs.disk.realdir import load
from simfs.explore.outcomes import outcomes
from tests.litmus_programs import ALL, Litmus

ASIDE = "aside"
WAYS = ("nothing", "data written back", "metadata committed", "both")
SYNC_FILE_RANGE_WRITE_AND_WAIT = 7

Shape = tuple[tuple[str, object], ...]


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def write_back(root: Path) -> None:
    """Write the data of every file, and commit nothing."""
    libc = ctypes.CDLL(None, use_errno=True)
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            fd = os.open(path, os.O_RDONLY)
            libc.sync_file_range(fd, ctypes.c_int64(0), ctypes.c_int64(0), SYNC_FILE_RANGE_WRITE_AND_WAIT)
            os.close(fd)


def commit(top: Path) -> None:
    """Flush a directory that the program does not know: the journal is committed up to here."""
    (top / ASIDE / "mark").mkdir()
    fd = os.open(top / ASIDE, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def close_all_below(top: Path) -> None:
    """Close what the steps left open, so that the filesystem can be unmounted."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith(f"{top}/"):
                os.close(int(name))
        except OSError:
            continue


def observe(program: Litmus, count: int, way: str, place: Path, size_mb: int) -> Shape:
    """The tree that a cut after `count` steps leaves."""
    disk, snapshot, mounted = place / "disk", place / "snapshot", place / "mounted"
    for path in (disk, snapshot):
        path.unlink(missing_ok=True)
    mounted.mkdir(exist_ok=True)
    with open(disk, "wb") as file:
        file.truncate(size_mb << 20)
    run("mkfs.ext4", "-q", str(disk))
    run("mount", "-o", "loop", str(disk), str(mounted))
    try:
        root = mounted / "root"
        root.mkdir()
        (mounted / ASIDE).mkdir()
        program.prepare(str(root))
        os.sync()
        for step in program.steps[:count]:
            step(str(root))
        if way in ("data written back", "both"):
            write_back(root)
        if way in ("metadata committed", "both"):
            commit(mounted)
        shutil.copyfile(disk, snapshot)
    finally:
        close_all_below(mounted)
        run("umount", str(mounted))
    run("mount", "-o", "loop", str(snapshot), str(mounted))
    try:
        return tuple(sorted(load(mounted / "root").tree().items()))
    finally:
        run("umount", str(mounted))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--image-mb", type=int, default=32)
    parser.add_argument("--directory", default=None)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    place = Path(tempfile.mkdtemp(dir=options.directory))
    try:
        for program in ALL:
            failing = any("fails with EIO" in step.words for step in program.steps)
            if failing or "ext4" not in program.models or options.only not in program.name:
                continue
            allowed: dict[int, set[Shape]] = {}
            for outcome in outcomes(list(program.steps), setup=program.prepare, disk="ext4"):
                allowed.setdefault(outcome.after, set()).add(tuple(sorted(outcome.tree.items())))
            seen: set[Shape] = set()
            for count in range(len(program.steps) + 1):
                for way in WAYS:
                    found = observe(program, count, way, place, options.image_mb)
                    counts["observed"] += 1
                    seen.add(found)
                    if found not in allowed[count]:
                        counts["not in the model"] += 1
                        print(f"{program.name} after {count} steps, {way}: {found}")
            every = set().union(*allowed.values())
            counts["distinct trees observed"] += len(seen)
            counts["trees that the model allows"] += len(every)
            print(f"{program.name}: {len(seen & every)} of {len(every)} trees of the model seen", flush=True)
    finally:
        shutil.rmtree(place)
    for name, number in counts.items():
        print(f"{name}: {number:,}")


if __name__ == "__main__":
    main()
