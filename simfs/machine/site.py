"""Call sites: the line of the program under test that made a call.

The innermost frame counts that is neither this package's machinery nor the standard library nor a patch engine:
a person wants `storage.py:88`, not `pathlib.py:1045`. A module that stands between a program and its system calls (a
wrapper that counts, fails or drops calls) says `__simfs_machinery__ = True`, and is passed over too. Which files are
machinery is decided once for each file name.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

_SIMFS = str(Path(__file__).resolve().parents[1]) + os.sep
_STDLIB = tuple(str(Path(p)) + os.sep for p in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
_SITE = tuple(str(Path(p)) + os.sep for p in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
_MACHINERY = ("pyfakefs", "freezegun", "greenlet", "hypothesis", "pluggy", "_pytest", "pytest")
_known: dict[str, bool] = {}


class Site(NamedTuple):
    """A line of source: `file` as the code object names it, `line` from 1, and the function."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}"


_sites: dict[tuple[str, int, str], Site] = {}
"""One object for each line that ever made a call."""


def is_machinery(file: str) -> bool:
    """Whether frames of this source file are skipped when a call site is looked for."""
    known = _known.get(file)
    if known is None:
        known = _known[file] = _judge(file)
    return known


def _judge(file: str) -> bool:
    if file.startswith("<"):
        return True
    if file.startswith(_SITE):
        rest = next(file[len(p) :] for p in _SITE if file.startswith(p))
        return rest.split(os.sep)[0].removesuffix(".py") in _MACHINERY
    return file.startswith(_SIMFS) or file.startswith(_STDLIB)


def call_site(depth: int = 1) -> Site | None:
    """The call site of the code that is running now, `depth` frames up at least; None if all is machinery."""
    frame = sys._getframe(depth)
    known = _known
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        skip = known.get(file)
        if skip is None:
            skip = known[file] = _judge(file) or bool(frame.f_globals.get("__simfs_machinery__"))
        if not skip:
            key = (file, frame.f_lineno, code.co_name)
            return _sites.get(key) or _sites.setdefault(key, Site(*key))
        frame = frame.f_back  # type: ignore[assignment]
    return None
