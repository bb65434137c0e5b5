"""What the laws of the cron store say of a directory with a file of jobs, by running the real store on a copy."""

from __future__ import annotations

from collections.abc import Callable

from eukhe.cron import FAILURE_STOP_AFTER, CronError, CronFileDamaged, CronStore
from eukhe.doctor import CRON_NAME
from scenarios.image_copies import Said, contents, copied, told
from scenarios.laws import cron

LOCK_WAIT_S = 0.0
"""Nobody else has a copy open."""


def _update_durable(directory: str) -> Said:
    law = cron.CRON_UPDATE_DURABLE
    if CRON_NAME not in contents(directory):
        return Said(law, "not told", "there is no file, which says that there are no jobs; was there one?")
    try:
        listing = CronStore(f"{directory}/{CRON_NAME}").list()
    except CronFileDamaged as error:
        return Said(law, "broken", f"the file is not one that an update leaves: {told(error)}")
    except CronError as error:
        return Said(law, "not told", told(error))
    doubled = [why for _, why in listing.unreadable if "has the id" in why]
    if doubled:
        return Said(law, "broken", f"no update leaves two records of one id: {doubled[0]}")
    return Said(law, "holds", f"{len(listing.jobs)} jobs and {len(listing.dispatches)} claims are read")


def _never_drops(directory: str) -> Said:
    """An update on a copy: every record that is not understood, or the whole damaged file, is there afterwards."""
    law = cron.CRON_NEVER_DROPS
    with copied(directory, CRON_NAME) as copy:
        before = contents(copy).get(CRON_NAME)
        if before is None:
            return Said(law, "not told", "there is no file")
        store = CronStore(f"{copy}/{CRON_NAME}", lock_wait_s=LOCK_WAIT_S, notice=lambda text: None)
        unread = _unread(store)
        try:
            store.create("every 1h", "nothing", job_id="simfs-check-image")
        except CronError as error:
            return Said(law, "not told", f"an update is refused: {told(error)}")
        after = contents(copy)
    if unread is None:
        kept = any(data == before for name, data in after.items() if name.startswith(f"{CRON_NAME}.corrupt-"))
        return Said(law, "holds" if kept else "broken", "an update of a copy keeps the damaged file aside")
    missing = [raw for raw in unread if raw not in after[CRON_NAME]]
    return Said(
        law, "broken" if missing else "holds", f"an update of a copy carries {len(unread)} unread records along"
    )


def _unread(store: CronStore) -> list[bytes] | None:
    """The bytes of the records that cannot be read; None where the whole file cannot."""
    try:
        document = store.read()
    except CronFileDamaged:
        return None
    jobs = [item.raw for item in document.jobs if item.value is None]
    return jobs + [item.raw for item in document.dispatches if item.value is None]


def _pause_sticks(directory: str) -> Said:
    law = cron.CRON_PAUSE_STICKS
    try:
        jobs = CronStore(f"{directory}/{CRON_NAME}").list().jobs
    except CronError as error:
        return Said(law, "not told", f"refused: {told(error)}")
    failed = [job for job in jobs if job.failures >= FAILURE_STOP_AFTER]
    going = [job.id for job in failed if job.status == "active"]
    why = f"{going[0]} has failed too often and is active" if going else f"{len(failed)} jobs have failed so often"
    return Said(law, "broken" if going else "holds", why)


def _claims_go(directory: str) -> Said:
    """Recovery on a copy: the claims of dead processes are cleared, those of living ones stay."""
    law = cron.CRON_CLAIM_OWNED
    with copied(directory, CRON_NAME) as copy:
        store = CronStore(f"{copy}/{CRON_NAME}", lock_wait_s=LOCK_WAIT_S, notice=lambda text: None)
        try:
            before = store.list().dispatches
            with store.changing() as book:
                dead = store.dead(book)
            store.recover_interrupted([claim.id for claim in before if claim.owner == store.owner()])
            after = store.list().dispatches
        except CronError as error:
            return Said(law, "not told", f"refused: {told(error)}")
    wanted = [claim for claim in before if claim.owner not in dead]
    word = "holds" if after == wanted else "broken"
    return Said(law, word, f"{len(before)} claims, {len(before) - len(wanted)} of them of processes that are dead here")


JUDGES: tuple[Callable[[str], Said], ...] = (_update_durable, _never_drops, _pause_sticks, _claims_go)
