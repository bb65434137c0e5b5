"""Why: the ops that were not durable when something was promised, or that were lost while later ones survived.

For each boot that ended in a power loss, in order. An op that was pending when a promise was made and that the crash
took is the promise's loss: "the entry of X, made here, was never flushed before the promise there". With no such op,
the crash kept later ops and lost earlier ones, and the two are named together, those about the same file first. A
crash that lost nothing is a matter of order, and one without a crash of what the processes did. Then the advice: the
flushes that would make it hold, found by trying.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from reports.describe import NO_MESSAGE, detail, place, short, thing
from reports.paths import below
from simfs.explore.verdict import BootRecord, Counterexample
from simfs.machine.ops import Ack, Create, Link, Op, Rename, Unlink, Write

LOOKED = "No power was lost: while the processes run, a reader sees what the law forbids."
NO_LOSS = "No power was lost: the law was judged on what the processes left."
SHOWN_MAX = 3
"""Lost ops that are named, at most."""


def cause_lines(found: Counterexample, width: int, root: str = "/") -> list[str]:
    """Every sentence, wrapped; and the advice, if there is any."""
    crashed = [boot for boot in found.boots if boot.crash is not None and boot.crash.pick]
    sentences: list[str] = []
    for number, boot in enumerate(crashed, 1):
        which = "" if len(crashed) == 1 else f"In power loss {number}: "
        if len(crashed) == 1 or _gone(boot):
            sentences += [which + sentence for sentence in _boot(boot, root)]
    if crashed and not sentences:
        sentences.append("Nothing that was issued is lost: the order of the calls is at fault, not a missing flush.")
    if not crashed:
        looked = any(boot.crash is not None for boot in found.boots)
        sentences.append(LOOKED if looked else NO_LOSS)
    lines: list[str] = []
    for sentence in sentences:
        lines += _wrapped(sentence[0].upper() + sentence[1:], "  ", "  ", width)
    seems_enough = any("never flushed" in sentence for sentence in sentences)
    return lines + advice_lines(found, width, root, seems_enough)


def advice_lines(found: Counterexample, width: int, root: str, seems_enough: bool) -> list[str]:
    """What would make it hold, a line or two for each flush; nothing where nobody looked for advice. Where a flush
    `seems_enough` and none is, what is left with all of them."""
    advice = found.advice
    if advice is None:
        return []
    if not advice.added:
        text = advice.lines()[0]
        if seems_enough and advice.still not in ("", NO_MESSAGE):
            text += f" With all of them added it is still broken: {short(advice.still, 200)}."
        return _wrapped(text, "  ", "  ", width)
    which = "the smallest set that does" if advice.smallest else "each of them is needed"
    lines = _wrapped(f"With these flushes added it holds on {advice.disk}; {which}:", "  ", "  ", width)
    for flush in advice.added:
        path = below(flush.path, root) if flush.path != root else flush.path
        kind = "file" if flush.what == "file" else "directory"
        text = f"fsync the {kind} {path} after the {flush.call} at {place(flush.site, 40)}"
        lines += _wrapped(text, "  + ", "    ", width)
    return lines


def _wrapped(text: str, first: str, rest: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def _boot(boot: BootRecord, root: str) -> list[str]:
    gone = _gone(boot)
    if not gone:
        if any(boot.fates.get(op.index) == "kept" for op in boot.issued):
            return ["nothing was lost: a crash at this moment is enough, with all that was written there."]
        return ["nothing that was issued is lost: the order of the calls is at fault, not a missing flush."]
    broken = [(op, promise) for op in gone if (promise := _promise_after(op, boot.issued)) is not None]
    if broken:
        return _shown([_unflushed(op, promise, boot, root) for op, promise in broken])
    overtaken = [op for op in gone if _survivor(op, boot) is not None]
    return _shown([_overtaken(op, boot, root) for op in overtaken or gone])


def _gone(boot: BootRecord) -> list[Op]:
    """The ops that a crash took, whole or in part; of a file whose entry it took, only that entry."""
    gone = [op for op in boot.issued if boot.fates.get(op.index, "durable") not in ("durable", "kept")]
    nameless = {op.ino for op in gone if isinstance(op, Create)}
    return [op for op in gone if isinstance(op, Create) or getattr(op, "ino", None) not in nameless]


def _promise_after(op: Op, issued: Sequence[Op]) -> Ack | None:
    """The first promise that was made after an op."""
    place_of = issued.index(op)
    return next((later for later in issued[place_of:] if isinstance(later, Ack)), None)


def _unflushed(op: Op, promise: Ack, boot: BootRecord, root: str) -> str:
    what = short(detail(promise, 40), 40)
    return (
        f"{thing(op, root)}{_made(op)} {_were(op)} never flushed before the promise{_at(promise)}: {what}."
        f"{_kept_of(op, boot)}"
    )


def _overtaken(op: Op, boot: BootRecord, root: str) -> str:
    later = _survivor(op, boot)
    loss = f"{thing(op, root)}{_made(op)} {_were(op)} lost{_partly(op, boot)}"
    if later is None:
        return f"{loss}: not flushed when the power went."
    return f"{loss}, while {thing(later, root)}{_made(later)}, which came later, survived: nothing puts them in order."


def _survivor(op: Op, boot: BootRecord) -> Op | None:
    """A later op that survived, of the same file if there is one."""
    after = boot.issued[boot.issued.index(op) + 1 :]
    kept = [later for later in after if boot.fates.get(later.index, "").endswith("kept")]
    same = [later for later in kept if getattr(later, "ino", None) == getattr(op, "ino", -1)]
    found = same or kept
    return found[0] if found else None


def _made(op: Op) -> str:
    if op.site is None:
        return ""
    made = "made " if isinstance(op, Create | Link | Unlink | Rename) else ""
    return f" ({made}at {place(op.site, 40)})"


def _at(op: Op) -> str:
    return f" at {place(op.site, 40)}" if op.site is not None else ""


def _were(op: Op) -> str:
    return "were" if isinstance(op, Write) and len(op.data) != 1 else "was"


def _partly(op: Op, boot: BootRecord) -> str:
    fate = boot.fates.get(op.index, "")
    return "" if fate == "lost" else f" in part ({fate})"


def _kept_of(op: Op, boot: BootRecord) -> str:
    fate = boot.fates.get(op.index, "")
    return "" if fate == "lost" else f" {fate.capitalize()}."


def _shown(sentences: list[str]) -> list[str]:
    sentences = list(dict.fromkeys(sentences))
    more = len(sentences) - SHOWN_MAX
    return [*sentences[:SHOWN_MAX], *([f"and {more} more of the kind."] if more > 0 else [])]
