"""Models with options: `ext4:dioread=lock,tear=sector`, and what a model asks of the machine that runs on it.

Some options change which images there are; those go to the model's own rules. Others are answers of the system that
a program meets while it runs (`dir_fsync=EINVAL`: a directory cannot be flushed; `renameat2=EINVAL` or `ENOSYS`: no
rename without replacing). Those are carried as *refusals*, rules for the machine's calls, and the explorer applies
them: a disk model never sees the code under test.

| option | models | meaning |
|---|---|---|
| dioread=lock | ext4 | no unwritten extents: the data of a new block come before the sequence that shows it |
| tear=sector | ext4 | at most one block of an image is torn between its sectors |
| rename_atomic=no | all | a rename may leave both names, neither, or its target gone |
| dir_fsync=EINVAL | all | a flush of a directory fails with EINVAL and flushes nothing |
| renameat2=EINVAL, renameat2=ENOSYS | all | renameat2 fails so |
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from simfs.disk.ext4 import Ext4
from simfs.disk.ext4file import Rules
from simfs.disk.model import Disk, DiskModel
from simfs.disk.prefix import Prefix
from simfs.disk.scc import Scc
from simfs.disk.synced import SyncedOnly
from simfs.disk.weakest import PosixWeakest
from simfs.errors import UsageError
from simfs.machine.faults import Errno, Fault
from simfs.machine.inode import Image

EVERYWHERE: dict[str, tuple[str, ...]] = {
    "dir_fsync": ("EINVAL",),
    "rename_atomic": ("no",),
    "renameat2": ("EINVAL", "ENOSYS"),
}
OWN: dict[str, dict[str, tuple[str, ...]]] = {"ext4": {"dioread": ("lock",), "tear": ("sector",)}}

Values = Mapping[str, str]
MAKERS: dict[str, Callable[[Values], DiskModel]] = {
    "scc": lambda values: Scc("rename_atomic" in values),
    "synced-only": lambda values: SyncedOnly("rename_atomic" in values),
    "prefix": lambda values: Prefix("rename_atomic" in values),
    "ext4": lambda values: Ext4(
        rules=Rules(ordered="dioread" in values, tear="tear" in values, split_renames="rename_atomic" in values)
    ),
    "posix-weakest": lambda values: PosixWeakest(),
}
"""Model name -> the model under these options. posix-weakest splits renames anyway."""


@dataclass(frozen=True, slots=True)
class Configured:
    """A model under options. `refusals`: calls that the system answers with an errno, always; `faults`: calls that the
    explorer may let fail, one at a time."""

    name: str
    model: DiskModel
    refusals: tuple[Fault, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def closed_under_loss(self) -> bool:
        return self.model.closed_under_loss

    @property
    def flush_order(self) -> bool:
        """As the model itself has it."""
        return bool(getattr(self.model, "flush_order", False))

    def start(self, base: Image) -> Disk:
        return self.model.start(base)


def refusals_of(model: DiskModel) -> tuple[Fault, ...]:
    """The calls that a system with this disk always refuses."""
    found: tuple[Fault, ...] = getattr(model, "refusals", ())
    return found


def faults_of(model: DiskModel) -> tuple[Fault, ...]:
    """The faults that a model brings along for the explorer to draw from, besides the scenario's own."""
    found: tuple[Fault, ...] = getattr(model, "faults", ())
    return found


def configured(name: str, text: str) -> DiskModel:
    """The model `name` under the options in `text`, as "tear=sector,dioread=lock". Raises UsageError."""
    known = {**EVERYWHERE, **OWN.get(name, {})}
    values: dict[str, str] = {}
    for part in text.split(",") if text else ():
        key, _, value = part.strip().partition("=")
        if value not in known.get(key, ()):
            there = ", ".join(f"{k}={'|'.join(v)}" for k, v in sorted(known.items()))
            raise UsageError(f"disk model {name} has no option {part.strip()!r}; there are {there}")
        if key in values:
            raise UsageError(f"option {key} of disk model {name} is given twice")
        values[key] = value
    model = MAKERS[name](values)
    if not values:
        return model
    refusals: list[Fault] = []
    if "dir_fsync" in values:
        refusals.append(Errno(("fsync", "fdatasync"), nth=0, kind="dir", code=errno.EINVAL))
    if "renameat2" in values:
        refusals.append(Errno(("renameat2",), nth=0, code=getattr(errno, values["renameat2"])))
    full = f"{name}:{','.join(f'{key}={values[key]}' for key in sorted(values))}"
    return Configured(full, model, tuple(refusals))
