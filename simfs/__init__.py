"""simfs: a machine that can lose power after any syscall, and an explorer that tries all of them.

Start with `Scenario` (or `scenario`), `process`, `law` and `check`; ask `outcomes` what a few calls promise.
"""

from simfs.disk.model import DiskModel
from simfs.errors import BadToken, SetupFailed, SimfsError, StaleToken, UsageError
from simfs.explore.check import check
from simfs.explore.choices import Choices
from simfs.explore.explorer import explore, replay
from simfs.explore.handle import Event, Handle
from simfs.explore.law import Law
from simfs.explore.outcomes import Outcome, outcomes
from simfs.explore.program import Program
from simfs.explore.scenario import Scenario, law, process, recover, scenario
from simfs.explore.verdict import Counterexample, Searched, Verdict
from simfs.machine.inode import Image as CrashImage
from simfs.machine.journal import OpJournal
from simfs.machine.ops import Op
from simfs.machine.process import Process

__all__ = [
    "BadToken", "Choices", "Counterexample", "CrashImage", "DiskModel", "Event", "Handle", "Law", "Op",
    "OpJournal", "Outcome", "Process", "Program", "Scenario", "Searched", "SetupFailed", "SimfsError", "StaleToken",
    "UsageError", "Verdict", "check", "explore", "law", "outcomes", "process", "recover", "replay", "scenario",
]  # fmt: skip
