"""What recovery and the broken law looked at, in order: the part of a counterexample that says where it was noticed.

A footprint names resources by inode; here each is a path and a word: "read" a file, "listed" a directory, "asked about"
attributes, "missed" a name that was not there. Each is told once, at its first look. What the part made itself is left
out: it says nothing about the disk that was found.
"""

from __future__ import annotations

from dataclasses import dataclass

from simfs.machine.calls import Footprint
from simfs.machine.inode import Image

_WORDS = {"data": "read", "list": "listed", "meta": "asked about"}


@dataclass(frozen=True, slots=True)
class Read:
    """`who` (the name of a function) `did` something with `path`."""

    who: str
    did: str
    path: str


def reads_of(who: str, looks: Footprint, image: Image) -> list[Read]:
    """The looks of one part at `image`, the disk that it found."""
    paths: dict[int, str] = {}
    for path, node in image.walk():
        paths.setdefault(node.ino, path)
    found: dict[Read, None] = {}
    for (kind, *where), mode in looks:
        if kind == "dent" and where[0] in paths and where[1] not in ("..", "."):
            directory = paths[where[0]]
            if mode == "R" and where[1] not in image.inodes[where[0]].entries:
                found[Read(who, "missed", f"{directory.rstrip('/')}/{where[1]}")] = None
        elif kind in _WORDS and mode == "R" and where[0] in paths:
            found[Read(who, _WORDS[kind], paths[where[0]])] = None
    known = {read.path for read in found if read.did in ("read", "listed")}
    return [read for read in found if read.did != "asked about" or read.path not in known]
