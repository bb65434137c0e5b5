"""A system whose n-th call fails, and that counts: what the fault tests of all stores share.

It wraps the real system. `calls` lists the calls that may fail, in order; call number `at` (from 0) of them does
not happen and raises `error` instead. A test raises `at` until the failing call is never reached, so nobody has to
know how many there are.
"""

import errno
import os
from collections.abc import Callable
from typing import Any

from eukhe.system import OsSystem

MUTATING = frozenset(
    {
        "open",
        "pwrite",
        "write",
        "ftruncate",
        "fsync",
        "rename",
        "renameat2",
        "unlink",
        "mkdir",
        "flock",
        "pread",
        "scandir",
    }
)


class FailingSystem:
    """`at=None` never fails. `short` makes each write put down one byte only."""

    def __init__(
        self, at: int | None = None, code: int = errno.EIO, only: frozenset[str] = MUTATING, short: bool = False
    ):
        self._real = OsSystem()
        self._at, self._code, self._only, self._short = at, code, only, short
        self.calls: list[str] = []

    @property
    def reached(self) -> bool:
        """Whether the failing call came."""
        return self._at is not None and len(self.calls) > self._at

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._real, name)

        def counted(*arguments: Any, **named: Any) -> Any:
            if name in self._only:
                self.calls.append(name)
                if len(self.calls) - 1 == self._at:
                    raise OSError(self._code, os.strerror(self._code))
            if self._short and name == "pwrite":
                return call(arguments[0], arguments[1][:1], arguments[2])
            return call(*arguments, **named)

        return counted


def test_exactly_the_chosen_call_fails(tmp_path):
    system = FailingSystem(at=1, only=frozenset({"mkdir"}))
    system.mkdir(str(tmp_path / "a"))
    try:
        system.mkdir(str(tmp_path / "b"))
        raise AssertionError("the second call should have failed")
    except OSError as error:
        assert error.errno == errno.EIO
    system.mkdir(str(tmp_path / "c"))
    assert sorted(os.listdir(tmp_path)) == ["a", "c"]
    assert system.reached
