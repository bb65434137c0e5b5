"""What the laws of staging say of a directory of sessions, by running the real sweep and listing on a copy.

A copy is as young as the moment it was made. So the sweep is given a clock that is two days ahead: what it takes then
is what it would take of the directory itself, once nobody has touched that for a day.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from eukhe.errors import EukheError
from eukhe.sessions import list_sessions
from eukhe.staging import SweepReport, sweep
from eukhe.staging.rules import DAY_NS, is_leftover_name, is_session_name, leftover_of_lock
from eukhe.storage import read_storage
from eukhe.system import OsSystem
from scenarios.image_copies import Said, contents, copied, told
from scenarios.laws import staging


class DaysLater(OsSystem):
    """The real system, two days later."""

    def time_ns(self) -> int:
        """The wall clock, ahead."""
        return super().time_ns() + 2 * DAY_NS


def _all_or_nothing(directory: str) -> Said:
    law = staging.BUILD_ALL_OR_NOTHING
    whole = 0
    for name in _sessions(directory):
        place = f"{directory}/{name}"
        try:
            view = read_storage(place)
        except EukheError as error:
            return Said(law, "broken", f"no build leaves {name} so: {told(error)}")
        if not view.commits:
            return Said(law, "broken", f"{name} has no commit; no build leaves that, but a storage just made has none")
        whole += 1
    return Said(law, "holds", f"{whole} sessions are whole")


def _listed(directory: str) -> Said:
    law = staging.DELETE_WHOLE_OR_GONE
    try:
        listing = list_sessions(directory)
    except EukheError as error:
        return Said(law, "not told", f"refused: {told(error)}")
    rows = {row.id for row in listing.rows}
    hidden = [name for name in _sessions(directory) if name not in rows]
    if hidden:
        return Said(law, "broken", f"{hidden[0]} has a directory and is not listed")
    return Said(law, "holds", f"{len(rows)} sessions are listed")


def _takes_stale(directory: str) -> Said:
    with copied(directory) as copy:
        left, report, _, after = _swept(copy)
    stay = sorted(left & _names(after))
    if not stay:
        return Said(staging.SWEEP_TAKES_STALE_FREE_REAL, "holds", f"of {len(left)} leftovers a sweep leaves none")
    why = report.failed[0].why if report.failed else "it says nothing of it"
    return Said(staging.SWEEP_TAKES_STALE_FREE_REAL, "broken", f"{stay[0]} stays: {why}")


def _stays_out(directory: str) -> Said:
    with copied(directory) as copy:
        left, _, before, after = _swept(copy)
    mine = {path: data for path, data in before.items() if path.split(os.sep)[0] not in left}
    word = "holds" if mine.items() <= after.items() else "broken"
    return Said(staging.SWEEP_STAYS_OUT_REAL, word, f"{len(mine)} files are no business of a sweep")


def _swept(copy: str) -> tuple[set[str], SweepReport, dict[str, bytes], dict[str, bytes]]:
    """(leftovers and their locks, the report, the files before, the files after) of a sweep two days later."""
    before = contents(copy)
    left = {name for name in os.listdir(copy) if is_leftover_name(name) or leftover_of_lock(name) is not None}
    report = sweep([copy], system=DaysLater())
    after = contents(copy)
    return left, report, before, after | {f"{name}{os.sep}": b"" for name in os.listdir(copy)}


def _names(paths: dict[str, bytes]) -> set[str]:
    return {path.split(os.sep)[0] for path in paths}


def _sessions(directory: str) -> list[str]:
    return [n for n in sorted(os.listdir(directory)) if is_session_name(n) and os.path.isdir(f"{directory}/{n}")]


JUDGES: tuple[Callable[[str], Said], ...] = (_all_or_nothing, _listed, _takes_stale, _stays_out)
