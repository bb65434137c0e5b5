"""The time line of one boot: a line an op, a lane a process, the crash line where the power went.

Columns: number of the op, the lanes (a dot in the lane of the process that made the call), the call and what it was
about, what became of it, where it stands in the program. Ops after the crash are left out: they never happened. Of
starts, exits, closes and locks only kills, pauses, faults and clock jumps are told. Losses are in capitals.
"""

from __future__ import annotations

from reports.describe import detail, place, verb
from simfs.explore.verdict import BootRecord
from simfs.machine.ops import Close, Lock, Note, Op

OPS_SHOWN = 60
"""Lines at most; of a longer time line the middle is left out."""
SITE_MAX = 26
SITE_MIN = 12
"""Columns for a call site, at most, and what it keeps when calls need room."""
DETAIL_WANTED = 34
"""Columns that what a call was about may take from the call sites."""
NOTES_TOLD = ("kill", "wall clock", "pause", "resume", "fault")


def timeline(boot: BootRecord, width: int, root: str = "/") -> list[str]:
    """Lines of at most `width` columns; paths as seen from `root`."""
    shown = [op for op in boot.issued if told(op)]
    lanes = sorted({op.process for op in shown if op.process >= 0})
    lines = [] if len(lanes) < 2 else _lane_names(boot, lanes)
    widths = _Widths(boot, shown, len(lanes), width, root)
    if len(shown) > OPS_SHOWN:
        half = OPS_SHOWN // 2
        lines += [_line(op, boot, lanes, widths, root) for op in shown[:half]]
        lines.append(f"        ... {len(shown) - 2 * half} ops left out ...")
        lines += [_line(op, boot, lanes, widths, root) for op in shown[-half:]]
    else:
        lines += [_line(op, boot, lanes, widths, root) for op in shown]
    if boot.crash is not None:
        lines.append(crash_line(boot, width))
    elif boot.kind == "run":
        lines.append("  " + " every process ended ".center(width - 4, "-"))
    return lines


def told(op: Op) -> bool:
    """Whether a time line shows the op: what changes the disk, a promise, or how a process ended."""
    if isinstance(op, Note):
        return op.text.startswith(NOTES_TOLD)
    return not isinstance(op, Close | Lock)


def fate_of(op: Op, boot: BootRecord) -> str:
    """What became of an op that changes the disk: "durable", "kept", "LOST" or "4 of 9 B kept"; "" for all others."""
    fate = boot.fates.get(op.index, "") if boot.crash is not None else ""
    if fate == "durable" and verb(op) in ("fsync", "fdatasync", "sync", "PROMISE", "EFFECT", "note", "fsync!"):
        return ""
    return "LOST" if fate == "lost" else fate.replace(" bytes kept", " B kept")


class _Widths:
    """How wide each column of one time line is: fates take what they need, sites what they may, the call the rest."""

    def __init__(self, boot: BootRecord, shown: list[Op], lanes: int, width: int, root: str) -> None:
        self.lanes = lanes if lanes > 1 else 0
        self.fate = max((len(fate_of(op, boot)) for op in shown), default=0)
        left = width - 4 - 1 - (self.lanes + 1 if self.lanes else 0) - 9 - 1 - self.fate - 2
        about = min(DETAIL_WANTED, max((len(detail(op, 200, root)) for op in shown), default=0))
        wanted = max((len(place(op.site)) for op in shown), default=0)
        self.site = min(wanted, max(SITE_MIN, min(SITE_MAX, left - about)))
        self.detail = left - self.site


def _lane_names(boot: BootRecord, lanes: list[int]) -> list[str]:
    names = ", ".join(f"{number} = {boot.processes[lane]}" for number, lane in enumerate(lanes, 1))
    return ["     " + "".join(str(number % 10) for number in range(1, len(lanes) + 1)) + f" processes: {names}"]


def _line(op: Op, boot: BootRecord, lanes: list[int], widths: _Widths, root: str) -> str:
    marks = "".join("●" if lane == op.process else "·" for lane in lanes) + " " if widths.lanes else ""
    about = detail(op, widths.detail, root)
    fate = fate_of(op, boot)
    site = place(op.site, widths.site)
    return f"{op.index:>4} {marks}{verb(op):<9} {about:<{widths.detail}} {fate:<{widths.fate}} {site}".rstrip()


def crash_line(boot: BootRecord, width: int) -> str:
    """Where the power went, among the ops that the time line shows."""
    last = next((op for op in reversed(boot.issued) if told(op)), None)
    where = "before the first op" if last is None else f"after op {last.index}"
    if boot.crash is not None and not boot.crash.pick:
        return "  " + f" HERE A READER LOOKS {where} ".center(width - 4, "-")
    return "  " + f" POWER LOSS {where} ".center(width - 4, "#")
