"""What a caller of the cron store can meet. Each error names the file and says what can be done."""

from __future__ import annotations

from eukhe.errors import RUNBOOK, EukheError


class CronError(EukheError):
    """Base of every error of the cron store. `path` is the file of the jobs."""


class CronFileDamaged(CronError):
    """The file is there and is no list of jobs. Reading changes nothing; the next update moves the file aside, keeps
    every byte of it, and starts with an empty list."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            path,
            f"{path}: {why}; nothing was changed. The next update moves the file to {path}.corrupt-... and starts "
            f"with no jobs: mend the file before that, or put it back afterwards, see {RUNBOOK}#cron-file-damaged",
        )
        self.why = why


class CronBusy(CronError):
    """The lock was not to be had in time. Nothing was changed."""

    def __init__(self, path: str, wait_s: float) -> None:
        super().__init__(
            path,
            f"{path}: another process holds {path}.lock, and {wait_s:g} s of waiting were not enough; nothing was "
            "changed, try again. A holder that has died holds nothing: one that is stopped has to go on or be ended",
        )
        self.wait_s = wait_s


class CronFailed(CronError):
    """A step of an update failed. `step` says which; the `OSError` is the cause.

    The file is the old one, or, where the last flush failed, the new one without a promise that it stays.
    """

    def __init__(self, path: str, step: str, why: str) -> None:
        super().__init__(
            path,
            f"{path}: {step} failed ({why}); nothing is promised of this update, and what was promised before it "
            f"stays. Remove the cause and try again, see {RUNBOOK}#cron-failed",
        )
        self.step = step
        self.why = why


class CronRefused(CronError):
    """What was asked is not possible for this job in its present state. Nothing was changed."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, f"{path}: {why}; nothing was changed")
        self.why = why


class JobNotFound(CronError):
    """No job has this id."""

    def __init__(self, path: str, job_id: str) -> None:
        super().__init__(path, f"{path}: no job {job_id}; `eukhe cron list` shows the jobs that there are")
        self.job_id = job_id
