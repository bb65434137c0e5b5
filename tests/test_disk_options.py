"""Models with options, and the overlay of a disk that does not keep what it kept."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

import simfs
from simfs.disk.models import MODELS, models_named
from simfs.disk.options import faults_of, refusals_of
from simfs.machine.faults import Errno
from tests.disk_programs import base_image, put, run, run_steps


def test_a_name_with_options_is_the_same_model_however_they_are_ordered() -> None:
    (one,) = models_named("ext4:tear=sector,dioread=lock")
    (other,) = models_named("ext4:dioread=lock,tear=sector")
    assert one.name == other.name == "ext4:dioread=lock,tear=sector"
    assert models_named(one.name)[0].name == one.name


def test_all_is_every_model_without_options() -> None:
    assert [model.name for model in models_named("all")] == list(MODELS)
    assert list(MODELS) == ["scc", "synced-only", "prefix", "ext4", "posix-weakest"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("zfs", "scc, synced-only, prefix, ext4, posix-weakest"),
        ("prefix:tear=sector", "rename_atomic=no"),
        ("ext4:dioread=unlock", "dioread=lock"),
        ("ext4:tear=sector,tear=sector", "twice"),
        ("hostile+zfs", "hostile\\+MODEL"),
        ("ext4:dir_fsync=EIO", "dir_fsync=EINVAL"),
    ],
)
def test_an_unknown_model_or_option_is_answered_with_the_ones_there_are(name: str, told: str) -> None:
    with pytest.raises(simfs.UsageError, match=told):
        models_named(name)


def test_no_model_at_all_is_wrong_use() -> None:
    with pytest.raises(simfs.UsageError):
        models_named([])


def test_answers_of_the_system_are_carried_as_data() -> None:
    (model,) = models_named("prefix:dir_fsync=EINVAL,renameat2=ENOSYS")
    assert refusals_of(model) == (
        Errno(("fsync", "fdatasync"), nth=0, kind="dir", code=errno.EINVAL),
        Errno(("renameat2",), nth=0, code=errno.ENOSYS),
    )
    assert refusals_of(models_named("prefix")[0]) == ()


class SyncsInstead(simfs.Scenario):
    """Where a directory cannot be flushed, everything is."""

    @simfs.process
    def make(self, m: Any) -> None:
        os.mkdir("/d")
        fd = os.open("/", os.O_RDONLY)
        try:
            os.fsync(fd)
        except OSError as error:
            assert error.errno == errno.EINVAL
            os.sync()
        m.ack("made")

    @simfs.law
    def is_there(self, m: Any) -> None:
        assert not m.acked("made") or os.path.isdir("/d")


@pytest.mark.parametrize("name", MODELS)
def test_a_refused_flush_of_a_directory_spoils_no_later_sync(name: str) -> None:
    assert simfs.explore(SyncsInstead, disk=f"{name}:dir_fsync=EINVAL").status == "proved"


@pytest.mark.parametrize("name", MODELS)
def test_a_rename_that_is_not_atomic_may_leave_both_names_neither_or_no_target(name: str) -> None:
    base = base_image()
    ops = run(lambda s: put(s, "/t", b"new"))
    disk = models_named("scc")[0].start(base)
    for op in ops:
        disk.add(op)
    base = disk.image((0,))
    (rename,) = run_steps([("rename", "/t", "/a")], base)
    (model,) = models_named(f"{name}:rename_atomic=no")
    fresh = model.start(base)
    found = {tuple(fresh.image(pick, rename).tree()) for _, pick in fresh.leaves(rename)}
    fresh.add(rename)
    found |= {tuple(fresh.image(pick).tree()) for _, pick in fresh.leaves()}
    both, neither, moved, target_gone = ("a", "d", "t"), ("d",), ("a", "d"), ("d", "t")
    if name == "synced-only":
        assert found == {both, moved}
    else:
        assert found == {both, neither, moved, target_gone}


def test_a_directory_never_stands_under_two_names() -> None:
    base = base_image()
    ops = run_steps([("rename", "/d", "/e")], base)
    for name in MODELS:
        disk = models_named(f"{name}:rename_atomic=no")[0].start(base)
        for op in ops:
            disk.add(op)
        for _, pick in disk.leaves():
            assert sum(1 for _, node in disk.image(pick).walk() if node.kind == "dir") <= 2


def test_a_hostile_disk_damages_one_file_an_image_and_says_what_it_left_out() -> None:
    (model,) = models_named("hostile+scc")
    disk = model.start(base_image())
    for op in run_steps([("put", "/b", b"yz")], base_image()):
        disk.add(op)
    whole = {"a": b"old-a", "b": b"yz", "d": "dir"}
    found = []
    for digest, pick in disk.leaves():
        image = disk.image(pick)
        assert image.digest == digest
        found.append({path: what for path, what in image.tree().items() if whole[path] != what})
    flips = [{"a": b"nld-a"}, {"a": b"ole-a"}, {"a": b"old-`"}]
    assert all(flip in found for flip in flips)
    assert {"a": b"\xe7" * 5} in found and {"b": b"\xe7" * 2} in found
    assert {"a": b"yz\0\0\0", "b": b"\0\0"} in found, "a block written to another file"
    assert all(len(changed) <= 1 for changed in found if changed != {"a": b"yz\0\0\0", "b": b"\0\0"})
    assert disk.bounds == {"bit flips: the lowest bit of the first, middle and last byte of each sector"}


def test_a_hostile_disk_brings_faults_for_reads_writes_and_flushes() -> None:
    faults = faults_of(models_named("hostile+ext4:tear=sector")[0])
    assert {call for fault in faults for call in fault.calls} >= {"read", "write", "fsync"}
    assert models_named("hostile+ext4")[0].closed_under_loss is False
    assert models_named("hostile")[0].name == "hostile+prefix"
