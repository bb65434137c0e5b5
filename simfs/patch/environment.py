"""`os.environ` of each simulated process.

One object, `os.environ`, is held by many modules and shared by all processes of the interpreter. Its mapping lives in
an attribute, `_data`; on the class that attribute becomes a property which, inside a process, answers with a view of
the process's own environment. So `environ`, `environb`, `getenv` and their copies in other modules need no further
care.

A process starts with the environment that its scenario gave it, empty by default: nothing of the host's is seen.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, MutableMapping
from typing import Any

from simfs.patch.inside import current_process, simulated

_Environ: Any = type(os.environ)


class EnvironmentView(MutableMapping[bytes, bytes]):
    """A process's environment in the encoded form in which `os.environ` keeps it."""

    __slots__ = ("_values",)

    def __init__(self, values: dict[str, str]) -> None:
        self._values = values

    def __getitem__(self, key: bytes) -> bytes:
        return os.fsencode(self._values[os.fsdecode(key)])

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self._values[os.fsdecode(key)] = os.fsdecode(value)

    def __delitem__(self, key: bytes) -> None:
        del self._values[os.fsdecode(key)]

    def __iter__(self) -> Iterator[bytes]:
        return iter([os.fsencode(key) for key in self._values])

    def __len__(self) -> int:
        return len(self._values)


def _get(environ: Any) -> Any:
    if simulated() is not None:
        return EnvironmentView(current_process().environ)
    return environ.__dict__["_data"]


def _set(environ: Any, data: Any) -> None:
    environ.__dict__["_data"] = data


def install_environment() -> None:
    """From now on `os.environ` is each process's own."""
    _Environ._data = property(_get, _set)


def remove_environment() -> None:
    """`os.environ` is the interpreter's alone."""
    del _Environ._data
