"""Images go into a real directory and come back the same; nothing that is there is ever written over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from simfs.disk.realdir import CannotLoad, CannotSave, load, save
from simfs.machine.machine import Machine
from tests.disk_programs import put


def _image() -> Machine:
    machine = Machine(record_sites=False)
    machine.spawn("setup")
    s = machine.system
    s.mkdir("/d", 0o755)
    put(s, "/d/file", b"bytes\0\xff")
    s.link("/d/file", "/d/again")
    s.symlink("nowhere", "/dangling")
    s.symlink("/d", "/absolute")
    s.chmod("/d/file", 0o640)
    s.utime("/d/file", ns=(5, 1_700_000_000_123_456_789))
    s.mkdir("/closed", 0o755)
    put(s, "/closed/inside", b"")
    s.chmod("/closed", 0o555)
    return machine


def test_a_saved_image_loads_as_the_same_tree_modes_times_and_links(tmp_path: Path) -> None:
    image = _image().freeze()
    save(image, tmp_path / "out")
    again = load(tmp_path / "out")
    assert again.tree() == image.tree()
    ours, theirs = dict(image.walk()), dict(again.walk())
    for path, node in ours.items():
        other = theirs[path]
        assert (node.kind, node.nlink, node.mtime_ns) == (other.kind, other.nlink, other.mtime_ns), path
        if node.kind != "symlink":
            assert node.mode == other.mode, path
    assert theirs["/d/file"] is theirs["/d/again"]
    assert os.stat(tmp_path / "out/d/file").st_ino == os.stat(tmp_path / "out/d/again").st_ino


def test_a_loaded_image_runs_on_a_machine(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"real")
    machine = Machine(load(tmp_path), record_sites=False)
    machine.spawn("reader")
    fd = machine.system.open("/f", os.O_RDONLY)
    assert machine.system.read(fd, 10) == b"real"


def test_saving_into_a_directory_with_anything_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"keep")
    with pytest.raises(CannotSave, match="not empty"):
        save(_image().freeze(), tmp_path)
    assert os.listdir(tmp_path) == ["precious"]


def test_saving_through_a_symlink_or_onto_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").write_bytes(b"keep")
    for name in ("link", "file"):
        with pytest.raises(CannotSave, match="not a directory"):
            save(_image().freeze(), tmp_path / name)
    with pytest.raises(CannotSave):
        save(_image().freeze(), tmp_path / "missing" / "deep")
    assert not os.listdir(tmp_path / "real")


def test_what_an_image_cannot_hold_is_refused_by_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CannotLoad, match="pipe"):
        load(tmp_path)
    with pytest.raises(CannotLoad):
        load(tmp_path / "absent")
    with pytest.raises(CannotLoad, match="not a directory"):
        load(tmp_path / "pipe")
