"""Counts by question, so that what two workers both asked is counted once.

Model. A search never asks twice what it has asked: a crash point that another run had too, an image, a boot from a
recovered disk. Workers do not know what others asked. So each keeps a ledger: for each question, by a digest that means
the same on every host, what answering it added to the counts, without what further questions inside it have added.
Whoever puts the answers together adds up each question once, and gets the counts of one search that asked them all.

Only what depends on the question alone is in it. How many recoveries and laws were really run is no such count.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from hashlib import blake2b

from simfs.explore.verdict import Searched

COUNTED = ("executions", "crash_points", "images", "lazy_images", "lazy_leaves", "blocked")
Counts = tuple[int, ...]
"""In the order of COUNTED."""
NO_LEDGER = nullcontext()
"""Where nobody keeps one."""
_NONE: Counts = (0,) * len(COUNTED)


def digest_of(question: object) -> bytes:
    """Sixteen bytes for a question that is made of numbers, texts, bytes and tuples of them."""
    return blake2b(repr(question).encode("utf-8", "surrogateescape"), digest_size=16).digest()


@dataclass(slots=True)
class Ledger:
    """The questions that a search answered since `fresh` was last taken. `searched` are the counts that it adds to."""

    searched: Searched
    fresh: dict[bytes, Counts] = field(default_factory=dict)
    _inner: Counts = _NONE
    """What questions inside the current one have added."""

    @contextmanager
    def asked(self, question: object) -> Iterator[None]:
        """What is counted inside the block belongs to this question."""
        before, outer = counts_of(self.searched), self._inner
        self._inner = _NONE
        try:
            yield
        finally:
            added = _minus(counts_of(self.searched), before)
            self.fresh[digest_of(question)] = _minus(added, self._inner)
            self._inner = _plus(outer, added)

    def take(self) -> dict[bytes, Counts]:
        """What is in it, and begin anew."""
        out, self.fresh = self.fresh, {}
        return out


@dataclass(slots=True)
class Merged:
    """The ledgers of several searches, put together."""

    _met: set[bytes] = field(default_factory=set)

    def add(self, ledger: dict[bytes, Counts], searched: Searched) -> None:
        """Count every question that was in no ledger before; `searched` has all of this ledger's questions in it, and
        is left with those."""
        for question, counts in ledger.items():
            if question in self._met:
                for name, count in zip(COUNTED, counts, strict=True):
                    setattr(searched, name, getattr(searched, name) - count)
            else:
                self._met.add(question)


def counts_of(searched: Searched) -> Counts:
    """The counts that a ledger keeps."""
    return tuple(getattr(searched, name) for name in COUNTED)


def _plus(one: Counts, other: Counts) -> Counts:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _minus(one: Counts, other: Counts) -> Counts:
    return tuple(a - b for a, b in zip(one, other, strict=True))
