"""Loading and freezing: an image is a value, machines share it, and one costs what it changes."""

from __future__ import annotations

import os
import subprocess
import sys

from simfs.machine.inode import Image
from simfs.machine.machine import Machine

RW = os.O_RDWR | os.O_CREAT


def filled(files: int) -> Image:
    machine = Machine(record_sites=False)
    machine.spawn("maker")
    machine.system.mkdir("/d")
    for n in range(files):
        fd = machine.system.open(f"/d/{n}", RW)
        machine.system.write(fd, b"%d" % n)
        machine.system.close(fd)
    return machine.freeze()


def test_a_machine_on_an_image_holds_nothing_until_it_looks_and_copies_only_what_it_changes() -> None:
    image = filled(500)
    machine = Machine(image, boot=2)
    machine.spawn("reader")
    assert len(machine.inodes) == 0
    machine.system.stat("/d/7")
    assert len(machine.inodes) == 3 and not machine.owned
    fd = machine.system.open("/d/7", os.O_WRONLY)
    assert not machine.owned
    machine.system.write(fd, b"new")
    assert machine.owned == {machine.system.fstat(fd).st_ino}


def test_what_one_machine_changes_no_other_sees() -> None:
    image = filled(3)
    before = image.tree()
    one, two = Machine(image, boot=2), Machine(image, boot=3)
    for machine, text in ((one, b"one"), (two, b"two")):
        machine.spawn("writer")
        fd = machine.system.open("/d/0", os.O_WRONLY)
        machine.system.write(fd, text)
        machine.system.unlink("/d/1")
        machine.system.rename("/d/2", "/moved")
        machine.system.setxattr("/moved", "user.who", text)
    assert image.tree() == before
    assert one.freeze().tree() == {"d": "dir", "d/0": b"one", "moved": b"2"}
    assert two.freeze().tree() == {"d": "dir", "d/0": b"two", "moved": b"2"}


def test_a_machine_goes_on_after_it_was_frozen_and_the_image_does_not_change() -> None:
    machine = Machine()
    machine.spawn("writer")
    fd = machine.system.open("/f", RW)
    machine.system.write(fd, b"a")
    first = machine.freeze()
    machine.system.write(fd, b"b")
    second = machine.freeze()
    machine.system.rename("/f", "/g")
    assert (first.tree(), second.tree()) == ({"f": b"a"}, {"f": b"ab"})
    assert machine.freeze().tree() == {"g": b"ab"}


def test_freezing_shares_every_inode_that_did_not_change() -> None:
    image = filled(10)
    machine = Machine(image, boot=2)
    machine.spawn("writer")
    machine.system.chmod("/d/3", 0o600)
    after = machine.freeze()
    changed = [ino for ino, node in after.inodes.items() if image.inodes.get(ino) is not node]
    assert changed == [machine.system.stat("/d/3").st_ino]


def test_an_unlinked_open_file_is_readable_but_on_no_image() -> None:
    machine = Machine()
    machine.spawn("writer")
    fd = machine.system.open("/f", RW)
    machine.system.write(fd, b"still here")
    machine.system.unlink("/f")
    image = machine.freeze()
    assert len(image.inodes) == 1
    assert machine.system.pread(fd, 100, 0) == b"still here" and machine.system.fstat(fd).st_nlink == 0
    machine.system.close(fd)
    assert len(machine.freeze().inodes) == 1 and set(machine.inodes) <= {1}


def test_a_removed_working_directory_takes_no_names_and_is_on_no_image() -> None:
    machine = Machine()
    machine.spawn("lost")
    machine.system.mkdir("/d")
    machine.system.chdir("/d")
    machine.system.rmdir("/d")
    for call in (lambda: machine.system.open("f", RW), lambda: machine.system.mkdir("e"), machine.system.getcwd):
        try:
            call()
        except FileNotFoundError:
            continue
        raise AssertionError(call)
    assert machine.system.listdir(".") == []
    assert len(machine.freeze().inodes) == 1
    machine.system.chdir("/")
    assert set(machine.inodes) <= {1}


def test_inode_numbers_of_two_boots_never_meet() -> None:
    first = Machine(boot=1)
    first.spawn("a")
    first.system.mkdir("/a")
    second = Machine(first.freeze(), boot=2)
    second.spawn("a")
    second.system.mkdir("/b")
    assert len(second.freeze().inodes) == 3


PROGRAM = """
import os
from simfs.machine.machine import Machine
machine = Machine()
machine.spawn("p")
s = machine.system
for name in ("e", "a", "d", "c", "b"):
    s.mkdir(f"/{name}")
    s.setxattr(f"/{name}", "user.n", name.encode())
fds = [s.open(f"/a/{n}", os.O_CREAT | os.O_RDWR) for n in range(5)]
s.unlink("/a/3")
s.urandom(8)
machine.kill(machine.current)
print([(type(op).__name__, op.path, op.index, getattr(op, "ino", 0)) for op in machine.journal])
image = machine.freeze()
print(list(image.inodes), image.digest, list(image.walk())[3][0])
m = Machine(image); m.spawn("q"); print(m.system.listdir("/"), m.system.urandom(4), m.system.process_identity())
"""


def test_nothing_depends_on_the_hash_seed() -> None:
    answers = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "12345")
    }
    assert len(answers) == 1


def test_a_listing_is_in_an_order_that_is_neither_sorted_nor_the_order_of_making() -> None:
    machine = Machine()
    machine.spawn("p")
    names = ["a", "b", "c", "d", "e", "f"]
    for name in names:
        machine.system.mkdir(f"/{name}")
    listed = machine.system.listdir("/")
    assert sorted(listed) == names and listed != names
    for name in names:
        machine.system.rmdir(f"/{name}")
    for name in reversed(names):
        machine.system.mkdir(f"/{name}")
    assert machine.system.listdir("/") == listed == [entry.name for entry in machine.system.scandir("/")]
