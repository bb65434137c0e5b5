"""How faithful a filesystem is: the same random programs on Linux, on simfs and on pyfakefs.

    python -m benchmarks.fidelity [--programs 1000] [--differences 20]

Programs use only the calls that pyfakefs has itself. A program counts as right when every answer, every errno and the
final tree (names, modes, content) are those of a real directory; file names in errors, times and link counts are let
pass here, though simfs has them right. For pyfakefs the differences that come first are shrunk, and listed by call.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from pyfakefs.fake_filesystem import FakeFilesystem
from pyfakefs.fake_os import FakeOsModule

from tests.machine_programs import Programs
from tests.machine_twin import INSIDE, RealWorld, SimWorld, Step, World, brief, shrunk

LENGTH = 40
SHRUNK_MAX = 60
"""How many differing programs are shrunk: each takes many runs of a slow fake."""


class FakeWorld(World):
    """pyfakefs, with a directory of the same path."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.filesystem = FakeFilesystem()
        self.os = FakeOsModule(self.filesystem)
        self.os.umask(0o022)
        self.os.makedirs(root + INSIDE)
        self.os.chdir(root + INSIDE)

    def function(self, name: str) -> Callable[..., Any]:
        if not hasattr(FakeOsModule, name):
            raise NotImplementedError(name)
        return getattr(self.os, name)  # type: ignore[no-any-return]

    def comparable(self, call: str, value: Any, args: list[Any]) -> Any:
        return self.shown(value) if hasattr(value, "st_mode") else super().comparable(call, value, args)


def lenient(call: str, answer: Any) -> Any:
    """What is compared: the errno without file names; of a stat mode, owner and size; of a listing the names."""
    if call in ("stat", "lstat", "fstat") and isinstance(answer, tuple) and len(answer) == 7:
        return answer[0], answer[2:5], answer[5]
    if call == "scandir" and isinstance(answer, list):
        return [entry[0] for entry in answer]
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], tuple):
        return answer[0]
    return answer


def content_of(world: World, path: str) -> bytes:
    """A whole file, by calls that all three have."""
    fd = world.function("open")(path, os.O_RDONLY)
    try:
        return bytes(world.function("read")(fd, 1 << 20))
    finally:
        world.function("close")(fd)


def first_difference(make: Callable[[str], World], program: Sequence[Step], root: str) -> tuple[str, str, str] | None:
    """(call, Linux, other) where a world first leaves Linux; the final tree counts as a last call."""
    other = make(root)
    with RealWorld(root) as real:
        for step in program:
            theirs = real.run(step)
            try:
                ours = other.run(step)
            except Exception as error:
                ours = f"raises {type(error).__name__}"
            if lenient(step.call, ours) != lenient(step.call, theirs):
                return step.call, brief(repr(theirs)), brief(repr(ours))
            if real.has_left(step):
                break
        trees = []
        for world in (real, other):
            world.content = lambda path, world=world: content_of(world, path)  # type: ignore[method-assign, misc]
            try:
                trees.append({path: (entry[1][0], entry[2]) for path, entry in world.tree().items()})
            except Exception as error:
                trees.append({"": f"raises {type(error).__name__}"})
        for path in sorted({*trees[0], *trees[1]}):
            if trees[0].get(path) != trees[1].get(path):
                return "final tree", brief(repr(trees[0].get(path))), brief(repr(trees[1].get(path)))
    return None


def drawn(seed: int) -> list[Step]:
    """A random program of calls that pyfakefs has. simfs refuses to send a file to itself, so there is no sendfile."""
    source = random.Random(seed)
    known = [step for step in Programs(source.randrange).program(LENGTH) if hasattr(FakeOsModule, step.call)]
    return [step for step in known if not step.call.endswith(("xattr", "sendfile"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--differences", type=int, default=20, help="how many kinds to list")
    options = parser.parse_args()
    directory = tempfile.mkdtemp()
    root = f"{directory}/w"
    right: Counter[str] = Counter()
    kinds: Counter[tuple[str, str, str]] = Counter()
    try:
        for seed in range(options.programs):
            program = drawn(seed)
            right["simfs"] += first_difference(SimWorld, program, root) is None
            if first_difference(FakeWorld, program, root) is None:
                right["pyfakefs"] += 1
            elif kinds.total() < SHRUNK_MAX:
                small = shrunk(program, lambda steps: first_difference(FakeWorld, steps, root) is not None)
                kinds[first_difference(FakeWorld, small, root) or ("?", "?", "?")] += 1
    finally:
        shutil.rmtree(directory)
    for name in ("simfs", "pyfakefs"):
        print(f"{name:9} {right[name]:6} of {options.programs} programs of up to {LENGTH} calls end as on Linux")
    print(f"\nwhat {kinds.total()} programs come down to on pyfakefs:\n")
    for (call, theirs, ours), times in kinds.most_common(options.differences):
        print(f"{times:4}  {call}\n      Linux    {theirs}\n      pyfakefs {ours}")


if __name__ == "__main__":
    main()
