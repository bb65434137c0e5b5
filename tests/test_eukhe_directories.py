"""Directories on the way to a store: made from the top, and none of their entries left to chance."""

import itertools
import os

import pytest

from eukhe.directories import PathRefused, ancestors_from, carry_out, holder_of, look, plan_directories
from eukhe.system import OsSystem
from tests.test_eukhe_failing_system import FailingSystem


def plan(store, home, missing=(), fsync=True):
    steps, owed = plan_directories(fsync, store, home, tuple(missing))
    return [f"{step.kind} {step.path}" for step in steps], list(owed)


def test_with_nothing_missing_every_directory_from_the_home_to_the_holder_is_owed():
    assert plan("/home/a/b/s", "/home") == ([], ["/home", "/home/a", "/home/a/b"])


def test_a_missing_store_in_its_home_has_the_homes_own_entry_flushed_first():
    assert plan("/x/home/s", "/x/home", ["/x/home/s"]) == (
        ["flush_if_readable /x", "make /x/home/s", "flush /x/home"],
        [],
    )


def test_each_made_directory_is_durable_before_anything_is_put_into_it():
    steps, owed = plan("/x/home/a/s", "/x/home", ["/x/home", "/x/home/a", "/x/home/a/s"])
    assert steps == [
        "flush_if_readable /", "make /x/home", "flush /x", "make /x/home/a", "flush /x/home", "make /x/home/a/s",
        "flush /x/home/a",
    ]  # fmt: skip
    assert owed == []


def test_directories_found_below_the_home_are_flushed_from_the_home_down_before_more_are_made():
    steps, _ = plan("/home/a/b/s", "/home", ["/home/a/b/s"])
    assert steps == ["flush /home", "flush /home/a", "make /home/a/b/s", "flush /home/a/b"]


def test_the_root_has_no_holder_to_flush():
    assert plan("/s", "/", ["/s"]) == (["make /s", "flush /"], [])


def test_a_bare_name_stands_in_the_working_directory():
    assert plan("s", ".", ["s"]) == (["flush_if_readable ..", "make s", "flush ."], [])
    assert [holder_of(path) for path in ("s", ".", "..", "../s", "a/b")] == [".", "..", "../..", "..", "a"]


def test_without_flushing_the_plan_is_the_same_minus_the_flushes():
    missing = ["/x/home", "/x/home/a", "/x/home/a/s"]
    flushed, _ = plan("/x/home/a/s", "/x/home", missing)
    bare, owed = plan("/x/home/a/s", "/x/home", missing, fsync=False)
    assert bare == [step for step in flushed if step.startswith("make")]
    assert owed == []
    assert plan("/home/s", "/home", fsync=False) == ([], [])


def test_a_power_loss_after_any_kill_in_any_of_three_attempts_never_loses_a_finished_path():
    """Model: one directory entry a level. An attempt does its plan and is killed after some step; the last one ends.
    Then the power goes, and every entry of the path that no flush covered is lost."""
    levels = ["/h", "/h/a", "/h/a/s"]
    checked = 0
    for kills in itertools.product(range(9), repeat=2):
        made, durable = set(), set()
        for kill in [*kills, None]:
            missing = [path for path in levels if path not in made]
            steps, owed = plan("/h/a/s", "/h", missing)
            for step in [*steps, *(f"flush {path}" for path in owed)][:kill]:
                kind, path = step.split(" ")
                if kind == "make":
                    made.add(path)
                else:
                    durable |= {entry for entry in made if holder_of(entry) == path}
        assert durable == set(levels), kills
        checked += 1
    assert checked == 81


def test_a_directory_whose_entry_could_not_be_flushed_is_made_anew(tmp_path):
    home, store = str(tmp_path), str(tmp_path / "a" / "s")
    for at, left in ((0, []), (1, []), (2, ["a"])):
        steps, _ = plan_directories(True, store, home, look(OsSystem(), store, home))
        with pytest.raises(OSError):
            carry_out(FailingSystem(at, only=frozenset({"fsync"})), steps)
        assert sorted(os.listdir(home)) == left
    assert os.listdir(tmp_path / "a") == []


@pytest.mark.parametrize(("store", "home"), [("/a/s", "/b"), ("/s", "/s"), ("../s", "."), ("s", "/"), ("/a", "/a/b")])
def test_a_store_outside_its_home_is_refused(store, home):
    with pytest.raises(PathRefused):
        ancestors_from(home, store)


def test_a_broken_chain_of_missing_directories_is_refused():
    for missing in (["/h/a"], ["/h", "/h/a/s"], ["/h/a/s", "/h/a"]):
        with pytest.raises(PathRefused):
            plan("/h/a/s", "/h", missing)


def test_the_missing_ones_are_found_from_the_top_and_made(tmp_path):
    home = str(tmp_path / "home")
    store = f"{home}/a/s"
    missing = look(OsSystem(), store, home)
    assert missing == (home, f"{home}/a", store)
    steps, _ = plan_directories(True, store, home, missing)
    carry_out(OsSystem(), steps)
    assert os.path.isdir(store)
    assert os.stat(store).st_mode & 0o777 == 0o700
    assert look(OsSystem(), store, home) == ()


def test_a_link_or_a_file_below_the_home_is_refused_and_a_link_as_the_home_is_not(tmp_path):
    (tmp_path / "real" / "s").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").write_text("")
    link = str(tmp_path / "link")
    assert look(OsSystem(), f"{link}/s", link) == ()
    for store in (f"{link}/s", link, str(tmp_path / "file")):
        with pytest.raises(PathRefused):
            look(OsSystem(), store, str(tmp_path))
