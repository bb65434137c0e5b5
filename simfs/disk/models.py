"""The catalogue of disk models by name. A new model is one file and one line in `options.MAKERS`.

A name is `MODEL`, `MODEL:option=value,...`, or either with `hostile+` before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from simfs.disk.hostile import OVERLAY, Hostile
from simfs.disk.model import DiskModel
from simfs.disk.options import MAKERS, configured
from simfs.errors import UsageError

DEFAULT = "prefix"
MODELS: dict[str, DiskModel] = {name: configured(name, "") for name in MAKERS}
"""Every model without options, in the order in which reports list them."""


def models_named(disk: str | Sequence[str]) -> list[DiskModel]:
    """The models for a name, a list of names, or "all" (each without options). Raises UsageError naming the ones
    there are, or the options there are."""
    names = list(MODELS) if disk == "all" else [disk] if isinstance(disk, str) else list(disk)
    if not names:
        raise UsageError(_unknown("(empty list)"))
    return [model_named(name) for name in names]


@lru_cache(maxsize=256)
def model_named(name: str) -> DiskModel:
    """The model that one name stands for. Raises UsageError."""
    base, plus, rest = name.partition("+")
    if base == OVERLAY:
        return Hostile(model_named(rest if plus else DEFAULT))
    base, _, options = name.partition(":")
    if base not in MAKERS:
        raise UsageError(_unknown(name))
    return configured(base, options) if options else MODELS[base]


def _unknown(name: str) -> str:
    return f"no disk model {name}; there are {', '.join(MODELS)}, or all, and {OVERLAY}+MODEL"
