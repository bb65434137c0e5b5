"""Ways to see and to take what only one may have; shared by the cases about claims.

`holding` is the witness of law clm1. Whoever believes that it holds the thing locks a witness file meanwhile, with a
lock of the kernel: that is right by construction, and dropped by the kernel when its holder dies. Finding it taken
means that somebody else holds the thing at this very moment. The order of events needs no bookkeeping for that.

`locked` is the right way to be alone: a lock of the kernel on a file that nobody ever removes.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

WITNESS = "/witness"
TWO_HOLDERS = "two holders"


@contextmanager
def holding(m: Any) -> Iterator[None]:
    """The time for which the calling process believes that the thing is its own."""
    fd = os.open(WITNESS, os.O_RDWR | os.O_CREAT)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            m.effect(TWO_HOLDERS)
        yield
    finally:
        os.close(fd)


def assert_one_holder(m: Any) -> None:
    """Law clm1, where processes say by `holding` when they hold."""
    assert not m.effects(TWO_HOLDERS), "two processes held it at the same moment"


def make_empty(*paths: str) -> None:
    """For setup: lock files and the witness exist, so that nobody meets in making them."""
    for path in paths:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT))


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Alone, as long as everybody uses the same file."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
