"""Staging: building a storage beside its place, publishing it without replacing anything, and sweeping what was left.

`Build` is one build, `sweep` takes what dead ones left. `rules` is the part that decides and does no I/O.
"""

from eukhe.staging.build import Build, check_free
from eukhe.staging.sweeping import Entry, SweepReport, sweep

__all__ = ["Build", "Entry", "SweepReport", "check_free", "sweep"]
