"""A copy of a directory to work on, and what a law says of it. The directory itself is only read."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from eukhe.errors import EukheError
from simfs.errors import UsageError
from simfs.explore.law import Law

Contents = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Said:
    """What one law says of a directory."""

    law: Law
    word: str
    """"holds", "broken" or "not told"."""
    why: str = ""


@contextmanager
def copied(directory: str, only: str = "") -> Iterator[str]:
    """A copy of the directory, under its own name, gone afterwards. With `only`, it has just the files whose names hold
    that. Raises UsageError where it cannot be copied."""
    with tempfile.TemporaryDirectory(prefix="simfs-image-") as place:
        copy = os.path.join(place, os.path.basename(os.path.abspath(directory)))
        try:
            shutil.copytree(directory, copy, symlinks=True, ignore=_others(only))
        except (OSError, shutil.Error) as error:
            raise UsageError(f"{directory} cannot be copied: {error}") from None
        yield copy


def _others(only: str) -> Callable[[str, list[str]], list[str]]:
    return lambda above, names: [name for name in names if only not in name]


def contents(directory: str) -> Contents:
    """The bytes of every file, at every depth, by its path below the directory."""
    found = {}
    for above, _, names in sorted(os.walk(directory)):
        for name in sorted(names):
            path = os.path.join(above, name)
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, directory)] = file.read()
    return found


def told(error: EukheError) -> str:
    """An error in short: what was met, without the place, which may be that of a copy, and without advice."""
    line = getattr(error, "line", 0)
    why = getattr(error, "why", "")
    return f"{type(error).__name__}{f', line {line}' if line else ''}{f': {why}' if why else ''}"
