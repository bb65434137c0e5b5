"""Images from a real directory, and into one.

`load` reads a directory tree as a disk whose root it is: files, directories, symlinks, hard links within the tree,
modes, owners and modification times. `save` writes an image into a directory that is not there yet or is empty; it
follows no symlink and never writes over anything. Access times, extended attributes and owners are not saved; set-id
bits are kept. What has no place in an image (devices, sockets, pipes) is refused by name, before anything is written.
"""

from __future__ import annotations

import os
import stat

from simfs.errors import SimfsError
from simfs.machine.inode import ROOT_INO, Image, Inode


class CannotLoad(SimfsError):
    """The directory cannot become an image. Common causes: it is not there, may not be read, or holds a device."""


class CannotSave(SimfsError):
    """The image cannot be written there. Common causes: the directory is not empty, or may not be written."""


def load(directory: str | os.PathLike[str]) -> Image:
    """The tree below `directory` as an image with that directory as its root. Raises CannotLoad."""
    top = os.fspath(directory)
    inodes: dict[int, Inode] = {}
    known: dict[tuple[int, int], int] = {}
    try:
        if not stat.S_ISDIR(os.lstat(top).st_mode):
            raise CannotLoad(f"{top} is not a directory")
        _load_entry(top, inodes, known)
        stack = [(top, ROOT_INO)]
        while stack:
            path, ino = stack.pop()
            for name in sorted(os.listdir(path)):
                child = os.path.join(path, name)
                number = _load_entry(child, inodes, known)
                node = inodes[number]
                inodes[ino].entries[name] = number
                if node.kind == "dir":
                    node.parent = ino
                    inodes[ino].nlink += 1
                    stack.append((child, number))
                else:
                    node.nlink += 1
    except OSError as error:
        raise CannotLoad(f"{error.filename or top}: {error.strerror}") from error
    return Image(inodes)


def _load_entry(path: str, inodes: dict[int, Inode], known: dict[tuple[int, int], int]) -> int:
    """The number of the inode at `path`, loaded unless another name of it was."""
    status = os.lstat(path)
    identity = (status.st_dev, status.st_ino)
    if identity in known:
        return known[identity]
    number = known[identity] = ROOT_INO + len(inodes)
    mode = stat.S_IMODE(status.st_mode)
    node = Inode(number, "file", mode, status.st_uid, status.st_gid, nlink=0)
    node.mtime_ns = node.ctime_ns = status.st_mtime_ns
    node.atime_ns = status.st_atime_ns
    if stat.S_ISDIR(status.st_mode):
        node.kind, node.nlink = "dir", 2
    elif stat.S_ISLNK(status.st_mode):
        node.kind, node.target = "symlink", os.readlink(path)
    elif stat.S_ISREG(status.st_mode):
        with open(path, "rb") as file:
            node.data = file.read()
    else:
        raise CannotLoad(f"{path} is neither file, directory nor symlink")
    inodes[number] = node
    return number


def save(image: Image, directory: str | os.PathLike[str]) -> None:
    """Write the image's tree into `directory`, which is made unless it is there and empty. Raises CannotSave.

    Files under several names become hard links of one another. Modes and modification times are set last, so that a
    read-only directory can be filled.
    """
    top = os.fspath(directory)
    try:
        if not os.path.lexists(top):
            os.mkdir(top)
        if os.path.islink(top) or not os.path.isdir(top):
            raise CannotSave(f"{top} is not a directory")
        if os.listdir(top):
            raise CannotSave(f"{top} is not empty")
        _save_tree(image, top)
    except OSError as error:
        raise CannotSave(f"{error.filename or top}: {error.strerror}") from error


def _save_tree(image: Image, top: str) -> None:
    first_name: dict[int, str] = {}
    written: list[tuple[str, Inode]] = []
    for path, node in image.walk():
        real = top if path == "/" else top + path
        earlier = first_name.setdefault(node.ino, real)
        if earlier != real:
            os.link(earlier, real, follow_symlinks=False)
            continue
        if node.kind == "dir":
            if path != "/":
                os.mkdir(real, 0o700)
        elif node.kind == "symlink":
            os.symlink(node.target, real)
        else:
            fd = os.open(real, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with open(fd, "wb") as file:
                file.write(node.data)
        written.append((real, node))
    for real, node in reversed(written):
        if node.kind != "symlink":
            os.chmod(real, node.mode)
        os.utime(real, ns=(node.mtime_ns, node.mtime_ns), follow_symlinks=False)
