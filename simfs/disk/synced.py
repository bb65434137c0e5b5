"""The disk model `synced-only`: exactly what was flushed survives. The fast smoke run.

Contents and attributes are those of each inode's last flush. Names come in two variants: every entry op that no flush
covered is lost, or every one is kept. Two images at most for each crash point. With the names kept, a file that was
never flushed stands there empty.
"""

from __future__ import annotations

from collections.abc import Iterator

from simfs.disk.prefix import PrefixDisk
from simfs.disk.worlds import Ways
from simfs.machine.inode import Image


class SyncedOnlyDisk(PrefixDisk):
    """One disk that keeps what was flushed. A pick's first number says which variant, the rest are 0."""

    any_downset = False

    def downsets(self) -> Iterator[tuple[bool, ...]]:
        pending = len(self.entries.pending)
        yield (False,) * pending
        if pending:
            yield (True,) * pending

    def ways(self, ino: int) -> Ways:
        return self.files[ino].lost()


class SyncedOnly:
    """`synced-only`. Not closed under loss: all kept is another set of names at each point."""

    name = "synced-only"
    closed_under_loss = False
    flush_order = True
    """Where several processes run, their runs must tell apart what a flush covered: it is all that survives."""

    def __init__(self, split_renames: bool = False) -> None:
        self.split_renames = split_renames

    def start(self, base: Image) -> SyncedOnlyDisk:
        return SyncedOnlyDisk(base, self.split_renames)
