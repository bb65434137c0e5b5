"""The time line of one boot: a line an op, a lane a process, the crash line where the power went.

Columns: number of the op, the lanes (● in the lane of the process that made the call), the call, where it stands in the
program, and what became of it. Ops after the crash are left out: they never happened. Starts, exits and closes are left
out too unless a process was killed.
"""

from __future__ import annotations

from reports.describe import detail, short, verb
from simfs.explore.verdict import BootRecord
from simfs.machine.ops import Close, Lock, Note, Op

OPS_SHOWN = 60
"""Lines at most; of a longer time line the middle is left out."""


def timeline(boot: BootRecord, width: int) -> list[str]:
    """Lines of at most `width` columns."""
    shown = [op for op in boot.issued if told(op)]
    lanes = sorted({op.process for op in shown if op.process >= 0})
    lines = [] if len(lanes) < 2 else [_lane_names(boot, lanes)]
    if len(shown) > OPS_SHOWN:
        half = OPS_SHOWN // 2
        lines += [_line(op, boot, lanes, width) for op in shown[:half]]
        lines.append(f"        ... {len(shown) - 2 * half} ops left out ...")
        lines += [_line(op, boot, lanes, width) for op in shown[-half:]]
    else:
        lines += [_line(op, boot, lanes, width) for op in shown]
    if boot.crash is not None:
        lines.append(_crash_line(boot, width))
    elif boot.kind == "run":
        lines.append("  " + " every process ended ".center(width - 4, "-"))
    return lines


def told(op: Op) -> bool:
    """Whether a time line shows the op: what changes the disk, a promise, or how a process ended."""
    if isinstance(op, Note):
        return op.text.startswith(("kill", "wall clock", "pause"))
    return not isinstance(op, Close | Lock)


def _lane_names(boot: BootRecord, lanes: list[int]) -> str:
    names = ", ".join(f"{place + 1} = {boot.processes[lane]}" for place, lane in enumerate(lanes))
    return "     " + "".join(str(place + 1) for place in range(len(lanes))) + f"   lanes: {names}"


def _line(op: Op, boot: BootRecord, lanes: list[int], width: int) -> str:
    marks = "".join("●" if lane == op.process else "·" for lane in lanes) if len(lanes) > 1 else ""
    fate = boot.fates.get(op.index, "") if boot.crash is not None else ""
    if fate == "durable" and not _changes(op):
        fate = ""
    site = short(str(op.site), 22) if op.site is not None else ""
    head = f"{op.index:>4} {marks:<{len(lanes) if marks else 0}} {verb(op):<9} "
    tail = f" {site:<22} {fate}".rstrip()
    room = max(12, width - len(head) - 23 - 22 if fate and len(fate) > 8 else width - len(head) - 23 - 9)
    return f"{head}{short(detail(op), room):<{room}}{tail}".rstrip()


def _changes(op: Op) -> bool:
    return verb(op) not in ("fsync", "fdatasync", "sync", "PROMISE", "EFFECT", "note")


def _crash_line(boot: BootRecord, width: int) -> str:
    assert boot.crash is not None
    last = next((op for op in reversed(boot.issued) if told(op)), None)
    where = "before the first op" if last is None else f"after op {last.index}"
    return "  " + f" POWER LOSS {where} ".center(width - 4, "#")
