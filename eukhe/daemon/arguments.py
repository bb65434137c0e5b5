"""The arguments of what the daemon does itself, beside its workers: sessions as wholes, and scheduled jobs."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field


class NoArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """Of `list_sessions` and `list_cron_jobs`."""


class ForkArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """Of `fork_session`: `name` is the new session's; `at` an entry, or one of the two words."""

    session: str
    name: str
    at: int | Literal["latest", "empty"] = "latest"


class ImportArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """Of `import_session`: an absolute path of a legacy file; the name is the file's stem if there is none."""

    file: str
    name: str | UnsetType = UNSET


class DeleteArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """Of `delete_session`."""

    session: str


class JobArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """Of `pause_cron_job`, `resume_cron_job` and `cancel_cron_job`: the job's id."""

    job: str


class NewJobArgs(Struct, frozen=True, forbid_unknown_fields=True):
    """Of `add_cron_job`; what the fields mean is what `eukhe cron add` says of them."""

    schedule: str
    prompt: str
    cwd: str = "/"
    zone: str | None = None
    label: str = ""
    runtime_kind: Literal["shell", "python"] = "shell"
    environment: dict[str, str] = field(default_factory=dict)
    timeout_ms: int | None = None


HOUSE_ARGS: dict[str, type[Struct]] = {
    "list_sessions": NoArgs,
    "fork_session": ForkArgs,
    "import_session": ImportArgs,
    "delete_session": DeleteArgs,
    "list_cron_jobs": NoArgs,
    "add_cron_job": NewJobArgs,
    "pause_cron_job": JobArgs,
    "resume_cron_job": JobArgs,
    "cancel_cron_job": JobArgs,
}
"""Every such operation and its arguments."""
