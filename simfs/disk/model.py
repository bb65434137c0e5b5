"""What every disk model answers: given the ops issued before the power went, which disks are possible?

Model. A `DiskModel` is a rule set with a name. `start(base)` gives a `Disk` in the state `base`, all of it durable.
Ops are added in an order that respects happens-before; each flush says which earlier ops it covers (all of them when
one process ran; those that happened before it otherwise). At any moment `leaves()` enumerates the disks that a power
loss right then may leave: each leaf is a digest of the image and a *pick*, a tuple of small integers that names the
choice made for every part that was still pending. Equal digests are equal images. A pick is good for `image()` and
`fates()` as long as no further op has been added; drawn from a `Choices` it is a sample, kept in a token a replay.

Nothing here looks at the code under test, and nothing is re-run: images are computed from ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from simfs.machine.inode import Image
from simfs.machine.ops import Op

Pick = tuple[int, ...]
Covers = Callable[[Op], bool]
Draw = Callable[[int], int]
"""draw(n) answers an integer from 0 to n - 1."""


class Fate:
    """What became of an op in one image: words for people, compared by identity nowhere."""

    DURABLE = "durable"
    KEPT = "kept"
    LOST = "lost"

    @staticmethod
    def part(there: int, size: int, unit: str = "bytes") -> str:
        """The word for an op of which `there` of `size` units survive."""
        if there >= size:
            return Fate.KEPT
        return f"{there} of {size} {unit} kept" if there else Fate.LOST


class Disk(Protocol):
    """The state of one disk while ops are issued to it. `bounds` names every limit that cut the enumeration short."""

    bounds: set[str]

    def add(self, op: Op, covers: Covers | None = None) -> None:
        """Issue `op`. For a flush, `covers(earlier)` says whether an earlier op happened before it (None: all did)."""
        ...

    def leaves(self, in_progress: Op | None = None) -> Iterator[tuple[int, Pick]]:
        """Every disk that a power loss may leave now: (digest of the image, pick). May repeat a digest.

        `in_progress` is the op that the machine was about to finish; models that keep everything issued may cut it.
        """
        ...

    def sample(self, draw: Draw, in_progress: Op | None = None) -> tuple[int, Pick]:
        """One leaf, chosen by `draw`."""
        ...

    def image(self, pick: Pick, in_progress: Op | None = None) -> Image:
        """The disk that `pick` names. Raises ValueError for a pick that no leaf has."""
        ...

    def fates(self, pick: Pick, in_progress: Op | None = None) -> dict[int, str]:
        """Op index -> "durable", "kept", "lost" or "n of m bytes kept", for every op that changes the disk."""
        ...


class DiskModel(Protocol):
    """A named rule set. `closed_under_loss`: every image of a cut is also an image of any longer cut that adds
    neither a flush, returned or failed, nor a promise, so that only the longest such cuts need enumerating.

    A model may carry `refusals` and `faults` for the machine besides: `options.refusals_of`, `options.faults_of`.
    """

    @property
    def name(self) -> str:
        """As `models_named` takes it, options included."""
        ...

    @property
    def closed_under_loss(self) -> bool: ...

    def start(self, base: Image) -> Disk:
        """A disk on which everything in `base` is durable."""
        ...
