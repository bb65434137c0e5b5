"""`open()` for a simulated process: the layers of the real `io` over a simulated raw file.

The rules for mode, buffering and text arguments are those of the built-in `open`, with its messages. Nothing is kept
here.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from typing import Any

from simfs.machine.system import SimSystem
from simfs.patch.belongings import belongings
from simfs.patch.rawfile import BLOCK_SIZE, SimRawFile

_MODES: dict[str, tuple[str, bool]] = {}
DEFAULT_BUFFER = max(BLOCK_SIZE, io.DEFAULT_BUFFER_SIZE) if sys.version_info >= (3, 14) else BLOCK_SIZE
"""Python up to 3.13 takes st_blksize as it is, later ones take at least their own default."""


def open_simulated(
    system: SimSystem,
    file: Any,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool = True,
    opener: Any = None,
) -> Any:
    """The built-in `open` inside a process."""
    if not isinstance(file, int):
        file = os.fspath(file)
    known = _MODES.get(mode) if type(mode) is str else None
    raw_mode, text = known if known is not None else _parsed(mode)
    if not text:
        _refuse_text_arguments(encoding, errors, newline)
    raw = SimRawFile(file, raw_mode, bool(closefd), opener)
    result: Any = raw
    try:
        line_buffering = buffering == 1 and text
        if buffering == 1 and not text:
            warnings.warn(
                "line buffering (buffering=1) isn't supported in binary mode, the default buffer size will be used",
                RuntimeWarning,
                stacklevel=4,
            )
        if buffering == 0:
            if text:
                raise ValueError("can't have unbuffered text I/O")
            return raw
        if buffering < -1:
            raise ValueError("invalid buffering size")
        size = DEFAULT_BUFFER if buffering in (-1, 1) else buffering
        if "+" in raw_mode:
            result = io.BufferedRandom(raw, size)
        elif raw_mode[0] == "r":
            result = io.BufferedReader(raw, size)
        else:
            result = io.BufferedWriter(raw, size)
        if text:
            result = io.TextIOWrapper(result, encoding, errors, newline, line_buffering)
            result.mode = mode
        if raw_mode != "r":
            belongings().keep(result)
    except BaseException:
        result.close()
        raise
    return result


def open_code_simulated(system: SimSystem, path: str) -> Any:
    """`io.open_code`: as `open(path, "rb")`, for code that a program reads from its own disk."""
    if not isinstance(path, str):
        raise TypeError(f"open_code() argument 'path' must be str, not {type(path).__name__}")
    return open_simulated(system, path, "rb")


def _parsed(mode: Any) -> tuple[str, bool]:
    """The mode for the raw file, and whether text is wanted; ValueError or TypeError as `open` words them."""
    if not isinstance(mode, str):
        raise TypeError(f"open() argument 'mode' must be str, not {type(mode).__name__}")
    if len(set(mode)) != len(mode) or set(mode) - set("axrwb+t"):
        raise ValueError(f"invalid mode: {mode!r}")
    if "t" in mode and "b" in mode:
        raise ValueError("can't have text and binary mode at once")
    kinds = [c for c in "xrwa" if c in mode]
    if len(kinds) > 1:
        raise ValueError("must have exactly one of create/read/write/append mode")
    # No kind at all is the raw file's to refuse, as it is for the real `open`.
    answer = ("".join(kinds) + ("+" if "+" in mode else ""), "b" not in mode)
    _MODES[mode] = answer
    return answer


def _refuse_text_arguments(encoding: str | None, errors: str | None, newline: str | None) -> None:
    for name, value in (("encoding", encoding), ("errors", errors), ("newline", newline)):
        if value is not None:
            article = "a" if name == "newline" else "an"
            raise ValueError(f"binary mode doesn't take {article} {name} argument")
