"""Modules of the standard library, unmodified, leave the same on a simulated disk as on a real one."""

from __future__ import annotations

import bz2
import configparser
import csv
import dbm.dumb
import filecmp
import fileinput
import glob
import gzip
import io
import logging
import logging.handlers
import lzma
import mailbox
import os
import pathlib
import plistlib
import shutil
import stat
import tarfile
import tempfile
import wave
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simfs.machine.machine import Machine
from simfs.patch import interposed, process_of

Program = Callable[[str], Any]


def _compressed(root: str) -> Any:
    for module, name in ((gzip, "g"), (bz2, "b"), (lzma, "x")):
        with module.open(f"{root}/{name}", "wt") as file:
            file.write("text\n" * 100)
        with module.open(f"{root}/{name}", "rt") as file:
            assert file.read() == "text\n" * 100
        os.remove(f"{root}/{name}")
    return sorted(os.listdir(root))


def _archives(root: str) -> Any:
    os.makedirs(f"{root}/src/sub")
    pathlib.Path(root, "src/sub/f").write_text("content")
    os.chmod(f"{root}/src/sub/f", 0o640)
    with tarfile.open(f"{root}/t.tar", "w") as tar:
        tar.add(f"{root}/src", "src")
    with tarfile.open(f"{root}/t.tar") as tar:
        tar.extract("src/sub/f", f"{root}/out", **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    shutil.make_archive(f"{root}/z", "zip", f"{root}/src")
    shutil.unpack_archive(f"{root}/z.zip", f"{root}/unzipped")
    names = zipfile.ZipFile(f"{root}/z.zip").namelist()
    for archive in ("t.tar", "z.zip"):
        os.remove(f"{root}/{archive}")
    return sorted(names), filecmp.cmp(f"{root}/src/sub/f", f"{root}/out/src/sub/f", shallow=False)


def _texts(root: str) -> Any:
    with open(f"{root}/c.csv", "w", newline="") as file:
        csv.writer(file).writerows([["a", 1], ["b", 2]])
    settings = configparser.ConfigParser()
    settings["part"] = {"key": "value"}
    with open(f"{root}/c.ini", "w") as file:
        settings.write(file)
    again = configparser.ConfigParser()
    again.read([f"{root}/c.ini", f"{root}/missing.ini"])
    with open(f"{root}/p.plist", "wb") as binary:
        plistlib.dump({"a": [1, 2]}, binary)
    ElementTree.ElementTree(ElementTree.Element("root", {"k": "v"})).write(f"{root}/x.xml")
    with fileinput.input(f"{root}/c.csv", inplace=True, backup=".old") as lines:
        for line in lines:
            print(line.strip().upper())
    return again["part"]["key"], ElementTree.parse(f"{root}/x.xml").getroot().attrib


def _walks(root: str) -> Any:
    for path in ("a/b/c", "a/d", ".hidden/e"):
        os.makedirs(f"{root}/{path}")
        pathlib.Path(root, path, "f.txt").touch()
    os.symlink("a/b", f"{root}/link")
    os.link(f"{root}/a/d/f.txt", f"{root}/hard")
    base = len(root)
    walked = sorted((r[base:], sorted(d), sorted(f)) for r, d, f in os.walk(root, followlinks=True))
    fwalked = sorted((r[base:], sorted(d), sorted(f)) for r, d, f, _ in os.fwalk(root))
    found = sorted(p[base:] for p in glob.glob(f"{root}/**/*.txt", recursive=True, include_hidden=True))
    rooted = sorted(glob.glob("**/f.txt", root_dir=root, recursive=True))
    paths = sorted(str(p.relative_to(root)) for p in Path(root).rglob("*"))
    assert Path(root, "link").is_dir() and os.path.islink(f"{root}/link") and not os.path.islink(f"{root}/hard")
    return walked, fwalked, found, rooted, paths, os.stat(f"{root}/hard").st_nlink


def _copies(root: str) -> Any:
    pathlib.Path(root, "f").write_bytes(os.urandom(0) + b"x" * 200_000)
    os.utime(f"{root}/f", ns=(10**18, 10**18 + 5))
    os.chmod(f"{root}/f", 0o604)
    shutil.copy2(f"{root}/f", f"{root}/g")
    shutil.copyfile(f"{root}/f", f"{root}/h")
    os.truncate(f"{root}/h", 10)
    with open(f"{root}/h", "r+b") as file:
        file.seek(5)
        file.write(b"tail and more")
    os.renames(f"{root}/h", f"{root}/deep/er/h")
    with pytest.raises(shutil.SameFileError):
        shutil.copyfile(f"{root}/f", f"{root}/f")
    copied = os.stat(f"{root}/g")
    return copied.st_mtime_ns, stat.filemode(copied.st_mode), shutil.disk_usage(root).total > 0


def _removals(root: str) -> Any:
    os.makedirs(f"{root}/gone/one/two")
    pathlib.Path(root, "gone/one/f").touch()
    os.symlink("/", f"{root}/gone/one/link")
    shutil.rmtree(f"{root}/gone")
    with tempfile.TemporaryDirectory(dir=root) as folder:
        os.makedirs(f"{folder}/a/b")
        with tempfile.SpooledTemporaryFile(10, dir=folder) as spooled:
            spooled.write(b"more than ten bytes")
            spooled.seek(0)
            return spooled.read()


def _stores(root: str) -> Any:
    with dbm.dumb.open(f"{root}/db", "n") as database:
        database["a"] = b"1"
        del database["a"]
        database["b"] = b"2"
    box = mailbox.Maildir(f"{root}/mail")
    box.add("From: a\n\ntext")
    with wave.open(f"{root}/w.wav", "wb") as sound:
        sound.setparams((1, 1, 8000, 0, "NONE", ""))
        sound.writeframes(b"\x80" * 100)
    kept = len(list(box)), dict(dbm.dumb.open(f"{root}/db", "r"))
    for name in ("db.bak", "mail"):
        shutil.rmtree(f"{root}/{name}", ignore_errors=True)
        if os.path.exists(f"{root}/{name}"):
            os.remove(f"{root}/{name}")
    return kept


def _logs(root: str) -> Any:
    log = logging.Logger("app")
    memory = logging.handlers.MemoryHandler(2, target=logging.FileHandler(f"{root}/log", delay=True))
    log.addHandler(memory)
    for number in range(3):
        log.info("line %d", number)
    memory.close()
    assert memory.target is None
    watched = logging.handlers.WatchedFileHandler(f"{root}/watched")
    log.addHandler(watched)
    log.removeHandler(memory)
    log.info("first")
    os.rename(f"{root}/watched", f"{root}/watched.old")
    log.info("second")
    watched.close()
    return io.open(f"{root}/log").read()  # noqa: UP020


PROGRAMS: list[Any] = [_compressed, _archives, _texts, _copies, _logs, _walks, _removals, _stores]


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__[1:])
def test_it_leaves_the_same_on_a_simulated_disk(program: Program, tmp_path: Path) -> None:
    os.mkdir(tmp_path / "root")
    expected = program(str(tmp_path / "root"))
    real: dict[str, Any] = {}
    for path in sorted((tmp_path / "root").rglob("*")):
        name = str(path.relative_to(tmp_path / "root"))
        real[name] = f"-> {os.readlink(path)}" if path.is_symlink() else "dir" if path.is_dir() else path.read_bytes()
    machine = Machine()
    with interposed(), process_of(machine):
        os.makedirs("/tmp/root")
        result = program("/tmp/root")
    assert result == expected
    assert machine.freeze().tree("/tmp/root") == real
