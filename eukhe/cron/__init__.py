"""Scheduled jobs that several processes share in one file.

`CronStore` keeps the jobs; `Scheduler` runs them when they are due. What a job may rely on: an occurrence is run at
most once, by one process, and one that did not run to its end is on record as skipped or interrupted.
"""

from eukhe.cron.errors import CronBusy, CronError, CronFailed, CronFileDamaged, CronRefused, JobNotFound
from eukhe.cron.records import Dispatch, Job, Owner, Status
from eukhe.cron.rules import FAILURE_STOP_AFTER, Outcome
from eukhe.cron.scheduler import Scheduler
from eukhe.cron.schedules import Schedule, ScheduleRefused, parse_schedule
from eukhe.cron.store import Claim, CronStore, Listing

__all__ = [
    "FAILURE_STOP_AFTER",
    "Claim",
    "CronBusy",
    "CronError",
    "CronFailed",
    "CronFileDamaged",
    "CronRefused",
    "CronStore",
    "Dispatch",
    "Job",
    "JobNotFound",
    "Listing",
    "Outcome",
    "Owner",
    "Schedule",
    "ScheduleRefused",
    "Scheduler",
    "Status",
    "parse_schedule",
]
