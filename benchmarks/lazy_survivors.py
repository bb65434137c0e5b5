"""What lazy survivors save: images judged and seconds taken, eagerly and lazily, side by side in one run.

    python -m benchmarks.lazy_survivors [--rounds 3]

Each scenario is explored with `lazy=False` and `lazy=True` by turns; both must end with the same verdict and the same
number of leaves. A leaf is one choice of survivors at one crash point; "judged" is how often recovery ran. The last
line of the table is a control: a log that recovery reads whole leaves nothing undecided, so there is nothing to save,
and what is shown is what noting the looks costs.
"""

from __future__ import annotations

import argparse
import os
import time
from statistics import median

import simfs
from scenarios.suites.log_sidecars import SidecarsBuild
from simfs.explore.verdict import Verdict


class TenFiles(simfs.Scenario):
    """Ten jobs are written down and nothing is flushed; recovery reads one of them."""

    def setup(self, m: simfs.Handle) -> None:
        os.mkdir("/jobs")

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        for number in range(10):
            os.close(os.open(f"/jobs/{number}", os.O_CREAT | os.O_WRONLY, 0o644))

    @simfs.law
    def a_job_is_there_or_not(self, m: simfs.Handle) -> None:
        try:
            fd = os.open("/jobs/7", os.O_RDONLY)
        except FileNotFoundError:
            return
        assert os.read(fd, 100) == b""


class Spool(simfs.Scenario):
    """Five messages go into a spool, each by temporary file, flush and rename; recovery sweeps what is left over."""

    def setup(self, m: simfs.Handle) -> None:
        os.mkdir("/spool")
        os.mkdir("/new")

    @simfs.process
    def sender(self, m: simfs.Handle) -> None:
        for number in range(5):
            fd = os.open(f"/new/{number}", os.O_CREAT | os.O_WRONLY, 0o644)
            os.write(fd, b"message")
            os.fsync(fd)
            os.close(fd)
            os.rename(f"/new/{number}", f"/spool/{number}")

    @simfs.recover
    def sweep(self, m: simfs.Handle) -> None:
        for name in os.listdir("/new"):
            os.unlink(f"/new/{name}")

    @simfs.law
    def a_message_is_whole(self, m: simfs.Handle) -> None:
        try:
            fd = os.open("/spool/3", os.O_RDONLY)
        except FileNotFoundError:
            return
        assert os.read(fd, 100) == b"message"


class WholeLog(simfs.Scenario):
    """Lines go to one log, which recovery reads whole."""

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        fd = os.open("/log", os.O_CREAT | os.O_WRONLY, 0o644)
        for number in range(30):
            os.write(fd, b"line %2d\n" % number)

    @simfs.law
    def lines_are_a_beginning(self, m: simfs.Handle) -> None:
        try:
            fd = os.open("/log", os.O_RDONLY)
        except FileNotFoundError:
            return
        whole = b"".join(b"line %2d\n" % number for number in range(30))
        assert whole.startswith(os.read(fd, 1000))


CASES: tuple[tuple[type[simfs.Scenario], str], ...] = (
    (TenFiles, "prefix"), (Spool, "posix-weakest"), (SidecarsBuild, "ext4"), (WholeLog, "prefix"),
)  # fmt: skip


def explored(kind: type[simfs.Scenario], disk: str, lazy: bool) -> tuple[float, Verdict]:
    """Seconds taken, and the verdict."""
    started = time.perf_counter()
    verdict = simfs.explore(kind(), disk=disk, lazy=lazy, power_depth=1)
    return time.perf_counter() - started, verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    print(f"{'scenario':<14} {'disk':<14} {'leaves':>10} {'judged':>17} {'factor':>8} {'ms':>17} {'factor':>8}")
    for kind, disk in CASES:
        eager, lazily = [], []
        for _ in range(rounds):
            eager.append(explored(kind, disk, False))
            lazily.append(explored(kind, disk, True))
        one, other = eager[0][1], lazily[0][1]
        assert one.status == other.status == "proved", (kind, one.reason, other.reason)
        assert one.searched.images == other.searched.images
        judged = one.searched.recoveries, other.searched.recoveries
        took = median(s for s, _ in eager) * 1000, median(s for s, _ in lazily) * 1000
        print(
            f"{kind.__name__:<14} {disk:<14} {one.searched.images:>10,} {judged[0]:>8,} {judged[1]:>8,}"
            f" {judged[0] / judged[1]:>8.1f} {took[0]:>8.1f} {took[1]:>8.1f} {took[0] / took[1]:>8.1f}"
        )
    seconds, verdict = explored(SidecarsBuild, "prefix", True)
    searched = verdict.searched
    print(
        f"\nSidecarsBuild on prefix, out of reach eagerly: {verdict.status} in {seconds:.2f} s;"
        f" {searched.recoveries} judged for {searched.images:,} leaves"
    )


if __name__ == "__main__":
    main()
