"""Limits: how much fits on a filesystem, how many descriptors a process has, what a file may grow to, and mounts."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

import pytest

from simfs.machine.errors import NotSimulated
from simfs.machine.machine import Machine

RW = os.O_RDWR | os.O_CREAT
BLOCK = 4096


def limited(blocks: int) -> Machine:
    """A machine with so many blocks; the root directory takes one."""
    machine = Machine(size_limit=blocks * BLOCK)
    machine.spawn("p")
    return machine


def free(machine: Machine, path: str = "/") -> int:
    return machine.system.statvfs(path).f_bfree


def code(call: Callable[[], object]) -> int | None:
    with pytest.raises(OSError) as caught:
        call()
    return caught.value.errno


def test_a_write_that_does_not_fit_is_short_and_the_next_one_fails() -> None:
    machine = limited(4)
    fd = machine.system.open("/f", RW)
    assert machine.system.write(fd, b"x" * 5 * BLOCK) == 3 * BLOCK
    assert code(lambda: machine.system.write(fd, b"x")) == errno.ENOSPC
    assert machine.system.pwrite(fd, b"over", 0) == 4
    assert machine.system.fstat(fd).st_size == 3 * BLOCK


def test_space_comes_back_by_truncating_and_by_the_last_close_after_the_last_name() -> None:
    machine = limited(4)
    fd = machine.system.open("/f", RW)
    machine.system.write(fd, b"x" * 3 * BLOCK)
    assert free(machine) == 0
    machine.system.ftruncate(fd, BLOCK + 1)
    assert free(machine) == 1
    machine.system.unlink("/f")
    assert free(machine) == 1
    machine.system.close(fd)
    assert free(machine) == 3


def test_a_file_replaced_by_rename_gives_its_space_back() -> None:
    machine = limited(6)
    for name in ("/a", "/b"):
        fd = machine.system.open(name, RW)
        machine.system.write(fd, b"x" * 2 * BLOCK)
        machine.system.close(fd)
    assert free(machine) == 1
    machine.system.rename("/a", "/b")
    assert free(machine) == 3


def test_directories_take_a_block_each_and_give_it_back() -> None:
    machine = limited(2)
    machine.system.mkdir("/d")
    assert code(lambda: machine.system.mkdir("/e")) == errno.ENOSPC
    machine.system.rmdir("/d")
    machine.system.mkdir("/e")


def test_a_hole_takes_no_space_until_it_is_written_or_reserved() -> None:
    machine = limited(4)
    fd = machine.system.open("/f", RW)
    machine.system.ftruncate(fd, 100 * BLOCK)
    assert free(machine) == 3
    machine.system.pwrite(fd, b"x", 50 * BLOCK)
    assert free(machine) == 2
    machine.system.posix_fallocate(fd, 60 * BLOCK, BLOCK)
    assert free(machine) == 1
    assert code(lambda: machine.system.posix_fallocate(fd, 0, 2 * BLOCK)) == errno.ENOSPC
    assert free(machine) == 1
    machine.system.pwrite(fd, b"x", 60 * BLOCK)
    assert free(machine) == 1


def test_seek_finds_data_and_holes() -> None:
    machine = limited(100)
    fd = machine.system.open("/f", RW)
    machine.system.pwrite(fd, b"x" * BLOCK, 2 * BLOCK)
    machine.system.ftruncate(fd, 5 * BLOCK)
    assert machine.system.lseek(fd, 0, os.SEEK_DATA) == 2 * BLOCK
    assert machine.system.lseek(fd, 0, os.SEEK_HOLE) == 0
    assert machine.system.lseek(fd, 2 * BLOCK, os.SEEK_HOLE) == 3 * BLOCK
    assert code(lambda: machine.system.lseek(fd, 3 * BLOCK, os.SEEK_DATA)) == errno.ENXIO
    assert machine.system.fstat(fd).st_blocks == 8


def test_holes_and_used_space_survive_freezing() -> None:
    machine = limited(100)
    fd = machine.system.open("/f", RW)
    machine.system.pwrite(fd, b"x", 50 * BLOCK)
    again = Machine(machine.freeze(), boot=2, size_limit=100 * BLOCK)
    again.spawn("q")
    assert free(again) == free(machine) == 98


def test_a_process_has_so_many_descriptors_and_always_the_lowest_free_number() -> None:
    machine = Machine(fd_limit=6)
    machine.spawn("p")
    fds = [machine.system.open("/f", RW) for _ in range(3)]
    assert fds == [3, 4, 5]
    assert code(lambda: machine.system.open("/new", RW)) == errno.EMFILE
    assert code(lambda: machine.system.dup(3)) == errno.EMFILE
    assert machine.system.listdir("/") == ["f"]
    machine.system.close(4)
    machine.system.close(3)
    assert [machine.system.dup(5), machine.system.open("/f", RW)] == [3, 4]


def test_a_file_beyond_what_the_machine_holds_is_not_simulated_and_beyond_linux_efbig() -> None:
    machine = limited(100)
    fd = machine.system.open("/f", RW)
    with pytest.raises(NotSimulated, match="a file of 1000000000000 bytes"):
        machine.system.ftruncate(fd, 10**12)
    assert code(lambda: machine.system.ftruncate(fd, 1 << 50)) == errno.EFBIG


def mounted() -> Machine:
    machine = Machine()
    machine.spawn("p")
    for path in ("/a", "/a/disk", "/a/side"):
        machine.system.mkdir(path)
    machine.mount("/a/disk", size_limit=3 * BLOCK)
    machine.system.mkdir("/a/disk/inner")
    return machine


def test_no_rename_and_no_link_crosses_from_one_filesystem_to_another() -> None:
    machine = mounted()
    machine.system.close(machine.system.open("/a/f", RW))
    assert code(lambda: machine.system.rename("/a/f", "/a/disk/f")) == errno.EXDEV
    assert code(lambda: machine.system.link("/a/f", "/a/disk/f")) == errno.EXDEV
    assert code(lambda: machine.system.rename("/a/disk/inner", "/a/inner")) == errno.EXDEV


def test_a_mount_point_can_be_neither_removed_nor_moved() -> None:
    machine = mounted()
    assert code(lambda: machine.system.rmdir("/a/disk")) == errno.EBUSY
    assert code(lambda: machine.system.rename("/a/disk", "/a/other")) == errno.EBUSY
    assert code(lambda: machine.system.rename("/a/side", "/a/disk")) == errno.EBUSY


def test_paths_go_into_a_mount_and_out_of_it_again() -> None:
    machine = mounted()
    s = machine.system
    assert s.listdir("/a/disk") == ["inner"] and s.listdir("/a/disk/inner/../..") == s.listdir("/a")
    assert s.stat("/a/disk").st_dev != s.stat("/a").st_dev == s.stat("/a/disk/..").st_dev
    s.chdir("/a/disk/inner")
    assert s.getcwd() == "/a/disk/inner"


def test_each_mount_has_its_own_space_and_syncfs() -> None:
    machine = mounted()
    assert (free(machine, "/a/disk"), free(machine) > 1000) == (1, True)
    fd = machine.system.open("/a/disk/inner/f", RW)
    assert machine.system.write(fd, b"x" * 2 * BLOCK) == BLOCK
    machine.system.syncfs(fd)
    assert machine.journal[-1].device == 1  # type: ignore[attr-defined]


def test_a_mounted_filesystem_is_part_of_the_image() -> None:
    machine = mounted()
    image = machine.freeze()
    assert image.tree() == {"a": "dir", "a/disk": "dir", "a/disk/inner": "dir", "a/side": "dir"}
    again = Machine(image, boot=2)
    again.spawn("q")
    assert code(lambda: again.system.rename("/a/disk/inner", "/a/inner")) == errno.EXDEV
