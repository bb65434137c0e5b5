"""What the laws of a store say of one directory, by running the real code on a copy of it.

Only laws that speak of what is on the disk can be judged so: what callers had been promised, nobody knows any more.
Each answer is the law, a word ("holds", "broken", "not told") and why. The directory itself is only read. Here are the
laws of the commit log and of session epochs; those of the other stores are in `image_laws_cron` and
`image_laws_staging`.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from eukhe.epochs import Session, SessionError, read_session, repair
from eukhe.errors import EukheError, StorageDamaged
from eukhe.storage import Storage, read_storage
from scenarios import image_laws_cron, image_laws_staging
from scenarios.image_copies import Said, contents, copied, told
from scenarios.laws import epochs, log


def laws_say(store: str, directory: str) -> list[Said]:
    """Every law that can be judged on a directory alone."""
    return [judge(directory) for judge in JUDGES[store]]


def _opened(directory: str) -> EukheError | None:
    """Open a log for writing and close it; what that raised."""
    try:
        Storage.open(directory, home=os.path.dirname(directory)).close()
    except EukheError as error:
        return error
    return None


def _log_reads_lines(directory: str) -> Said:
    main = contents(directory).get("main.jsonl", b"")
    try:
        view = read_storage(directory)
    except EukheError as error:
        return Said(log.LOG_READS_LINES, "not told", f"refused: {told(error)}")
    lines = main.count(b"\n")
    word = "holds" if len(view.commits) == lines else "broken"
    return Said(log.LOG_READS_LINES, word, f"{lines} complete lines, {len(view.commits)} commits found")


def _log_opens(directory: str) -> Said:
    with copied(directory) as copy:
        error = _opened(copy)
    if error is None:
        return Said(log.LOG_OPENS_AFTER_CRASH, "holds")
    return Said(log.LOG_OPENS_AFTER_CRASH, "broken", f"unless this is no crash but damage: {told(error)}")


def _log_cuts(directory: str) -> Said:
    before = contents(directory).get("main.jsonl", b"")
    whole = before[: before.rfind(b"\n") + 1]
    law = log.LOG_OPEN_KEEPS_THE_COMPLETE_LINES if whole == before else log.LOG_OPEN_CUTS_THE_TORN_TAIL
    with copied(directory) as copy:
        if _opened(copy) is not None:
            return Said(law, "not told", "the open was refused")
        after = contents(copy).get("main.jsonl", b"")
    return Said(law, "holds" if after == whole else "broken", f"{len(before)} bytes before, {len(after)} after")


def _log_untouched(directory: str) -> Said:
    with copied(directory) as copy:
        before = contents(copy)
        error = _opened(copy)
        after = contents(copy)
    if not isinstance(error, StorageDamaged):
        return Said(log.LOG_DAMAGE_UNTOUCHED, "not told", "no damage was met")
    return Said(log.LOG_DAMAGE_UNTOUCHED, "holds" if before == after else "broken")


def _epochs_opens_highest(directory: str) -> Said:
    names = contents(directory)
    both = [int(name[:-6]) for name in names if name.endswith(".jsonl") and name[:-6].isdigit()]
    highest = max((epoch for epoch in both if f"{epoch}.baseline.json" in names), default=None)
    try:
        found = read_session(directory).epoch
    except SessionError as error:
        return Said(epochs.EPOCH_OPENS_HIGHEST, "not told", f"refused: {told(error)}")
    word = "holds" if found == highest else "broken"
    return Said(epochs.EPOCH_OPENS_HIGHEST, word, f"epoch {found} was opened, {highest} is the highest complete one")


def _epochs_survive(directory: str) -> Said:
    with copied(directory) as copy:
        try:
            repair(copy)
            Session.open_at(copy, home=os.path.dirname(copy)).close()
        except EukheError as error:
            return Said(epochs.EPOCH_ACKED_SURVIVE, "broken", f"unless this is no crash but damage: {told(error)}")
    return Said(epochs.EPOCH_ACKED_SURVIVE, "holds", "it opens, after a repair where a last line is torn")


JUDGES: dict[str, tuple[Callable[[str], Said], ...]] = {
    "log": (_log_reads_lines, _log_opens, _log_cuts, _log_untouched),
    "epochs": (_epochs_opens_highest, _epochs_survive),
    "cron": image_laws_cron.JUDGES,
    "staging": image_laws_staging.JUDGES,
}
