"""Lazy survivors: one image stands for all that differ only where nobody looks, and nothing else changes."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Any

import pytest

import simfs
from simfs.disk.factors import EVERYTHING, undecided
from simfs.disk.models import model_named
from simfs.explore.lazy import looks_of
from simfs.explore.verdict import Searched, Verdict
from simfs.machine.inode import Image
from tests.disk_programs import base_image
from tests.look_programs import Case, Step, draw_step, journal

MODELS = ("prefix", "posix-weakest", "ext4", "prefix:rename_atomic=no", "ext4:tear=sector", "synced-only")
BLOCKS = range(6)
CASES_A_BLOCK = 50


@pytest.mark.parametrize("disk", MODELS)
@pytest.mark.parametrize("block", BLOCKS)
def test_recovery_and_laws_see_the_same_as_on_every_image(disk: str, block: int) -> None:
    for number in range(CASES_A_BLOCK):
        case = Case.drawn(f"looks {block} {number}")
        eager, seen = case.explore(disk, lazy=False)
        lazy, seen_lazily = case.explore(disk, lazy=True)
        assert seen_lazily == seen, (case, seen ^ seen_lazily)
        assert lazy.status == eager.status == "proved"
        assert lazy.searched.images == lazy.searched.lazy_leaves == eager.searched.images, case


@pytest.mark.parametrize("disk", ["prefix", "posix-weakest"])
def test_what_is_seen_after_a_power_loss_in_recovery_is_the_same_too(disk: str) -> None:
    for number in range(CASES_A_BLOCK):
        case = Case.drawn(f"deep {number}")
        eager, seen = case.explore(disk, lazy=False, power_depth=2)
        lazy, seen_lazily = case.explore(disk, lazy=True, power_depth=2)
        assert seen_lazily == seen, case
        assert lazy.status == eager.status == "proved"


def factors_and_leaves(disk: str, steps: list[Step]) -> tuple[int, int]:
    """How many factors a disk has after these steps, and how many leaves, which are the disk's own."""
    state = model_named(disk).start(base_image())
    for op in journal(steps):
        state.add(op)
    parts = undecided(state, -1)
    assert parts is not None
    blocks, digests = [parts.everything()], []
    leaves = list(state.leaves())
    assert blocks[0].count == len(leaves), steps
    while blocks:
        block, others = parts.split(blocks.pop(), EVERYTHING)
        blocks += others
        assert block.count == 1
        leaf = parts.representative(block)
        assert leaf.image().digest == leaf.digest == state.image(leaf.pick).digest
        assert state.fates(leaf.pick).keys() == state.fates(leaves[0][1]).keys()
        digests.append(leaf.digest)
    assert sorted(digests) == sorted(digest for digest, _ in leaves), steps
    return len(parts.factors), len(leaves)


@pytest.mark.parametrize("disk", MODELS)
def test_the_factors_of_a_disk_have_exactly_its_leaves(disk: str) -> None:
    draw = random.Random(f"factors {disk}")
    drawn = [[draw_step(draw) for _ in range(draw.randint(3, 8))] for _ in range(80)]
    several = sum(factors_and_leaves(disk, steps)[0] > 1 for steps in drawn)
    assert several > 10 or disk in ("ext4", "ext4:tear=sector", "synced-only")


CHILD: list[Step] = [("put", "/d/a", b""), ("sync",)]


@pytest.mark.parametrize(
    ("disk", "steps", "factors", "leaves"),
    [
        # Renames of directories wait for each other: none, the first, both.
        ("prefix", [("mkdir", "/e"), ("sync",), ("rename", "/d", "/x"), ("rename", "/e", "/y")], 1, 3),
        ("prefix", [("put", "/b", b""), ("put", "/s", b"")], 2, 4),
        # What is below a directory that may be gone is there or not with it.
        ("prefix", [("mkdir", "/e"), ("put", "/e/a", b""), ("put", "/b", b"")], 2, 8),
        ("prefix", [*CHILD, ("append", "/d/a", b"x"), ("rename", "/d", "/x")], 1, 4),
        ("prefix:rename_atomic=no", [*CHILD, ("append", "/d/a", b"x"), ("rename", "/d", "/x")], 1, 5),
        ("posix-weakest", [("link", "/a", "/b"), ("link", "/a", "/s"), ("mkdir", "/x")], 2, 8),
    ],
)  # fmt: skip
def test_what_may_decide_about_each_other_is_one_factor(
    disk: str, steps: list[Step], factors: int, leaves: int
) -> None:
    assert factors_and_leaves(disk, steps) == (factors, leaves)


