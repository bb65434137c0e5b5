"""The disk at each moment of a boot: what a reader sees, what is durable by then, and which ops are still pending.

Model. Between two ops nothing changes, so a boot has one moment before its first op and one after each. At a moment a
reader sees all that was issued, whole. Durable is what the disk model would leave if the power went right then and
everything undecided were lost; pending are the ops that such a power loss would take. On a model that loses nothing
that was issued, what a reader sees is durable.

Of a long boot only the last moments are answered: a report shows those before the crash.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from simfs.disk.model import Disk, Pick
from simfs.disk.models import model_named
from simfs.disk.scc import SccDisk
from simfs.explore.search import add
from simfs.explore.verdict import BootRecord

MOMENTS_MAX = 400
LEAVES_LOOKED_AT = 64
"""So many leaves are looked at for the one that loses most; every model has it among its first."""

Tree = dict[str, str | bytes]


@dataclass(frozen=True, slots=True)
class Moment:
    """`after` is the index of the op just made, -1 before the first one; `pending` are indices of ops."""

    after: int
    seen: Tree
    durable: Tree
    pending: tuple[int, ...]


def moments(boot: BootRecord, disk: str) -> list[Moment]:
    """Every moment of a boot on the disk model of that name, in order; the last ones of a long boot. Empty where the
    boot does not say what it started from, as one that was read from a file."""
    if boot.start is None:
        return []
    reader, model = SccDisk(boot.start), model_named(disk).start(boot.start)
    several = boot.crash is not None and len(boot.crash.cut) > 1
    out: list[Moment] = []
    skipped = max(0, len(boot.issued) - MOMENTS_MAX)
    for count, op in enumerate([None, *boot.issued]):
        if op is not None:
            reader.add(op)
            add(model, op) if several else model.add(op)
        if count >= skipped:
            pick = most_lost(model)
            pending = tuple(index for index, fate in model.fates(pick).items() if fate != "durable")
            after = -1 if op is None else op.index
            out.append(Moment(after, reader.image((0,)).tree(), model.image(pick).tree(), pending))
    return out


def most_lost(disk: Disk) -> Pick:
    """The pick of the leaf that keeps least of what is pending."""

    def kept(pick: Pick) -> int:
        return sum(fate not in ("durable", "lost") for fate in disk.fates(pick).values())

    picks = (pick for _, pick in islice(disk.leaves(), LEAVES_LOOKED_AT))
    least, fewest = next(picks), -1
    fewest = kept(least)
    for pick in picks:
        if fewest == 0:
            break
        if (count := kept(pick)) < fewest:
            least, fewest = pick, count
    return least
