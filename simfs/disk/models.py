"""The catalogue of disk models by name. A new model is one file and one line here."""

from __future__ import annotations

from collections.abc import Sequence

from simfs.disk.ext4 import Ext4
from simfs.disk.model import DiskModel
from simfs.disk.prefix import Prefix
from simfs.disk.scc import Scc
from simfs.disk.synced import SyncedOnly
from simfs.disk.weakest import PosixWeakest
from simfs.errors import UsageError

DEFAULT = "prefix"
MODELS: dict[str, DiskModel] = {model.name: model for model in (Scc(), SyncedOnly(), Prefix(), Ext4(), PosixWeakest())}


def models_named(disk: str | Sequence[str]) -> list[DiskModel]:
    """The models for a name, a list of names, or "all". Raises UsageError naming the ones there are."""
    names = list(MODELS) if disk == "all" else [disk] if isinstance(disk, str) else list(disk)
    unknown = [name for name in names if name not in MODELS]
    if unknown or not names:
        raise UsageError(f"no disk model {', '.join(unknown) or '(empty list)'}; there are {', '.join(MODELS)}, or all")
    return [MODELS[name] for name in names]