def ten_files(law: Callable[[], object], content: bytes = b"", **options: Any) -> tuple[Searched, Verdict]:
    """Ten files are made in /jobs and nothing is flushed: what there is to decide, judged lazily."""

    def setup() -> None:
        os.mkdir("/jobs")

    def program() -> None:
        for name in range(10):
            fd = os.open(f"/jobs/{name}", os.O_CREAT | os.O_WRONLY, 0o644)
            if content:
                os.write(fd, content)
            os.close(fd)

    verdict = simfs.explore(simfs.scenario(setup=setup, processes=program, law=law, lazy=True, **options))
    return verdict.searched, verdict


def exists(path: str) -> bool:
    """Whether the name is there; looks at names only."""
    try:
        os.close(os.open(path, os.O_RDONLY))
    except FileNotFoundError:
        return False
    return True


def read(path: str) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return os.read(fd, 100)
    finally:
        os.close(fd)


def test_of_ten_files_of_which_one_is_read_two_images_are_judged_and_stand_for_1024() -> None:
    searched, verdict = ten_files(lambda: read("/jobs/7"))
    assert (searched.crash_points, searched.images, searched.lazy_images) == (21, 1024, 2)
    assert (searched.recoveries, searched.distinct_images) == (2, 2)
    assert verdict.status == "proved"
    assert ten_files(lambda: read("/jobs/7"), power_depth=1)[0].lazy_leaves == 1024


def test_of_ten_files_with_three_bytes_five_images_stand_for_9765625_and_no_bound_is_named() -> None:
    # Lost, or there with 0, 1, 2 or 3 bytes: 5 ** 10.
    searched, verdict = ten_files(lambda: read("/jobs/7"), b"abc")
    assert (searched.images, searched.lazy_images, searched.bounds) == (9_765_625, 5, [])
    assert verdict.status == "proved"


@pytest.mark.parametrize(
    ("what", "law", "judged"),
    [
        ("nothing", lambda: None, 1),
        ("a name that nobody makes", lambda: exists("/jobs/other"), 1),
        ("a name that may be there, not its content", lambda: exists("/jobs/7"), 2),
        ("names of two", lambda: (exists("/jobs/7"), exists("/jobs/8")), 4),
        ("content of one", lambda: read("/jobs/7"), 5),
        ("content of one, and of another only if there is none", lambda: read("/jobs/7") or read("/jobs/8"), 13),
        ("a listing", lambda: os.listdir("/jobs"), 1024),
        ("a flush of the directory", lambda: os.fsync(os.open("/jobs", os.O_RDONLY)), 1),
        ("a new file beside them", lambda: os.close(os.open("/jobs/new", os.O_CREAT | os.O_WRONLY)), 1),
        ("a file removed unread", lambda: os.unlink("/jobs/7") if exists("/jobs/7") else None, 2),
        ("a file written over", lambda: os.close(os.open("/jobs/7", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)), 5),
        ("whether the directory is there", lambda: exists("/jobs"), 1),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_what_is_looked_at_is_decided_and_nothing_else(what: str, law: Callable[[], object], judged: int) -> None:
    searched, _ = ten_files(law, b"abc")
    assert searched.lazy_images == judged, what
    assert searched.images == 9_765_625


def test_times_and_links_of_a_directory_look_at_every_change_of_it() -> None:
    def program(m: simfs.Handle) -> None:
        for name in "abcd":
            m.sleep(1)
            os.mkdir(f"/{name}")

    def judged(law: Callable[[], object]) -> int:
        return simfs.explore(simfs.scenario(processes=program, law=law, lazy=True)).searched.lazy_images

    assert judged(lambda: exists("/")) == 1
    assert judged(lambda: os.stat("/").st_mtime_ns) == 16
    assert judged(lambda: os.access("/", os.W_OK)) == 16
    assert judged(lambda: os.stat("/a").st_mtime_ns if exists("/a") else 0) == 2


def seen_by(
    program: Callable[..., object], look: Callable[[], object], disk: str = "prefix", after: str = ""
) -> tuple[set[object], int]:
    """What a law sees in all after a power loss, the same eagerly and lazily, and how many images it saw lazily.

    In the beginning there are /d/f, /e/c and /other. `after`: only where this was promised.
    """
    found: dict[bool, set[object]] = {False: set(), True: set()}

    def setup() -> None:
        for path in ("/d", "/e"):
            os.mkdir(path)
        for path in ("/d/f", "/e/c", "/other"):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))

    def judged(lazy: bool) -> int:
        def law(m: simfs.Handle) -> None:
            if m.boot == 2 and (not after or m.acked(after)):
                found[lazy].add(look())

        made = simfs.scenario(setup=setup, processes=program, law=law, disk=disk, lazy=lazy)
        verdict = simfs.explore(made)
        assert verdict.status == "proved"
        return verdict.searched.lazy_images

    judged(False)
    images = judged(True)
    assert found[False] == found[True]
    return found[True], images


