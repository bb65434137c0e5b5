"""The vocabulary of the litmus programs: each step is a sentence and a few plain `os` calls below a root directory.

The same steps run on a simulated machine and on a real directory. Two calls that Python's `os` lacks are looked up:
an exchanging rename, and a flush that fails (on a real disk, where we cannot make it fail, it is an ordinary flush).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from eukhe.system import OsSystem
from simfs.machine import running

EXCHANGE = 2


@dataclass(frozen=True)
class Step:
    """One step of a program: `words` for people, `call` for machines."""

    words: str
    call: Callable[[str], None]

    def __call__(self, root: str) -> None:
        self.call(root)


def shown(data: bytes) -> str:
    """Content for people: runs of one byte as "a"*4094, NULs and garbage by name."""
    parts: list[str] = []
    text = ""
    for value, group in groupby(data):
        count = len(list(group))
        run = {0: "NUL", 0xA5: "garbage"}.get(value)
        if run is None and count <= 8:
            text += chr(value) * count
            continue
        if text:
            parts.append(f'"{text}"')
            text = ""
        name = run if run is not None else f'"{chr(value)}"'
        parts.append(name if count == 1 else f"{name}*{count}")
    if text:
        parts.append(f'"{text}"')
    return " ".join(parts) or "empty"


def write_all(root: str, path: str, flags: int, data: bytes, offset: int | None = None) -> None:
    fd = os.open(f"{root}/{path}", os.O_WRONLY | flags, 0o644)
    if offset is None:
        os.write(fd, data)
    else:
        os.pwrite(fd, data, offset)
    os.close(fd)


def create(path: str, data: bytes) -> Step:
    return Step(
        f"create {path}, write {shown(data)}, close",
        lambda root: write_all(root, path, os.O_CREAT | os.O_EXCL, data),
    )


def append(path: str, data: bytes) -> Step:
    return Step(
        f"open {path} for appending, write {shown(data)}, close", lambda r: write_all(r, path, os.O_APPEND, data)
    )


def rewrite(path: str, data: bytes) -> Step:
    return Step(f"open {path} with O_TRUNC, write {shown(data)}, close", lambda r: write_all(r, path, os.O_TRUNC, data))


def overwrite(path: str, offset: int, data: bytes) -> Step:
    return Step(f"write {shown(data)} into {path} at offset {offset}", lambda r: write_all(r, path, 0, data, offset))


def write_through(path: str, data: bytes) -> Step:
    flags = os.O_CREAT | os.O_EXCL | os.O_SYNC
    return Step(f"create {path} with O_SYNC, write {shown(data)}, close", lambda r: write_all(r, path, flags, data))


def on_descriptor(path: str, flags: int, use: Callable[[int], object]) -> Callable[[str], None]:
    def call(root: str) -> None:
        fd = os.open(f"{root}/{path}", flags)
        use(fd)
        os.close(fd)

    return call


def cut(path: str, size: int) -> Step:
    return Step(
        f"ftruncate {path} to {size} bytes", on_descriptor(path, os.O_WRONLY, lambda fd: os.ftruncate(fd, size))
    )


def flush(path: str) -> Step:
    what = "the root directory" if path == "." else path
    return Step(f"fsync {what}", on_descriptor(path, os.O_RDONLY, os.fsync))


def flush_data(path: str) -> Step:
    return Step(f"fdatasync {path}", on_descriptor(path, os.O_RDONLY, os.fdatasync))


def flush_everything() -> Step:
    return Step("sync", lambda root: os.sync())


def _failing(fd: int) -> None:
    machine = running.active
    if machine is None or machine.current is None:
        os.fsync(fd)
        return
    try:
        machine.system.fail_flush(machine.current, fd)
    except OSError:
        pass


def failing_flush(path: str) -> Step:
    return Step(f"fsync {path}, which fails with EIO; go on", on_descriptor(path, os.O_RDONLY, _failing))


def rename(old: str, new: str) -> Step:
    return Step(f"rename {old} to {new}", lambda root: os.rename(f"{root}/{old}", f"{root}/{new}"))


def exchange(one: str, other: str) -> Step:
    def call(root: str) -> None:
        machine = running.active
        system = OsSystem() if machine is None else machine.system
        system.renameat2(f"{root}/{one}", f"{root}/{other}", EXCHANGE)

    return Step(f"exchange {one} and {other}", call)


def link(old: str, new: str) -> Step:
    return Step(f"link {old} as {new}", lambda root: os.link(f"{root}/{old}", f"{root}/{new}"))


def symlink(target: str, path: str) -> Step:
    return Step(f"symlink {path} to {target}", lambda root: os.symlink(target, f"{root}/{path}"))


def unlink(path: str) -> Step:
    return Step(f"unlink {path}", lambda root: os.unlink(f"{root}/{path}"))


def mkdir(path: str) -> Step:
    return Step(f"mkdir {path}", lambda root: os.mkdir(f"{root}/{path}", 0o755))


def rmdir(path: str) -> Step:
    return Step(f"rmdir {path}", lambda root: os.rmdir(f"{root}/{path}"))


class Held:
    """Descriptors that a program keeps from one step to a later one, by name."""

    def __init__(self) -> None:
        self.fds: dict[str, int] = {}

    def open(self, name: str, path: str, flags: int, words: str) -> Step:
        def call(root: str) -> None:
            self.fds[name] = os.open(f"{root}/{path}", os.O_WRONLY | flags, 0o644)

        return Step(f"{name} = open {path}{words}", call)

    def write(self, name: str, data: bytes) -> Step:
        def call(root: str) -> None:
            os.write(self.fds[name], data)

        return Step(f"write {shown(data)} to {name}", call)

    def cut(self, name: str, size: int) -> Step:
        def call(root: str) -> None:
            os.ftruncate(self.fds[name], size)

        return Step(f"ftruncate {name} to {size} bytes", call)

    def flush(self, name: str) -> Step:
        def call(root: str) -> None:
            os.fsync(self.fds[name])

        return Step(f"fsync {name}", call)

    def close(self, name: str) -> Step:
        def call(root: str) -> None:
            os.close(self.fds.pop(name))

        return Step(f"close {name}", call)