def test_links_of_a_file_look_at_all_its_names_and_a_moved_directory_at_its_children() -> None:
    def program() -> None:
        os.link("/d/f", "/second")
        os.rename("/d", "/x")
        os.unlink("/other")

    def links(path: str) -> int:
        return os.stat(path).st_nlink if exists(path) else 0

    assert seen_by(program, lambda: exists("/other")) == ({True, False}, 2)
    assert seen_by(program, lambda: exists("/x/f")) == ({True, False}, 2)
    assert seen_by(program, lambda: links("/x/f")) == ({0, 1, 2}, 3)
    assert seen_by(program, lambda: links("/second")) == ({0, 2}, 2)
    assert seen_by(program, lambda: links("/second"), "posix-weakest") == ({0, 1, 2}, 3)


def test_a_file_without_a_name_looks_whether_it_has_another() -> None:
    def given_a_name_again() -> bool:
        fd = os.open("/other", os.O_RDONLY)
        os.unlink("/other")
        try:
            os.link(f"/proc/self/fd/{fd}", "/again", src_dir_fd=fd)
        except FileNotFoundError:
            return False
        return True

    assert seen_by(lambda: os.link("/other", "/second"), given_a_name_again) == ({True, False}, 2)


def test_a_listing_looks_at_what_stands_under_its_names() -> None:
    def kinds() -> frozenset[tuple[str, bool]]:
        return frozenset((entry.name, entry.inode() == os.stat("/d/f").st_ino) for entry in os.scandir("/d"))

    def program() -> None:
        os.close(os.open("/g", os.O_CREAT | os.O_WRONLY))
        os.rename("/g", "/e/c")

    def inodes() -> tuple[int, ...]:
        return tuple(entry.inode() for entry in os.scandir("/e"))

    assert len(seen_by(program, inodes)[0]) == 2
    assert seen_by(program, kinds)[1] == 1


def test_the_time_of_a_directory_is_that_of_the_last_change_in_any_factor() -> None:
    def program(m: simfs.Handle) -> None:
        os.close(os.open("/d/b", os.O_CREAT | os.O_WRONLY))
        time.sleep(1)
        os.rename("/e/c", "/d/c")
        os.fsync(os.open("/e", os.O_RDONLY))
        m.ack("moved")
        os.close(os.open("/d/a", os.O_CREAT | os.O_WRONLY))

    def times() -> tuple[bool, bool]:
        return exists("/d/b"), os.stat("/d").st_mtime_ns == os.stat("/e").st_mtime_ns

    assert seen_by(program, times, after="moved")[0] == {(False, True), (True, False), (True, True)}


def test_space_looks_at_everything_and_so_does_a_kind_that_is_not_known() -> None:
    searched, _ = ten_files(lambda: os.statvfs("/jobs"))
    assert searched.lazy_images == 1024
    assert looks_of([(("tide", 3), "R")], Image.empty()) == (EVERYTHING,)
    assert (
        looks_of([(("clock",), "R"), (("lock", 5), "W"), (("list", 1), "C"), (("meta", 1), "C")], Image.empty()) == ()
    )


def second_needs_first() -> type[simfs.Scenario]:
    """Twenty files; the eighth may not be there without the seventh."""

    def program() -> None:
        for name in range(20):
            os.close(os.open(f"/{name}", os.O_CREAT | os.O_WRONLY, 0o644))

    def eighth_needs_seventh() -> None:
        assert exists("/7") or not exists("/8")

    return simfs.scenario(processes=program, law=eighth_needs_seventh, name="twenty files")


@pytest.mark.parametrize("disk", ["prefix", "posix-weakest"])
def test_a_violation_found_lazily_is_replayed_by_its_token_and_loses_only_what_matters(disk: str) -> None:
    verdict = simfs.explore(second_needs_first(), disk=disk)
    found = verdict.counterexample
    assert verdict.status == "violated" and found is not None
    assert found.replays == 2
    (boot,) = found.boots
    assert [boot.ops[index].path for index, fate in boot.fates.items() if fate == "lost"] == ["/7"]
    again = simfs.replay(found.token, second_needs_first())
    assert again.recovered == found.recovered
    assert "/8" in found.recovered or "8" in found.recovered


def test_a_violation_is_found_lazily_exactly_where_it_is_found_eagerly() -> None:
    def explored(wrong: frozenset[int], lazy: bool) -> str:
        def program() -> None:
            for name in range(4):
                os.close(os.open(f"/{name}", os.O_CREAT | os.O_WRONLY, 0o644))

        def law() -> None:
            assert {name for name in range(4) if exists(f"/{name}")} != wrong

        return simfs.explore(simfs.scenario(processes=program, law=law, disk="ext4", lazy=lazy)).status

    for mask in range(16):
        wrong = frozenset(name for name in range(4) if mask >> name & 1)
        assert explored(wrong, True) == explored(wrong, False), wrong
        assert explored(wrong, True) == ("violated" if wrong == set(range(len(wrong))) else "proved"), wrong


def test_few_leaves_are_judged_one_by_one_unless_asked_and_many_are_not() -> None:
    def made(count: int, **options: Any) -> Searched:
        def program() -> None:
            for name in range(count):
                os.close(os.open(f"/{name}", os.O_CREAT | os.O_WRONLY, 0o644))

        return simfs.explore(simfs.scenario(processes=program, law=lambda: exists("/0"), **options)).searched

    assert (made(6).lazy_images, made(6).recoveries) == (0, 64)
    assert (made(6, lazy=True).lazy_images, made(6, lazy=True).recoveries) == (2, 2)
    assert (made(7).lazy_images, made(7).lazy_leaves) == (2, 128)
    assert (made(7, lazy=False).lazy_images, made(7, lazy=False).recoveries) == (0, 128)
    assert made(7, disk="scc", lazy=True).lazy_images == 0
    assert made(7, disk="hostile+prefix", lazy=True).lazy_images == 0


def test_images_whose_recovery_may_be_crashed_are_judged_one_by_one_and_those_of_its_crash_are_not() -> None:
    def program() -> None:
        for name in range(3):
            os.close(os.open(f"/{name}", os.O_CREAT | os.O_WRONLY, 0o644))

    def recover() -> None:
        for name in range(0 if exists("/new0") else 4):
            os.close(os.open(f"/new{name}", os.O_CREAT | os.O_WRONLY, 0o644))

    made = simfs.scenario(processes=program, recover=recover, law=lambda: exists("/new0"), power_depth=2, lazy=True)
    searched = simfs.explore(made).searched
    # 8 images of the program. Recovery on each leaves 16: those with /new0 are judged as one, those without, in which
    # it looks at all four names, one by one.
    assert (searched.images, searched.lazy_leaves, searched.lazy_images) == (8 + 8 * 16, 8 * 16, 8 * (1 + 8))


def test_a_number_that_names_no_world_is_refused() -> None:
    for disk in ("prefix", "posix-weakest"):
        state = model_named(disk).start(base_image())
        for op in journal([("mkdir", "/x"), ("rename", "/x", "/y")]):
            state.add(op)
        for pick in ((10**9,), (4096 + 2,) if disk == "prefix" else (4096 + 10**6,), ()):
            with pytest.raises(ValueError, match=r"no set of directory entries|names no set"):
                state.image(pick)
